/*
 * published.c: what the published driver takes, or holds, beside what a call says. Each body was a way past an earlier
 * version; the sources are named in rm/interface.h.
 */
#include "ground.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define HEAP_TAKE 2
#define HEAP_TILED 6
#define FLAG_FIXED 0x10u
#define FLAG_ALIGN 0x100u
#define CLASS_MEMORY 0x40
#define CLASS_FLA 0xf3
#define CLASS_SEMAPHORES 0xda
#define CLASS_MAPPER 0xfe

/* Pages of 4 KiB are taken from the device by 64 KiB, and the answer says 4. */
static int body_small_pages(void)
{
	struct memory_parameters m = { .size = 4096, .words = { [6] = 1u << 23 } };
	struct session s;
	uint32_t o;

	if (session_open(&s) || grab(&s, MIB(1), MIB(508)) != MIB(508))
		return 2;
	for (int i = 0; i < 64; i++) {
		o = 0;
		m.size = 4096;
		if (rm_alloc(s.fd, s.client, 2, &o, CLASS_MEMORY, &m))
			return 3;
	}
	o = 0;
	m.size = 4096;
	return rm_alloc(s.fd, s.client, 2, &o, CLASS_MEMORY, &m) == NO_MEMORY && truth().used == MIB(512) ? 0 : 4;
}

/* At an address of its choice the driver takes all up to the alignment, and answers with what was asked for. */
static int body_fixed(void)
{
	struct memory_parameters m = { .size = MIB(1),
				       .words = { [2] = FLAG_FIXED | FLAG_ALIGN },
				       .rest = { MIB(256) } };
	uint64_t size = MIB(1), alignment = MIB(256);
	struct session s;
	uint32_t o = 0, h[46] = { 0, 2, HEAP_TAKE, [13] = FLAG_FIXED | FLAG_ALIGN };

	if (session_open(&s))
		return 2;
	h[0] = s.client;
	*(uint64_t *)(void *)(h + 22) = size;
	*(uint64_t *)(void *)(h + 24) = alignment;
	for (int i = 0; i < 4; i++, o = 0) {
		rm_alloc(s.fd, s.client, 2, &o, CLASS_MEMORY, &m);
		ioctl(s.fd, REQUEST(0x4a, sizeof h), h);
	}
	if (truth().used > MIB(512))
		return 3;
	/* With one page, as well. */
	m = (struct memory_parameters){ .size = MIB(1), .words = { [2] = FLAG_FIXED } };
	return rm_alloc(s.fd, s.client, 2, &o, CLASS_MEMORY, &m) == -EPERM && !truth().used ? 0 : 4;
}

/* The size of a surface is worked out from its height and pitch, whatever stands where the size is answered. */
static int body_tiled(void)
{
	struct session s;

	if (session_open(&s))
		return 2;
	for (int i = 0; i < 4; i++) {
		uint32_t h[46] = { s.client, 2, HEAP_TILED, [14] = i ? 1024 : 3072, [15] = 256u << 10, [22] = 4096 };
		int r = ioctl(s.fd, REQUEST(0x4a, sizeof h), h) ? -errno : (int)h[5];

		if (i == 1 || i == 2 ? r : r != NO_MEMORY)
			return 3 + i;
	}
	return truth().used == MIB(512) ? 0 : 9;
}

/* A semaphore surface makes a name of its own for the memory that its parameters name. */
static int body_semaphores(void)
{
	struct session s;
	uint32_t o = 0, surface = 0, mapper = 0, names[4] = { 0 };

	if (session_open(&s) || rm_memory(s.fd, s.client, &o, MIB(256)))
		return 2;
	names[0] = o;
	if (!rm_alloc(s.fd, s.client, 3, &surface, CLASS_SEMAPHORES, names))
		return 3;
	if (rm_alloc(s.fd, s.client, 3, &mapper, CLASS_MAPPER, names) != -EPERM)
		return 4;
	if (rm_free(s.fd, s.client, o) || truth().used)
		return 5;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

/* Memory of others, and what nobody knows, by the older call as well. */
static int body_older(void)
{
	static const uint32_t classes[] = { CLASS_FLA, 0x76, 0x9999 };
	struct session s;
	int device = node(0);

	if (session_open(&s) || device < 0 || ioctl(device, REQUEST(201, 4), &s.fd))
		return 2;
	for (int i = 0; i < 3; i++) {
		uint32_t d[14] = { s.client, 2, 0x700u + (uint32_t)i, classes[i] };

		if (ioctl(device, REQUEST(0x27, sizeof d), d) != -1 || errno != EPERM)
			return 3 + i;
	}
	return 0;
}

/* A class of object that nobody has read of. */
static int body_unknown(void)
{
	static const uint32_t refused[] = { 0x9999, 0xc763, 0xb1, 0x1c5c0 }, known[] = { 0xc5c0, 0x90f1, 0xc6b5 };
	struct session s;
	uint32_t o;

	if (session_open(&s))
		return 2;
	for (int i = 0; i < 4; i++)
		if (o = 0, rm_alloc(s.fd, s.client, 2, &o, refused[i], NULL) != -EPERM)
			return 3;
	for (int i = 0; i < 3; i++)
		if (o = 0, rm_alloc(s.fd, s.client, 2, &o, known[i], NULL))
			return 4;
	return 0;
}

static void one(int (*body)(void), const char *what)
{
	int r;

	truth_reset(false);
	r = as("c", body);
	ok(!r && truth().peak <= MIB(512), "%s (%d)", what, r);
	for (int i = 0; i < 200 && truth().used; i++)
		usleep(10000);
}

void case_published(void)
{
	one(body_small_pages, "pages of 4 KiB are charged as the 64 that the driver takes");
	one(body_fixed, "memory at an address of its own choice is refused");
	one(body_tiled, "a surface is charged by height and pitch, not by the size that the program writes");
	one(body_semaphores, "a semaphore surface does not hold memory whose charge is given back");
	one(body_older, "memory of others by the older call is refused");
	one(body_unknown, "classes of objects that are not known are refused, and engines pass");
	clean("published");
}

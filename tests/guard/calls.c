/* calls.c: the driver's calls, one by one: other ways to take memory, bad parameters, other tenants' objects. */
#include "ground.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static int body_transfer(void)
{
	struct memory_parameters m = { .size = MIB(1) };
	struct session s;
	struct alloc a = { .parent = 2, .class = 0x40, .parameters = (uintptr_t)&m };
	struct {
		uint32_t number, size;
		uint64_t at;
	} x = { 0x2b, sizeof a, (uintptr_t)&a };

	if (session_open(&s))
		return 2;
	a.client = s.client;
	return ioctl(s.fd, REQUEST(211, sizeof x), &x) == -1 && errno == EPERM && !truth().used ? 0 : 3;
}

static int body_letter(void)
{
	struct session s;
	uint64_t got = 0;

	if (session_open(&s))
		return 2;
	for (;;) {
		struct memory_parameters m = { .size = MIB(64) };
		struct alloc a = { .client = s.client, .parent = 2, .class = 0x40, .parameters = (uintptr_t)&m };

		if (ioctl(s.fd, _IOC(_IOC_WRITE, 'x', 0x2b, sizeof a), &a) || a.status)
			break;
		got += MIB(64);
	}
	return expect(got, 512);
}

/* One allocation of the heap. 0: done. */
static int heap_take(const struct session *s, uint32_t function, int size_at, uint32_t *ret_object)
{
	uint32_t h[46] = { s->client, 2, function };
	uint64_t size = MIB(64);
	int r;

	/* By height and pitch the size is an answer. */
	if (function == 6) {
		h[14] = 1u << 10;
		h[15] = 64u << 10;
	} else {
		memcpy((char *)h + size_at, &size, 8);
	}
	r = ioctl(s->fd, REQUEST(0x4a, sizeof h), h) ? -errno : (int)h[5];
	*ret_object = h[11];
	return r;
}

static uint64_t heap_grab(const struct session *s, uint32_t function, int size_at)
{
	uint64_t got = 0;
	uint32_t o;

	while (!heap_take(s, function, size_at, &o))
		got += MIB(64);
	return got;
}

static int body_heap_free(void)
{
	struct session s;
	uint32_t o;

	if (session_open(&s))
		return 2;
	for (int i = 0; i < 20; i++) {
		uint32_t f[46] = { s.client, 2, 3 };

		if (heap_take(&s, 2, 88, &o))
			return 3;
		f[11] = o;
		if (ioctl(s.fd, REQUEST(0x4a, sizeof f), f) || f[5] || truth().used)
			return 4;
	}
	return 0;
}

static int body_heap_2(void)
{
	struct session s;
	return session_open(&s) ? 2 : expect(heap_grab(&s, 2, 88), 512);
}
static int body_heap_6(void)
{
	struct session s;
	return session_open(&s) ? 2 : expect(heap_grab(&s, 6, 88), 512);
}
static int body_heap_14(void)
{
	struct session s;
	return session_open(&s) ? 2 : expect(heap_grab(&s, 14, 80), 512);
}

static int body_heap_bad(void)
{
	struct session s;

	if (session_open(&s))
		return 2;
	return heap_grab(&s, 1, 88) || heap_grab(&s, 19, 88) || heap_grab(&s, 99, 88) || truth().used ? 3 : 0;
}

static int body_old_memory(void)
{
	struct session s;
	uint64_t got = 0;
	int device = node(0);

	if (session_open(&s) || device < 0 || ioctl(device, REQUEST(201, 4), &s.fd))
		return 2;
	for (;; got += MIB(64)) {
		uint32_t d[14] = { s.client, 2, 0, 0x40 };
		uint64_t limit = MIB(64) - 1;

		memcpy(d + 8, &limit, 8);
		if (ioctl(device, REQUEST(0x27, sizeof d), d) || d[10])
			break;
	}
	return expect(got, 512);
}

static int body_escapes(void)
{
	struct session s;
	char bytes[256] = { 0 };
	int bad = 0;

	if (session_open(&s))
		return 2;
	for (unsigned int n = 0; n < 256; n++)
		if (n == 0x28 || n == 0x32 || n == 0x33 || n == 0x38 || n == 0x39 || n == 0x4d || n == 217 || n == 255)
			bad += ioctl(s.fd, REQUEST(n, 64), bytes) != -1 || errno != EPERM;
	for (unsigned int size = 0; size < 300; size++)
		/* Without a size a call carries nothing: it is not brought to a supervisor, and takes nothing. */
		if (size != 32 && size != 48 && (size || !front_notify))
			bad += ioctl(s.fd, REQUEST(0x2b, size), bytes) != -1;
	return bad || truth().used;
}

static long int80(long number, long a, long b, long c)
{
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return r;
}

static int body_32bit(void)
{
	struct alloc *a = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct memory_parameters *m = (void *)((char *)a + 4096);
	struct session s;
	uint64_t got = 0;

	if (session_open(&s) || a == MAP_FAILED)
		return 2;
	for (;; got += MIB(64)) {
		*m = (struct memory_parameters){ .size = MIB(64) };
		*a = (struct alloc){ .client = s.client, .parent = 2, .class = 0x40, .parameters = (uintptr_t)m };
		if (int80(54, s.fd, (long)(int)REQUEST(0x2b, sizeof *a), (long)a) || a->status)
			break;
	}
	/* Refused where the kernel tells such calls apart. */
	return got && expect(got, 512);
}

static int body_reply_lost(void)
{
	struct memory_parameters *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct session s;
	uint32_t o;

	if (session_open(&s) || m == MAP_FAILED)
		return 2;
	m->size = MIB(128);
	mprotect(m, 4096, PROT_READ);
	for (int i = 0; i < 32; i++) {
		o = 0;
		rm_alloc(s.fd, s.client, 2, &o, 0x40,
			 m); /* its reply cannot be written: the memory is taken all the same */
	}
	return truth().used == MIB(512) ? 0 : 3;
}

static int body_objects(void)
{
	struct session s, t;
	uint32_t o = 0, d = 0;

	if (session_open(&s) || session_open(&t) || rm_memory(s.fd, s.client, &o, MIB(512)))
		return 2;
	/* A second name keeps the memory, and its charge. */
	if (rm_dup(t.fd, t.client, &d, s.client, o) || rm_free(s.fd, s.client, o))
		return 3;
	if (truth().used != MIB(512) || grab(&s, MIB(64), MIB(64)))
		return 4;
	close(s.fd);
	if (truth().used != MIB(512) || grab(&t, MIB(64), MIB(64)))
		return 5;
	if (rm_free(t.fd, t.client, d) || truth().used)
		return 6;
	return expect(grab(&t, MIB(64), MIB(65536)), 512);
}

static uint32_t foreign_client, foreign_object;

static int body_foreign(void)
{
	struct session s;
	uint32_t d = 0;

	if (session_open(&s))
		return 2;
	return rm_dup(s.fd, s.client, &d, foreign_client, foreign_object) == -EPERM ? 0 : 3;
}

static int body_export(void)
{
	struct session s;
	uint32_t p[6] = { 1, 2, 0, 0, 0, 0 };

	if (session_open(&s))
		return 2;
	for (int i = 0; i < 4; i++) {
		static const uint32_t commands[] = { 0x3d05, 0x3d06, 0x3d0b, 0x3d0c };

		if (rm_control(s.fd, s.client, s.client, commands[i], p, sizeof p) != -EPERM)
			return 3;
	}
	/* The same as a dma-buf, by the subdevice. */
	return rm_control(s.fd, s.client, 3, 0x20803a01, p, sizeof p) == -EPERM ? 0 : 4;
}

/* What a device's control sets of a channel: a slice as long as the tenant may have, and nothing else. 0: so it is. */
static int properties(const struct session *s)
{
	struct {
		uint32_t channel, property;
		uint64_t value;
	} p = { 0x77, 0, 2000 };

	if (rm_control(s->fd, s->client, 2, 0x80170f, &p, sizeof p))
		return 1;
	p.value = 2001;
	if (rm_control(s->fd, s->client, 2, 0x80170f, &p, sizeof p) != -EPERM)
		return 2;
	p.property = 2; /* no slices any more */
	p.value = 0;
	return rm_control(s->fd, s->client, 2, 0x80170f, &p, sizeof p) == -EPERM ? 0 : 3;
}

static int body_scheduling(void)
{
	static const uint32_t commands[] = { 0xa06c0105, 0xa06c0107, 0xa06c0110, 0x2080110b,
					     0x20801115, 0x801711,   0x801712 };
	uint64_t slice = 1000, is = 0;
	uint32_t groups[4] = { 0 };
	struct session s;

	if (session_open(&s))
		return 2;
	for (int i = 0; i < 3; i++)
		if (rm_alloc(s.fd, s.client, 2, &groups[i], 0xa06c, NULL))
			return 3;
	if (rm_alloc(s.fd, s.client, 2, &groups[3], 0xa06c, NULL) != -EPERM)
		return 4;
	if (rm_control(s.fd, s.client, groups[0], 0xa06c0103, &slice, 8))
		return 5;
	slice = 1000000;
	if (rm_control(s.fd, s.client, groups[0], 0xa06c0103, &slice, 8) != -EPERM)
		return 6;
	if (rm_control(s.fd, s.client, groups[0], 0xa06c0104, &is, 8) || is != 1000)
		return 7;
	for (int i = 0; i < 7; i++)
		if (rm_control(s.fd, s.client, groups[0], commands[i], &slice, 8) != -EPERM)
			return 8;
	if (properties(&s))
		return 10;
	if (rm_free(s.fd, s.client, groups[1]) || rm_alloc(s.fd, s.client, 2, &groups[3], 0xa06c, NULL))
		return 9;
	return 0;
}

static int body_info(void)
{
	struct fb_info f = { .count = 4, .list = { { 9, 0 }, { 0x16, 0 }, { 0x20, 0 }, { 0x0b, 0 } } };
	struct session s;

	if (session_open(&s) || grab(&s, MIB(64), MIB(192)) != MIB(192))
		return 2;
	if (rm_control(s.fd, s.client, 3, 0x20801303, &f, sizeof f))
		return 3;
	return f.list[0].data == 512 << 10 && f.list[1].data == 320 << 10 && f.list[2].data == 512 << 10 &&
			       f.list[3].data == 384
		       ? 0
		       : 4;
}

void case_calls(void)
{
	struct session s;

	ok(!as("c", body_transfer), "the call within a call is refused");
	ok(!as("c", body_letter), "another letter of the call is charged the same");
	ok(!as("c", body_heap_2), "the heap by size");
	ok(!as("c", body_heap_free), "... and its free gives back");
	ok(!as("c", body_heap_6), "the heap by pitch");
	ok(!as("c", body_heap_14), "the heap by range");
	ok(!as("c", body_heap_bad), "other functions of the heap are refused");
	ok(!as("c", body_old_memory), "the old call for memory, on a device");
	ok(!as("c", body_escapes), "escapes and unknown sizes are refused");
	ok(!as("c", body_32bit), "calls of 32-bit code are charged the same, or refused");
	ok(!as("c", body_reply_lost), "memory whose reply cannot be written stays charged");
	ok(!as("c", body_objects), "a second name keeps the charge until the last one is gone");
	session_open(&s);
	foreign_client = s.client;
	foreign_object = 0;
	rm_memory(s.fd, s.client, &foreign_object, MIB(64));
	ok(!as("c", body_foreign), "memory of a client outside is not taken in");
	close(s.fd);
	ok(!as("c", body_export), "memory does not leave or enter as a descriptor");
	ok(!as("c", body_scheduling), "slices, groups and priorities stay within the tenant's");
	ok(!as("c", body_info), "memory information says the quota");
	clean("calls");
}

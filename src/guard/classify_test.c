/* classify_test.c: tables of calls, and what classify.c makes of them. */
#include "base/tap.h"
#include "guard/classify.h"
#include "rm/interface.h"

#include <string.h>

#define MIB(n) ((uint64_t)(n) << 20)

static const struct guard_terms usual = { .branch = 570, .slice_most_us = 2000 };

static struct guard_plan judge(uint32_t number, const void *bytes, uint32_t size, const struct guard_terms *t)
{
	struct guard_call c = { .number = number, .size = size };
	struct guard_plan p;

	memcpy(c.bytes, bytes, size < sizeof c.bytes ? size : sizeof c.bytes);
	guard_classify(&c, t, &p);
	return p;
}

static struct guard_plan judge_memory(uint64_t size, uint32_t attr, uint32_t attr2, uint32_t flags)
{
	struct rm_alloc a = { .client = 1, .parent = 2, .object = 3, .class = RM_CLASS_MEMORY, .parameters = 0x1000 };
	struct rm_memory m = { .size = size, .attr = attr, .attr2 = attr2, .flags = flags };
	struct guard_plan p = judge(RM_ESC_ALLOC, &a, 48, &usual);

	if (p.nested == GUARD_NESTED_MEMORY && p.pointer == 0x1000 && p.nested_bytes == 120)
		guard_classify_nested(&p, &usual, (const uint8_t *)&m);
	return p;
}

static void numbers(void)
{
	static const uint32_t plain[] = { 0x35, 0x41, 0x4e, 0x4f, 0x52, 0x54, 0x57, 0x58, 0x5e,
					  200,	201,  206,  207,  210,	212,  214,  215,  218 };
	uint8_t bytes[GUARD_ARGUMENT_BYTES] = { 0 };
	int passed = 0, expected = (int)(sizeof plain / sizeof *plain);

	for (int i = 0; i < expected; i++)
		passed += judge(plain[i], bytes, 16, &usual).reason == GUARD_FINE;
	tap_ok(passed == expected, "the %d plain calls pass", expected);
	passed = 0;
	for (uint32_t n = 0; n < 256; n++)
		passed += judge(n, bytes, 16, &usual).reason == GUARD_FINE;
	/* The plain ones, and FREE, whose size is 16. */
	tap_ok(passed == expected + 1, "no other number passes by itself (%d do)", passed);
	tap_ok(judge(211, bytes, 16, &usual).reason == GUARD_TRANSFER, "a call within a call is refused");
	tap_ok(judge(0x4d, bytes, 16, &usual).reason == GUARD_ESCAPE &&
		       judge(0x39, bytes, 16, &usual).reason == GUARD_ESCAPE,
	       "registry and I2C are refused");
	tap_ok(judge(217, bytes, 16, &usual).reason == GUARD_EXPORT, "memory does not leave as a dma-buf");
}

static void sizes(void)
{
	static const struct {
		uint32_t branch, size, status_at;
	} rows[] = { { 515, 32, 24 }, { 525, 40, 32 }, { 530, 40, 36 },
		     { 535, 32, 28 }, { 535, 48, 40 }, { 595, 48, 40 } };
	static const uint32_t strange[][2] = { { 535, 40 }, { 525, 48 }, { 570, 31 }, { 570, 0 }, { 570, 184 } };
	struct rm_alloc a = { .class = RM_CLASS_DEVICE };
	int good = 0;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct guard_terms t = { .branch = rows[i].branch };
		struct guard_plan p = judge(RM_ESC_ALLOC, &a, rows[i].size, &t);

		good += p.reason == GUARD_FINE && p.effect == GUARD_PARENT && p.status_at == rows[i].status_at &&
			p.object_at == 8;
	}
	tap_ok(good == 6, "the layouts of an allocation by branch");
	good = 0;
	for (int i = 0; i < 5; i++) {
		uint8_t bytes[GUARD_ARGUMENT_BYTES] = { 0 };
		struct guard_terms t = { .branch = strange[i][0] };

		good += judge(RM_ESC_ALLOC, bytes, strange[i][1], &t).reason == GUARD_UNKNOWN_SIZE;
	}
	tap_ok(good == 5, "a layout that the branch has not is refused");
	for (uint32_t b = 400; b < 700; b += 37) {
		struct guard_terms t = { .branch = b };
		int known = b >= 515 && b <= 599;

		good += (judge(RM_ESC_ALLOC, &a, b < 535 ? 32 : 48, &t).reason == GUARD_UNKNOWN_BRANCH) == !known;
	}
	tap_ok(good == 5 + 9, "another branch is refused whatever is called");
}

static void memory(void)
{
	struct guard_plan p = judge_memory(MIB(64), 0, 0, 0);

	tap_ok(p.effect == GUARD_MEMORY && p.bytes == MIB(64) && p.client == 1 && p.object == 3, "64 MiB are charged");
	tap_ok(judge_memory(1, RM_PAGE_4K << 23, 0, 0).bytes == 65536,
	       "one byte in pages of 4 KiB, which the driver takes by 64");
	tap_ok(judge_memory(65537, RM_PAGE_4K << 23, 0, 0).bytes == 131072, "65537 bytes in pages of 4 KiB");
	tap_ok(judge_memory(MIB(1), 0, 0, RM_HEAP_FLAG_FIXED).reason == GUARD_ADDRESS,
	       "memory at an address of the program's choice is refused");
	tap_ok(judge_memory(1, RM_PAGE_BIG << 23, 0, 0).bytes == 65536, "one byte in big pages");
	tap_ok(judge_memory(1, RM_PAGE_HUGE << 23, 0, 0).bytes == MIB(2), "one byte in huge pages");
	tap_ok(judge_memory(1, RM_PAGE_HUGE << 23, RM_HUGE_512M << 20, 0).bytes == MIB(512),
	       "one byte in pages of 512 MiB");
	tap_ok(judge_memory(1, RM_PAGE_HUGE << 23, RM_HUGE_256G << 20, 0).bytes == MIB(256 << 10),
	       "one byte in pages of 256 GiB");
	tap_ok(judge_memory(MIB(2) + 1, 0, 0, 0).bytes == MIB(4), "the manager's choice of a page");
	tap_ok(judge_memory(UINT64_MAX, 0, 0, 0).reason == GUARD_ABSURD, "a size that wraps is refused");
	tap_ok(judge_memory(UINT64_MAX - MIB(1), 0, 0, 0).reason == GUARD_ABSURD,
	       "a size that wraps when rounded is refused");
	tap_ok(judge_memory(MIB(64), 0, 0, RM_HEAP_FLAG_VIRTUAL).bytes == MIB(64),
	       "no flag frees this class of its charge");
	tap_ok(judge_memory(MIB(64), RM_LOCATION_PCI << 25, 0, 0).bytes == MIB(64),
	       "a location does not free this class of its charge");
}

/* The older call has its attributes, and its alignment, at other places for each function. */
static void heap_pages(void)
{
	static const struct {
		uint32_t function, size_at, attr_at, attr2_at, alignment_at;
	} rows[] = { { 2, 88, 56, 144, 96 }, { 6, 88, 64, 144, 96 }, { 14, 80, 56, 136, 88 } };
	int good = 0, aligned = 0, absurd = 0;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint8_t bytes[184] = { 0 };
		struct rm_heap *h = (void *)bytes;
		struct guard_plan p;

		h->function = rows[i].function;
		if (rows[i].function == RM_HEAP_ALLOC_TILED)
			*(uint64_t *)(bytes + RM_HEAP_TILED_HEIGHT_AT) = 1 | 1ull << 32;
		else
			*(uint64_t *)(bytes + rows[i].size_at) = 1;
		*(uint32_t *)(bytes + rows[i].attr_at) = RM_PAGE_HUGE << 23;
		*(uint32_t *)(bytes + rows[i].attr2_at) = RM_HUGE_512M << 20;
		p = judge(RM_ESC_HEAP, bytes, sizeof bytes, &usual);
		good += p.effect == GUARD_MEMORY && p.bytes == MIB(512) && p.taken;
		*(uint32_t *)(bytes + rows[i].attr2_at) = 0;
		*(uint64_t *)(bytes + rows[i].alignment_at) = MIB(64) + 1;
		good += judge(RM_ESC_HEAP, bytes, sizeof bytes, &usual).bytes == MIB(2);
		h->flags = 0x100;
		aligned += judge(RM_ESC_HEAP, bytes, sizeof bytes, &usual).bytes == MIB(66);
		*(uint64_t *)(bytes + rows[i].alignment_at) = UINT64_MAX;
		absurd += judge(RM_ESC_HEAP, bytes, sizeof bytes, &usual).reason == GUARD_ABSURD;
	}
	tap_ok(good == 6, "the heap's pages by function, and what was taken is looked at again");
	tap_ok(aligned == 3 && absurd == 3, "... and padded to its alignment, where the flags say so");
}

/* The size of a surface by height and pitch is the manager's to say: what the program puts there counts for nothing. */
static void tiled(void)
{
	uint8_t bytes[184] = { 0 };
	struct guard_terms answered = usual;
	struct rm_heap *h = (void *)bytes;
	int32_t *pitch = (void *)(bytes + RM_HEAP_TILED_PITCH_AT);

	answered.flags = GUARD_ANSWERED;
	h->function = RM_HEAP_ALLOC_TILED;
	*(uint32_t *)(bytes + RM_HEAP_TILED_HEIGHT_AT) = UINT32_MAX;
	*pitch = 1 << 20;
	*(uint64_t *)(bytes + RM_HEAP_SIZE_AT) = MIB(2);
	tap_ok(judge(RM_ESC_HEAP, bytes, 184, &usual).reason == GUARD_ABSURD, "a surface of absurd height is refused");
	*(uint32_t *)(bytes + RM_HEAP_TILED_HEIGHT_AT) = 64;
	tap_ok(judge(RM_ESC_HEAP, bytes, 184, &usual).bytes == MIB(64), "a surface is charged by height and pitch");
	tap_ok(judge(RM_ESC_HEAP, bytes, 184, &answered).bytes == MIB(2), "... and then by what the manager took");
	*pitch = -1;
	tap_ok(judge(RM_ESC_HEAP, bytes, 184, &usual).reason == GUARD_ABSURD, "a pitch below zero is refused");
	*pitch = 1;
	h->flags = RM_HEAP_FLAG_FIXED;
	tap_ok(judge(RM_ESC_HEAP, bytes, 184, &usual).reason == GUARD_ADDRESS,
	       "the heap takes no address of the program's choice");
	h->flags |= RM_HEAP_FLAG_VIRTUAL;
	tap_ok(judge(RM_ESC_HEAP, bytes, 184, &usual).reason == GUARD_FINE, "... but for addresses alone");
}

static void messages(void)
{
	struct rm_alloc a = { .class = RM_CLASS_MEMORY, .rest = { [3] = 1 } },
			b = { .class = RM_CLASS_MEMORY, .rest = { [2] = 1 } };
	struct rm_control c = { .command = RM_GROUP_SET_SLICE, .flags = 4, .parameters_size = 8 };
	const struct guard_terms old = { .branch = 525 }, with = { .branch = 530 };

	tap_ok(judge(RM_ESC_ALLOC, &a, 48, &usual).reason == GUARD_SERIALIZED &&
		       judge(RM_ESC_ALLOC, &b, 40, &with).reason == GUARD_SERIALIZED &&
		       judge(RM_ESC_CONTROL, &c, sizeof c, &usual).reason == GUARD_SERIALIZED,
	       "parameters as a message are refused, where a charge or a slice is in them");
	tap_ok(judge(RM_ESC_ALLOC, &b, 40, &old).reason == GUARD_FINE &&
		       judge(RM_ESC_ALLOC, &b, 32, &usual).reason == GUARD_FINE,
	       "... and layouts without flags have none");
}

/* What an earlier call has left behind the bytes of this one. */
static void leftovers(void)
{
	int differ = 0;

	for (uint32_t number = 0; number < 256; number++)
		for (uint32_t size = 0; size <= GUARD_ARGUMENT_BYTES; size += 4)
			for (uint32_t class = 0; class < 3; class ++) {
				static const uint32_t classes[] = { RM_CLASS_MEMORY, RM_CLASS_DEVICE,
								    RM_GROUP_SET_SLICE };
				struct guard_call a = { .number = number, .size = size }, b = a;
				struct guard_plan p, q;

				memset(a.bytes + size, 0, sizeof a.bytes - size);
				memset(b.bytes + size, 0xff, sizeof b.bytes - size);
				if (size >= 16) {
					memcpy(a.bytes + 12, &classes[class], 4);
					memcpy(b.bytes + 12, &classes[class], 4);
					memcpy(a.bytes + 8, &(uint32_t){ 2 }, 4);
					memcpy(b.bytes + 8, &(uint32_t){ 2 }, 4);
				}
				guard_classify(&a, &usual, &p);
				guard_classify(&b, &usual, &q);
				differ += memcmp(&p, &q, sizeof p) != 0;
			}
	tap_ok(!differ, "nothing behind a call's bytes counts (%d)", differ);
}

/* The manager makes a group for a channel that is below none. */
static void channels(void)
{
	static const uint32_t classes[] = { 0xa06f, 0xc36f, 0xc56f, 0xc86f, 0xca6f };
	int good = 0;

	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		struct rm_alloc a = { .class = classes[i] };
		struct guard_plan p = judge(RM_ESC_ALLOC, &a, 48, &usual), alone = p;

		good += p.effect == GUARD_CHANNEL;
		guard_channel(&p, 1);
		guard_channel(&alone, 0);
		good += p.effect == GUARD_NOTHING && alone.effect == GUARD_GROUP && alone.class == RM_CLASS_GROUP;
	}
	tap_ok(good == 10, "a channel in no group is a group");
}

static void branch_later(void)
{
	const struct guard_terms t = { .branch = 615 }, between = { .branch = 610 };
	struct rm_alloc a = { .class = RM_CLASS_DEVICE }, multicast = { .class = RM_CLASS_MULTICAST };

	tap_ok(judge(RM_ESC_ALLOC, &a, 48, &t).status_at == 40 && judge(RM_ESC_ALLOC, &a, 32, &t).status_at == 28 &&
		       judge(RM_ESC_ALLOC, &a, 48, &between).reason == GUARD_UNKNOWN_BRANCH,
	       "615 is known; what nobody has read is not");
	tap_ok(judge(RM_ESC_ALLOC, &multicast, 48, &t).reason == GUARD_EXPORT,
	       "no object holds memory of another's name");
}

static void old_memory(void)
{
	struct rm_alloc_memory a = { .client = 1, .object = 3, .class = RM_CLASS_MEMORY, .limit = MIB(64) - 1 };
	struct guard_plan p = judge(RM_ESC_ALLOC_MEMORY, &a, sizeof a, &usual);

	tap_ok(p.effect == GUARD_MEMORY && p.bytes == MIB(64) && p.status_at == 40, "ALLOC_MEMORY is charged");
	a.class = RM_CLASS_SYSTEM_MEMORY;
	tap_ok(judge(RM_ESC_ALLOC_MEMORY, &a, sizeof a, &usual).effect == GUARD_NOTHING,
	       "... of the host's memory not");
	a.flags = RM_MEMORY_VIDEO << 8;
	tap_ok(judge(RM_ESC_ALLOC_MEMORY, &a, sizeof a, &usual).bytes == MIB(64),
	       "... unless its flags say the device's");
	a.limit = UINT64_MAX;
	tap_ok(judge(RM_ESC_ALLOC_MEMORY, &a, sizeof a, &usual).reason == GUARD_ABSURD,
	       "a limit that wraps is refused");
	a.class = RM_CLASS_REGISTERS;
	tap_ok(judge(RM_ESC_ALLOC_MEMORY, &a, sizeof a, &usual).reason == GUARD_CLASS, "registers are refused");
	a = (struct rm_alloc_memory){ .class = RM_CLASS_EXTENDED, .limit = MIB(64) - 1 };
	tap_ok(judge(RM_ESC_ALLOC_MEMORY, &a, sizeof a, &usual).bytes == MIB(64), "extended memory is charged");
}

/* By either call: what names memory by its address or by another object's pages, and what has the usual parameters. */
static void classes(void)
{
	static const uint32_t refused[] = { RM_CLASS_REGISTERS, RM_CLASS_SYSTEM_LIST, RM_CLASS_FB_LIST,
					    RM_CLASS_OBJECT_LIST, RM_CLASS_PHYSICAL };
	struct rm_alloc extended = { .class = RM_CLASS_EXTENDED, .parameters = 0x1000 };
	struct guard_plan p = judge(RM_ESC_ALLOC, &extended, 48, &usual);
	int good = 0;

	for (int i = 0; i < 5; i++) {
		struct rm_alloc a = { .class = refused[i] };
		struct rm_alloc_memory m = { .class = refused[i], .limit = 4095 };

		good += judge(RM_ESC_ALLOC, &a, 48, &usual).reason == GUARD_CLASS;
		good += judge(RM_ESC_ALLOC_MEMORY, &m, sizeof m, &usual).reason == GUARD_CLASS;
	}
	tap_ok(good == 10, "classes that name memory by its address are refused by both calls (%d)", good);
	tap_ok(p.effect == GUARD_MEMORY && p.nested == GUARD_NESTED_MEMORY && p.nested_bytes == GUARD_NESTED_BYTES,
	       "extended memory is judged by its parameters, as any");
}

/* Of all classes: which pass, and which do so by the older call. */
static void classes_known(void)
{
	static const uint32_t pass[] = { 0x3e,	 0x70,	 0x71,	 0x79,	 0x503b, 0x50a0, 0x9067,
					 0x90f1, 0xc637, 0xcb33, 0xcbca, 0xc5c0, 0xcdc0, 0xc6b5,
					 0xca6f, 0xc461, 0xc361, 0xc797, 0xa140, 0xcfb7, 0xcba2 };
	static const uint32_t refuse[] = { 0xb1,   0xda,   0xfe,   0xfd,  0xf3,	   0x76,       0xc763,	       0xc365,
					   0xa081, 0xa084, 0x402c, 0x1c0, 0x1c0c0, 0xffffffff, 0x6f0000 | 0xc0 };
	int good = 0, passed = 0, old = 0;

	for (size_t i = 0; i < sizeof pass / sizeof *pass; i++)
		good += judge(RM_ESC_ALLOC, &(struct rm_alloc){ .class = pass[i] }, 48, &usual).reason == GUARD_FINE;
	for (size_t i = 0; i < sizeof refuse / sizeof *refuse; i++)
		good += judge(RM_ESC_ALLOC, &(struct rm_alloc){ .class = refuse[i] }, 48, &usual).reason != GUARD_FINE;
	tap_ok(good == (int)(sizeof pass / sizeof *pass + sizeof refuse / sizeof *refuse),
	       "classes that are known pass, others and those that hold memory do not (%d)", good);
	for (uint32_t class = 0; class < 0x20000; class ++) {
		struct rm_alloc_memory m = { .class = class, .limit = 4095 };

		passed += judge(RM_ESC_ALLOC, &(struct rm_alloc){ .class = class }, 48, &usual).reason == GUARD_FINE;
		old += judge(RM_ESC_ALLOC_MEMORY, &m, sizeof m, &usual).reason == GUARD_FINE;
	}
	tap_ok(old == 5, "five classes pass by the older call (%d)", old);
	tap_ok(passed > 1000 && passed < 1500, "of engines each architecture's, of others those of the list (%d)",
	       passed);
}

static void heap(void)
{
	static const struct {
		uint32_t function, size_at, attr_at;
	} rows[] = { { 2, 88, 56 }, { 6, 88, 64 }, { 14, 80, 56 } };
	uint8_t bytes[184];
	struct rm_heap *h = (struct rm_heap *)bytes;
	int charged = 0, pci = 0, refused = 0;

	for (int i = 0; i < 3; i++) {
		memset(bytes, 0, sizeof bytes);
		h->function = rows[i].function;
		if (rows[i].function == RM_HEAP_ALLOC_TILED)
			*(uint64_t *)(bytes + RM_HEAP_TILED_HEIGHT_AT) = 32u << 10 | 1024ull << 32;
		else
			*(uint64_t *)(bytes + rows[i].size_at) = MIB(32);
		charged += judge(RM_ESC_HEAP, bytes, 184, &usual).bytes == MIB(32);
		*(uint32_t *)(bytes + rows[i].attr_at) = RM_LOCATION_PCI << 25;
		pci += judge(RM_ESC_HEAP, bytes, 184, &usual).effect == GUARD_NOTHING;
	}
	tap_ok(charged == 3, "the heap's three functions are charged by size");
	tap_ok(pci == 3, "... of the host's memory not");
	memset(bytes, 0, sizeof bytes);
	for (uint32_t f = 0; f < 64; f++) {
		h->function = f;
		refused += judge(RM_ESC_HEAP, bytes, 184, &usual).reason == GUARD_HEAP;
	}
	tap_ok(refused == 64 - 7, "every other function is refused (%d)", refused);
	h->function = RM_HEAP_FREE;
	h->object = 9;
	tap_ok(judge(RM_ESC_HEAP, bytes, 184, &usual).effect == GUARD_FREE &&
		       judge(RM_ESC_HEAP, bytes, 184, &usual).object == 9,
	       "the heap's free gives back");
	tap_ok(judge(RM_ESC_HEAP, bytes, 176, &usual).reason == GUARD_UNKNOWN_SIZE, "a shorter form is refused");
}

static void controls(void)
{
	static const uint32_t bad[] = { RM_GROUP_PREEMPT,	   RM_GROUP_SET_INTERLEAVE, RM_GROUP_REALTIME,
					RM_CHANNEL_SET_INTERLEAVE, RM_SUBDEVICE_DISABLE,    RM_CHANNEL_RESTART_RUNLIST,
					RM_SUBDEVICE_SCHED_POLICY, RM_DEVICE_STOP_RUNLIST,  RM_DEVICE_START_RUNLIST };
	static const uint32_t exports[] = { RM_CLIENT_EXPORT, RM_CLIENT_IMPORT, RM_CLIENT_EXPORT_MANY,
					    RM_CLIENT_IMPORT_MANY, RM_SUBDEVICE_DMABUF };
	struct guard_terms may = usual;
	int refused = 0, exported = 0;

	may.flags = GUARD_MAY_EXPORT;
	for (int i = 0; i < 9; i++) {
		struct rm_control c = { .command = bad[i] };

		refused += judge(RM_ESC_CONTROL, &c, sizeof c, &usual).reason == GUARD_SCHEDULING;
	}
	tap_ok(refused == 9, "controls of scheduling are refused");
	for (int i = 0; i < 5; i++) {
		struct rm_control c = { .command = exports[i] };

		exported += judge(RM_ESC_CONTROL, &c, sizeof c, &usual).reason == GUARD_EXPORT;
		exported += judge(RM_ESC_CONTROL, &c, sizeof c, &may).reason == GUARD_FINE;
	}
	for (int i = 0; i < 5; i++) {
		static const uint32_t classes[] = { RM_CLASS_FLA, RM_CLASS_FABRIC, RM_CLASS_FABRIC_IMPORT,
						    RM_CLASS_FABRIC_REF, RM_CLASS_EXPORT };
		struct rm_alloc a = { .class = classes[i] };

		exported += judge(RM_ESC_ALLOC, &a, 48, &usual).reason == GUARD_EXPORT;
		exported += judge(RM_ESC_ALLOC, &a, 48, &may).reason == GUARD_FINE;
	}
	tap_ok(exported == 20, "memory leaves and enters by descriptors only where that is allowed");
	for (uint64_t us = 1999; us < 2003; us++) {
		struct rm_control c = { .command = RM_GROUP_SET_SLICE, .parameters = 8, .parameters_size = 8 };
		struct guard_plan p = judge(RM_ESC_CONTROL, &c, sizeof c, &usual);
		uint64_t nested[GUARD_NESTED_BYTES / 8] = { us };

		guard_classify_nested(&p, &usual, (const uint8_t *)nested);
		tap_ok(p.reason == (us > 2000 ? GUARD_SLICE : GUARD_FINE), "a slice of %u us", (unsigned int)us);
	}
}

/* Of a channel that runs: a slice as long as the tenant may have, and nothing else; the manager asks for no rights. */
static void properties(void)
{
	struct rm_control c = { .command = RM_DEVICE_CHANNEL_PROPERTY, .parameters = 8, .parameters_size = 16 };
	int good = 0;

	for (uint32_t property = 0; property < 10; property++)
		for (uint64_t us = 2000; us < 2002; us++) {
			struct rm_property q[GUARD_NESTED_BYTES / 16 + 1] = { { .property = property, .value = us } };
			struct guard_plan p = judge(RM_ESC_CONTROL, &c, sizeof c, &usual);
			uint32_t want = property > 1 ? GUARD_SCHEDULING : us > 2000 ? GUARD_SLICE : GUARD_FINE;

			guard_classify_nested(&p, &usual, (const uint8_t *)q);
			good += p.nested_bytes == 16 && p.reason == want;
		}
	tap_ok(good == 20, "properties of a channel: slices that are short enough, and nothing else (%d)", good);
	c.parameters_size = 24;
	good = judge(RM_ESC_CONTROL, &c, sizeof c, &usual).reason == GUARD_UNKNOWN_SIZE;
	c = (struct rm_control){ .command = RM_DEVICE_CHANNEL_PROPERTY, .flags = 4, .parameters_size = 16 };
	tap_ok(good && judge(RM_ESC_CONTROL, &c, sizeof c, &usual).reason == GUARD_SERIALIZED, "... in no other form");
}

static void replies(void)
{
	uint32_t kib = 16u << 20;

	tap_ok(guard_rewrite(RM_FB_HEAP_SIZE, &kib, MIB(1024), MIB(256)) && kib == 1u << 20,
	       "the total becomes the quota");
	kib = 16u << 20;
	tap_ok(guard_rewrite(RM_FB_HEAP_FREE, &kib, MIB(1024), MIB(256)) && kib == 768u << 10,
	       "free becomes what is left of it");
	kib = 100;
	tap_ok(!guard_rewrite(RM_FB_HEAP_FREE, &kib, MIB(1024), 0) && kib == 100, "never more than the device has");
	tap_ok(guard_rewrite(RM_FB_HEAP_FREE, &kib, MIB(1), MIB(2)) && kib == 0, "over the quota nothing is free");
	kib = 384;
	tap_ok(!guard_rewrite(0x0b, &kib, 1, 1) && kib == 384, "what is no size of memory is left");
}

int main(void)
{
	tap_begin();
	numbers();
	sizes();
	memory();
	heap_pages();
	tiled();
	messages();
	leftovers();
	channels();
	branch_later();
	old_memory();
	classes();
	classes_known();
	heap();
	controls();
	properties();
	replies();
	for (uint32_t r = 0; r < GUARD_REASONS; r++)
		if (!guard_reason_text(r))
			tap_ok(0, "reason %u has words", r);
	return tap_end();
}

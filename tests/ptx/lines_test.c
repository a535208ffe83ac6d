/*
 * lines_test.c: random kernels of indices and addresses, compiled beside interpreted: what the compiler takes for lines
 * (base + lane * stride), for the same in all lanes or in each half of a warp, and where that ends: products and sums
 * that wrap before they are widened, guards, lanes that part and meet, blocks of every shape. Memory, counters and
 * faults must be the same.
 *
 * Registers hold anything; addresses are sums of the thread's place, of what is the same for a block and of numbers,
 * written in several ways, that stay inside a buffer. --seed N --count N repeats kernels, --few N takes so many, but all
 * with METE_TEST_LONG; one that differs is written to lines_<seed>.ptx.
 */
#include "harness.h"
#include "softdev/ptx/engine.h"

#include <stdarg.h>
#include <time.h>

enum { WORDS = 10, WIDE = 6, PREDICATES = 4, FLOATS = 4, IN_BYTES = 1 << 16, OUT_BYTES = 1 << 20, ROOM = 1 << 16 };
enum { INPUTS = 3 }; /* a kernel is compiled once, which takes most of the time, and runs with that many */

struct writer {
	char text[ROOM];
	size_t bytes;
	struct dims block;
	uint32_t grid, stores, names, depth;
	bool together; /* all threads of the block are here */
};

static struct writer w;
static uint8_t memory[3][IN_BYTES + OUT_BYTES];

static uint32_t below(uint32_t n)
{
	return (uint32_t)(random_bits() >> 33) % n;
}

static bool chance(uint32_t percent)
{
	return below(100) < percent;
}

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	w.bytes += (size_t)vsnprintf(w.text + w.bytes, ROOM - w.bytes, format, args);
	va_end(args);
	if (w.bytes >= ROOM - 1000) {
		printf("Bail out! the kernel is too large\n");
		exit(1);
	}
}

static const char *guard(void)
{
	static char text[16];

	text[0] = 0;
	if (chance(15))
		snprintf(text, sizeof(text), "@%s%%p%u ", chance(40) ? "!" : "", below(PREDICATES));
	return text;
}

static uint32_t number(void)
{
	static const uint32_t edges[] = { 0,   1,    2,	   3,	4,	    5,		7,	    8,
					  16,  31,   32,   33,	64,	    0xff,	0x1000,	    0x7fffffff,
					  ~0u, ~31u, ~63u, ~7u, 0x80000000, 0x7ffffff0, 0xfffffff0, 0xffff };

	return chance(80) ? edges[below(sizeof(edges) / sizeof(edges[0]))] : (uint32_t)random_bits();
}

/* A source of 32 bits: a register, seldom a number. */
static const char *word(void)
{
	static char names[8][16];
	static unsigned n;
	char *name = names[n++ % 8];

	if (chance(25))
		snprintf(name, 16, "%u", number());
	else
		snprintf(name, 16, "%%w%u", below(WORDS));
	return name;
}

static const char *wide(void)
{
	static char names[8][24];
	static unsigned n;
	char *name = names[n++ % 8];

	if (chance(20))
		snprintf(name, 24, "%u", number());
	else
		snprintf(name, 24, "%%d%u", below(WIDE));
	return name;
}

static void words(void)
{
	static const char *const two[] = { "add.u32", "add.s32",    "sub.s32",	 "mul.lo.u32", "mul.lo.s32",
					   "and.b32", "or.b32",	    "xor.b32",	 "min.s32",    "max.u32",
					   "min.u32", "mul.hi.u32", "mul.hi.s32" };

	switch (below(9)) {
	case 0:
		put("\t%smad.lo.u32 %%w%u, %s, %s, %s;\n", guard(), below(WORDS), word(), word(), word());
		break;
	case 1:
		put("\t%sshl.b32 %%w%u, %%w%u, %u;\n", guard(), below(WORDS), below(WORDS), below(34));
		break;
	case 2:
		put("\t%sshr.%s %%w%u, %%w%u, %u;\n", guard(), chance(50) ? "u32" : "s32", below(WORDS), below(WORDS),
		    below(34));
		break;
	case 3:
		put("\t%sselp.b32 %%w%u, %s, %s, %%p%u;\n", guard(), below(WORDS), word(), word(), below(PREDICATES));
		break;
	case 4:
		put("\t%s%s %%w%u, %%w%u;\n", guard(), (const char *[]){ "mov.b32", "neg.s32", "not.b32" }[below(3)],
		    below(WORDS), below(WORDS));
		break;
	case 5:
		put("\t%scvt.u32.u64 %%w%u, %%d%u;\n", guard(), below(WORDS), below(WIDE));
		break;
	default:
		put("\t%s%s %%w%u, %s, %s;\n", guard(), two[below(sizeof(two) / sizeof(two[0]))], below(WORDS), word(),
		    word());
	}
}

static void wides(void)
{
	static const char *const widen[] = { "cvt.u64.u32", "cvt.s64.s32" };
	static const char *const product[] = { "mul.wide.u32", "mul.wide.s32" };

	switch (below(7)) {
	case 0:
	case 1:
		put("\t%s%s %%d%u, %%w%u;\n", guard(), widen[below(2)], below(WIDE), below(WORDS));
		break;
	case 2:
		put("\t%s%s %%d%u, %s, %s;\n", guard(), product[below(2)], below(WIDE), word(), word());
		break;
	case 3:
		put("\t%smad.wide.%s %%d%u, %s, %s, %s;\n", guard(), chance(50) ? "u32" : "s32", below(WIDE), word(),
		    word(), wide());
		break;
	case 4: /* the decoder makes one operation of the two */
		put("\t%s %%x0, %%w%u; add.s64 %%d%u, %%x0, %s;\n", widen[below(2)], below(WORDS), below(WIDE), wide());
		break;
	case 5:
		put("\t%sshl.b64 %%d%u, %%d%u, %u;\n", guard(), below(WIDE), below(WIDE), below(66));
		break;
	default:
		put("\t%s%s %%d%u, %s, %s;\n", guard(),
		    (const char *[]){ "add.s64", "sub.s64", "mul.lo.u64", "xor.b64", "and.b64" }[below(5)], below(WIDE),
		    wide(), wide());
	}
}

static void predicates(void)
{
	static const char *const how[] = { "eq.u32", "ne.s32", "lt.s32", "lt.u32", "ge.u32", "gt.s32", "le.u32" };

	switch (below(5)) {
	case 0:
		put("\t%s%s.pred %%p%u, %%p%u, %%p%u;\n", guard(), (const char *[]){ "and", "or", "xor" }[below(3)],
		    below(PREDICATES), below(PREDICATES), below(PREDICATES));
		break;
	case 1:
		put("\t%ssetp.%s %%p%u, %%d%u, %s;\n", guard(),
		    (const char *[]){ "lt.u64", "lt.s64", "eq.s64", "ge.u64" }[below(4)], below(PREDICATES),
		    below(WIDE), wide());
		break;
	default:
		put("\t%ssetp.%s %%p%u, %%w%u, %s;\n", guard(), how[below(7)], below(PREDICATES), below(WORDS), word());
	}
}

static void floats(void)
{
	switch (below(8)) {
	case 0:
		put("\t%scvt.rn.f32.%s %%f%u, %%w%u;\n", guard(), chance(50) ? "u32" : "s32", below(FLOATS),
		    below(WORDS));
		break;
	case 1: /* any bits */
		put("\t%smov.b32 %%f%u, %%w%u;\n", guard(), below(FLOATS), below(WORDS));
		break;
	case 2: /* what is not a number may have become so twice: its bits are the device's then */
		put("\t%smov.b32 %%w%u, %%f%u;\n", guard(), below(WORDS), below(FLOATS));
		break;
	case 3:
		put("\t%sfma.rn.f32 %%f%u, %%f%u, %%f%u, %%f%u;\n", guard(), below(FLOATS), below(FLOATS),
		    below(FLOATS), below(FLOATS));
		break;
	case 4: /* two side by side */
		if (chance(50))
			put("\t%sfma.rn.f32x2 %%d%u, %%d%u, %%d%u, %%d%u;\n", guard(), below(WIDE), below(WIDE),
			    below(WIDE), below(WIDE));
		else
			put("\t%s%s.rn.f32x2 %%d%u, %%d%u, %%d%u;\n", guard(),
			    (const char *[]){ "add", "sub", "mul" }[below(3)], below(WIDE), below(WIDE), below(WIDE));
		break;
	case 5: /* subnormals count as zero: words of few bits are some */
		put("\t%sfma.rn.ftz.f32 %%f%u, %%f%u, %%f%u, %%f%u;\n", guard(), below(FLOATS), below(FLOATS),
		    below(FLOATS), below(FLOATS));
		break;
	case 6:
		put("\t%s%s.ftz.f32 %%f%u, %%f%u, %%f%u;\n", guard(),
		    (const char *[]){ "add", "sub", "mul", "min", "max" }[below(5)], below(FLOATS), below(FLOATS),
		    below(FLOATS));
		break;
	default:
		put("\t%s%s.f32 %%f%u, %%f%u, %%f%u;\n", guard(),
		    (const char *[]){ "add", "sub", "mul", "min", "max" }[below(5)], below(FLOATS), below(FLOATS),
		    below(FLOATS));
	}
}

/* What reads and writes more registers than the host has, without a guard, as products of matrices do. */
static void sums(void)
{
	for (uint32_t n = 16 + below(40); n; n--)
		switch (below(9)) {
		case 0:
		case 1:
		case 2:
			put("\tfma.rn.f32x2 %%d%u, %%d%u, %%d%u, %%d%u;\n", below(WIDE), below(WIDE), below(WIDE),
			    below(WIDE));
			break;
		case 3:
			put("\tmov.b64 %%d%u, {%%w%u, %%w%u};\n", below(WIDE), below(WORDS), below(WORDS));
			break;
		case 4:
			put("\tmov.b64 {%%w%u, %%w%u}, %%d%u;\n", below(5), 5 + below(5), below(WIDE));
			break;
		case 5:
			put("\tmov.b32 %%f%u, %%w%u; fma.rn.f32 %%f%u, %%f%u, %%f%u, %%f%u;\n", below(FLOATS),
			    below(WORDS), below(FLOATS), below(FLOATS), below(FLOATS), below(FLOATS));
			break;
		case 6:
			put("\tmov.b32 %%w%u, %%f%u;\n", below(WORDS), below(FLOATS));
			break;
		case 7:
			put("\tselp.b64 %%d%u, %%d%u, %%d%u, %%p%u;\n", below(WIDE), below(WIDE), below(WIDE),
			    below(PREDICATES));
			break;
		default:
			put("\tmad.lo.u32 %%w%u, %%w%u, %%w%u, %%w%u; cvt.rn.f32.u32 %%f%u, %%w%u;\n", below(WORDS),
			    below(WORDS), below(WORDS), below(WORDS), below(FLOATS), below(WORDS));
		}
}

/* %i1 = tid.x * a + tid.y * b + same * c + d below 1024, in one of several ways; `same` is the same for a block. */
static void index_of(void)
{
	const uint32_t a = below(5), b = below(4);

	put("\tmov.u32 %%i0, %%tid.x; mov.u32 %%i2, %%tid.y; and.b32 %%i3, %%same, %u;\n", below(64));
	switch (below(4)) {
	case 0:
		put("\tmad.lo.u32 %%i1, %%i0, %u, %%i3; mad.lo.u32 %%i1, %%i2, %u, %%i1;\n", a, b);
		break;
	case 1:
		put("\tshl.b32 %%i1, %%i0, %u; add.u32 %%i1, %%i1, %%i3; add.s32 %%i1, %%i1, %%i2;\n", below(3));
		break;
	case 2: /* downwards */
		put("\tmul.lo.s32 %%i1, %%i0, -%u; sub.s32 %%i1, %%i1, %%i3; add.s32 %%i1, %%i1, %u;\n", a,
		    64 + a * 128);
		break;
	default: /* by a register, and rows of the block's width */
		put("\tmov.u32 %%i1, %%ntid.x; mad.lo.u32 %%i1, %%i1, %%i2, %%i0; add.u32 %%i1, %%i1, %u;\n", below(8));
	}
	if (chance(10)) /* lanes differ in no order */
		put("\txor.b32 %%i1, %%i1, %u;\n", below(32));
	if (chance(10))
		put("\tand.b32 %%i4, %%w%u, 15; add.u32 %%i1, %%i1, %%i4;\n", below(WORDS));
}

/* %x1 = base + %i1 * size + an offset of at most 128. */
static void address_of(const char *base, uint32_t size)
{
	const uint32_t log = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4;

	switch (below(4)) {
	case 0:
		put("\tmad.wide.%s %%x1, %%i1, %u, %s;\n", chance(50) ? "u32" : "s32", size, base);
		break;
	case 1:
		put("\tmul.wide.s32 %%x1, %%i1, %u; add.s64 %%x1, %s, %%x1;\n", size, base);
		break;
	case 2:
		put("\tshl.b32 %%i1, %%i1, %u; cvt.%s %%x1, %%i1; add.s64 %%x1, %%x1, %s;\n", log,
		    chance(50) ? "u64.u32" : "s64.s32", base);
		break;
	default:
		put("\tcvt.u64.u32 %%x1, %%i1; shl.b64 %%x1, %%x1, %u; add.s64 %%x1, %%x1, %s;\n", log, base);
	}
}

static void load(void)
{
	static const struct {
		const char *type;
		uint32_t bytes;
	} types[] = { { "u32", 4 }, { "u32", 4 }, { "s8", 1 }, { "u8", 1 }, { "s16", 2 }, { "u16", 2 } };
	const uint32_t k = below(8);

	index_of();
	if (k == 6) {
		address_of("%in", 16);
		put("\t%sld.global.v4.u32 {%%w0, %%w3, %%w1, %%w5}, [%%x1+%u];\n", guard(), below(8) * 16);
	} else if (k == 7) {
		address_of("%in", 8);
		if (chance(50))
			put("\t%sld.global.v2.u32 {%%w2, %%w4}, [%%x1+%u];\n", guard(), below(8) * 8);
		else
			put("\t%sld.global.u64 %%d%u, [%%x1+%u];\n", guard(), below(WIDE), below(8) * 8);
	} else {
		address_of("%in", types[k].bytes);
		put("\t%sld.global.%s %%w%u, [%%x1+%u];\n", guard(), types[k].type, below(WORDS),
		    below(8) * types[k].bytes);
	}
}

/*
 * %x1 = in + (t / 2^n) * record + (t % 2^n) * piece, as the lanes of a warp read the blocks of a matrix: they lie at
 * known distances, which are no line.
 */
static void record_address(uint32_t record, uint32_t piece)
{
	const uint32_t n = 1 + below(3), mask = (1u << n) - 1;

	put("\tmov.u32 %%i0, %%tid.x;\n");
	if (w.block.y <= 8 && chance(50))
		put("\tmov.u32 %%i2, %%tid.y; shl.b32 %%i2, %%i2, 5; add.u32 %%i0, %%i0, %%i2;\n");
	if (chance(50)) /* the quotient and the rest of a number with a sign */
		put("\tshr.u32 %%i3, %%i0, 31; add.s32 %%i3, %%i0, %%i3; shr.s32 %%i1, %%i3, %u; and.b32 %%i4, %%i3, -%u; "
		    "sub.s32 %%i4, %%i0, %%i4;\n",
		    n, mask + 1);
	else
		put("\tshr.u32 %%i1, %%i0, %u; and.b32 %%i4, %%i0, %u;\n", n, mask);
	if (chance(30))
		put("\t%sxor.b32 %%i4, %%i4, %u;\n", guard(), 1 + below(mask));
	if (chance(30))
		put("\tand.b32 %%i3, %%same, %u; add.u32 %%i1, %%i1, %%i3;\n", below(64));
	if (chance(50))
		put("\tmul.wide.s32 %%x1, %%i1, %u; mul.wide.u32 %%x0, %%i4, %u; add.s64 %%x1, %%x1, %%x0;\n", record, piece);
	else
		put("\tmul.lo.u32 %%i4, %%i4, %u; mad.lo.u32 %%i1, %%i1, %u, %%i4; cvt.%s %%x1, %%i1;\n", piece, record,
		    chance(50) ? "u64.u32" : "s64.s32");
	put("\tadd.s64 %%x1, %%in, %%x1;\n");
}

/* Loads of pieces of records, several of them beside each other. */
static void records(void)
{
	static const struct {
		uint32_t record, piece, align;
	} shapes[] = { { 18, 8, 2 }, { 36, 8, 4 }, { 18, 0, 2 }, { 36, 0, 4 }, { 34, 4, 2 }, { 16, 4, 4 }, { 48, 16, 16 },
		       { 24, 8, 8 }, { 33, 5, 1 }, { 8, 2, 2 },	 { 20, 4, 4 }, { 4, 1, 1 },  { 40, 16, 8 }, { 0, 4, 4 } };
	static const char *const types[] = { "u8", "s8", "u16", "s16", "u32", "b32", "u64" };
	const uint32_t k = below(sizeof(shapes) / sizeof(shapes[0])), count = 1 + below(5);

	record_address(shapes[k].record, shapes[k].piece);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t log = below(4);
		const uint32_t bytes = (1u << log) < shapes[k].align ? 1u << log : shapes[k].align;
		const uint32_t at = below(64 / bytes) * bytes, into = below(WORDS);

		if (bytes >= 8)
			put("\t%sld.global.u64 %%d%u, [%%x1+%u];\n", guard(), below(WIDE), at);
		else if (bytes == 4 && shapes[k].align == 16 && chance(50))
			put("\tld.global.v4.u32 {%%w0, %%w3, %%w1, %%w5}, [%%x1+%u];\n", at / 16 * 16);
		else if (bytes == 4 && shapes[k].align >= 8 && chance(50))
			put("\tld.global.v2.u32 {%%w2, %%w4}, [%%x1+%u];\n", at / 8 * 8);
		else
			put("\t%sld.global.%s %%w%u, [%%x1+%u];\n", chance(80) ? "" : guard(),
			    types[(bytes == 1 ? 0 : bytes == 2 ? 2 : 4) + below(2)], into, at);
		if (chance(15))
			put("\tadd.s64 %%x1, %%x1, %u;\n", shapes[k].align * below(4));
		if (chance(15))
			words();
	}
}

/* To a row of words that this place of the program has for itself. */
static void store(void)
{
	const uint32_t row = w.stores++, two = chance(25);

	if (row >= 52)
		return;
	put("\tmad.wide.u32 %%x1, %%thread, %u, %%out; add.s64 %%x1, %%x1, %%turn;\n", two ? 8 : 4);
	if (two)
		put("\t%sst.global.v2.u32 [%%x1+%u], {%%w%u, %%w%u};\n", guard(), row * 4096 + 16384, below(WORDS),
		    below(WORDS));
	else
		put("\t%sst.global.%s [%%x1+%u], %%w%u;\n", guard(),
		    (const char *[]){ "u32", "u32", "u16", "u8" }[below(4)], row * 4096 + 16384, below(WORDS));
}

/* Every thread writes its word of shared memory, in rows or turned, and reads another's. */
static void exchange(void)
{
	const uint32_t threads = w.block.x * w.block.y;

	put("\tmov.u32 %%i0, %%tid.x; mov.u32 %%i2, %%tid.y; mov.u32 %%i4, words;\n");
	if (chance(50))
		put("\tmad.lo.u32 %%i1, %%i2, %u, %%i0;\n", w.block.x);
	else
		put("\tmad.lo.u32 %%i1, %%i0, %u, %%i2;\n", w.block.y);
	put("\tshl.b32 %%i1, %%i1, 2; add.u32 %%i1, %%i1, %%i4; st.shared.u32 [%%i1], %%w%u; bar.sync 0;\n",
	    below(WORDS));
	put("\tadd.u32 %%i1, %%thread, %u; rem.u32 %%i1, %%i1, %u; mad.lo.u32 %%i1, %%i1, 4, %%i4;\n", below(40),
	    threads);
	put("\tld.shared.u32 %%w%u, [%%i1]; bar.sync 0;\n", below(WORDS));
}

/* %i1 = some bits of where a thread stands, below 128: the same for lanes that differ in the other bits. */
static void folded_index(void)
{
	static const uint32_t masks[] = { 7, 8, 24, 3, 12, 28, 31, 1, 16, 5, 0x7f, 0x60, 0, 0x55 };
	const uint32_t mask = masks[below(sizeof(masks) / sizeof(masks[0]))], up = below(4);

	switch (below(6)) {
	case 0:
		put("\tmov.u32 %%i0, %%laneid; and.b32 %%i1, %%i0, %u;\n", mask);
		break;
	case 1: /* a mask of what was shifted, on either side */
		put("\tmov.u32 %%i0, %%tid.x; shl.b32 %%i0, %%i0, %u; and.b32 %%i1, %%i0, %u;\n", up, mask << up & 0x7f);
		break;
	case 2:
		put("\tmov.u32 %%i0, %%tid.x; and.b32 %%i0, %%i0, -32; mov.u32 %%i2, %%tid.x; xor.b32 %%i0, %%i0, %%i2; "
		    "and.b32 %%i1, %%i0, %u;\n",
		    mask);
		break;
	case 3: /* what a mask leaves whole, and a mask of that */
		put("\tmov.u32 %%i0, %%tid.x; shl.b32 %%i0, %%i0, 4; and.b32 %%i0, %%i0, %u; and.b32 %%i1, %%i0, %u; "
		    "shr.u32 %%i1, %%i1, 4;\n",
		    chance(50) ? 4080u : 0x3f8u, mask << 4);
		break;
	case 4:
		put("\tcvt.u64.u32 %%x0, %%w%u; and.b64 %%x0, %%x0, %u; cvt.u32.u64 %%i1, %%x0;\n", below(WORDS), mask);
		break;
	default:
		put("\tand.b32 %%i1, %%w%u, %u;\n", below(WORDS), mask);
	}
	if (chance(40)) {
		put("\tmov.u32 %%i2, %%tid.%c; and.b32 %%i2, %%i2, %u;\n", chance(70) ? 'x' : 'y',
		    masks[below(sizeof(masks) / sizeof(masks[0]))]);
		put("\t%s%s %%i1, %%i1, %%i2; and.b32 %%i1, %%i1, 127;\n", guard(),
		    (const char *[]){ "xor.b32", "add.u32", "or.b32", "sub.u32", "and.b32" }[below(5)]);
	}
	if (chance(20))
		put("\t%sand.b32 %%i1, %%same, 63;\n", guard());
	if (chance(15))
		put("\t%sselp.b32 %%i1, %%i1, %u, %%p%u;\n", guard(), below(128), below(PREDICATES));
}

/*
 * From what every thread has written before: several lanes read one place, as products of matrices read their tiles. The
 * place may come from another statement, on which some lanes or turns were not.
 */
static void tile(void)
{
	const uint32_t k = below(6), log = (const uint32_t[]){ 2, 2, 3, 3, 4, 4 }[k], more = below(8) << log;
	const uint32_t n = below(2);

	if (chance(60)) {
		folded_index();
		if (chance(50))
			put("\t@%%p%u mov.u32 %%t%u, %%i1;\n", below(PREDICATES), n);
		else
			put("\tmov.u32 %%t%u, %%i1;\n", n);
	}
	put("\tshl.b32 %%i1, %%t%u, %u; mov.u32 %%i4, tile; add.u32 %%i1, %%i1, %%i4;\n", n, log);
	if (k < 2)
		put("\t%sld.shared.%s %%w%u, [%%i1+%u];\n", guard(), k ? "u32" : "b32", below(WORDS), more);
	else if (k == 2)
		put("\t%sld.shared.v2.u32 {%%w2, %%w4}, [%%i1+%u];\n", guard(), more);
	else if (k == 3)
		put("\t%sld.shared.u64 %%d%u, [%%i1+%u];\n", guard(), below(WIDE), more);
	else if (k == 4)
		put("\t%sld.shared.v2.u64 {%%d1, %%d%u}, [%%i1+%u];\n", guard(), chance(50) ? 0 : 3, more);
	else
		put("\t%sld.shared.v4.u32 {%%w6, %%w%u, %%w1, %%w5}, [%%i1+%u];\n", guard(), chance(50) ? 0 : 7, more);
}

/* Between the lanes of whole warps; numbers of the text, in registers too, and others. */
static void shuffle(void)
{
	static const uint32_t clamps[] = { 0x1f, 0, 0x101f, 0x181f, 0x1c1f, 0x1e03, 0x1f };
	const char *how = (const char *[]){ "up", "down", "bfly", "idx" }[below(4)];
	const uint32_t lane = below(40), clamp = clamps[below(7)];
	const char *b = chance(80) ? "%i0" : "%i3";

	put("\tmov.u32 %%i0, %u; mov.u32 %%i1, %u; and.b32 %%i3, %%w%u, 31;\n", lane, clamp, below(WORDS));
	if (chance(20)) /* which of two numbers it is, is known to the text alone */
		put("\t@%%p%u mov.u32 %%i0, %u;\n", below(PREDICATES), below(32));
	if (chance(50))
		put("\tshfl.sync.%s.b32 %%w%u|%%p%u, %%w%u, %s, %%i1, -1;\n", how, below(WORDS), below(PREDICATES),
		    below(WORDS), b);
	else
		put("\tshfl.sync.%s.b32 %%w%u, %%w%u, %s, %u, -1;\n", how, below(WORDS), below(WORDS), b, clamp);
}

static void statements(uint32_t count);

static void condition(void)
{
	const bool together = w.together;
	const uint32_t n = w.names++;

	put("\t@%s%%p%u bra E%u;\n", chance(50) ? "!" : "", below(PREDICATES), n);
	w.together = false;
	w.depth++;
	statements(1 + below(5));
	if (chance(50)) {
		put("\tbra X%u;\nE%u:\n", n, n);
		statements(1 + below(5));
		put("X%u:\n", n);
	} else {
		put("E%u:\n", n);
	}
	w.depth--;
	w.together = together;
}

static void loop(void)
{
	const bool together = w.together, same = chance(70), breaks = chance(25);
	const uint32_t n = w.names++, depth = w.depth;

	if (same)
		put("\tand.b32 %%c%u, %%same, %u; add.u32 %%c%u, %%c%u, 1;\n", depth, chance(20) ? 31 : 3, depth,
		    depth);
	else
		put("\tand.b32 %%c%u, %%w%u, 7; add.u32 %%c%u, %%c%u, 1;\n", depth, below(WORDS), depth, depth);
	put("L%u:\n", n);
	w.together = together && same && !breaks;
	w.depth++;
	statements(2 + below(8));
	if (breaks)
		put("\t@%%p%u bra B%u;\n", below(PREDICATES), n);
	w.depth--;
	put("\tsub.u32 %%c%u, %%c%u, 1; setp.ne.u32 %%q, %%c%u, 0; @%%q bra L%u;\nB%u:\n", depth, depth, depth, n, n);
	w.together = together;
}

static void statements(uint32_t count)
{
	while (count--) {
		const uint32_t k = below(100);

		if (k < 30)
			words();
		else if (k < 46)
			wides();
		else if (k < 56)
			predicates();
		else if (k < 61)
			floats();
		else if (k < 63)
			sums();
		else if (k < 70)
			(chance(50) ? load : records)();
		else if (k < 80)
			tile();
		else if (k < 87)
			store();
		else if (k < 90 && w.together)
			exchange();
		else if (k < 93 && w.together && w.block.x * w.block.y % 32 == 0)
			shuffle();
		else if (k < 95 && w.depth < 3)
			condition();
		else if (w.depth < 3)
			loop();
	}
}

static void generate(uint64_t seed)
{
	static const struct dims blocks[] = { { 32, 1, 1 }, { 64, 1, 1 },  { 64, 2, 1 }, { 16, 4, 1 },
					      { 16, 2, 1 }, { 16, 16, 1 }, { 8, 8, 1 },	 { 40, 1, 1 },
					      { 33, 3, 1 }, { 1, 32, 1 },  { 7, 5, 1 },	 { 128, 1, 1 },
					      { 16, 3, 1 }, { 32, 4, 1 },  { 96, 1, 1 }, { 4, 8, 1 } };

	random_state = seed * 0x9e3779b97f4a7c15ull | 1;
	for (int i = 0; i < 8; i++)
		random_bits();
	memset(&w, 0, sizeof(w));
	w.block = blocks[below(sizeof(blocks) / sizeof(blocks[0]))];
	w.grid = 1 + below(3);
	w.together = true;
	put(".version 8.0\n.target sm_80\n.address_size 64\n"
	    ".visible .entry lines(.param .u64 pi, .param .u64 po, .param .u32 ps, .param .u32 pa, .param .u64 pb)\n{\n"
	    "\t.reg .pred %%p<%u>, %%q; .reg .b32 %%w<%u>, %%i<5>, %%t<2>, %%c<4>, %%same, %%thread; .reg .b64 %%d<%u>, "
	    "%%x<2>, "
	    "%%in, %%out, %%turn;\n\t.reg .f32 %%f<%u>; .shared .align 16 .b8 words[4096]; .shared .align 16 .b8 tile[4096];\n"
	    "\tld.param.u64 %%in, [pi]; ld.param.u64 %%out, [po]; ld.param.u32 %%same, [ps];\n"
	    "\tmov.u32 %%w0, %%tid.x; mov.u32 %%w1, %%tid.y; mov.u32 %%w2, %%ctaid.x; mov.u32 %%w3, %%ntid.x;\n"
	    "\tmov.u32 %%w4, %%laneid; ld.param.u32 %%w5, [pa]; mov.u32 %%w6, %u; sub.u32 %%w7, %%w0, %u;\n"
	    "\tmad.lo.u32 %%w8, %%w0, %u, %%w5; mul.lo.u32 %%w9, %%w0, %%w5;\n"
	    "\tmad.lo.u32 %%thread, %%w1, %%w3, %%w0;\n"
	    "\tcvt.u64.u32 %%d0, %%w7; mul.wide.s32 %%d1, %%w7, 4; ld.param.u64 %%d2, [pb]; mov.u64 %%d3, %u;\n"
	    "\tcvt.s64.s32 %%d4, %%w8; mad.wide.u32 %%d5, %%w0, 8, %%d2; mul.wide.u32 %%turn, %%w2, 262144;\n"
	    "\tsetp.lt.u32 %%p0, %%w0, %u; setp.eq.u32 %%p1, %%w2, 0; setp.ne.u32 %%p2, %%w5, 0; setp.ge.s32 %%p3, "
	    "%%w7, "
	    "0;\n"
	    "\tcvt.rn.f32.u32 %%f0, %%w0; mov.b32 %%f1, %%w5; mov.b32 %%f2, 0x7fc12345; cvt.rn.f32.s32 %%f3, %%w7;\n",
	    PREDICATES, WORDS, WIDE, FLOATS, number(), below(70), number(), number(), 1 + below(64));
	put("\tand.b32 %%t0, %%w0, 28; mov.u32 %%t1, 0; mov.u32 %%i0, 0; mov.u32 %%i4, tile;\nT0:\n\tadd.u32 %%i1, %%i0, %%thread; and.b32 %%i1, %%i1, 1023; "
	    "mul.lo.u32 %%i2, %%i1, 40503; xor.b32 %%i2, %%i2, 0x3f800000; shl.b32 %%i1, %%i1, 2; add.u32 %%i1, %%i1, %%i4; "
	    "st.shared.u32 [%%i1], %%i2; add.u32 %%i0, %%i0, %u; setp.lt.u32 %%q, %%i0, 1024; @%%q bra T0;\n"
	    "\tbar.sync 0;\n",
	    w.block.x * w.block.y);
	statements(12 + below(40));
	put("\tmad.wide.u32 %%x1, %%thread, 4, %%out; add.s64 %%x1, %%x1, %%turn;\n");
	for (unsigned i = 0; i < WORDS; i++)
		put("\tst.global.u32 [%%x1+%u], %%w%u;\n", i * 1024, i);
	for (unsigned i = 0; i < PREDICATES; i++)
		put("\tselp.u32 %%i0, 1, 0, %%p%u; st.global.u8 [%%x1+%u], %%i0;\n", i, 10240 + i * 1024);
	put("\tmad.wide.u32 %%x1, %%thread, 8, %%out; add.s64 %%x1, %%x1, %%turn;\n");
	for (unsigned i = 0; i < WIDE; i++)
		put("\tst.global.u64 [%%x1+%u], %%d%u;\n", 245760 - 16384 + i * 2048, i);
	for (unsigned i = 0; i < FLOATS; i++)
		put("\tmov.b32 %%i0, %%f%u; st.global.u16 [%%x1+%u], %%i0;\n", i, 245760 + i * 2048);
	put("\tret;\n}\n");
}

struct outcome {
	int r;
	bool compiled;
	struct ptx_fault fault;
	struct ptx_stats stats;
};

static struct ptx_module *load_for(const char *isa, enum ptx_compile how)
{
	const struct ptx_options options = { .isa = isa, .compile = how };

	return load_text(w.text, w.bytes, &options);
}

/* The kernel, which has no variables, with the words and numbers of a seed. */
static void run(struct ptx_module *m, uint64_t seed, uint8_t *result, struct outcome *ret)
{
	struct ptx_launch l = { .timeout_ns = 20000000000u };
	uint64_t arg[5];
	uint8_t *all;

	device_reset();
	all = device_alloc(IN_BYTES + OUT_BYTES);
	random_state = seed * 31 | 1;
	for (size_t i = 0; i < IN_BYTES; i += 8) {
		const uint64_t x = random_bits();

		memcpy(all + i, &x, 8);
	}
	memset(ret, 0, sizeof(*ret));
	arg[0] = PTR(all);
	arg[1] = PTR(all + IN_BYTES);
	arg[2] = random_bits();
	arg[3] = seed % 3 ? (uint32_t[]){ 0, 1, ~0u, 0x7fffffff, 12 }[seed / 3 % 5] : random_bits();
	arg[4] = random_bits() >> seed % 64;
	ret->r = m ? launch_with(&l, m, "lines", DIM(w.grid), w.block, arg) : -9;
	ret->compiled = m && ptx_kernel_is_compiled(ptx_module_kernel_find(m, "lines"));
	ret->fault = l.fault;
	ret->fault.function = NULL;
	ret->stats = l.stats;
	memcpy(result, all, IN_BYTES + OUT_BYTES);
}

static bool same(const struct outcome *a, const struct outcome *b, const uint8_t *x, const uint8_t *y)
{
	if (a->r || b->r) {
		printf("# ended with %d and %d\n", a->r, b->r);
		return a->r == b->r && !memcmp(&a->fault, &b->fault, sizeof(a->fault));
	}
	for (size_t i = 0; i < IN_BYTES + OUT_BYTES; i++)
		if (x[i] != y[i]) {
			printf("# byte %zu of the results: %02x and %02x\n", i - IN_BYTES, x[i], y[i]);
			return false;
		}
	if (!memcmp(&a->stats, &b->stats, sizeof(a->stats)))
		return true;
	printf("# other counters: %llu and %llu instructions of lanes\n",
	       (unsigned long long)a->stats.lane_instructions, (unsigned long long)b->stats.lane_instructions);
	return false;
}

static void keep(uint64_t seed)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "lines_%llu.ptx", (unsigned long long)seed);
	f = fopen(path, "w");
	if (!f)
		return;
	fprintf(f, "// --seed %llu --count 1; grid %u, block %u x %u\n%s", (unsigned long long)seed, w.grid, w.block.x,
		w.block.y, w.text);
	fclose(f);
}

/* Whether a kernel, compiled for an instruction set, computes what the interpreter does, with each input. */
static bool agrees(uint64_t seed, const char *isa, unsigned *compiled)
{
	struct ptx_module *plain = load_for(NULL, PTX_COMPILE_NEVER), *made = load_for(isa, PTX_COMPILE_ALWAYS);
	struct outcome a, b = { .compiled = false };
	bool good = true;

	for (uint64_t i = 0; i < INPUTS && good; i++) {
		run(plain, seed + i * 1000003, memory[0], &a);
		run(made, seed + i * 1000003, memory[1], &b);
		good = same(&a, &b, memory[0], memory[1]);
	}
	*compiled += b.compiled;
	ptx_module_free(plain);
	ptx_module_free(made);
	return good;
}

/* Value: kernels that were compiled; *wrong counts those that differ. */
static unsigned run_seeds(uint64_t seed, unsigned count, unsigned *wrong)
{
	static const char *const isas[] = { "avx2", "avx512" };
	const bool both = isa_find(isas[0]) && isa_find(isas[1]); /* then they take turns */
	unsigned compiled = 0;

	for (unsigned i = 0; i < count && *wrong < 5; i++, seed++) {
		generate(seed);
		for (unsigned k = 0; k < 2; k++) {
			if (!isa_find(isas[k]) || (both && count > 1 && (seed + k) % 2))
				continue;
			if (agrees(seed, isas[k], &compiled))
				continue;
			printf("# seed %llu, %s\n", (unsigned long long)seed, isas[k]);
			keep(seed);
			++*wrong;
			break;
		}
	}
	return compiled;
}

int main(int argc, char **argv)
{
	uint64_t seed = 0, fresh;
	unsigned count = 10, wrong = 0, compiled;
	struct timespec now;

	if (!getenv("METE_SOFT_COMPILER") || (!isa_find("avx2") && !isa_find("avx512"))) {
		printf("1..0 # SKIP no compiler was built, or this processor has no vectors for it\n");
		return 0;
	}
	for (int i = 1; i + 1 < argc; i++) {
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		if (!strcmp(argv[i], "--count"))
			count = (unsigned)atoi(argv[i + 1]);
		if (!strcmp(argv[i], "--few") && !getenv("METE_TEST_LONG"))
			count = (unsigned)atoi(argv[i + 1]);
	}
	tap_begin();
	device_open(2);
	clock_gettime(CLOCK_REALTIME, &now);
	fresh = ((uint64_t)now.tv_sec * 1000003u + (uint64_t)now.tv_nsec) % 1000000000u;
	compiled = run_seeds(seed ? seed : 1, count, &wrong);
	tap_ok(!wrong, "%u kernels from seed %llu", count, (unsigned long long)(seed ? seed : 1));
	tap_ok(compiled, "%u of them were compiled", compiled);
	if (!seed) {
		wrong = 0;
		run_seeds(fresh, count / 2, &wrong);
		tap_ok(!wrong, "%u kernels from seed %llu", count / 2, (unsigned long long)fresh);
	}
	device_close();
	return tap_end();
}

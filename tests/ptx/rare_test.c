/*
 * rare_test.c: the instructions of rows_video.h and rows_rare.h: each against an expression in C, written apart from the
 * engine; and local memory that functions take at run time, to the point where it overflows.
 */
#include "harness.h"

enum { WORDS = 4096 };

typedef uint32_t u32;
typedef int32_t s32;
typedef int64_t s64;
typedef __int128 s128;

static u32 *word_a, *word_b, *word_c, *word_d;

static s64 part(u32 x, u32 at, u32 bits, bool is_signed)
{
	const s64 v = (s64)(x >> at) & ((1ll << bits) - 1);

	return is_signed && v >> (bits - 1) ? v - (1ll << bits) : v;
}

#define UB(x, k) part(x, (k) * 8, 8, false)
#define SB(x, k) part(x, (k) * 8, 8, true)
#define UH(x, k) part(x, (k) * 16, 16, false)
#define SH(x, k) part(x, (k) * 16, 16, true)
#define S(x) ((s64)(s32)(x))
#define U(x) ((s64)(u32)(x))

static s64 between(s128 v, s64 least, s64 most)
{
	return v < least ? least : v > most ? most : (s64)v;
}

static s64 min_of(s64 x, s64 y)
{
	return x < y ? x : y;
}

static s64 max_of(s64 x, s64 y)
{
	return x > y ? x : y;
}

static s64 apart(s64 x, s64 y)
{
	return x > y ? x - y : y - x;
}

static u32 put_part(u32 c, u32 at, u32 bits, s64 v)
{
	const u32 mask = ((1u << bits) - 1) << at;

	return (c & ~mask) | ((u32)v << at & mask);
}

static float as_float(u32 b)
{
	float f;

	memcpy(&f, &b, sizeof(f));
	return f;
}

static u32 as_bits(float f)
{
	u32 b;

	memcpy(&b, &f, sizeof(b));
	return b;
}

/* What min and max give for numbers; sources are no NaN here. */
static u32 least_float(float x, float y, float z)
{
	return as_bits(fminf(fminf(x, y), z));
}

static u32 most_magnitude(float x, float y, float z)
{
	return as_bits(fmaxf(fmaxf(fabsf(x), fabsf(y)), fabsf(z)));
}

#define F(x) as_float(x)
#define INSTRUCTIONS(X)                                                                                                \
	X("vadd.s32.s32.s32 %d, %a, %b;", S(a) + S(b))                                                                 \
	X("vadd.s32.s32.s32.sat %d, %a, %b;", between(S(a) + S(b), INT32_MIN, INT32_MAX))                              \
	X("vadd.u32.u32.s32.sat %d, %a, %b;", between(U(a) + S(b), 0, UINT32_MAX))                                     \
	X("vadd.s32.u32.s32 %d, %a.b3, %b.h1;", UB(a, 3) + SH(b, 1))                                                   \
	X("vadd.u32.s32.s32.sat %d.b2, %a.b0, %b.b1, %c;", put_part(c, 16, 8, between(SB(a, 0) + SB(b, 1), 0, 255)))   \
	X("vadd.s32.s32.s32.sat %d.h1, %a.h0, %b.h1, %c;",                                                             \
	  put_part(c, 16, 16, between(SH(a, 0) + SH(b, 1), -32768, 32767)))                                            \
	X("vadd.u32.u32.u32 %d.h0, %a, %b.b1, %c;", put_part(c, 0, 16, U(a) + UB(b, 1)))                               \
	X("vadd.u32.u32.u32.add %d, %a.b1, %b.b2, %c;", UB(a, 1) + UB(b, 2) + U(c))                                    \
	X("vadd.s32.s32.s32.sat.min %d, %a, %b, %c;", min_of(between(S(a) + S(b), INT32_MIN, INT32_MAX), S(c)))        \
	X("vadd.u32.u32.u32.max %d, %a.h0, %b.h1, %c;", max_of(UH(a, 0) + UH(b, 1), U(c)))                             \
	X("vsub.s32.u32.u32.sat %d, %a, %b;", between(U(a) - U(b), INT32_MIN, INT32_MAX))                              \
	X("vsub.u32.u32.u32.sat.add %d, %a, %b, %c;", between(U(a) - U(b), 0, UINT32_MAX) + U(c))                      \
	X("vsub.s32.s32.s32 %d.b0, %a.b3, %b.b2, %c;", put_part(c, 0, 8, SB(a, 3) - SB(b, 2)))                         \
	X("vabsdiff.u32.s32.s32 %d, %a, %b;", apart(S(a), S(b)))                                                       \
	X("vabsdiff.u32.u32.u32.add %d, %a.b0, %b.b3, %c;", apart(UB(a, 0), UB(b, 3)) + U(c))                          \
	X("vmin.s32.u32.s32 %d, %a, %b;", min_of(U(a), S(b)))                                                          \
	X("vmax.s32.s32.s32.max %d, %a, %b, %c;", max_of(max_of(S(a), S(b)), S(c)))                                    \
	X("vmax.s32.s32.s32.min %d, %a.h1, %b.h1, %c;", min_of(max_of(SH(a, 1), SH(b, 1)), S(c)))                      \
	X("vshl.u32.u32.u32.clamp %d, %a, %b.b0;", UB(b, 0) > 31 ? 0 : U(a) << UB(b, 0))                               \
	X("vshl.u32.u32.u32.sat.clamp %d, %a.h0, %b.b1;",                                                              \
	  between((s128)UH(a, 0) << min_of(UB(b, 1), 32), 0, UINT32_MAX))                                              \
	X("vshl.s32.s32.u32.wrap.add %d, %a.b1, %b, %c;", (u32)SB(a, 1) * (1u << (b & 31)) + U(c))                     \
	X("vshr.s32.s32.u32.clamp %d, %a, %b.b2;", S(a) >> min_of(UB(b, 2), 32))                                       \
	X("vshr.u32.u32.u32.wrap %d.h0, %a, %b, %c;", put_part(c, 0, 16, U(a) >> (b & 31)))                            \
	X("vmad.u32.u32.u32 %d, %a, %b, %c;", (u32)((u32)a * (u32)b + (u32)c))                                         \
	X("vmad.s32.s32.s32.sat %d, %a.h1, %b.h0, %c;", between(SH(a, 1) * SH(b, 0) + S(c), INT32_MIN, INT32_MAX))     \
	X("vmad.s32.s32.s32.sat %d, -%a.h1, %b.h0, %c;", between(S(c) - SH(a, 1) * SH(b, 0), INT32_MIN, INT32_MAX))    \
	X("vmad.s32.u32.s32.sat %d, %a.b1, %b, -%c;", between((s128)UB(a, 1) * S(b) - S(c), INT32_MIN, INT32_MAX))     \
	X("vmad.u32.u32.u32.po.shr7 %d, %a.h0, %b.h1, %c;", (UH(a, 0) * UH(b, 1) + U(c) + 1) >> 7)                     \
	X("vmad.s32.s32.s32.sat.shr15 %d, %a, %b, %c;",                                                                \
	  between(((s128)S(a) * S(b) + S(c)) >> 15, INT32_MIN, INT32_MAX))                                             \
	X("vset.s32.s32.lt %d, %a, %b;", S(a) < S(b))                                                                  \
	X("vset.u32.s32.ge.add %d, %a.b0, %b.b0, %c;", (UB(a, 0) >= SB(b, 0)) + U(c))                                  \
	X("vset.u32.u32.ne %d.h1, %a.b0, %b.b0, %c;", put_part(c, 16, 16, UB(a, 0) != UB(b, 0)))                       \
	X("vadd2.s32.s32.s32.sat %d, %a, %b, %c;",                                                                     \
	  put_part(put_part(c, 0, 16, between(SH(a, 0) + SH(b, 0), -32768, 32767)), 16, 16,                            \
		   between(SH(a, 1) + SH(b, 1), -32768, 32767)))                                                       \
	X("vsub2.u32.u32.u32 %d.h1, %a.h02, %b.h31, %c;", put_part(c, 16, 16, UH(a, 0) - UH(b, 1)))                    \
	X("vmax2.s32.s32.s32.add %d.h0, %a.h10, %b.h21, %c;", max_of(SH(a, 0), SH(a, 1)) + U(c))                       \
	X("vavrg4.u32.u32.u32.add %d.b30, %a, %b, %c;",                                                                \
	  (UB(a, 0) + UB(b, 0) + 1) / 2 + (UB(a, 3) + UB(b, 3) + 1) / 2 + U(c))                                        \
	X("vabsdiff4.u32.u32.u32 %d.b2, %a.b3210, %b.b7054, %c;", put_part(c, 16, 8, apart(UB(a, 2), UB(a, 0))))       \
	X("vabsdiff4.u32.u32.u32.add %d, %a.b0000, %b.b4444, %c;", 4 * apart(UB(a, 0), UB(b, 0)) + U(c))               \
	X("vmin4.s32.s32.s32 %d.b10, %a, %b, %c;",                                                                     \
	  put_part(put_part(c, 0, 8, min_of(SB(a, 0), SB(b, 0))), 8, 8, min_of(SB(a, 1), SB(b, 1))))                   \
	X("vset2.s32.s32.gt %d, %a, %b, %c;", (SH(a, 0) > SH(b, 0)) | (u32)(SH(a, 1) > SH(b, 1)) << 16)                \
	X("vset4.u32.u32.le.add %d, %a, %b, %c;",                                                                      \
	  (UB(a, 0) <= UB(b, 0)) + (UB(a, 1) <= UB(b, 1)) + (UB(a, 2) <= UB(b, 2)) + (UB(a, 3) <= UB(b, 3)) + U(c))    \
	X("min.f32 %f, %fa, %fb, %fc; mov.b32 %d, %f;", least_float(F(a), F(b), F(c)))                                 \
	X("max.abs.f32 %f, %fa, %fb, %fc; mov.b32 %d, %f;", most_magnitude(F(a), F(b), F(c)))

#define VALUE(text, value) (u32)(value),
#define TEXT(text, value) text,

static const char *const instruction[] = { INSTRUCTIONS(TEXT) };
enum { COUNT = sizeof(instruction) / sizeof(instruction[0]) };

static void expected(u32 a, u32 b, u32 c, u32 ret[COUNT])
{
	const u32 value[] = { INSTRUCTIONS(VALUE) };

	memcpy(ret, value, sizeof(value));
}

static u32 some_word(void)
{
	static const u32 edge[] = { 0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x00800080 };
	const uint64_t r = random_bits();
	const u32 v = r >> 60 ? (u32)r : edge[(r >> 32) % (sizeof(edge) / sizeof(edge[0]))];

	return (v & 0x7fffffff) > 0x7f800000 ? v & 0xbfffffff : v; /* floats are numbers */
}

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
#define PARAMETERS "(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n"
#define REGISTERS                                                                                                      \
	"{ .reg .pred %p; .reg .b64 %p<9>; .reg .b32 %i<4>, %a, %b, %c, %d; .reg .f32 %f, %fa, %fb, %fc; .reg .b64 %l<9>; "   \
	".reg .b128 %x<4>; .reg .b16 %h<4>;\n"                                                                         \
	"ld.param.u64 %p0, [pa]; ld.param.u64 %p1, [pb]; ld.param.u64 %p2, [pc]; ld.param.u64 %p3, [pd];\n"            \
	"mov.u32 %i0, %ctaid.x; mov.u32 %i1, %tid.x; mov.u32 %i2, %ntid.x; mad.lo.u32 %i0, %i0, %i2, %i1;\n"           \
	"mul.wide.u32 %p4, %i0, 4; add.u64 %p5, %p0, %p4; add.u64 %p6, %p1, %p4; add.u64 %p7, %p2, %p4;\n"             \
	"add.u64 %p8, %p3, %p4;\n"                                                                                     \
	"ld.global.b32 %a, [%p5]; ld.global.b32 %b, [%p6]; ld.global.b32 %c, [%p7]; mov.b32 %fa, %a; mov.b32 %fb, %b;\n" \
	"mov.b32 %fc, %c; mov.u32 %d, 0;\n"
#define END "st.global.b32 [%p8], %d; ret; }\n"

static struct ptx_module *one_kernel(const char *functions, const char *body)
{
	char text[8192];
	const int n = snprintf(text, sizeof(text), HEAD "%s .visible .entry k" PARAMETERS "%s%s%s", functions,
			       REGISTERS, body, END);

	return load_text(text, (size_t)n, NULL);
}

static void words_begin(void)
{
	u32 **const array[] = { &word_a, &word_b, &word_c, &word_d };

	device_reset();
	for (int k = 0; k < 4; k++)
		*array[k] = device_alloc(WORDS * 4);
	for (int i = 0; i < WORDS; i++) {
		word_a[i] = some_word();
		word_b[i] = some_word();
		word_c[i] = some_word();
	}
}

static int words_launch(struct ptx_module *m, u32 threads, u32 stack)
{
	struct ptx_launch l = { .stack_bytes = stack };
	const int r = m ? launch_with(&l, m, "k", DIM(threads > 128 ? threads / 128 : 1), DIM(threads > 128 ? 128 : threads),
				      ARGS(PTR(word_a), PTR(word_b), PTR(word_c), PTR(word_d)))
			: -1;

	return r > 0 ? (int)l.fault.kind : r;
}

static void test_instructions(void)
{
	for (unsigned k = 0; k < COUNT; k++) {
		struct ptx_module *m;
		int wrong = 0;
		u32 want[COUNT];

		words_begin();
		m = one_kernel("", instruction[k]);
		ok(words_launch(m, WORDS, 0) == 0);
		for (int i = 0; i < WORDS; i++) {
			expected(word_a[i], word_b[i], word_c[i], want);
			if (word_d[i] != want[k] && !wrong++)
				printf("# %x %x %x: %x instead of %x\n", word_a[i], word_b[i], word_c[i], word_d[i], want[k]);
		}
		tap_ok(!wrong, "%s %d wrong", instruction[k], wrong);
		ptx_module_free(m);
	}
}

/* What must be refused when it is loaded. */
static void test_refused(void)
{
	static const char *const bad[] = {
		"vadd.u32.u32.u32 %d, %a.b4, %b;",	    "vadd.u32.u32.u32 %d.b0, %a, %b;",
		"vadd.u32.u32.u32.add %d.b0, %a, %b, %c;",  "vadd2.u32.u32.u32 %d, %a.h14, %b, %c;",
		"vadd2.u32.u32.u32 %d.h01, %a, %b, %c;",    "vmin.u32.u32.u32 %d, -%a, %b;",
		"vshl.u32.u32.u32 %d, %a, %b;",		    "vadd4.u32.u32.u32 %d, %a.b3, %b, %c;",
		"vote.sync.ballot.b32 %d, %p.b0, -1;",	    "alloca.u64 %l0, 16, 3;",
		"min.f32 %f, %fa, %fb, %fc, %fa;",	    "min.f64 %l0, %l0, %l0, %l0;",
	};

	for (unsigned k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
		struct ptx_module *m = one_kernel("", bad[k]);

		tap_ok(!m, "refused: %s", bad[k]);
		ptx_module_free(m);
	}
}

/* Each thread takes as much as it asks for, fills it, and lets a function take more: nothing overlaps. */
static void test_stack(void)
{
	static const char functions[] =
		".func (.param .b32 r) fill(.param .b32 n, .param .b32 v)\n"
		"{ .reg .b32 %n, %v, %s, %k; .reg .b64 %p, %q, %l; .reg .pred %t;\n"
		"ld.param.u32 %n, [n]; ld.param.u32 %v, [v]; mul.wide.u32 %l, %n, 4; alloca.u64 %p, %l, 16; mov.u32 %k, 0;\n"
		"A: setp.ge.u32 %t, %k, %n; @%t bra B; mul.wide.u32 %q, %k, 4; add.u64 %q, %p, %q; st.local.u32 [%q], %v;\n"
		"add.u32 %k, %k, 1; bra A;\n"
		"B: mov.u32 %s, 0; mov.u32 %k, 0;\n"
		"C: setp.ge.u32 %t, %k, %n; @%t bra D; mul.wide.u32 %q, %k, 4; add.u64 %q, %p, %q; ld.local.u32 %v, [%q];\n"
		"add.u32 %s, %s, %v; add.u32 %k, %k, 1; bra C;\n"
		"D: st.param.b32 [r], %s; ret; }\n";
	static const char body[] =
		"and.b32 %i1, %i0, 31; add.u32 %i1, %i1, 1; mul.wide.u32 %l0, %i1, 4; alloca.u64 %l1, %l0; mov.u32 %i2, 0;\n"
		"A: mul.wide.u32 %l3, %i2, 4; add.u64 %l3, %l1, %l3; st.local.u32 [%l3], %i0; add.u32 %i2, %i2, 1;\n"
		"setp.lt.u32 %p, %i2, %i1; @%p bra A;\n"
		"stacksave.u64 %l4; mov.u32 %i3, 0;\n"
		"B: { .param .b32 n; .param .b32 v; .param .b32 r; st.param.b32 [n], %i1; st.param.b32 [v], 7;\n"
		"call (r), fill, (n, v); ld.param.b32 %d, [r]; }\n"
		"alloca.u64 %l5, 64; st.local.u32 [%l5], 1; stackrestore.u64 %l4;\n"
		"add.u32 %i3, %i3, 1; setp.lt.u32 %p, %i3, 100; @%p bra B; mov.u32 %i2, 0;\n"
		"C: mul.wide.u32 %l3, %i2, 4; add.u64 %l3, %l1, %l3; ld.local.u32 %c, [%l3]; add.u32 %d, %d, %c;\n"
		"add.u32 %i2, %i2, 1; setp.lt.u32 %p, %i2, %i1; @%p bra C;\n";
	struct ptx_module *m;
	struct ptx_launch l = { .stack_bytes = 2048, .exact = true };
	int wrong = 0;

	words_begin();
	m = one_kernel(functions, body);
	is(words_launch(m, WORDS, 2048), 0);
	for (u32 i = 0; i < WORDS; i++)
		wrong += word_d[i] != (i % 32 + 1) * 7 + (i % 32 + 1) * i;
	is(wrong, 0);
	is(launch_with(&l, m, "k", DIM(1), DIM(64), ARGS(PTR(word_a), PTR(word_b), PTR(word_c), PTR(word_d))), 0);
	ptx_module_free(m);

	/* a loop that never gives back, a size that wraps around, and a stackrestore that would take */
	m = one_kernel("", "A: alloca.u64 %l0, 256; st.local.u32 [%l0], 1; bra A;");
	is(words_launch(m, 64, 4096), PTX_FAULT_STACK_OVERFLOW);
	ptx_module_free(m);
	m = one_kernel("", "alloca.u64 %l0, -16;");
	is(words_launch(m, 64, 4096), PTX_FAULT_STACK_OVERFLOW);
	ptx_module_free(m);
	m = one_kernel("", "alloca.u64 %l0, 16; sub.u64 %l0, %l0, 64; stackrestore.u64 %l0;");
	is(words_launch(m, 64, 4096), PTX_FAULT_STACK_OVERFLOW);
	ptx_module_free(m);
}

static void test_redux(void)
{
	struct ptx_module *m;

	words_begin();
	for (int i = 0; i < 32; i++)
		word_a[i] = as_bits((float)(i * 7 % 32) - 20);
	m = one_kernel("", "redux.sync.min.f32 %f, %fa, -1; mov.b32 %d, %f;");
	is(words_launch(m, 32, 0), 0);
	ok(as_float(word_d[0]) == -20 && as_float(word_d[31]) == -20);
	ptx_module_free(m);
	m = one_kernel("", "redux.sync.max.abs.f32 %f, %fa, -1; mov.b32 %d, %f;");
	is(words_launch(m, 32, 0), 0);
	ok(as_float(word_d[5]) == 20);
	ptx_module_free(m);
	word_a[10] = 0x7fc01234;
	m = one_kernel("", "redux.sync.max.f32 %f, %fa, -1; mov.b32 %d, %f;");
	is(words_launch(m, 32, 0), 0);
	ok(as_float(word_d[9]) == 11);
	ptx_module_free(m);
	m = one_kernel("", "redux.sync.min.NaN.f32 %f, %fa, -1; mov.b32 %d, %f;");
	is(words_launch(m, 32, 0), 0);
	is(word_d[3], 0x7fffffff);
	ptx_module_free(m);
	/* the members have ended: what the register held is overwritten */
	m = one_kernel("", "mov.f32 %f, 0f40000000; mov.b32 %d, %f; setp.lt.u32 %p, %i1, 16; @%p bra OUT; "
			   "redux.sync.min.f32 %f, %fa, 0x0000ffff; mov.b32 %d, %f; OUT:");
	is(words_launch(m, 32, 0), 0);
	ok(word_d[0] == as_bits(2) && !word_d[16] && !word_d[31]);
	ptx_module_free(m);
}

/* Extremes of 16-bit floats found by all threads; pairs of 64-bit words that must never be torn. */
static void test_atomics(void)
{
	struct ptx_module *m;
	uint64_t *pair;

	words_begin();
	word_c[0] = 0x00003c00;	     /* f16 0, 1 */
	word_c[1] = word_c[2] = 0x40004000; /* bf16 2, 2 */
	m = one_kernel("", "shl.b32 %i1, %i0, 3; cvt.rn.f16.u32 %h0, %i1; cvt.rn.bf16.u32 %h1, %i1; mov.b16 %h3, 0xc000;\n"
			   "atom.global.max.noftz.v2.f16 {%h2, %h2}, [%p2], {%h0, %h3}; mov.b32 %d, {%h1, %h3};\n"
			   "atom.global.gpu.relaxed.max.noftz.v2.bf16x2 {%a, %b}, [%p2+4], {%d, %d};\n"
			   "red.global.min.noftz.v2.bf16x2 [%p2+12], {%d, %d};\n");
	word_c[3] = word_c[4] = 0x3f803f80;
	is(words_launch(m, 256, 0), 0);
	is(word_c[0], 0x000067f8);   /* 2040, and 0 against -2 */
	is(word_c[1], 0x400044ff);   /* 2040 */
	is(word_c[3], 0xc0000000);   /* 0, -2 */
	ptx_module_free(m);

	pair = (uint64_t *)(void *)(((uintptr_t)word_c + 4096) & ~(uintptr_t)63);
	pair[0] = pair[1] = 0;
	m = one_kernel("", "add.u64 %l0, %p2, 4096; and.b64 %l0, %l0, -64; add.u64 %l7, %l0, 16;\n"
			   "ld.global.v2.u64 {%l1, %l2}, [%l0];\n"
			   "A: add.u64 %l3, %l1, 1; sub.u64 %l4, %l2, 3; mov.b128 %x0, {%l1, %l2}; mov.b128 %x1, {%l3, %l4};\n"
			   "atom.global.cas.b128 %x2, [%l0], %x0, %x1; mov.b128 {%l5, %l6}, %x2;\n"
			   "setp.eq.u64 %p, %l5, %l1; @%p bra B; mov.u64 %l1, %l5; mov.u64 %l2, %l6; bra A;\n"
			   "B: cvt.u64.u32 %l1, %i0; not.b64 %l2, %l1; mov.b128 %x0, {%l1, %l2};\n"
			   "atom.global.exch.b128 %x1, [%l7], %x0; mov.b128 {%l1, %l2}, %x1; add.u64 %l1, %l1, %l2; cvt.u32.u64 %d, %l1;\n");
	pair[2] = 0;
	pair[3] = ~0ull;
	is(words_launch(m, 2048, 0), 0);
	is(pair[0], 2048);
	is(pair[1], (uint64_t)-3 * 2048);
	for (int i = 0; i < 2048; i++)
		if (word_d[i] != 0xffffffff)
			is(word_d[i], 0xffffffff);
	ptx_module_free(m);
}

/* The mean over all random bits is the value; without random bits it is cut off. */
static void test_random_rounding(void)
{
	struct ptx_module *m;
	double sum = 0;

	words_begin();
	for (u32 i = 0; i < WORDS; i++) {
		word_a[i] = as_bits(-1 - 0.3f / 1024);
		word_b[i] = as_bits(0x1.8p-24f);
		word_c[i] = i << 1 | i << 17;
	}
	m = one_kernel("", "cvt.rs.f16x2.f32 %d, %fa, %fb, %c;");
	is(words_launch(m, WORDS, 0), 0);
	is(word_d[0], 0xbc000001);
	for (u32 i = 0; i < WORDS; i++)
		sum += (word_d[i] >> 16) - 0xbc00 + 2 * ((word_d[i] & 0xffff) - 1.0);
	ok(fabs(sum / WORDS - 1.3) < 0.002);
	ptx_module_free(m);
	m = one_kernel("", "cvt.rs.relu.satfinite.bf16x2.f32 %d, 0f7f7fffff, %fa, %c;");
	is(words_launch(m, WORDS, 0), 0);
	is(word_d[WORDS - 1], 0x7f7f0000);
	ptx_module_free(m);
}

/* A narrow float of `e` and `m` bits, cut off after r / 65536 of its last place has been added, computed with doubles.
 */
static u32 cut_off(float v, u32 e, u32 m, u32 most, u32 nan, u32 r, bool relu)
{
	const int bias = (1 << (e - 1)) - 1;
	const u32 sign = signbit(v) ? 1u << (e + m) : 0;
	double x = fabs((double)v), best;
	u32 found = 0;

	if (v != v)
		return nan;
	if (relu && sign)
		return 0;
	for (u32 k = 0; k <= most;
	     k++) { /* the largest number that is not above the sum, in units of the value's own place */
		const u32 exponent = k >> m;
		const double fraction = (k & ((1u << m) - 1)) + (exponent ? 1u << m : 0);
		const int place = isinf(v) ? 99 : x == 0 ? -99 : ilogb(x);
		const double unit = ldexp(1, (place < 1 - bias ? 1 - bias : place) - (int)m);

		best = ldexp(fraction, (int)(exponent ? exponent : 1) - bias - (int)m);
		if (best <= (floor(x / unit * 65536) + r) / 65536 * unit)
			found = k;
	}
	return sign | found;
}

static void test_four_random(void)
{
	static const struct {
		const char *name;
		u32 e, m, most, nan;
	} formats[] = { { "e4m3", 4, 3, 0x7e, 0x7f },
			{ "e5m2", 5, 2, 0x7b, 0x7f },
			{ "e2m3", 2, 3, 0x1f, 0x1f },
			{ "e3m2", 3, 2, 0x1f, 0x1f },
			{ "e2m1", 2, 1, 7, 7 } };

	for (u32 k = 0; k < 10; k++) {
		const bool relu = k & 1, narrow = k / 2 == 4;
		const u32 bits = narrow ? 4 : 8;
		struct ptx_module *m;
		char text[300];
		u32 bad = 0;

		words_begin();
		for (u32 i = 0; i < WORDS; i++) {
			const u32 exponent = 120 + i % 14;

			word_a[i] = (u32)(random_bits() >> 16);
			word_b[i] = (u32)(random_bits() >> 41) | exponent << 23 | (i & 1) << 31;
			word_c[i] = (u32)(random_bits() >> 16);
		}
		word_a[0] = 0x7f800000;
		word_a[1] = 0xffc00001;
		word_a[2] = 0x80000000;
		snprintf(
			text, sizeof(text),
			narrow ? ".reg .b16 %%h; cvt.rs%s.satfinite.%sx4.f32 %%h, {%%fa, %%fb, 0f3F99999A, %%fb}, %%c; "
				 "cvt.u32.u16 %%d, %%h;"
			       : "cvt.rs%s.satfinite.%sx4.f32 %%d, {%%fa, %%fb, 0f3F99999A, %%fb}, %%c;",
			relu ? ".relu" : "", formats[k / 2].name);
		m = one_kernel("", text);
		is(words_launch(m, WORDS, 0), 0);
		for (u32 i = 0; i < WORDS; i++) {
			const u32 c = word_c[i];
			const u32 first = narrow ? (c >> 24) << 8 | (c >> 8 & 255) : c >> 16;
			const u32 second = narrow ? (c >> 16 & 255) << 8 | (c & 255) : c & 0xffff;
			const u32 random[4] = { first, first, second, second };
			u32 want = 0;
			float v[4];

			memcpy(&v[0], &word_a[i], 4);
			memcpy(&v[1], &word_b[i], 4);
			v[2] = 1.2f;
			v[3] = v[1];
			for (u32 n = 0; n < 4; n++)
				want = want << bits | cut_off(v[n], formats[k / 2].e, formats[k / 2].m,
							      formats[k / 2].most, formats[k / 2].nan, random[n], relu);
			bad += word_d[i] != want;
			if (word_d[i] != want && bad < 4)
				printf("# %s: {%a, %a, ...}, %08x: %08x instead of %08x\n", formats[k / 2].name,
				       (double)v[0], (double)v[1], c, word_d[i], want);
		}
		tap_ok(!bad, "cvt.rs%s to four %s", relu ? ".relu" : "", formats[k / 2].name);
		ptx_module_free(m);
	}
}

int main(void)
{
	tap_begin();
	device_open(2);
	test_instructions();
	test_refused();
	test_stack();
	test_redux();
	test_atomics();
	test_random_rounding();
	test_four_random();
	device_close();
	return tap_end();
}

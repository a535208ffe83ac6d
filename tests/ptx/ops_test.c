/*
 * ops_test.c: single instructions against ops.h, for all lanes and for some, on every instruction set of this machine.
 *
 * A text with two kernels per instruction is made here: one that all threads execute, one where a predicate leaves out three of
 * four, whose result must stay what it was. Sources are edge values in all pairs and then random bits.
 */
#include "harness.h"
#include "softdev/ptx/engine.h"

#include <fenv.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef float f32;
typedef double f64;
typedef u16 f16;
typedef u32 pred;

enum { N = 8192 };

static u64 mul_hi(u64 a, u64 b)
{
	u64 al = (u32)a, ah = a >> 32, bl = (u32)b, bh = b >> 32;
	u64 mid = ah * bl + (al * bl >> 32), mid2 = al * bh + (u32)mid;

	return ah * bh + (mid >> 32) + (mid2 >> 32);
}

static u32 bits_above(u64 a, u32 width)
{
	u32 n = 0;

	while (n < width && !(a >> (width - 1 - n) & 1))
		n++;
	return n;
}

static u64 mirrored(u64 a, u32 width)
{
	u64 r = 0;

	for (u32 i = 0; i < width; i++)
		r |= (a >> i & 1) << (width - 1 - i);
	return r;
}

/* As the description of bfe in the PTX manual does it, bit by bit. */
static u64 field(u64 a, u32 pos, u32 len, u32 width, int is_signed)
{
	u64 r = 0;
	u32 msb = width - 1, sign;

	if (!is_signed || !len)
		sign = 0;
	else
		sign = a >> (pos + len - 1 < msb ? pos + len - 1 : msb) & 1;
	for (u32 i = 0; i <= msb; i++)
		r |= (u64)(i < len && pos + i <= msb ? a >> (pos + i) & 1 : sign) << i;
	return r;
}

static u64 inserted(u64 a, u64 b, u32 pos, u32 len, u32 width)
{
	for (u32 i = 0; i < len && (u64)pos + i < width; i++)
		b = (b & ~(1ull << (pos + i))) | (a >> i & 1) << (pos + i);
	return b;
}

static u32 permuted(u32 a, u32 b, u32 c)
{
	u32 r = 0;

	for (u32 k = 0; k < 4; k++) {
		u32 s = c >> 4 * k & 15, byte = (s & 4 ? b : a) >> 8 * (s & 3) & 255;

		if (s & 8)
			byte = byte & 128 ? 255 : 0;
		r |= byte << 8 * k;
	}
	return r;
}

static u32 looked_up(u32 a, u32 b, u32 c, u32 table)
{
	u32 r = 0;

	for (u32 i = 0; i < 32; i++)
		r |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i;
	return r;
}

static f32 flushed(f32 x)
{
	return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

static f32 directed(char op, int way, f32 a, f32 b)
{
	volatile f32 x = a, y = b, r;

	fesetround(way == 0 ? FE_TOWARDZERO : way == 1 ? FE_DOWNWARD : FE_UPWARD);
	r = op == '+' ? x + y : op == '*' ? x * y : x / y;
	fesetround(FE_TONEAREST);
	return r;
}

static f64 to_int(f64 v, f64 least, f64 most)
{
	return v != v ? 0 : v < least ? least : v > most ? most : v;
}

static f32 half_value(u16 h)
{
	f32 sign = h & 0x8000 ? -1.0f : 1.0f;
	int e = h >> 10 & 31, m = h & 1023;

	if (e == 31)
		return m ? NAN : sign * INFINITY;
	return sign * (e ? ldexpf((f32)(1024 + m), e - 25) : ldexpf((f32)m, -24));
}

/* The largest half of magnitude at most |v|, by bisection. */
static u16 half_below(f64 v)
{
	u16 low = 0, high = 0x7c00;

	while (high - low > 1) {
		u16 mid = (u16)((low + high) / 2);

		if (half_value(mid) <= v)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static u16 nearest_half(f64 v)
{
	u16 sign = signbit(v) ? 0x8000 : 0, low;
	f64 next, below, x = fabs(v);

	if (v != v)
		return 0x7fff;
	if (x >= 65520)
		return sign | 0x7c00;
	low = half_below(x);
	below = half_value(low);
	next = low == 0x7bff ? 65536 : half_value(low + 1);
	if (x - below > next - x || (x - below == next - x && low & 1))
		low++;
	return sign | low;
}

static u16 directed_half(f64 v, int way)
{
	u16 sign = signbit(v) ? 0x8000 : 0, low;
	f64 x = fabs(v);

	if (v != v)
		return 0x7fff;
	if (x == INFINITY)
		return sign | 0x7c00;
	low = half_below(x);
	if (half_value(low) != x && way && (way == 1) == (sign != 0))
		low++;
	return sign | low;
}

/* The exact sum in long double where it fits; 64 bits are enough unless the terms are very far apart, where f64 decides. */
static u16 nearest_half_fma(f32 a, f32 b, f32 c)
{
	long double p = (long double)a * b, s = p + c;
	f64 d = (f64)s;

	/* a sticky bit keeps a tie of the half from looking exact */
	if ((long double)d != s && d == d && fabs(d) < INFINITY)
		d = nextafter(d, (long double)d < s ? INFINITY : -INFINITY);
	return nearest_half(d);
}

#define GET(T, v)                                                                                                     \
	({                                                                                                             \
		u64 v_ = (v);                                                                                          \
		T t_;                                                                                                  \
		memcpy(&t_, &v_, sizeof(t_));                                                                          \
		t_;                                                                                                    \
	})

#define X(name, opcode, regs, R, A, B, C, ...)                                                                        \
	static u64 ref_##name(u64 a_, u64 b_, u64 c_)                                                                  \
	{                                                                                                              \
		A a __attribute__((unused)) = GET(A, a_);                                                              \
		B b __attribute__((unused)) = GET(B, b_);                                                              \
		C c __attribute__((unused)) = GET(C, c_);                                                              \
		R r = (__VA_ARGS__);                                                                                   \
		u64 bits = 0;                                                                                          \
		memcpy(&bits, &r, sizeof(r));                                                                          \
		return bits;                                                                                           \
	}
#include "ops.h"
#undef X

enum kind { KIND_u16, KIND_s16, KIND_u32, KIND_s32, KIND_u64, KIND_s64, KIND_f16, KIND_f32, KIND_f64, KIND_pred };

static const struct test {
	const char *name, *opcode, *regs;
	enum kind kind;
	u64 (*ref)(u64, u64, u64);
} tests[] = {
#define X(name, opcode, regs, R, A, B, C, ...) { #name, opcode, regs, KIND_##R, ref_##name },
#include "ops.h"
#undef X
};

#define TESTS (sizeof(tests) / sizeof(tests[0]))

static const char *reg_type(char letter)
{
	return letter == 'h' ? "b16" : letter == 'd' ? "b64" : "b32";
}

/* %a, %b, %c are loaded, the instruction runs, %d is stored. */
static size_t write_kernel(char *text, size_t room, const struct test *t, bool some)
{
	const bool block = strchr(t->opcode, ';') != NULL;
	const char *guard = some ? "@%some " : "";
	size_t n = 0;

#define PUT(...) n += (size_t)snprintf(text + n, room - n, __VA_ARGS__)
	PUT(".visible .entry %s_%s(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc)\n{\n", t->name,
	    some ? "some" : "full");
	PUT(".reg .pred %%p, %%some; .reg .b32 %%i<4>; .reg .b64 %%at<8>;\n.reg .%s %%d;\n", reg_type(t->regs[0]));
	PUT("mov.u32 %%i0, %%tid.x; mov.u32 %%i1, %%ctaid.x; mov.u32 %%i2, %%ntid.x; mad.lo.u32 %%i0, %%i1, %%i2, %%i0;\n");
	PUT("mul.wide.u32 %%at0, %%i0, 8; and.b32 %%i3, %%i0, 3; setp.eq.u32 %%some, %%i3, 1;\n");
	for (size_t k = 1; t->regs[k]; k++) {
		const char x = (char)('a' + (int)k - 1);

		PUT(".reg .%s %%%c; ld.param.u64 %%at1, [p%c]; add.s64 %%at1, %%at1, %%at0; ld.global.%s %%%c, [%%at1];\n",
		    reg_type(t->regs[k]), x, x, reg_type(t->regs[k]), x);
	}
	PUT("ld.param.u64 %%at1, [pd]; add.s64 %%at1, %%at1, %%at0; ld.global.%s %%d, [%%at1];\n", reg_type(t->regs[0]));
	if (block && some)
		PUT("@!%%some bra skip;\n%s\nskip:\n", t->opcode);
	else if (block)
		PUT("%s\n", t->opcode);
	else if (t->regs[0] == 'p')
		PUT("%s%s %%p, %%a, %%b;\n%sselp.b32 %%d, 1, 0, %%p;\n", guard, t->opcode, guard);
	else
		PUT("%s%s %%d, %%a%s%s;\n", guard, t->opcode, t->regs[2] ? ", %b" : "", t->regs[2] && t->regs[3] ? ", %c" : "");
	PUT("st.global.%s [%%at1], %%d;\nret;\n}\n", reg_type(t->regs[0]));
	return n;
}

static const u64 edges[] = { 0, 1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 127, 128, 255, 256, 0x3c00, 0x7bff, 0x7c00, 0x7c01, 0x7fff,
			     0x8000, 0x8001, 0xffff, 0x10000, 0x00000001007fffffull, 0x3f800000, 0x3f000000, 0x3fc00000,
			     0x4b000001, 0x477fe000, 0x477fefff, 0x477ff000, 0x38800000, 0x387fffff, 0x33000000, 0x33000001,
			     0x4effffff, 0x4f000000, 0x4f7fffff, 0x4f800000, 0xcf000000, 0x5f000000, 0x7f7fffff, 0x7f800000, 0x7fc00000,
			     0x80000000, 0x80000001, 0x807fffff, 0xbf800000, 0xff800000, 0xffc00001, 0x7fffffff, 0xffffffff,
			     0x100000000ull, 0x3ff0000000000000ull, 0x41dfffffffc00000ull, 0x41e0000000000000ull,
			     0x41f0000000000000ull, 0x43e0000000000000ull, 0x7ff0000000000000ull, 0x7ff8000000000000ull,
			     0x8000000000000000ull, 0x7fffffffffffffffull, 0xffffffffffffffffull, 0x0010000000000000ull };

#define EDGES (sizeof(edges) / sizeof(edges[0]))

static void fill(u64 *a, u64 *b, u64 *c)
{
	for (size_t i = 0; i < N; i++) {
		const bool edge = i < EDGES * EDGES;

		a[i] = edge ? edges[i % EDGES] : random_bits();
		b[i] = edge ? edges[i / EDGES] : random_bits() >> random_bits() % 64;
		c[i] = i & 1 ? random_bits() : edges[random_bits() % EDGES];
	}
}

static bool same(enum kind kind, u64 got, u64 want)
{
	switch (kind) {
	case KIND_u16:
	case KIND_s16:
		return (u16)got == (u16)want;
	case KIND_f16:
		return (u16)got == (u16)want || ((got & 0x7fff) > 0x7c00 && (want & 0x7fff) > 0x7c00);
	case KIND_f32:
		return (u32)got == (u32)want || (isnan(GET(f32, got)) && isnan(GET(f32, want)));
	case KIND_f64:
		return got == want || (isnan(GET(f64, got)) && isnan(GET(f64, want)));
	case KIND_u64:
	case KIND_s64:
		return got == want;
	default:
		return (u32)got == (u32)want;
	}
}

static void run_test(struct ptx_module *m, const struct test *t, u64 *d, const u64 *a, const u64 *b, const u64 *c)
{
	const u64 before = 0x1234567890abcdefull;
	char name[64];
	int wrong;

	for (int some = 0; some < 2; some++) {
		for (size_t i = 0; i < N; i++)
			d[i] = before;
		snprintf(name, sizeof(name), "%s_%s", t->name, some ? "some" : "full");
		if (launch(m, name, DIM(N / 128), DIM(128), ARGS(PTR(d), PTR(a), PTR(b), PTR(c)))) {
			tap_ok(0, "%s runs", name);
			continue;
		}
		wrong = 0;
		for (size_t i = 0; i < N; i++) {
			const u64 want = some && i % 4 != 1 ? before : t->ref(a[i], b[i], c[i]);

			if (same(t->kind, d[i], want) || wrong++ > 2)
				continue;
			printf("# %s a %llx b %llx c %llx: %llx, expected %llx\n", name, (unsigned long long)a[i],
			       (unsigned long long)b[i], (unsigned long long)c[i], (unsigned long long)d[i],
			       (unsigned long long)want);
		}
		tap_ok(!wrong, "%s: %s", name, t->opcode);
	}
}

int main(void)
{
	static const char *const isas[] = { "base", "avx2", "avx512" };
	const size_t room = 1 << 20;
	char *text = malloc(room);
	u64 *a, *b, *c, *d;
	size_t n = 0;

	tap_begin();
	device_open(2);
	n += (size_t)snprintf(text, room, ".version 8.0\n.target sm_80\n.address_size 64\n");
	for (size_t i = 0; i < TESTS; i++)
		for (int some = 0; some < 2; some++)
			n += write_kernel(text + n, room - n, &tests[i], some);
	a = device_alloc(N * 8);
	b = device_alloc(N * 8);
	c = device_alloc(N * 8);
	d = device_alloc(N * 8);
	fill(a, b, c);
	for (int i = 0; i < 3; i++) {
		struct ptx_module *m;

		if (!isa_find(isas[i]))
			continue;
		m = load_text(text, n, &(struct ptx_options){ .isa = isas[i] });
		if (!tap_ok(m != NULL, "loaded for %s", isas[i]))
			break;
		for (size_t k = 0; k < TESTS; k++)
			run_test(m, &tests[k], d, a, b, c);
		ptx_module_free(m);
	}
	free(text);
	device_close();
	return tap_end();
}

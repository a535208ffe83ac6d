/*
 * matrix_bits_test.c: mma of random operands, any bits, against the sum that docs/softdevice.md describes, computed
 * here one element after the other: on every build of the engine, for each type, with results that go where an operand
 * was.
 *
 * Numbers are decoded here from the formats' definitions, and nothing of the engine is used. What is not a number is
 * compared as such: its bits are the host's.
 */
#include "numbers.h"
#include "softdev/ptx/engine.h"

#include <math.h>

struct shape {
	unsigned m, n, k;
	enum kind d, a, b, c;
	const char *tail;
};

static const struct shape shapes[] = {
	{ 16, 8, 8, F32, F16, F16, F32, "" },
	{ 16, 8, 16, F32, F16, F16, F32, "" },
	{ 16, 8, 8, F16, F16, F16, F16, "" },
	{ 16, 8, 16, F16, F16, F16, F16, "" },
	{ 16, 8, 8, F32, BF16, BF16, F32, "" },
	{ 16, 8, 16, F32, BF16, BF16, F32, "" },
	{ 16, 8, 4, F32, TF32, TF32, F32, "" },
	{ 16, 8, 8, F32, TF32, TF32, F32, "" },
	{ 8, 8, 4, F64, F64, F64, F64, "" },
	{ 16, 8, 16, F64, F64, F64, F64, "" },
	{ 16, 8, 32, F32, E4M3, E5M2, F32, "" },
	{ 16, 8, 32, F32, E5M2, E4M3, F32, "" },
	{ 16, 8, 16, F16, E4M3, E4M3, F16, "" },
	{ 16, 8, 32, F16, E5M2, E5M2, F16, "" },
	{ 16, 8, 32, F32, E3M2, E2M3, F32, "f8" },
	{ 16, 8, 32, F32, E2M1_BYTE, E4M3, F32, "f8" },
	{ 16, 8, 32, F16, E2M3, E5M2, F16, "f8" },
	{ 8, 8, 16, S32, S8, U8, S32, "" },
	{ 16, 8, 16, S32, U8, S8, S32, "" },
	{ 16, 8, 32, S32, S8, S8, S32, "" },
	{ 16, 8, 32, S32, U8, U8, S32, "" },
	{ 16, 8, 32, S32, S8, S8, S32, ".satfinite" },
	{ 16, 8, 32, S32, U8, U8, S32, ".satfinite" },
	{ 16, 8, 32, S32, U8, S8, S32, ".satfinite" },
	{ 8, 8, 32, S32, S4, U4, S32, "" },
	{ 16, 8, 32, S32, U4, U4, S32, "" },
	{ 16, 8, 64, S32, S4, S4, S32, "" },
	{ 16, 8, 64, S32, U4, S4, S32, ".satfinite" },
	{ 16, 8, 128, S32, B1, B1, S32, ".xor.popc" },
	{ 16, 8, 256, S32, B1, B1, S32, ".and.popc" },
};

/* ---- numbers ---- */

static double float_value(uint64_t bits, unsigned e, unsigned m, bool infinity)
{
	const uint64_t rest = bits & ((1ull << (e + m)) - 1), fraction = rest & ((1ull << m) - 1);
	const unsigned exponent = (unsigned)(rest >> m), bias = (1u << (e - 1)) - 1;
	double v;

	if (infinity && exponent == (1u << e) - 1)
		v = fraction ? NAN : INFINITY;
	else if (exponent)
		v = ldexp((double)(fraction | 1ull << m), (int)exponent - (int)bias - (int)m);
	else
		v = ldexp((double)fraction, 1 - (int)bias - (int)m);
	return bits >> (e + m) & 1 ? -v : v;
}

static double value_of(uint64_t bits, enum kind k)
{
	switch (k) {
	case F16:
		return float_value(bits, 5, 10, true);
	case BF16:
		return float_value(bits, 8, 7, true);
	case TF32:
		return float_value(bits & ~0x1fffull, 8, 23, true);
	case F32:
		return float_value(bits, 8, 23, true);
	case F64:
		return float_value(bits, 11, 52, true);
	case E4M3:
		return (bits & 0x7f) == 0x7f ? NAN : float_value(bits, 4, 3, false);
	case E5M2:
		return float_value(bits, 5, 2, true);
	case E3M2:
		return float_value(bits & 63, 3, 2, false);
	case E2M3:
		return float_value(bits & 63, 2, 3, false);
	case E2M1_BYTE:
		return float_value(bits >> 2 & 15, 2, 1, false);
	case S8:
		return (int8_t)bits;
	case S4:
		return (int)(bits ^ 8) - 8;
	case S32:
		return (int32_t)bits;
	default:
		return (double)bits;
	}
}

/* To nearest even. */
static uint32_t half_of(float v)
{
	const uint32_t sign = signbit(v) ? 0x8000 : 0;
	double x = fabs((double)v), unit;
	int e;

	if (isnan(v))
		return 0x7fff;
	if (x == 0)
		return sign;
	e = isinf(v) ? 99 : ilogb(x);
	unit = ldexp(1, (e < -14 ? -14 : e) - 10);
	x = nearbyint(x / unit) * unit;
	if (x >= 65536)
		return sign | 0x7c00;
	e = x == 0 ? -15 : ilogb(x);
	return sign |
	       (e < -14 ? (uint32_t)ldexp(x, 24) : (uint32_t)((e + 15) << 10) + (uint32_t)ldexp(x, 10 - e) - 1024);
}

static uint64_t element(const uint8_t *at, unsigned index, enum kind k)
{
	const unsigned bits = kinds[k].bits;

	return bits >= 8 ? get(at, index, k) : at[index * bits / 8] >> index * bits % 8 & ((1u << bits) - 1);
}

/* ---- one instruction ---- */

static unsigned registers(unsigned rows, unsigned columns, enum kind k)
{
	return rows * columns * kinds[k].bits / 32 / (kinds[k].bits == 64 ? 64 : 32);
}

/* PTX ISA: element i of a lane's fragment of A, of B (k, n), of an accumulator. */
static void place_a(const struct shape *s, unsigned lane, unsigned i, unsigned *row, unsigned *column)
{
	const unsigned per = kinds[s->a].bits >= 32 ? 1 : 32 / kinds[s->a].bits;

	*row = lane / 4 + (s->m == 8 ? 0 : i / per % 2 * 8);
	*column = lane % 4 * per + i % per + (s->m == 8 ? 0 : i / per / 2 * per * 4);
}

static void place_b(const struct shape *s, unsigned lane, unsigned i, unsigned *row, unsigned *column)
{
	const unsigned per = kinds[s->b].bits >= 32 ? 1 : 32 / kinds[s->b].bits;

	*row = lane % 4 * per + i % per + i / per * per * 4;
	*column = lane / 4;
}

static void place_c(unsigned lane, unsigned i, unsigned *row, unsigned *column)
{
	*row = lane / 4 + i / 2 * 8;
	*column = lane % 4 * 2 + i % 2;
}

static uint64_t a_bits[16][256], b_bits[256][8], c_bits[16][8];

/* Where registers of the result are: with A, with C, with C in another order, elsewhere. */
enum { WITH_A, WITH_C, ACROSS_C, ELSEWHERE, PLACES };

static unsigned result_register(unsigned place, unsigned i, unsigned count)
{
	return place == WITH_A ? i : place == WITH_C ? 40 + i : place == ACROSS_C ? 40 + count - 1 - i : 60 + i;
}

static void say_list(const char *reg, unsigned first, unsigned count)
{
	say("{");
	for (unsigned i = 0; i < count; i++)
		say("%s%s%u", i ? ", " : "", reg, first + i);
	say("}");
}

static void say_loads(const char *reg, unsigned first, unsigned count, unsigned bytes, unsigned pointer)
{
	say("mad.wide.u32 %%p7, %%l, %u, %%p%u;\n", count * bytes, pointer);
	for (unsigned i = 0; i < count; i++)
		say("ld.global.%s %s%u, [%%p7+%u];\n", bytes == 8 ? "f64" : "b32", reg, first + i, i * bytes);
}

static void say_kernel(const struct shape *s, unsigned place)
{
	const unsigned na = registers(s->m, s->k, s->a), nb = registers(s->k, s->n, s->b);
	const unsigned nc = registers(s->m, s->n, s->c), nd = registers(s->m, s->n, s->d);
	const unsigned bytes = s->a == F64 ? 8 : 4;
	const char *reg = s->a == F64 ? "%g" : "%r";
	const bool f8 = !strcmp(s->tail, "f8");

	text_bytes = 0;
	say(".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pa, .param .u64 pb, .param "
	    ".u64 pc, .param .u64 pd)\n{\n.reg .b64 %%p<8>; .reg .b32 %%r<100>; .reg .f64 %%g<100>; .reg .b32 %%l;\n"
	    "ld.param.u64 %%p0, [pa]; ld.param.u64 %%p1, [pb]; ld.param.u64 %%p2, [pc]; ld.param.u64 %%p3, [pd];\n"
	    "mov.u32 %%l, %%tid.x;\n");
	say_loads(reg, 0, na, bytes, 0);
	say_loads(reg, 20, nb, bytes, 1);
	say_loads(reg, 40, nc, bytes, 2);
	say("mma.sync.aligned.m%un%uk%u.row.col%s%s.%s.%s.%s.%s%s {", s->m, s->n, s->k, f8 ? ".kind::f8f6f4" : "",
	    strstr(s->tail, "sat") ? s->tail : "", kinds[s->d].name, kinds[s->a].name, kinds[s->b].name,
	    kinds[s->c].name, strstr(s->tail, "popc") ? s->tail : "");
	for (unsigned i = 0; i < nd; i++)
		say("%s%s%u", i ? ", " : "", reg, result_register(place, i, nd));
	say("}, ");
	say_list(reg, 0, na);
	say(", ");
	say_list(reg, 20, nb);
	say(", ");
	say_list(reg, 40, nc);
	say(";\nmad.wide.u32 %%p7, %%l, %u, %%p3;\n", nd * bytes);
	for (unsigned i = 0; i < nd; i++)
		say("st.global.b%u [%%p7+%u], %s%u;\n", bytes * 8, i * bytes, reg, result_register(place, i, nd));
	say("ret;\n}\n");
}

/* Random bits; `tame`: of floats without infinities and the like, and not too far apart. */
static void fill(uint8_t *to, unsigned count, enum kind k, bool tame)
{
	for (unsigned i = 0; i < count * (kinds[k].bits == 64 ? 2 : 1); i++) {
		uint32_t x = (uint32_t)(random_bits() >> 16);

		if (tame && (k == F32 || k == TF32 || k == F64))
			x = (x & 0x83ffffffu) | 0x3c000000u;
		if (tame && k == BF16)
			x = (x & 0x83ff83ffu) | 0x3c003c00u;
		if (tame && (k == F16 || k == E5M2))
			x &= k == F16 ? 0xbfffbfffu : 0xbfbfbfbfu;
		if (tame && k == E4M3)
			x &= 0xfbfbfbfbu;
		if (random_bits() % 16 == 0) /* subnormals and zeroes of both signs */
			x &= k == F16 || k == BF16 ? 0x80038003u : k == F32 || k == TF32 ? 0x8000ffffu : 0x83838383u;
		memcpy(to + i * 4, &x, 4);
	}
}

static bool same_float(uint32_t a, float b)
{
	float x;

	memcpy(&x, &a, 4);
	return (isnan(x) && isnan(b)) || !memcmp(&x, &b, 4);
}

static bool float_element(const struct shape *s, unsigned i, unsigned j, uint64_t got, bool fused)
{
	float sum = (float)value_of(c_bits[i][j], s->c);

	for (unsigned x = 0; x < s->k; x++) {
		const float a = (float)value_of(a_bits[i][x], s->a), b = (float)value_of(b_bits[x][j], s->b);
		volatile float product = a * b;

		sum = fused ? fmaf(a, b, sum) : product + sum;
	}
	return s->d == F16 ? got == half_of(sum) : same_float((uint32_t)got, sum);
}

static bool double_element(const struct shape *s, unsigned i, unsigned j, uint64_t got)
{
	double sum = value_of(c_bits[i][j], F64), x;

	for (unsigned k = 0; k < s->k; k++)
		sum = fma(value_of(a_bits[i][k], F64), value_of(b_bits[k][j], F64), sum);
	memcpy(&x, &got, 8);
	return (isnan(x) && isnan(sum)) || !memcmp(&x, &sum, 8);
}

static bool whole_element(const struct shape *s, unsigned i, unsigned j, uint64_t got)
{
	int64_t sum = 0, c = (int32_t)c_bits[i][j];

	for (unsigned x = 0; x < s->k; x++) {
		const int64_t a = (int64_t)value_of(a_bits[i][x], s->a), b = (int64_t)value_of(b_bits[x][j], s->b);

		sum += s->a != B1 ? a * b : strstr(s->tail, "and") ? (a & b) : (a ^ b);
	}
	sum += c;
	if (strstr(s->tail, "sat"))
		sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
	return (uint32_t)got == (uint32_t)sum;
}

static bool element_right(const struct shape *s, unsigned i, unsigned j, uint64_t got, bool fused)
{
	return s->d == S32   ? whole_element(s, i, j, got)
	       : s->d == F64 ? double_element(s, i, j, got)
			     : float_element(s, i, j, got, fused);
}

static bool mma_case(const struct shape *s, struct ptx_module *m, bool tame, bool fused)
{
	const unsigned ea = s->m * s->k / 32, eb = s->k * s->n / 32, ec = s->m * s->n / 32;
	unsigned row, column;
	uint8_t *a, *b, *c, *d;

	device_reset();
	a = device_alloc(65536);
	b = device_alloc(65536);
	c = device_alloc(65536);
	d = device_alloc(65536);
	fill(a, registers(s->m, s->k, s->a) * 32, s->a, tame);
	fill(b, registers(s->k, s->n, s->b) * 32, s->b, tame);
	fill(c, registers(s->m, s->n, s->c) * 32, s->c, tame);
	for (unsigned lane = 0; lane < 32; lane++) {
		for (unsigned i = 0; i < ea; i++) {
			place_a(s, lane, i, &row, &column);
			a_bits[row][column] = element(a, lane * ea + i, s->a);
		}
		for (unsigned i = 0; i < eb; i++) {
			place_b(s, lane, i, &row, &column);
			b_bits[row][column] = element(b, lane * eb + i, s->b);
		}
		for (unsigned i = 0; i < ec; i++) {
			place_c(lane, i, &row, &column);
			c_bits[row][column] = element(c, lane * ec + i, s->c);
		}
	}
	if (launch(m, "k", DIM(1), DIM(32), ARGS(PTR(a), PTR(b), PTR(c), PTR(d))))
		return false;
	for (unsigned lane = 0; lane < 32; lane++)
		for (unsigned i = 0; i < ec; i++) {
			const uint64_t got = get(d, lane * ec + i, s->d);

			place_c(lane, i, &row, &column);
			if (element_right(s, row, column, got, fused))
				continue;
			printf("# row %u column %u: %llx is wrong\n", row, column, (unsigned long long)got);
			return false;
		}
	return true;
}

static bool shape_right(const struct shape *s, const char *isa)
{
	const struct ptx_options options = { .isa = isa };

	for (unsigned place = 0; place < PLACES; place++) {
		struct ptx_module *m;
		bool good = true;

		say_kernel(s, place);
		m = load_text(text, text_bytes, &options);
		for (unsigned i = 0; good && i < 12; i++)
			good = m && mma_case(s, m, i % 3, strcmp(isa, "base"));
		ptx_module_free(m);
		if (!good) {
			printf("# m%un%uk%u.%s.%s.%s.%s %s, %s, result %u\n", s->m, s->n, s->k, kinds[s->d].name,
			       kinds[s->a].name, kinds[s->b].name, kinds[s->c].name, s->tail, isa, place);
			return false;
		}
	}
	return true;
}

int main(void)
{
	static const char *const isas[] = { "base", "avx2", "avx512" };

	tap_begin();
	device_open(1);
	for (unsigned k = 0; k < 3; k++) {
		unsigned wrong = 0;

		if (!isa_find(isas[k]))
			continue;
		for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
			wrong += !shape_right(&shapes[i], isas[k]);
		tap_ok(!wrong, "mma of random bits, %zu shapes and types, %s", sizeof(shapes) / sizeof(shapes[0]),
		       isas[k]);
	}
	device_close();
	return tap_end();
}

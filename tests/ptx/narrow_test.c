/*
 * narrow_test.c: conversions to floats of 4, 6 and 8 bits against a search for the nearest value, every pattern back, and
 * the other instructions of rows_narrow.h and rows_video.h against C.
 */
#include "harness.h"

enum { LANES_MAX = 4096 };

/* A kernel that computes d = op(a, b, c) over arrays of words. */
static struct ptx_module *word_kernel(const char *body)
{
	char text[4096];
	int n = snprintf(text, sizeof(text),
			 ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 "
			 "pc, .param .u64 pd)\n{ .reg .b64 %%p<9>; .reg .b32 %%i<4>; .reg .b32 %%a, %%b, %%c, %%d; .reg .f32 %%f, %%g; .reg .b16 %%h<4>; .reg .b8 %%y; .reg .b64 %%l<4>;\n"
			 "ld.param.u64 %%p0, [pa]; ld.param.u64 %%p1, [pb]; ld.param.u64 %%p2, [pc]; ld.param.u64 %%p3, [pd];\n"
			 "mov.u32 %%i0, %%ctaid.x; mov.u32 %%i1, %%tid.x; mad.lo.u32 %%i0, %%i0, 128, %%i1; mul.wide.u32 %%p4, %%i0, 4;\n"
			 "add.u64 %%p5, %%p0, %%p4; add.u64 %%p6, %%p1, %%p4; add.u64 %%p7, %%p2, %%p4; add.u64 %%p8, %%p3, %%p4;\n"
			 "ld.global.b32 %%a, [%%p5]; ld.global.b32 %%b, [%%p6]; ld.global.b32 %%c, [%%p7]; mov.b32 %%f, %%a; mov.b32 %%g, %%b; mov.u32 %%d, 0;\n"
			 "%s\nst.global.b32 [%%p8], %%d; ret; }\n",
			 body);

	return load_text(text, (size_t)n, NULL);
}

static uint32_t *word_a, *word_b, *word_c, *word_d;

static void words_begin(void)
{
	device_reset();
	word_a = device_alloc(LANES_MAX * 4);
	word_b = device_alloc(LANES_MAX * 4);
	word_c = device_alloc(LANES_MAX * 4);
	word_d = device_alloc(LANES_MAX * 4);
	for (unsigned i = 0; i < LANES_MAX; i++) {
		word_a[i] = (uint32_t)random_bits();
		word_b[i] = (uint32_t)random_bits();
		word_c[i] = (uint32_t)random_bits();
	}
}

static bool words_run(const char *body)
{
	struct ptx_module *m = word_kernel(body);
	int r = m ? launch(m, "k", DIM(LANES_MAX / 128), DIM(128), ARGS(PTR(word_a), PTR(word_b), PTR(word_c), PTR(word_d))) : -1;

	ptx_module_free(m);
	return !r;
}

static float as_float(uint32_t b)
{
	float f;

	memcpy(&f, &b, sizeof(f));
	return f;
}

static uint32_t as_bits(float f)
{
	uint32_t b;

	memcpy(&b, &f, sizeof(b));
	return b;
}

struct format {
	const char *name;
	int exponent, mantissa, bias;
	unsigned numbers; /* without sign */
	unsigned nan;
	unsigned shift; /* of the upper one of a pair */
};

static const struct format formats[] = {
	{ "e4m3", 4, 3, 7, 0x7f, 0x7f, 8 }, { "e5m2", 5, 2, 15, 0x7c, 0x7f, 8 }, { "e2m3", 2, 3, 1, 0x20, 0, 8 },
	{ "e3m2", 3, 2, 3, 0x20, 0, 8 },    { "e2m1", 2, 1, 1, 0x08, 0, 4 },
};

static double value_of(const struct format *f, unsigned x)
{
	const int e = (int)(x >> f->mantissa), m = (int)(x & ((1u << f->mantissa) - 1));

	return e ? ldexp(1 + ldexp(m, -f->mantissa), e - f->bias) : ldexp(m, 1 - f->bias - f->mantissa);
}

/* By search: the nearest one, of two equally near ones the even one. */
static unsigned nearest(const struct format *f, float v)
{
	const unsigned sign = (as_bits(v) >> 31) << (f->exponent + f->mantissa);
	const double most = value_of(f, f->numbers - 1), size = fabs((double)v) < most ? fabs((double)v) : most;
	unsigned best = 0;

	if (v != v)
		return f->nan ? f->nan : f->numbers - 1;
	for (unsigned i = 1; i < f->numbers; i++) {
		const double now = fabs(value_of(f, i) - size), old = fabs(value_of(f, best) - size);

		if (now < old || (now == old && !(i & 1)))
			best = i;
	}
	return sign | best;
}

static float some_float(unsigned i)
{
	static const float edges[] = { 0, -0.0f, INFINITY, -INFINITY, NAN, 448, 464, 480, 57344, 61440, 65536, 7.5f, 7.75f, 28, 30, 6, 5, 7,
				       0.25f, 0.75f, 0x1p-9f, 0x1p-10f, 0x1.8p-10f, 0x1p-16f, 0x1p-17f, 0x1.000002p-17f, 0x1p-149f, 0x1p127f };

	if (i < 2 * sizeof(edges) / sizeof(edges[0]))
		return i & 1 ? -edges[i / 2] : edges[i / 2];
	if (i & 1)
		return ldexpf((float)((int)(random_bits() % 2048) - 1024), -(int)(random_bits() % 24));
	return as_float((uint32_t)random_bits());
}

static void test_formats(void)
{
	char body[512];

	for (size_t k = 0; k < sizeof(formats) / sizeof(formats[0]); k++) {
		const struct format *f = &formats[k];
		const unsigned one = (1u << (1 + f->exponent + f->mantissa)) - 1, part = (1u << f->shift) - 1;
		const bool small = f->shift == 4;
		int wrong = 0;

		words_begin();
		for (unsigned i = 0; i < LANES_MAX; i++) {
			word_a[i] = as_bits(some_float(i));
			word_b[i] = as_bits(some_float(i ^ 5));
		}
		snprintf(body, sizeof(body),
			 small ? "cvt.rn.satfinite.%sx2.f32 %%y, %%f, %%g; cvt.u32.u8 %%d, %%y;"
			       : "cvt.rn.satfinite.%sx2.f32 %%h0, %%f, %%g; cvt.u32.u16 %%d, %%h0;",
			 f->name);
		ok(words_run(body));
		for (unsigned i = 0; i < LANES_MAX; i++) {
			const unsigned want = nearest(f, as_float(word_a[i])) << f->shift | nearest(f, as_float(word_b[i]));

			if (word_d[i] != want && !wrong++)
				printf("# %g, %g: %x instead of %x\n", as_float(word_a[i]), as_float(word_b[i]), word_d[i], want);
		}
		tap_ok(!wrong, "%s from f32: %d wrong", f->name, wrong);
		for (unsigned i = 0; i < LANES_MAX; i++)
			word_a[i] = (i * 7 & one) << f->shift | (i & one);
		snprintf(body, sizeof(body), "cvt.u16.u32 %%h0, %%a; %s cvt.rn.f16x2.%sx2 %%d, %s;", small ? "cvt.u8.u32 %y, %a;" : "",
			 f->name, small ? "%y" : "%h0");
		ok(words_run(body));
		wrong = 0;
		for (unsigned i = 0; i < LANES_MAX; i++)
			for (unsigned half = 0; half < 2; half++) {
				const unsigned x = word_a[i] >> (half ? f->shift : 0) & part & one, size = x & (one >> 1);
				const uint32_t h = word_d[i] >> half * 16 & 0xffff;
				const double v = value_of(f, size);
				/* through the bits of f16, by exponent: all values are numbers of it */
				const int e = h >> 10 & 31;
				const double got = e ? ldexp(1024 + (h & 1023), e - 25) : ldexp(h & 1023, -24);

				if (size >= f->numbers) /* infinity or not a number */
					wrong += e != 31 || (!(h & 1023)) != (f->exponent == 5 && size == 0x7c);
				else
					wrong += got != v || (h >> 15) != (x > one >> 1);
			}
		tap_ok(!wrong, "%s to f16: %d wrong", f->name, wrong);
	}
}

#define HALVES_OF(x, k) ((int16_t)((x) >> (k)*16))

/* What is too large for a power of two is the largest one with .satfinite, and not a number without. */
static void test_large_scales(void)
{
	static const struct {
		uint32_t a, rz, rp, rz_fin, rp_fin;
	} row[] = {
		{ 0x7f800000, 255, 255, 254, 254 }, /* infinity */
		{ 0x7f7fffff, 254, 255, 254, 254 }, /* the largest number */
		{ 0x7f000000, 254, 254, 254, 254 }, /* 2^127 */
		{ 0x7f000001, 254, 255, 254, 254 },
		{ 0x7fc00000, 255, 255, 255, 255 },
	};
	const uint32_t rows = sizeof(row) / sizeof(row[0]);
	unsigned wrong = 0;

	for (unsigned i = 0; i < LANES_MAX; i++)
		word_a[i] = word_b[i] = row[i % rows].a;
	ok(words_run("cvt.rz.ue8m0x2.f32 %h0, %f, %g; cvt.rp.ue8m0x2.f32 %h1, %f, %g; mov.b32 %d, {%h0, %h1};"));
	for (unsigned i = 0; i < rows; i++)
		wrong += word_d[i] != (row[i].rz * 0x101 | row[i].rp * 0x1010000u);
	ok(words_run("cvt.rz.satfinite.ue8m0x2.f32 %h0, %f, %g; cvt.rp.satfinite.ue8m0x2.f32 %h1, %f, %g; mov.b32 %d, {%h0, %h1};"));
	for (unsigned i = 0; i < rows; i++)
		wrong += word_d[i] != (row[i].rz_fin * 0x101 | row[i].rp_fin * 0x1010000u);
	for (unsigned i = 0; i < LANES_MAX; i++)
		word_a[i] = (row[i % rows].a >> 16) | (row[i % rows].a & 0xffff0000u);
	ok(words_run("cvt.rz.ue8m0x2.bf16x2 %h0, %a; cvt.rp.satfinite.ue8m0x2.bf16x2 %h1, %a; mov.b32 %d, {%h0, %h1};"));
	wrong += word_d[0] != (255u * 0x101 | 254u * 0x1010000u);
	is(wrong, 0);
}

static void test_others(void)
{
	int wrong = 0;

	words_begin();
	ok(words_run("vadd4.s32.s32.s32.sat %d, %a, %b, %c;"));
	for (unsigned i = 0; i < LANES_MAX; i++)
		for (unsigned k = 0; k < 32; k += 8) {
			const int v = (int8_t)(word_a[i] >> k) + (int8_t)(word_b[i] >> k);

			wrong += (int8_t)(word_d[i] >> k) != (v > 127 ? 127 : v < -128 ? -128 : v);
		}
	ok(words_run("vsub2.u32.u32.u32 %d, %a, %b, %c;"));
	for (unsigned i = 0; i < LANES_MAX; i++)
		for (unsigned k = 0; k < 2; k++)
			wrong += HALVES_OF(word_d[i], k) != (int16_t)(HALVES_OF(word_a[i], k) - HALVES_OF(word_b[i], k));
	ok(words_run("vabsdiff2.u32.u32.u32.add %d, %a, %b, %c;"));
	for (unsigned i = 0; i < LANES_MAX; i++) {
		uint32_t sum = word_c[i];

		for (unsigned k = 0; k < 32; k += 16)
			sum += (uint32_t)abs((int)(word_a[i] >> k & 0xffff) - (int)(word_b[i] >> k & 0xffff));
		wrong += word_d[i] != sum;
	}
	ok(words_run("vavrg4.u32.u32.u32 %d, %a, %b, %c;"));
	for (unsigned i = 0; i < LANES_MAX; i++)
		for (unsigned k = 0; k < 32; k += 8)
			wrong += (word_d[i] >> k & 255) != ((word_a[i] >> k & 255) + (word_b[i] >> k & 255) + 1) / 2;
	ok(words_run("max.s16x2.relu %d, %a, %b;"));
	for (unsigned i = 0; i < LANES_MAX; i++)
		for (unsigned k = 0; k < 2; k++) {
			const int x = HALVES_OF(word_a[i], k), y = HALVES_OF(word_b[i], k), v = x > y ? x : y;

			wrong += HALVES_OF(word_d[i], k) != (v < 0 ? 0 : v);
		}
	ok(words_run("min.s32.relu %d, %a, %b;"));
	for (unsigned i = 0; i < LANES_MAX; i++) {
		const int32_t x = (int32_t)word_a[i], y = (int32_t)word_b[i], v = x < y ? x : y;

		wrong += (int32_t)word_d[i] != (v < 0 ? 0 : v);
	}
	is(wrong, 0);
	/* integers to 16-bit floats: what is next to the value in the direction asked, found by way of double */
	ok(words_run("cvt.rz.bf16.s32 %h0, %a; cvt.rp.bf16.u32 %h1, %b; mov.b32 %d, {%h0, %h1};"));
	for (unsigned i = 0; i < LANES_MAX; i++) {
		const double low = as_float(word_d[i] << 16), high = as_float(word_d[i] & 0xffff0000u);
		const double a = (int32_t)word_a[i], b = word_b[i], step = ldexp(1, ilogb(b) - 7);

		wrong += fabs(low) > fabs(a) || fabs(a) - fabs(low) >= ldexp(1, ilogb(a) - 7) || low * a < 0;
		wrong += high < b || high - b >= step;
	}
	ok(words_run("cvt.rm.bf16.f32 %h0, %f; cvt.rni.bf16.bf16 %h1, %h0; mov.b32 %d, {%h0, %h1};"));
	for (unsigned i = 0; i < LANES_MAX; i++) {
		const float a = as_float(word_a[i]), low = as_float(word_d[i] << 16), whole = as_float(word_d[i] & 0xffff0000u);

		if (a == a)
			wrong += low > a || (isfinite(low) && fabsf(a - low) > fabsf(a) / 128 + 1e-38f) ||
				 (fabsf(low) < 128 && whole != rintf(low));
	}
	is(wrong, 0);
	/* scales: powers of two, up or down */
	ok(words_run("cvt.rz.satfinite.ue8m0x2.f32 %h0, %f, %g; cvt.rp.satfinite.ue8m0x2.f32 %h1, %f, %g; mov.b32 %d, {%h0, %h1};"));
	for (unsigned i = 0; i < LANES_MAX; i++) {
		const float a = fabsf(as_float(word_a[i]));
		const unsigned down = word_d[i] >> 8 & 255, up = word_d[i] >> 24;

		if (a != a)
			wrong += down != 255 || up != 255;
		else if (isfinite(a) && a >= 0x1p-126f && a < 0x1p127f)
			wrong += ldexpf(1, (int)down - 127) > a || ldexpf(2, (int)down - 127) <= a || ldexpf(1, (int)up - 127) < a ||
				 ldexpf(0.5f, (int)up - 127) >= a;
	}
	is(wrong, 0);
	test_large_scales();
	/* not a number wins with .NaN, loses without */
	for (unsigned i = 0; i < LANES_MAX; i++) {
		word_a[i] = i & 1 ? 0x7fff3f80 : 0x40003f80;
		word_b[i] = i & 2 ? 0x40007fff : 0x40804000;
	}
	ok(words_run("max.NaN.bf16x2 %d, %a, %b;"));
	for (unsigned i = 0; i < 4; i++)
		wrong += word_d[i] != ((i & 1 ? 0x7fff0000u : i & 2 ? 0x40000000u : 0x40800000u) | (i & 2 ? 0x7fffu : 0x4000u));
	is(wrong, 0);
}

int main(void)
{
	tap_begin();
	device_open(1);
	test_formats();
	test_others();
	device_close();
	return tap_end();
}

/*
 * number.c: floats of all widths as exact numbers, and the rounding of an exact number to a width.
 *
 * f32 and f64 arithmetic is the C compiler's in the wanted rounding mode. 16-bit arithmetic is done in f64 towards zero
 * with the lowest bit set when something was lost (rounding to odd), which loses nothing for a second rounding.
 */
#include "compute.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

struct format {
	char kind;
	int bits, mantissa, bias;
};

static const struct format formats[] = {
	{ '1', 8, 3, 7 },     { '2', 8, 2, 15 },     { '3', 8, 3, 1 },
	{ '4', 8, 2, 3 },     { '5', 4, 1, 1 }, /* e4m3 ... e2m1 */
	{ 'f', 16, 10, 15 },  { 'B', 16, 7, 127 },   { 't', 32, 10, 127 },
	{ 'f', 32, 23, 127 }, { 'f', 64, 52, 1023 },
};

static const struct format *format_of(const struct ref_type *t)
{
	for (unsigned i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i].kind == t->kind && formats[i].bits == t->bits)
			return &formats[i];
	return NULL;
}

/*
 * The floats of 4 to 8 bits have no infinity, but for e5m2: what is too large becomes the largest number. e4m3 has one
 * not-a-number, e5m2 those of IEEE, the others none: it becomes the largest number, too. e2m3 and e3m2 have 6 bits.
 */
static bool narrow(const struct ref_type *t)
{
	return t->kind >= '1' && t->kind <= '5';
}

static int narrow_bits(const struct ref_type *t)
{
	return t->kind == '5' ? 4 : t->kind <= '2' ? 8 : 6;
}

static wide narrow_largest(const struct ref_type *t)
{
	return t->kind == '1' ? 0x7e : t->kind == '2' ? 0x7b : t->kind == '5' ? 7 : 0x1f;
}

/* tf32 is an f32 whose lowest 13 bits are zero. */
static int spare_bits(const struct format *f)
{
	return f->kind == 't' ? 13 : 0;
}

static int exponent_bits(const struct format *f)
{
	return f->bits - 1 - f->mantissa - spare_bits(f);
}

static wide infinity(const struct format *f)
{
	return ref_mask(exponent_bits(f)) << f->mantissa;
}

wide ref_nan(const struct ref_type *t)
{
	if (narrow(t))
		return t->kind <= '2' ? 0x7f : narrow_largest(t);
	return ref_mask(t->bits - 1);
}

bool ref_is_nan(const struct ref_type *t, wide bits)
{
	return isnan(ref_number(t, bits));
}

long double ref_number(const struct ref_type *t, wide bits)
{
	struct format own = *format_of(t);
	const struct format *f = &own;

	if (narrow(t))
		own.bits = narrow_bits(t);

	const wide all = (bits & ref_mask(f->bits)) >> spare_bits(f);
	const bool negative = all >> (f->mantissa + exponent_bits(f)) & 1;
	const wide rest = all & ref_mask(f->mantissa + exponent_bits(f)), m = rest & ref_mask(f->mantissa);
	const int e = (int)(rest >> f->mantissa);
	long double v;

	const bool special = !narrow(t) || t->kind == '2';

	if (special ? rest > infinity(f) : t->kind == '1' && rest == 0x7f)
		return NAN;
	if (special && rest == infinity(f))
		v = INFINITY;
	else if (!e)
		v = ldexpl((long double)(uint64_t)m, 1 - f->bias - f->mantissa);
	else
		v = ldexpl((long double)(uint64_t)(m + ((wide)1 << f->mantissa)), e - f->bias - f->mantissa);
	return negative ? -v : v;
}

static bool away(enum ref_rounding rounding, bool negative, long double rest, bool odd)
{
	switch (rounding) {
	case REF_RN:
		return rest > 0.5L || (rest == 0.5L && odd);
	case REF_RNA:
		return rest >= 0.5L;
	case REF_RM:
		return negative && rest > 0;
	case REF_RP:
		return !negative && rest > 0;
	default:
		return false;
	}
}

wide ref_bits(const struct ref_type *t, long double v, enum ref_rounding rounding)
{
	const struct format *f = format_of(t);
	const bool negative = signbit(v);
	const wide sign = negative ? (wide)1 << ((narrow(t) ? narrow_bits(t) : f->bits) - 1) : 0;
	const int least = 1 - f->bias - f->mantissa; /* exponent of the smallest number above zero */
	long double scaled, whole;
	int e, quantum;
	wide r;

	if (isnan(v))
		return ref_nan(t);
	if (isinf(v) && narrow(t))
		return sign | narrow_largest(t);
	if (isinf(v))
		return sign | infinity(f) << spare_bits(f);
	if (v == 0)
		return sign;
	frexpl(fabsl(v), &e);
	quantum = e - f->mantissa - 1 < least ? least : e - f->mantissa - 1;
	scaled = ldexpl(fabsl(v), -quantum);
	whole = floorl(scaled);
	if (away(rounding, negative, scaled - whole, fmodl(whole, 2) == 1))
		whole += 1;
	/* a mantissa that overflows carries into the exponent */
	r = ((wide)(unsigned)(quantum - least) << f->mantissa) + (wide)(uint64_t)whole;
	if (narrow(t))
		return sign | (r > narrow_largest(t) ? narrow_largest(t) : r);
	if (r >= infinity(f)) {
		r = infinity(f);
		if (rounding == REF_RZ || (rounding == REF_RM && !negative) || (rounding == REF_RP && negative))
			r--;
	}
	return sign | r << spare_bits(f);
}

wide ref_flush(const struct ref_type *t, wide bits)
{
	const struct format *f = format_of(t);
	const wide sign = (wide)1 << (f->bits - 1);

	bits &= ref_mask(f->bits);
	return bits & infinity(f) << spare_bits(f) ? bits : bits & sign;
}

static void host_rounding(enum ref_rounding rounding)
{
	fesetround(rounding == REF_RZ	? FE_TOWARDZERO
		   : rounding == REF_RM ? FE_DOWNWARD
		   : rounding == REF_RP ? FE_UPWARD
					: FE_TONEAREST);
}

static double f64_arith(char what, double x, double y, double z)
{
	volatile double a = x, b = y, c = z, r;

	switch (what) {
	case '+':
		r = a + b;
		break;
	case '*':
		r = a * b;
		break;
	case 'f':
		r = fma(a, b, c);
		break;
	case '/':
		r = a / b;
		break;
	default:
		r = sqrt(a);
	}
	return r;
}

static float f32_arith(char what, float x, float y, float z)
{
	volatile float a = x, b = y, c = z, r;

	switch (what) {
	case '+':
		r = a + b;
		break;
	case '*':
		r = a * b;
		break;
	case 'f':
		r = fmaf(a, b, c);
		break;
	case '/':
		r = a / b;
		break;
	default:
		r = sqrtf(a);
	}
	return r;
}

static wide arith_16(const struct ref_type *t, char what, wide a, wide b, wide c, enum ref_rounding rounding)
{
	double r;
	uint64_t bits;

	feclearexcept(FE_ALL_EXCEPT);
	fesetround(FE_TOWARDZERO);
	r = f64_arith(what, (double)ref_number(t, a), (double)ref_number(t, b), (double)ref_number(t, c));
	if (fetestexcept(FE_INEXACT)) {
		memcpy(&bits, &r, 8);
		bits |= 1;
		memcpy(&r, &bits, 8);
	}
	fesetround(FE_TONEAREST);
	return ref_bits(t, r, rounding);
}

wide ref_arith(const struct ref_type *t, char what, wide a, wide b, wide c, enum ref_rounding rounding)
{
	float x[3], r32 = 0;
	double y[3], r64 = 0;
	uint32_t bits32;
	uint64_t bits64;
	const wide in[3] = { a, b, c };

	if (t->bits == 16)
		return arith_16(t, what, a, b, c, rounding);
	for (int i = 0; i < 3; i++) {
		bits32 = (uint32_t)in[i];
		bits64 = (uint64_t)in[i];
		memcpy(&x[i], &bits32, 4);
		memcpy(&y[i], &bits64, 8);
	}
	host_rounding(rounding);
	if (t->bits == 32)
		r32 = f32_arith(what, x[0], x[1], x[2]);
	else
		r64 = f64_arith(what, y[0], y[1], y[2]);
	fesetround(FE_TONEAREST);
	if (t->bits == 32) {
		memcpy(&bits32, &r32, 4);
		return isnan(r32) ? ref_nan(t) : bits32;
	}
	memcpy(&bits64, &r64, 8);
	return isnan(r64) ? ref_nan(t) : bits64;
}

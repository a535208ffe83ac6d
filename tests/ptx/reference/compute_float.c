/*
 * compute_float.c: floating point instructions, comparisons and conversions. See compute.h.
 *
 * f32 results that are not a number are the canonical one; those of f64 may carry any payload, so comparisons of
 * results take not-a-number for equal (ref_same()).
 */
#include "compute.h"

#include <math.h>
#include <string.h>

static bool is(const struct ref_op *op, const char *name)
{
	return !strcmp(op->word[0], name);
}

static enum ref_rounding rounding_of(const struct ref_op *op)
{
	return ref_has(op, "rz")    ? REF_RZ
	       : ref_has(op, "rm")  ? REF_RM
	       : ref_has(op, "rp")  ? REF_RP
	       : ref_has(op, "rna") ? REF_RNA
				    : REF_RN;
}

static wide sign_bit(const struct ref_type *t)
{
	return (wide)1 << (t->bits - 1);
}

static wide negated(const struct ref_type *t, wide v)
{
	return (v ^ sign_bit(t)) & ref_mask(t->bits);
}

/* .sat: to [0, 1], not-a-number to 0. */
static wide clamped(const struct ref_type *t, wide v)
{
	const long double x = ref_number(t, v);

	if (!(x > 0))
		return 0;
	return x > 1 ? ref_bits(t, 1, REF_RN) : v;
}

/* .relu: what is below zero becomes zero, not-a-number the canonical one. */
static wide not_negative(const struct ref_type *t, wide v)
{
	if (ref_is_nan(t, v))
		return ref_nan(t);
	return signbit(ref_number(t, v)) ? 0 : v;
}

bool ref_compare(const struct ref_op *op, const struct ref_type *t, wide a, wide b, bool *legal)
{
	static const char *const names[] = { "eq", "ne",  "lt",	 "le",	"gt",  "ge",  "lo",  "ls",  "hi",
					     "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan" };
	struct ref_type as = *t;
	bool nan = false;
	int order, which = -1; /* order: -1, 0, 1 */

	for (int i = 0; i < 18; i++)
		if (!strcmp(op->word[1], names[i]))
			which = i;
	if (which < 0 || (which >= 6 && which < 10 && (ref_is_float(t) || t->kind == 's')) ||
	    (which >= 10 && !ref_is_float(t)) || (ref_has(op, "ftz") && (t->kind != 'f' || t->bits == 64)) ||
	    (t->kind == 'b' && which > 1)) {
		*legal = false;
		return false;
	}
	if (ref_is_float(t)) {
		long double x, y;

		if (ref_has(op, "ftz"))
			a = ref_flush(t, a), b = ref_flush(t, b);
		x = ref_number(t, a);
		y = ref_number(t, b);
		nan = isnan(x) || isnan(y);
		order = x < y ? -1 : x > y;
	} else {
		if (which >= 6)
			as.kind = 'u';
		swide x = ref_int(&as, a), y = ref_int(&as, b);

		order = x < y ? -1 : x > y;
	}
	if (nan)
		return which == 17 || (which >= 10 && which < 16);
	switch (which) {
	case 0:
	case 10:
		return order == 0;
	case 1:
	case 11:
		return order != 0;
	case 2:
	case 6:
	case 12:
		return order < 0;
	case 3:
	case 7:
	case 13:
		return order <= 0;
	case 4:
	case 8:
	case 14:
		return order > 0;
	case 5:
	case 9:
	case 15:
		return order >= 0;
	default:
		return which == 16;
	}
}

static wide float_min_max(const struct ref_op *op, const struct ref_type *t, wide a, wide b)
{
	const bool least = is(op, "min");
	const wide signs = (a ^ b) & sign_bit(t);
	long double x, y;
	wide r;

	if (ref_has(op, "abs"))
		a &= ~sign_bit(t), b &= ~sign_bit(t);
	x = ref_number(t, a);
	y = ref_number(t, b);
	if ((isnan(x) && isnan(y)) || ((isnan(x) || isnan(y)) && ref_has(op, "NaN")))
		r = ref_nan(t);
	else if (isnan(x) || isnan(y))
		r = isnan(x) ? b : a;
	else if (x == y) /* zeroes differ in their sign, and -0 is the smaller one */
		r = (signbit(x) != 0) == least ? a : b;
	else
		r = (x < y) == least ? a : b;
	if (ref_has(op, "xorsign") && !ref_is_nan(t, r))
		r = (r & ~sign_bit(t)) | signs;
	return r;
}

static bool test_property(const struct ref_op *op, const struct ref_type *t, wide v)
{
	const long double x = ref_number(t, v);
	const bool subnormal = x != 0 && ref_flush(t, v) != (v & ref_mask(t->bits));

	if (ref_has(op, "finite"))
		return isfinite(x);
	if (ref_has(op, "infinite"))
		return isinf(x);
	if (ref_has(op, "number"))
		return !isnan(x);
	if (ref_has(op, "notanumber"))
		return isnan(x);
	if (ref_has(op, "normal"))
		return isfinite(x) && x != 0 && !subnormal;
	return isfinite(x) && subnormal;
}

/* Functions that the language bounds instead of defining: the right result and how far away a result may be. */
static enum ref_answer approximated(const struct ref_op *op, const struct ref_type *t, const wide *src,
				    struct ref_result *ret)
{
	const double x = (double)ref_number(t, src[0]), y = (double)ref_number(t, src[1]);
	const int ulp = t->kind == 'B' ? 7 : t->bits == 16 ? 10 : t->bits == 32 ? 23 : 52;
	const double step = ldexp(1, -ulp);

	ret->approximate = ret->is_float = true;
	ret->relative = step;
	/* results below the normal range may be zero */
	ret->absolute = t->bits == 32 || t->kind == 'B' ? 0x1p-126 : t->bits == 16 ? 0x1p-14 : 0x1p-1022;
	if (is(op, "div")) {
		ret->want = x / y;
		ret->relative = 2 * step;
		if (!ref_has(op, "full") && fabs(y) > 0x1p126)
			return REF_UNDEFINED; /* the bound holds for smaller divisors */
		if (ref_has(op, "full") && (fabs(y) > 0x1p126 || fabs(y) < 0x1p-126))
			return REF_UNDEFINED;
	} else if (is(op, "rcp")) {
		ret->want = 1 / x;
		if (t->bits == 64)
			ret->relative = 0x1p-20;
	} else if (is(op, "sqrt")) {
		ret->want = sqrt(x);
	} else if (is(op, "rsqrt")) {
		ret->want = 1 / sqrt(x);
		ret->relative = t->bits == 64 ? 0x1p-20 : 0x1.2p-23;
	} else if (is(op, "sin") || is(op, "cos")) {
		if (fabs(x) > 6.2831853 && !isinf(x))
			return REF_UNDEFINED; /* the bound grows outside of two turns */
		ret->want = is(op, "sin") ? sin(x) : cos(x);
		ret->relative = 0;
		ret->absolute = 0x1p-20;
	} else if (is(op, "lg2")) {
		ret->want = log2(x);
		ret->relative = x > 0.5 && x < 2 ? 0 : 0x1p-22;
		ret->absolute = x > 0.5 && x < 2 ? 0x1p-22 : 0;
	} else if (is(op, "ex2")) {
		ret->want = exp2(x);
		ret->relative = t->kind == 'B' ? 0x1p-7 : t->bits == 16 ? 0x1.2p-10 : 2 * step;
	} else if (is(op, "tanh")) {
		ret->want = tanh(x);
		ret->relative = t->kind == 'B' ? 0x1p-8 : t->bits == 16 ? 0 : 0x1p-11;
		ret->absolute = t->bits == 16 && t->kind == 'f' ? 0x1.02p-11 : ret->absolute;
		if (t->kind == 'B') /* of the function; the result is rounded to this width, too */
			ret->relative += 0x1p-8;
	}
	if (ref_has(op, "ftz") || t->bits == 64)
		ret->want = fabs(ret->want) < ret->absolute ? copysign(0, ret->want) : ret->want;
	ret->d = ref_bits(t, ret->want, REF_RN);
	return REF_DONE;
}

/* add.f32.f16 d, a, c and fma.f32.f16 d, a, b, c: all sources but the last are 16 bits wide. */
static enum ref_answer mixed(const struct ref_op *op, const wide *src, int count, struct ref_result *ret)
{
	struct ref_op wider = *op;
	wide in[5] = { 0 };

	wider.types = 1;
	for (int i = 0; i < count; i++)
		in[i] = i + 1 < count ? ref_bits(&op->type[0], ref_number(&op->type[1], src[i]), REF_RN) : src[i];
	return ref_compute_float(&wider, in, count, ret);
}

enum ref_answer ref_compute_float(const struct ref_op *op, const wide *src, int count, struct ref_result *ret)
{
	const struct ref_type *t = &op->type[0];
	const enum ref_rounding rounding = rounding_of(op);
	const bool ftz = ref_has(op, "ftz");
	wide in[5] = { 0 }, r;

	if (!ref_is_float(t))
		return REF_UNKNOWN;
	if (op->types == 2 && op->type[1].bits == 16 && count > 1 && !is(op, "testp"))
		return mixed(op, src, count, ret);
	for (int i = 0; i < count; i++)
		in[i] = ftz ? ref_flush(t, src[i]) : src[i] & ref_mask(t->bits);
	ret->is_float = true;
	if (is(op, "testp")) {
		ret->is_float = false;
		ret->d = test_property(op, t, in[0]);
		return REF_DONE;
	}
	if (ref_has(op, "approx") || ref_has(op, "full"))
		return approximated(op, t, in, ret);
	if (is(op, "add"))
		r = ref_arith(t, '+', in[0], in[1], 0, rounding);
	else if (is(op, "sub"))
		r = ref_arith(t, '+', in[0], ref_is_nan(t, in[1]) ? in[1] : negated(t, in[1]), 0, rounding);
	else if (is(op, "mul"))
		r = ref_arith(t, '*', in[0], in[1], 0, rounding);
	else if (is(op, "fma") || is(op, "mad"))
		r = ref_arith(t, 'f', in[0], in[1], in[2], rounding);
	else if (is(op, "div"))
		r = ref_arith(t, '/', in[0], in[1], 0, rounding);
	else if (is(op, "rcp"))
		r = ref_arith(t, '/', ref_bits(t, 1, REF_RN), in[0], 0, rounding);
	else if (is(op, "sqrt"))
		r = ref_arith(t, 'q', in[0], 0, 0, rounding);
	else if (is(op, "min") || is(op, "max"))
		r = float_min_max(op, t, count > 2 ? float_min_max(op, t, in[0], in[2]) : in[0], in[1]);
	else if (t->bits == 32 && (is(op, "abs") || is(op, "neg")) && ref_is_nan(t, in[0]))
		r = ref_nan(t);
	else if (is(op, "abs"))
		r = in[0] & ~sign_bit(t);
	else if (is(op, "neg"))
		r = negated(t, in[0]);
	else if (is(op, "copysign"))
		r = (in[1] & ~sign_bit(t)) | (in[0] & sign_bit(t));
	else
		return REF_UNKNOWN;
	if (ftz)
		r = ref_flush(t, r);
	if (ref_has(op, "sat"))
		r = clamped(t, r);
	if (ref_has(op, "relu"))
		r = not_negative(t, r);
	for (int i = 0; i < count && ref_has(op, "oob"); i++)
		if (in[i] == 0x7fff)
			r = 0;
	ret->d = r;
	return REF_DONE;
}

static long double integral(const struct ref_op *op, long double x)
{
	return ref_has(op, "rni")   ? rintl(x)
	       : ref_has(op, "rzi") ? truncl(x)
	       : ref_has(op, "rmi") ? floorl(x)
	       : ref_has(op, "rpi") ? ceill(x)
				    : x;
}

static swide clamp_to(const struct ref_type *t, swide v)
{
	const swide least = t->kind == 's' ? -((swide)1 << (t->bits - 1)) : 0;
	const swide most = t->kind == 's' ? ((swide)1 << (t->bits - 1)) - 1 : ((swide)1 << t->bits) - 1;

	return v < least ? least : v > most ? most : v;
}

static wide float_to_int(const struct ref_op *op, const struct ref_type *to, const struct ref_type *from, wide v)
{
	const long double x = integral(op, ref_number(from, v));

	if (isnan(x))
		return from->bits == 64 || to->bits == 64 ? (wide)1 << (to->bits - 1) : 0;
	if (x >= 0x1p100L)
		return (wide)clamp_to(to, (swide)1 << 100);
	if (x <= -0x1p100L)
		return (wide)clamp_to(to, -((swide)1 << 100));
	return (wide)clamp_to(to, (swide)x);
}

static wide largest(const struct ref_type *t)
{
	return ref_bits(t, INFINITY, REF_RN) - (t->kind == 't' ? 1 << 13 : 1);
}

static wide to_float(const struct ref_op *op, const struct ref_type *to, const struct ref_type *from, wide v)
{
	const bool ftz = ref_has(op, "ftz"),
		   whole = ref_has(op, "rni") || ref_has(op, "rzi") || ref_has(op, "rmi") || ref_has(op, "rpi");
	wide r;

	if (ref_is_float(from)) {
		if (ftz && from->bits == 32)
			v = ref_flush(from, v);
		r = ref_bits(to, whole ? integral(op, ref_number(from, v)) : ref_number(from, v), rounding_of(op));
	} else {
		swide i = ref_int(from, v);

		r = ref_bits(to, i < 0 ? -(long double)(uint64_t)-i : (long double)(uint64_t)i, rounding_of(op));
	}
	if (ftz && to->bits == 32)
		r = ref_flush(to, r);
	if (ref_has(op, "satfinite") && isinf(ref_number(to, r)))
		r = largest(to) | (r & sign_bit(to));
	if (ref_has(op, "sat"))
		r = clamped(to, r);
	if (ref_has(op, "relu"))
		r = not_negative(to, r);
	return r;
}

static enum ref_answer packed_integers(const struct ref_op *op, const wide *src, struct ref_result *ret)
{
	const struct ref_type *to = &op->type[0], *from = &op->type[1];
	const wide a = (wide)clamp_to(to, ref_int(from, src[0])) & ref_mask(to->bits);
	const wide b = (wide)clamp_to(to, ref_int(from, src[1])) & ref_mask(to->bits);

	ret->d = (src[2] << 2 * to->bits | a << to->bits | b) & ref_mask(32);
	return REF_DONE;
}

enum ref_answer ref_convert(const struct ref_op *op, const wide *src, int count, struct ref_result *ret)
{
	const struct ref_type *to = &op->type[0], *from = &op->type[op->types - 1];

	if (ref_has(op, "pack"))
		return packed_integers(op, src, ret);
	if (op->types != 2)
		return REF_UNKNOWN;
	if (ref_has(op, "satfinite") && from->kind >= '1' && from->kind <= '5')
		return REF_ILLEGAL; /* nothing is out of range */
	if (to->lanes == 2) {
		const struct ref_type half = { to->kind, to->bits, 1 }, one = { from->kind, from->bits, 1 };

		for (int k = 0; k < 2; k++) { /* of two sources, the first is the upper half */
			const wide v = from->lanes == 2 ? src[0] >> k * from->bits & ref_mask(from->bits) : src[1 - k];

			if (count != 3 - from->lanes || !ref_is_float(from))
				return REF_UNKNOWN;
			ret->d |= to_float(op, &half, &one, v) << k * to->bits;
		}
		return REF_DONE;
	}
	if (op->words == 3 && to->kind == from->kind && to->bits == from->bits) { /* cvt.f16.f16 */
		ret->is_float = ref_is_float(to);
		ret->d = src[0] & ref_mask(to->bits);
		if (to->kind == 'f' && to->bits == 32 && ref_is_nan(to, ret->d))
			ret->d = ref_nan(to);
		return REF_DONE;
	}
	if (ref_is_float(to)) {
		ret->is_float = true;
		ret->d = to_float(op, to, from, src[0]);
		return REF_DONE;
	}
	if (ref_is_float(from)) {
		wide v = ref_has(op, "ftz") && from->bits == 32 ? ref_flush(from, src[0]) : src[0];

		ret->d = float_to_int(op, to, from, v);
	} else if (ref_has(op, "sat")) {
		ret->d = (wide)clamp_to(to, ref_int(from, src[0]));
	} else { /* extended as the source asks, cut to the result's width, extended again as the result asks */
		ret->d = (wide)ref_int(to, (wide)ref_int(from, src[0]));
	}
	return REF_DONE;
}

static bool near_enough(const struct ref_type *t, const struct ref_result *want, wide got, double right)
{
	const double x = (double)ref_number(t, got);

	if (isnan(right) || isinf(right) || isnan(x) || isinf(x)) {
		/* next to the end of the range, rounding may go over it */
		if (isfinite(right) && isinf(x))
			return fabs(right) * (1 + 2 * want->relative) >= (double)ref_number(t, largest(t));
		return isnan(right) ? isnan(x) : x == right;
	}
	return fabs(x - right) <= want->relative * fabs(right) + want->absolute;
}

bool ref_same(const struct ref_type *t, const struct ref_result *want, wide got)
{
	struct ref_type one = { t->kind, t->bits, 1 };

	if (want->approximate) {
		for (int k = 0; k < t->lanes; k++) {
			const double right = t->lanes == 1 && t->bits >= 32
						     ? want->want
						     : (double)ref_number(&one, want->d >> k * t->bits);

			if (!near_enough(&one, want, got >> k * t->bits, right))
				return false;
		}
		return true;
	}
	for (int k = 0; k < t->lanes; k++) {
		const wide right = want->d >> k * t->bits & ref_mask(t->bits),
			   x = got >> k * t->bits & ref_mask(t->bits);

		if (want->is_float && ref_is_float(t) && t->bits > 32 && ref_is_nan(&one, right) ? !ref_is_nan(&one, x)
												 : x != right)
			return false;
	}
	return true;
}

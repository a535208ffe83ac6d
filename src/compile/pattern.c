/* pattern.c: see pattern.h. */
#include "compile/pattern.h"
#include "compile/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATTERNS_MAX 1000u
#define FAR_MAX (1 << 20) /* of a lane from lane 0 */

struct patterns {
	struct pattern of[PATTERNS_MAX];
	uint32_t count;
};

int pattern_init(struct flow *f)
{
	f->patterns = calloc(1, sizeof(*f->patterns));
	return f->patterns ? 0 : -ENOMEM;
}

void pattern_deinit(struct flow *f)
{
	free(f->patterns);
}

static struct pattern pattern_from(const int64_t at[LANES])
{
	struct pattern p = { .least = 0 };

	memcpy(p.at, at, sizeof(p.at));
	for (uint32_t i = 0; i < LANES; i++) {
		p.least = at[i] < p.least ? at[i] : p.least;
		p.most = at[i] > p.most ? at[i] : p.most;
		p.bits |= (uint64_t)at[i];
	}
	for (uint32_t bit = 1; bit < LANES; bit *= 2) {
		bool same = true;

		for (uint32_t i = 0; i < LANES; i++)
			same = same && at[i] == at[i ^ bit];
		p.same |= (uint8_t)(same ? bit : 0);
	}
	return p;
}

struct pattern pattern_of(const struct flow *f, const struct state *s)
{
	int64_t at[LANES];

	if (s->shape == SHAPE_PATTERN)
		return f->patterns->of[s->pattern - 1];
	for (uint32_t i = 0; i < LANES; i++)
		at[i] = s->stride * (int64_t)i;
	return pattern_from(at);
}

uint16_t pattern_number(const struct flow *f, const int64_t at[LANES])
{
	struct patterns *p = f->patterns;

	for (uint32_t i = 0; i < LANES; i++)
		if (at[i] > FAR_MAX || at[i] < -FAR_MAX)
			return 0;
	for (uint32_t k = 0; k < p->count; k++)
		if (!memcmp(p->of[k].at, at, sizeof(p->of[k].at)))
			return (uint16_t)(k + 1);
	if (p->count == PATTERNS_MAX)
		return 0;
	p->of[p->count++] = pattern_from(at);
	return (uint16_t)p->count;
}

/* ---- facts ---- */

static uint32_t least_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t most_of(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

void pattern_number_facts(uint64_t value, uint32_t lane, struct state *ret)
{
	if (lane == 4)
		value &= 0xffffffffu;
	ret->low = (uint8_t)(value ? (uint32_t)__builtin_ctzll(value) : lane * 8);
	ret->high = (uint8_t)(value ? (uint32_t)__builtin_clzll(value) - (64 - lane * 8) : lane * 8);
}

/* Bits of a source below its known zeroes. */
static uint32_t bits_of(const struct compile_op *o, const struct state *x, uint32_t k)
{
	return o->operand[k].lane * 8u - x[k].high;
}

/* Of a sum of numbers with so many bits. */
static uint32_t sum_bits(uint32_t a, uint32_t b)
{
	return !a ? b : !b ? a : most_of(a, b) + 1;
}

struct facts {
	uint32_t low, bits;
};

static struct facts product_facts(const struct compile_op *o, const struct state *x, bool is_signed)
{
	struct facts r = { (uint32_t)x[1].low + x[2].low, bits_of(o, x, 1) + bits_of(o, x, 2) };

	if (is_signed && (!x[1].high || !x[2].high))
		r.bits = 64;
	return r;
}

static struct facts plus(struct facts a, const struct compile_op *o, const struct state *x, uint32_t k)
{
	return (struct facts){ least_of(a.low, x[k].low), sum_bits(a.bits, bits_of(o, x, k)) };
}

/* Of shifts by a number. */
static struct facts shift_facts(const struct compile_op *o, const struct inline_row *row, const struct state *x)
{
	const uint32_t n = (uint32_t)o->operand[2].value, bits = bits_of(o, x, 1), low = x[1].low;

	if (o->operand[2].place != COMPILE_FIXED || o->operand[2].value >= o->operand[0].lane * 8u)
		return (struct facts){ 0, 64 };
	if (row->code == CODE_SHL || row->code == CODE_SHL_ADD)
		return (struct facts){ low + n, bits + n };
	if (row->code == CODE_SHR_S && !x[1].high)
		return (struct facts){ low > n ? low - n : 0, 64 };
	return (struct facts){ low > n ? low - n : 0, bits > n ? bits - n : 0 };
}

static struct facts facts_of(const struct compile_op *o, const struct inline_row *row, const struct state *x)
{
	const struct facts first = { x[1].low, bits_of(o, x, 1) }, second = { x[2].low, bits_of(o, x, 2) };
	const bool positive = x[1].high;

	if (row->flags & ~ROW_PASS || row->bits)
		return (struct facts){ 0, 64 };
	switch ((enum code)row->code) {
	case CODE_ADD:
	case CODE_ADD_WIDE_U:
		return plus(first, o, x, 2);
	case CODE_ADD_WIDE_S:
		return plus((struct facts){ first.low, positive ? first.bits : 64 }, o, x, 2);
	case CODE_SUB:
		return (struct facts){ least_of(first.low, second.low), second.bits ? 64 : first.bits };
	case CODE_MUL:
	case CODE_MUL_WIDE_U:
		return product_facts(o, x, false);
	case CODE_MUL_WIDE_S:
		return product_facts(o, x, true);
	case CODE_MAD:
	case CODE_MAD_WIDE_U:
		return plus(product_facts(o, x, false), o, x, 3);
	case CODE_MAD_WIDE_S:
		return plus(product_facts(o, x, true), o, x, 3);
	case CODE_SHL:
	case CODE_SHR_U:
	case CODE_SHR_S:
		return shift_facts(o, row, x);
	case CODE_SHL_ADD:
		return plus(shift_facts(o, row, x), o, x, 3);
	case CODE_AND:
		return (struct facts){ most_of(first.low, second.low), least_of(first.bits, second.bits) };
	case CODE_OR:
	case CODE_XOR:
		return (struct facts){ least_of(first.low, second.low), most_of(first.bits, second.bits) };
	case CODE_COPY:
	case CODE_LOW:
	case CODE_WIDEN_U:
		return first;
	case CODE_WIDEN_S:
		return (struct facts){ first.low, positive ? first.bits : 64 };
	default:
		return (struct facts){ 0, 64 };
	}
}

void pattern_facts(const struct compile_op *o, const struct inline_row *row, const struct state *x, struct state *ret)
{
	const uint32_t width = o->operand[0].lane * 8u;
	const struct facts r = facts_of(o, row, x);

	ret->low = (uint8_t)(r.bits ? least_of(r.low, width) : width);
	ret->high = (uint8_t)(width - least_of(r.bits, width));
}

/* ---- results ---- */

struct source {
	int64_t at[LANES];
	bool even;  /* all lanes have one value */
	bool apart; /* the bits in which lanes differ are zero in lane 0 */
};

static struct source source_from(const struct flow *f, const struct state *s)
{
	const struct pattern p = pattern_of(f, s);
	struct source r = { .even = s->shape == SHAPE_LINE && !s->stride };

	memcpy(r.at, p.at, sizeof(r.at));
	r.apart = p.least >= 0 && (s->low >= 63 || p.most < 1ll << s->low);
	return r;
}

static bool number_of(const struct compile_operand *o, bool is_signed, int64_t *ret)
{
	*ret = o->lane == 8 ? (int64_t)o->value
	       : is_signed  ? (int64_t)(int32_t)(uint32_t)o->value
			    : (int64_t)(uint32_t)o->value;
	return o->place == COMPILE_FIXED && *ret <= FAR_MAX && *ret >= -FAR_MAX;
}

/* The distances of a product of the first two sources. */
static bool multiply(const struct compile_op *o, const struct source *x, bool is_signed, int64_t at[LANES])
{
	const uint32_t lanes = number_of(&o->operand[2], is_signed, &at[0]) ? 1 : 2;
	int64_t by;

	if (x[1].even && x[2].even) {
		memset(at, 0, LANES * sizeof(*at));
		return true;
	}
	if (!number_of(&o->operand[3 - lanes], is_signed, &by))
		return false;
	for (uint32_t i = 0; i < LANES; i++)
		at[i] = x[lanes].at[i] * by;
	return true;
}

/* Of and, or, xor with the same number in all lanes, which is known where lanes differ. */
static bool combine(const struct compile_op *o, const struct source *x, uint8_t code, int64_t at[LANES])
{
	const uint32_t lanes = o->operand[2].place == COMPILE_FIXED ? 1 : 2;
	const int64_t by = (int64_t)o->operand[3 - lanes].value;

	if (o->operand[3 - lanes].place != COMPILE_FIXED || !x[lanes].apart)
		return false;
	for (uint32_t i = 0; i < LANES; i++) {
		const int64_t own = x[lanes].at[i];

		at[i] = code == CODE_AND ? own & by : code == CODE_OR ? own & ~by : own - 2 * (own & by);
	}
	return true;
}

static bool shift_right(const struct compile_op *o, const struct source *x, int64_t at[LANES])
{
	if (o->operand[2].place != COMPILE_FIXED || o->operand[2].value >= o->operand[0].lane * 8u || !x[1].apart)
		return false;
	for (uint32_t i = 0; i < LANES; i++)
		at[i] = x[1].at[i] >> o->operand[2].value;
	return true;
}

static bool shift_left(const struct compile_op *o, const struct source *x, int64_t at[LANES])
{
	if (o->operand[2].place != COMPILE_FIXED || o->operand[2].value > 20)
		return false;
	for (uint32_t i = 0; i < LANES; i++)
		at[i] = x[1].at[i] * (1ll << o->operand[2].value);
	return true;
}

static void add(int64_t at[LANES], const struct source *x, int sign)
{
	for (uint32_t i = 0; i < LANES; i++)
		at[i] += sign * x->at[i];
}

static bool result_at(const struct compile_op *o, const struct inline_row *row, const struct source *x,
		      int64_t at[LANES])
{
	memcpy(at, x[1].at, sizeof(x[1].at));
	switch ((enum code)row->code) {
	case CODE_COPY:
	case CODE_LOW:
	case CODE_SHARED_GENERIC:
	case CODE_WIDEN_S:
	case CODE_WIDEN_U:
		return true;
	case CODE_ADD:
	case CODE_ADD_WIDE_S:
	case CODE_ADD_WIDE_U:
		add(at, &x[2], 1);
		return true;
	case CODE_SUB:
		add(at, &x[2], -1);
		return true;
	case CODE_AND:
	case CODE_OR:
	case CODE_XOR:
		return combine(o, x, row->code, at);
	case CODE_SHR_U:
	case CODE_SHR_S:
		return shift_right(o, x, at);
	case CODE_SHL:
		return shift_left(o, x, at);
	case CODE_SHL_ADD:
		if (!shift_left(o, x, at))
			return false;
		add(at, &x[3], 1);
		return true;
	case CODE_MUL:
	case CODE_MUL_WIDE_S:
	case CODE_MUL_WIDE_U:
		return multiply(o, x, row->code != CODE_MUL_WIDE_U, at);
	case CODE_MAD:
	case CODE_MAD_WIDE_S:
	case CODE_MAD_WIDE_U:
		if (!multiply(o, x, row->code != CODE_MAD_WIDE_U, at))
			return false;
		add(at, &x[3], 1);
		return true;
	default:
		return false;
	}
}

/* Whether a source must not wrap: it is widened, and not known to be below half of what it can hold. */
static bool must_check(const struct compile_op *o, const struct inline_row *row, const struct state *x,
		       const struct source *s)
{
	static const uint8_t widening[] = { CODE_WIDEN_S,    CODE_WIDEN_U,    CODE_ADD_WIDE_S, CODE_ADD_WIDE_U,
					    CODE_MUL_WIDE_S, CODE_MUL_WIDE_U, CODE_MAD_WIDE_S, CODE_MAD_WIDE_U };

	if (!memchr(widening, row->code, sizeof(widening)))
		return false;
	for (uint32_t k = 1; k < 3; k++)
		if (o->operand[k].place != COMPILE_NONE && o->operand[k].lane == 4 && !s[k].even && !x[k].high)
			return true;
	return false;
}

bool pattern_result(const struct flow *f, const struct compile_op *o, const struct inline_row *row,
		    const struct state *x, struct state *ret, bool *ret_checks)
{
	struct source s[COMPILE_OPERANDS] = { { .even = true } };
	int64_t at[LANES];
	bool line = true;

	if (row->flags & ~ROW_PASS || row->bits || !f->patterns)
		return false;
	for (uint32_t k = 1; k < COMPILE_OPERANDS; k++) {
		if (o->operand[k].place == COMPILE_NONE)
			continue;
		if ((x[k].shape != SHAPE_LINE && x[k].shape != SHAPE_PATTERN) || x[k].stride > FAR_MAX ||
		    x[k].stride < -FAR_MAX)
			return false;
		s[k] = source_from(f, &x[k]);
	}
	if (!result_at(o, row, s, at))
		return false;
	for (uint32_t i = 0; i < LANES; i++)
		line = line && at[i] == at[1] * (int64_t)i;
	if (line && (at[1] > FAR_MAX || at[1] < -FAR_MAX))
		return false;
	ret->shape = line ? SHAPE_LINE : SHAPE_PATTERN;
	ret->stride = line ? at[1] : 0;
	ret->pattern = line ? 0 : pattern_number(f, at);
	*ret_checks = must_check(o, row, x, s);
	return line || ret->pattern;
}

/*
 * compute.h: what single PTX instructions compute, one thread at a time, found by the words of the opcode. Written from
 * the description of the language, apart from the engine: nothing here comes from src/softdev. Slow on purpose: every
 * result is computed in the plainest way, 16-bit floats by rounding an exact value, bits one by one.
 *
 * Limits: memory, control, warps and barriers are the machine's (machine.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef unsigned __int128 wide;
typedef __int128 swide;

struct ref_type {
	char kind; /* 'u', 's', 'b', 'f' (IEEE), 'B' (bf16), 't' (tf32), 'p' (predicate), '1' ... '5' (see number.c) */
	int bits;  /* of one element */
	int lanes; /* 1 or 2 elements side by side */
};

enum { REF_WORDS = 12, REF_TYPES = 5 };

/* An opcode cut into its words. */
struct ref_op {
	char word[REF_WORDS][24];
	int words;
	struct ref_type type[REF_TYPES]; /* the words that are types, in order */
	int types;
};

enum ref_answer {
	REF_DONE,
	REF_UNKNOWN,   /* no such instruction here */
	REF_ILLEGAL,   /* the words do not go together */
	REF_UNDEFINED, /* the language leaves the result of these values open */
};

enum ref_rounding { REF_RN, REF_RZ, REF_RM, REF_RP, REF_RNA };

struct ref_result {
	wide d, q;	  /* the result; q: the second one of setp */
	bool is_float;	  /* compare: not-a-number equals not-a-number */
	bool approximate; /* compare with the bounds: |got - want| <= relative * |want| + absolute */
	double want, relative, absolute;
};

bool ref_type_parse(const char *word, struct ref_type *ret);
void ref_op_parse(const char *opcode, struct ref_op *ret);
bool ref_has(const struct ref_op *op, const char *word);

/* src[i] are register contents: bits above the type's width are ignored. `carry` is the thread's carry flag. */
enum ref_answer ref_compute(const struct ref_op *op, const wide *src, int count, bool *carry, struct ref_result *ret);

/* Whether a result of the type is what `want` asks for. */
bool ref_same(const struct ref_type *t, const struct ref_result *want, wide got);

/* Parts of ref_compute() (compute_float.c). */
enum ref_answer ref_compute_float(const struct ref_op *op, const wide *src, int count, struct ref_result *ret);
enum ref_answer ref_convert(const struct ref_op *op, const wide *src, int count, struct ref_result *ret);
bool ref_compare(const struct ref_op *op, const struct ref_type *t, wide a, wide b, bool *legal);
static inline bool ref_is_float(const struct ref_type *t)
{
	return t->kind == 'f' || t->kind == 'B' || t->kind == 't' || (t->kind >= '1' && t->kind <= '5');
}

static inline wide ref_mask(int bits)
{
	return bits >= 128 ? ~(wide)0 : ((wide)1 << bits) - 1;
}

/* The value as the type sees it. */
static inline swide ref_int(const struct ref_type *t, wide v)
{
	v &= ref_mask(t->bits);
	if (t->kind == 's' && v >> (t->bits - 1) & 1)
		v |= ~ref_mask(t->bits);
	return (swide)v;
}

/* Floats as numbers and back (number.c). */
long double ref_number(const struct ref_type *t, wide bits);
wide ref_bits(const struct ref_type *t, long double v, enum ref_rounding rounding);
wide ref_nan(const struct ref_type *t);
bool ref_is_nan(const struct ref_type *t, wide bits);
/* what: '+', '*', 'f' (a * b + c, rounded once), '/', 'q' (square root of a). */
wide ref_arith(const struct ref_type *t, char what, wide a, wide b, wide c, enum ref_rounding rounding);
wide ref_flush(const struct ref_type *t, wide bits);

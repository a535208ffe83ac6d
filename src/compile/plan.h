/* plan.h: how each operation is compiled, and what its results look like; flow.c and emit.c ask alike. */
#pragma once

#include "compile/flow.h"
#include "softdev/ptx/text.h"

/* What an operation computes, lane by lane. */
enum code {
	CODE_NONE,
	CODE_ADD,
	CODE_SUB,
	CODE_MUL,
	CODE_MAD,
	CODE_MUL_WIDE_S,
	CODE_MUL_WIDE_U,
	CODE_MAD_WIDE_S,
	CODE_MAD_WIDE_U,
	CODE_ADD_WIDE_S,
	CODE_ADD_WIDE_U,
	CODE_SHL_ADD,
	CODE_MUL_HI_S,
	CODE_MUL_HI_U,
	CODE_AND,
	CODE_OR,
	CODE_XOR,
	CODE_NOT,
	CODE_SHL,
	CODE_SHR_U,
	CODE_SHR_S,
	CODE_NEG,
	CODE_MIN_S,
	CODE_MAX_S,
	CODE_MIN_U,
	CODE_MAX_U,
	CODE_COPY,
	CODE_LOW,
	CODE_WIDEN_S,
	CODE_WIDEN_U,
	CODE_SELECT,
	CODE_PACK,
	CODE_UNPACK,
	CODE_UNPACK_32,
	CODE_PACK_16,
	CODE_NARROW_U,
	CODE_NARROW_S,
	CODE_EQ,
	CODE_NE,
	CODE_LT_S,
	CODE_LE_S,
	CODE_GT_S,
	CODE_GE_S,
	CODE_LT_U,
	CODE_LE_U,
	CODE_GT_U,
	CODE_GE_U,
	CODE_FADD,
	CODE_FSUB,
	CODE_FMUL,
	CODE_FMA,
	CODE_FDIV,
	CODE_FRCP,
	CODE_FSQRT,
	CODE_FADD_PAIR, /* of two f32 side by side */
	CODE_FSUB_PAIR,
	CODE_FMUL_PAIR,
	CODE_FMA_PAIR,
	CODE_FNEG,
	CODE_FABS,
	CODE_FMIN,
	CODE_FMAX,
	CODE_FEQ,
	CODE_FNE,
	CODE_FLT,
	CODE_FLE,
	CODE_FGT,
	CODE_FGE,
	CODE_FEQU,
	CODE_FNEU,
	CODE_FLTU,
	CODE_FLEU,
	CODE_FGTU,
	CODE_FGEU,
	CODE_FUNNEL_L,
	CODE_FUNNEL_R,
	CODE_LOGIC,
	CODE_COUNT_BITS,
	CODE_DIV_U, /* of 32 bits */
	CODE_DIV_S,
	CODE_REM_U,
	CODE_REM_S,
	CODE_DOT_UU, /* of four bytes each, and a sum: signed are */
	CODE_DOT_US, /* none, those of the second, */
	CODE_DOT_SU, /* of the first, */
	CODE_DOT_SS, /* of both */
	CODE_FLOAT_S,
	CODE_FLOAT_U,
	CODE_INT_OF_F32, /* towards zero, clamped */
	CODE_LONG_OF_F64,
	CODE_FWIDEN,
	CODE_FSHORTEN,
	CODE_HALF_WIDEN,
	CODE_HALF_SHORTEN,
	CODE_ROUND_EVEN,
	CODE_ROUND_ZERO,
	CODE_ROUND_DOWN,
	CODE_ROUND_UP,
	CODE_SHARED_GENERIC,
};

#define ROW_F32 1u /* sources are f32 whose NaN bits do not matter */
#define ROW_NAN 2u /* the result is one, as N1, N2, N3 of rows.h make it */
#define ROW_F64 4u
#define ROW_PASS 8u    /* passes its sources' bits on */
#define ROW_FTZ 16u    /* subnormals are zeroes, of the sources and of an f32 result */
#define ROW_U16 32u    /* sources, but for counts and predicates, are 16 bits in a lane of 32 */
#define ROW_S16 64u    /* likewise, with a sign */
#define ROW_WHOLE 128u /* and the result is not: a product of twice the bits, a predicate */

struct inline_row {
	const char *name;
	uint8_t code, flags;
	uint8_t bits; /* of a narrow source: NARROW */
};

const struct inline_row *inline_row(const char *name); /* NULL: it is left to the interpreter's own function */

enum how {
	HOW_NOTHING,
	HOW_INLINE, /* an inline_row */
	HOW_CALL,   /* the interpreter's function for the operation */
	HOW_LOAD,   /* all lanes at one address, or one behind the other */
	HOW_STORE,
	HOW_PARAM,   /* a load of kernel parameters */
	HOW_SPECIAL, /* a special register */
	HOW_SHUFFLE, /* between lanes, as numbers of the text say */
	HOW_STRONG,
	HOW_MEET, /* a barrier of a block that is this warp */
	HOW_LEAVE, /* ends the compiled stretch */
	HOW_BRANCH,
};

/* A load or store by its name: "%ld.shared.v2.b32". */
struct access_form {
	bool store, shared, param, good;
	uint8_t count;	/* elements */
	uint8_t bytes;	/* of one */
	bool is_signed; /* and narrower than its lane */
};

struct plan {
	uint8_t how;
	const struct inline_row *row;
	struct access_form access;
	bool strided;	/* HOW_LOAD, HOW_STORE: lanes are apart */
	bool scattered; /* HOW_LOAD, HOW_STORE: in any order */
	uint8_t same;	/* of a scattered load from shared memory: bits of a lane's number that its address ignores */
	bool guarded;	/* likewise: by code of its own where the guard holds for all or for none */
	bool checks;	/* HOW_INLINE: a line is widened, which holds only while it does not wrap */
	bool meets;	/* HOW_CALL: the lanes that an operand names must be here */
	uint8_t shape;	/* HOW_INLINE: what it is computed on: bases or lanes */
	int64_t stride; /* of a line that is made, before it is mixed with what was there */
	struct state result[COMPILE_OPERANDS];
};

/*
 * `kept`: NULL when all lanes are together. Otherwise of each register whether lanes that wait elsewhere need it: what
 * a group writes into such a one is mixed with what they have.
 */
void plan_make(const struct flow *f, uint32_t i, const struct state *s, const uint8_t *kept, struct plan *ret);
/* The states behind the operation. */
void plan_apply(const struct flow *f, uint32_t i, const struct plan *p, struct state *s);
/* The value of an operand that is the same number wherever it is read here. False: it is not known. */
bool operand_number(const struct flow *f, const struct compile_operand *o, const struct state *s, uint64_t *ret);
struct state operand_state(const struct flow *f, const struct compile_operand *o, const struct state *s);
struct access_form access_form(const char *name);
extern const uint8_t element_operand[2][4]; /* of loads, of stores: which operand an element is */

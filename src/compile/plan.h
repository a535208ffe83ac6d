/* plan.h: how each operation is compiled, and the form of its results; the analysis and the code generator share it. */
#pragma once

#include "compile/flow.h"
#include "softdev/ptx/text.h"

/* The computation of an operation in each lane. */
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
	CODE_SCALE_ADD,
	CODE_FDIV,
	CODE_FRCP,
	CODE_FSQRT,
	CODE_EX2, /* vmath.h, of f32 */
	CODE_LG2,
	CODE_TANH,
	CODE_FADD_PAIR, /* of two adjacent f32 */
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
	CODE_PERMUTE, /* bytes, by a number */
	CODE_COUNT_BITS,
	CODE_DIV_U, /* of 32 bits */
	CODE_DIV_S,
	CODE_REM_U,
	CODE_REM_S,
	CODE_DOT_UU, /* of four bytes each, plus a sum: both unsigned, */
	CODE_DOT_US, /* the second signed, */
	CODE_DOT_SU, /* the first signed, */
	CODE_DOT_SS, /* both signed */
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
#define ROW_NAN 2u /* the result is such an f32, produced as by N1, N2, N3 of rows.h */
#define ROW_F64 4u
#define ROW_PASS 8u    /* passes its sources' bits through */
#define ROW_FTZ 16u    /* subnormals count as zero, in the sources and in an f32 result */
#define ROW_U16 32u    /* sources, except counts and predicates, are 16 bits in a lane of 32 */
#define ROW_S16 64u    /* the same, signed */
#define ROW_WHOLE 128u /* and the result is not: a product of twice the bits, a predicate */

struct inline_row {
	const char *name;
	uint8_t code, flags;
	uint8_t bits; /* of a narrow source: NARROW */
};

/* An atomic: atomic.h. */
struct atomic_row {
	const char *name;
	uint8_t code, bytes;
	bool is_signed;
};

const struct inline_row *inline_row(const char *name); /* NULL: the interpreter's own function is used */

enum how {
	HOW_NOTHING,
	HOW_INLINE, /* an inline_row */
	HOW_CALL,   /* the interpreter's function for the operation */
	HOW_LOAD,   /* all lanes at one address, or at consecutive elements */
	HOW_STORE,
	HOW_ATOMIC,
	HOW_PARAM,   /* a load of kernel parameters */
	HOW_SPECIAL, /* a special register */
	HOW_LOCAL,   /* the address of local memory in each lane */
	HOW_SHUFFLE, /* between lanes given by constants */
	HOW_PRODUCT, /* of fragments of bytes: product.h */
	HOW_STRONG,
	HOW_MEET,  /* a barrier of a block that consists of this warp */
	HOW_LEAVE, /* ends the compiled section */
	HOW_BRANCH,
};

/* A load or store, parsed from its name: "%ld.shared.v2.b32". */
struct access_form {
	bool store, shared, param, good;
	uint8_t count;	/* number of elements */
	uint8_t bytes;	/* of one element */
	bool is_signed; /* and narrower than its lane */
};

struct plan {
	uint8_t how;
	const struct inline_row *row;
	const struct atomic_row *atomic;
	struct access_form access; /* of an atomic likewise: that of a scattered store */
	bool strided;		   /* HOW_LOAD, HOW_STORE: the lanes have a stride */
	bool dense;		   /* the same: access_is_dense() */
	bool scattered;		   /* HOW_LOAD, HOW_STORE: in any order */
	uint8_t same;	  /* of a scattered load from shared memory: bits of the lane number on which its address does
			   * not depend */
	bool guarded;	  /* the same: with separate code if the guard holds for all or for none */
	bool checks;	  /* HOW_INLINE: a line is widened, which is valid only while it does not wrap; of known
			   * loads: the check for all by this register */
	bool meets;	  /* HOW_CALL: the lanes that an operand names must be present */
	uint8_t shape;	  /* HOW_INLINE: the form for the computation: bases or lanes */
	bool known;	  /* the same: their distances are, and all between is checked at once: apart.h */
	int64_t stride;	  /* of a resulting line, before it is merged with previous contents */
	uint16_t pattern; /* of a resulting pattern, likewise */
	struct state result[COMPILE_OPERANDS];
};

/*
 * `kept`: NULL if all lanes are together. Otherwise, for each register, whether waiting lanes need it: a group's result
 * in such a register is merged with theirs.
 */
void plan_make(const struct flow *f, uint32_t i, const struct state *s, const uint8_t *kept, struct plan *ret);
/* HOW_INLINE: the NaNs of its sources get the device's bits first. */
bool plan_settles(const struct plan *p);
/* The states after the operation. */
void plan_apply(const struct flow *f, uint32_t i, const struct plan *p, struct state *s);
/* The value of an operand that is the same number wherever it is read here. False: not known. */
bool operand_number(const struct flow *f, const struct compile_operand *o, const struct state *s, uint64_t *ret);
/* state.grain of the result of an inline row, as if it had no guard. */
uint8_t result_grain(const struct flow *f, const struct compile_op *o, const struct inline_row *row,
		     const struct state *s);
struct state operand_state(const struct flow *f, const struct compile_operand *o, const struct state *s);
struct access_form access_form(const char *name);
/* Lanes that store one element each, so near each other that the host stores some of them at once, under a mask. */
bool access_is_dense(const struct flow *f, const struct access_form *a, const struct state *address);
extern const uint8_t element_operand[2][4]; /* of loads, of stores: the operand that an element is */

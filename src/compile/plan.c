/*
 * plan.c: see plan.h.
 *
 * A result of f32 that is not a number has the device's bits (docs/softdevice.md). Arithmetic does not look at them, so
 * they are put in order where bits are seen: in memory, by integer operations, in the frame. Until then the register
 * is marked `nan`. Others (loaded ones, say) keep their bits; where both meet, they are put in order before.
 */
#include "compile/plan.h"
#include "compile/apart.h"
#include "compile/atomic.h"
#include "compile/pattern.h"

#include <stdlib.h>
#include <string.h>

#define STRIDE_MAX (1 << 20)
#define WHOLE_MAX (1 << 20) /* of a stride, so that lanes lie within 32 bits */
#define DENSE_MAX 32	    /* bytes from lane to lane */
#define SCATTERS_MAX 400u   /* elements of a function's accesses: each is long */
#define THREAD_BITS 10u	    /* of a thread's index: a block has 1024 threads at most */

#define INT_ROWS(bits, names)                                                                                          \
	{ "add." names, CODE_ADD, 0, 0 }, { "sub." names, CODE_SUB, 0, 0 }, { "mul.lo." names, CODE_MUL, 0, 0 },       \
		{ "mad.lo." names, CODE_MAD, 0, 0 }, { "min.u" bits, CODE_MIN_U, 0, 0 },                               \
		{ "min.s" bits, CODE_MIN_S, 0, 0 }, { "max.u" bits, CODE_MAX_U, 0, 0 },                                \
		{ "max.s" bits, CODE_MAX_S, 0, 0 }, { "neg.s" bits, CODE_NEG, 0, 0 },                                  \
		{ "and.b" bits, CODE_AND, 0, 0 }, { "or.b" bits, CODE_OR, 0, 0 }, { "xor.b" bits, CODE_XOR, 0, 0 },    \
		{ "not.b" bits, CODE_NOT, 0, 0 }, { "shl.b" bits, CODE_SHL, 0, 0 },                                    \
		{ "shr.{b" bits ",u" bits "}", CODE_SHR_U, 0, 0 }, { "shr.s" bits, CODE_SHR_S, 0, 0 },                 \
		{ "%mov.b" bits, CODE_COPY, ROW_PASS, 0 },                                                             \
	{                                                                                                              \
		"%shladd.b" bits, CODE_SHL_ADD, 0, 0                                                                   \
	}

#define FLOAT_COMPARES(suffix, flags)                                                                                  \
	{ "setp.eq" suffix, CODE_FEQ, flags, 0 }, { "setp.ne" suffix, CODE_FNE, flags, 0 },                            \
		{ "setp.lt" suffix, CODE_FLT, flags, 0 }, { "setp.le" suffix, CODE_FLE, flags, 0 },                    \
		{ "setp.gt" suffix, CODE_FGT, flags, 0 }, { "setp.ge" suffix, CODE_FGE, flags, 0 },                    \
		{ "setp.equ" suffix, CODE_FEQU, flags, 0 }, { "setp.neu" suffix, CODE_FNEU, flags, 0 },                \
		{ "setp.ltu" suffix, CODE_FLTU, flags, 0 }, { "setp.leu" suffix, CODE_FLEU, flags, 0 },                \
		{ "setp.gtu" suffix, CODE_FGTU, flags, 0 },                                                            \
	{                                                                                                              \
		"setp.geu" suffix, CODE_FGEU, flags, 0                                                                 \
	}

#define SHORT_ROWS(type, flag)                                                                                         \
	{ "mul.wide." type, CODE_MUL, flag | ROW_WHOLE, 0 },                                                           \
		{ "min." type, flag == ROW_S16 ? CODE_MIN_S : CODE_MIN_U, flag, 0 },                                   \
	{                                                                                                              \
		"max." type, flag == ROW_S16 ? CODE_MAX_S : CODE_MAX_U, flag, 0                                        \
	}
#define SHORT_COMPARES(names, flag, less, less_or_same, more, more_or_same)                                            \
	{ "setp.eq." names, CODE_EQ, flag | ROW_WHOLE, 0 }, { "setp.ne." names, CODE_NE, flag | ROW_WHOLE, 0 },        \
		{ "setp.{lt,lo}." names, less, flag | ROW_WHOLE, 0 },                                                  \
		{ "setp.{le,ls}." names, less_or_same, flag | ROW_WHOLE, 0 },                                          \
		{ "setp.{gt,hi}." names, more, flag | ROW_WHOLE, 0 },                                                  \
	{                                                                                                              \
		"setp.{ge,hs}." names, more_or_same, flag | ROW_WHOLE, 0                                               \
	}

static const struct inline_row rows[] = {
	{ "add.{u16,s16}", CODE_ADD, ROW_U16, 0 },
	{ "sub.{u16,s16}", CODE_SUB, ROW_U16, 0 },
	{ "mul.lo.{u16,s16}", CODE_MUL, ROW_U16, 0 },
	{ "mad.lo.{u16,s16}", CODE_MAD, ROW_U16, 0 },
	{ "neg.s16", CODE_NEG, ROW_U16, 0 },
	{ "and.b16", CODE_AND, ROW_U16, 0 },
	{ "or.b16", CODE_OR, ROW_U16, 0 },
	{ "xor.b16", CODE_XOR, ROW_U16, 0 },
	{ "not.b16", CODE_NOT, ROW_U16, 0 },
	{ "shl.b16", CODE_SHL, ROW_U16, 0 },
	{ "shr.{b16,u16}", CODE_SHR_U, ROW_U16, 0 },
	{ "shr.s16", CODE_SHR_S, ROW_S16, 0 },
	{ "selp.{b16,u16,s16,f16,bf16}", CODE_SELECT, ROW_U16, 0 },
	SHORT_ROWS("u16", ROW_U16),
	SHORT_ROWS("s16", ROW_S16),
	SHORT_COMPARES("{b16,u16}", ROW_U16, CODE_LT_U, CODE_LE_U, CODE_GT_U, CODE_GE_U),
	SHORT_COMPARES("s16", ROW_S16, CODE_LT_S, CODE_LE_S, CODE_GT_S, CODE_GE_S),
	INT_ROWS("32", "{u32,s32}"),
	INT_ROWS("64", "{u64,s64}"),
	FLOAT_COMPARES(".f32", ROW_F32),
	FLOAT_COMPARES(".f64", ROW_F64),
	FLOAT_COMPARES(".ftz.f32", ROW_F32 | ROW_FTZ),
	{ "setp.eq.s32", CODE_EQ, 0, 0 },
	{ "setp.eq.s64", CODE_EQ, 0, 0 },
	{ "setp.eq.{b32,u32}", CODE_EQ, 0, 0 },
	{ "setp.eq.{b64,u64}", CODE_EQ, 0, 0 },
	{ "setp.ne.s32", CODE_NE, 0, 0 },
	{ "setp.ne.s64", CODE_NE, 0, 0 },
	{ "setp.ne.{b32,u32}", CODE_NE, 0, 0 },
	{ "setp.ne.{b64,u64}", CODE_NE, 0, 0 },
	{ "setp.{ge,hs}.s32", CODE_GE_S, 0, 0 },
	{ "setp.{ge,hs}.s64", CODE_GE_S, 0, 0 },
	{ "setp.{ge,hs}.{b32,u32}", CODE_GE_U, 0, 0 },
	{ "setp.{ge,hs}.{b64,u64}", CODE_GE_U, 0, 0 },
	{ "setp.{gt,hi}.s32", CODE_GT_S, 0, 0 },
	{ "setp.{gt,hi}.s64", CODE_GT_S, 0, 0 },
	{ "setp.{gt,hi}.{b32,u32}", CODE_GT_U, 0, 0 },
	{ "setp.{gt,hi}.{b64,u64}", CODE_GT_U, 0, 0 },
	{ "setp.{le,ls}.s32", CODE_LE_S, 0, 0 },
	{ "setp.{le,ls}.s64", CODE_LE_S, 0, 0 },
	{ "setp.{le,ls}.{b32,u32}", CODE_LE_U, 0, 0 },
	{ "setp.{le,ls}.{b64,u64}", CODE_LE_U, 0, 0 },
	{ "setp.{lt,lo}.s32", CODE_LT_S, 0, 0 },
	{ "setp.{lt,lo}.s64", CODE_LT_S, 0, 0 },
	{ "setp.{lt,lo}.{b32,u32}", CODE_LT_U, 0, 0 },
	{ "setp.{lt,lo}.{b64,u64}", CODE_LT_U, 0, 0 },
	{ "mul.wide.s32", CODE_MUL_WIDE_S, 0, 0 },
	{ "mul.wide.u32", CODE_MUL_WIDE_U, 0, 0 },
	{ "mad.wide.s32", CODE_MAD_WIDE_S, 0, 0 },
	{ "mad.wide.u32", CODE_MAD_WIDE_U, 0, 0 },
	{ "%addwide.s32", CODE_ADD_WIDE_S, 0, 0 },
	{ "%addwide.u32", CODE_ADD_WIDE_U, 0, 0 },
	{ "mul.hi.u32", CODE_MUL_HI_U, 0, 0 },
	{ "mul.hi.s32", CODE_MUL_HI_S, 0, 0 },
	{ "and.pred", CODE_AND, 0, 0 },
	{ "or.pred", CODE_OR, 0, 0 },
	{ "xor.pred", CODE_XOR, 0, 0 },
	{ "not.pred", CODE_NOT, 0, 0 },
	{ "%mov.pred", CODE_COPY, 0, 0 },
	{ "%low.b32", CODE_LOW, ROW_PASS, 0 },
	{ "%pack.b64", CODE_PACK, ROW_PASS, 0 },
	{ "%unpack.b64", CODE_UNPACK, ROW_PASS, 0 },
	{ "%unpack.b32", CODE_UNPACK_32, 0, 0 },
	{ "%pack.b32", CODE_PACK_16, 0, 0 },
	{ "selp.{b32,u32,s32,f32,f16x2,bf16x2}", CODE_SELECT, ROW_PASS, 0 },
	{ "selp.{b64,u64,s64,f64}", CODE_SELECT, ROW_PASS, 0 },
	{ "selp.pred", CODE_SELECT, 0, 0 },
	{ "cvt.{u32,s32}.{u32,s32}", CODE_COPY, 0, 0 },
	{ "cvt.{u64,s64}.{u64,s64}", CODE_COPY, 0, 0 },
	{ "cvt.{u32,s32}.{u64,s64}", CODE_LOW, 0, 0 },
	{ "cvt.{u64,s64}.u32", CODE_WIDEN_U, 0, 0 },
	{ "cvt.{u64,s64}.s32", CODE_WIDEN_S, 0, 0 },
	{ "cvt.{u32,s32}.u8", CODE_NARROW_U, 0, 8 },
	{ "cvt.{u32,s32}.s8", CODE_NARROW_S, 0, 8 },
	{ "cvt.{u32,s32}.u16", CODE_NARROW_U, 0, 16 },
	{ "cvt.{u32,s32}.s16", CODE_NARROW_S, 0, 16 },
	{ "cvt.u8.{u32,s32}", CODE_NARROW_U, 0, 8 },
	{ "cvt.s8.{u32,s32}", CODE_NARROW_S, 0, 8 },
	{ "cvt.u16.{u32,s32}", CODE_NARROW_U, 0, 16 },
	{ "cvt.s16.{u32,s32}", CODE_NARROW_S, 0, 16 },
	{ "cvt.u16.u8", CODE_NARROW_U, 0, 8 },
	{ "cvt.s16.u8", CODE_NARROW_U, 0, 8 },
	{ "cvt.s16.s8", CODE_NARROW_S, 0, 8 },
	{ "cvt.rn.f32.s32", CODE_FLOAT_S, 0, 0 },
	{ "cvt.rn.f32.u32", CODE_FLOAT_U, 0, 0 },
	{ "cvt.rn.f64.s32", CODE_FLOAT_S, 0, 0 },
	{ "cvt.rn.f64.u32", CODE_FLOAT_U, 0, 0 },
	{ "cvt.rn.f64.s64", CODE_FLOAT_S, 0, 0 },
	{ "cvt.rzi{,.ftz}{,.sat}.s32.f32", CODE_INT_OF_F32, ROW_F32, 0 },
	{ "cvt.rzi{,.sat}.s64.f64", CODE_LONG_OF_F64, ROW_F64, 0 },
	{ "cvt.f64.f32", CODE_FWIDEN, 0, 0 },
	{ "cvt.rn.f32.f64", CODE_FSHORTEN, ROW_NAN, 0 },
	{ "cvt{,.ftz}.f32.f16", CODE_HALF_WIDEN, ROW_NAN, 0 },
	{ "cvt.rn{,.ftz}.f16.f32", CODE_HALF_SHORTEN, ROW_F32, 0 },
	{ "cvt.rni.f32.f32", CODE_ROUND_EVEN, ROW_F32 | ROW_NAN, 0 },
	{ "cvt.rzi.f32.f32", CODE_ROUND_ZERO, ROW_F32 | ROW_NAN, 0 },
	{ "cvt.rmi.f32.f32", CODE_ROUND_DOWN, ROW_F32 | ROW_NAN, 0 },
	{ "cvt.rpi.f32.f32", CODE_ROUND_UP, ROW_F32 | ROW_NAN, 0 },
	{ "cvt.rni.f64.f64", CODE_ROUND_EVEN, ROW_F64, 0 },
	{ "cvt.rzi.f64.f64", CODE_ROUND_ZERO, ROW_F64, 0 },
	{ "cvt.rmi.f64.f64", CODE_ROUND_DOWN, ROW_F64, 0 },
	{ "cvt.rpi.f64.f64", CODE_ROUND_UP, ROW_F64, 0 },
	{ "add{,.rn}.f32", CODE_FADD, ROW_F32 | ROW_NAN, 0 },
	{ "sub{,.rn}.f32", CODE_FSUB, ROW_F32 | ROW_NAN, 0 },
	{ "mul{,.rn}.f32", CODE_FMUL, ROW_F32 | ROW_NAN, 0 },
	{ "{fma,mad}{,.rn}.f32", CODE_FMA, ROW_F32 | ROW_NAN, 0 },
	{ "%scaleadd.f32", CODE_SCALE_ADD, ROW_NAN, 0 },
	{ "%scaleadd.ftz.f32", CODE_SCALE_ADD, ROW_NAN | ROW_FTZ, 0 },
	{ "div{.rn,.full,.approx}.f32", CODE_FDIV, ROW_F32 | ROW_NAN, 0 },
	{ "rcp{.rn,.approx}.f32", CODE_FRCP, ROW_F32 | ROW_NAN, 0 },
	{ "sqrt{.rn,.approx}.f32", CODE_FSQRT, ROW_F32 | ROW_NAN, 0 },
	{ "ex2.approx.f32", CODE_EX2, ROW_F32 | ROW_NAN, 0 },
	{ "lg2.approx.f32", CODE_LG2, ROW_F32 | ROW_NAN, 0 },
	{ "tanh.approx.f32", CODE_TANH, ROW_F32 | ROW_NAN, 0 },
	{ "ex2.approx.ftz.f32", CODE_EX2, ROW_F32 | ROW_NAN | ROW_FTZ, 0 },
	{ "lg2.approx.ftz.f32", CODE_LG2, ROW_F32 | ROW_NAN | ROW_FTZ, 0 },
	{ "add{,.rn}.ftz.f32", CODE_FADD, ROW_F32 | ROW_NAN | ROW_FTZ, 0 },
	{ "sub{,.rn}.ftz.f32", CODE_FSUB, ROW_F32 | ROW_NAN | ROW_FTZ, 0 },
	{ "mul{,.rn}.ftz.f32", CODE_FMUL, ROW_F32 | ROW_NAN | ROW_FTZ, 0 },
	{ "{fma,mad}{,.rn}.ftz.f32", CODE_FMA, ROW_F32 | ROW_NAN | ROW_FTZ, 0 },
	{ "div{.rn,.full,.approx}.ftz.f32", CODE_FDIV, ROW_F32 | ROW_NAN | ROW_FTZ, 0 },
	{ "rcp{.rn,.approx}.ftz.f32", CODE_FRCP, ROW_F32 | ROW_NAN | ROW_FTZ, 0 },
	{ "sqrt{.rn,.approx}.ftz.f32", CODE_FSQRT, ROW_F32 | ROW_NAN | ROW_FTZ, 0 },
	{ "neg.ftz.f32", CODE_FNEG, ROW_F32 | ROW_NAN | ROW_FTZ, 0 },
	{ "abs.ftz.f32", CODE_FABS, ROW_F32 | ROW_NAN | ROW_FTZ, 0 },
	{ "min.ftz.f32", CODE_FMIN, ROW_F32 | ROW_NAN | ROW_FTZ, 0 },
	{ "max.ftz.f32", CODE_FMAX, ROW_F32 | ROW_NAN | ROW_FTZ, 0 },
	{ "neg.f32", CODE_FNEG, ROW_F32 | ROW_NAN, 0 },
	{ "abs.f32", CODE_FABS, ROW_F32 | ROW_NAN, 0 },
	{ "min.f32", CODE_FMIN, ROW_F32 | ROW_NAN, 0 },
	{ "max.f32", CODE_FMAX, ROW_F32 | ROW_NAN, 0 },
	{ "add{,.rn}.f64", CODE_FADD, ROW_F64, 0 },
	{ "sub{,.rn}.f64", CODE_FSUB, ROW_F64, 0 },
	{ "mul{,.rn}.f64", CODE_FMUL, ROW_F64, 0 },
	{ "{fma,mad}{,.rn}.f64", CODE_FMA, ROW_F64, 0 },
	{ "div.rn.f64", CODE_FDIV, ROW_F64, 0 },
	{ "rcp.rn.f64", CODE_FRCP, ROW_F64, 0 },
	{ "neg.f64", CODE_FNEG, ROW_F64, 0 },
	{ "abs.f64", CODE_FABS, ROW_F64, 0 },
	{ "min.f64", CODE_FMIN, ROW_F64, 0 },
	{ "max.f64", CODE_FMAX, ROW_F64, 0 },
	{ "sqrt.rn.f64", CODE_FSQRT, ROW_F64, 0 },
	{ "add{,.rn}.f32x2", CODE_FADD_PAIR, ROW_F32 | ROW_NAN, 0 },
	{ "sub{,.rn}.f32x2", CODE_FSUB_PAIR, ROW_F32 | ROW_NAN, 0 },
	{ "mul{,.rn}.f32x2", CODE_FMUL_PAIR, ROW_F32 | ROW_NAN, 0 },
	{ "fma.rn.f32x2", CODE_FMA_PAIR, ROW_F32 | ROW_NAN, 0 },
	{ "shf.l.wrap.b32", CODE_FUNNEL_L, 0, 0 },
	{ "shf.r.wrap.b32", CODE_FUNNEL_R, 0, 0 },
	{ "lop3.b32", CODE_LOGIC, 0, 0 },
	{ "prmt.b32", CODE_PERMUTE, 0, 0 },
	{ "popc.b32", CODE_COUNT_BITS, 0, 0 },
	{ "div.u32", CODE_DIV_U, 0, 0 },
	{ "div.s32", CODE_DIV_S, 0, 0 },
	{ "rem.u32", CODE_REM_U, 0, 0 },
	{ "rem.s32", CODE_REM_S, 0, 0 },
	{ "dp4a.u32.u32", CODE_DOT_UU, 0, 0 },
	{ "dp4a.u32.s32", CODE_DOT_US, 0, 0 },
	{ "dp4a.s32.u32", CODE_DOT_SU, 0, 0 },
	{ "dp4a.s32.s32", CODE_DOT_SS, 0, 0 },
	{ "%cvta.shared.u64", CODE_SHARED_GENERIC, 0, 0 },
};

const struct inline_row *inline_row(const char *name)
{
	if (!name)
		return NULL;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

const uint8_t element_operand[2][4] = { { 0, 2, 3, 4 }, { 2, 0, 3, 4 } };

struct access_form access_form(const char *name)
{
	struct access_form a = { .count = 1 };
	const char *type;

	if (!name || (strncmp(name, "%ld.", 4) != 0 && strncmp(name, "%st.", 4) != 0))
		return a;
	a.store = name[1] == 's';
	if (strstr(name, ".strong") || strstr(name, ".frame"))
		return a;
	a.shared = strstr(name, ".shared") != NULL;
	a.param = strstr(name, ".kparam") != NULL;
	a.count = strstr(name, ".v4.") ? 4 : strstr(name, ".v2.") ? 2 : 1;
	type = strrchr(name, '.') + 1;
	a.bytes = (uint8_t)(atoi(type + 1) / 8);
	a.is_signed = type[0] == 's';
	a.good = a.bytes <= 8;
	return a;
}

/* Whether the low half, as f32, is no NaN. */
static bool is_number(uint64_t v)
{
	return (v & 0x7fffffffu) <= 0x7f800000u;
}

/* state.grain of a number. */
static uint8_t number_grain(uint32_t bits)
{
	const uint32_t exponent = bits >> 23 & 0xff, least = exponent ? exponent : 1;
	const uint32_t digits = (bits & 0x7fffffu) | (exponent ? 1u << 23 : 0);
	const uint32_t grain = digits ? least + (uint32_t)__builtin_ctz(digits) : GRAIN_MAX;

	return (uint8_t)(grain < GRAIN_MAX ? grain : GRAIN_MAX);
}

struct state operand_state(const struct flow *f, const struct compile_operand *o, const struct state *s)
{
	const uint32_t r = flow_reg(f, o);

	if (r != UINT32_MAX)
		return s[r];
	if (o->place == COMPILE_FIXED || o->place == COMPILE_CONSTANT) {
		struct state x = { .shape = SHAPE_LINE,
				   .nan = o->place == COMPILE_FIXED && o->lane >= 4 && is_number(o->value) &&
					  (o->lane == 4 || is_number(o->value >> 32)) };

		if (o->place == COMPILE_FIXED)
			pattern_number_facts(o->value, o->lane, &x);
		x.small = o->place == COMPILE_FIXED && !(o->value & 0x80808080u);
		x.flat = o->place == COMPILE_FIXED && (o->value & 0x7f800000u || !(o->value & 0x7fffffffu));
		x.grain = o->place == COMPILE_FIXED && o->lane == 4 ? number_grain((uint32_t)o->value) : 0;
		return x;
	}
	return (struct state){ .shape = SHAPE_LANES };
}

bool operand_number(const struct flow *f, const struct compile_operand *o, const struct state *s, uint64_t *ret)
{
	const uint32_t r = flow_reg(f, o);

	*ret = r != UINT32_MAX ? s[r].value : o->value;
	return r != UINT32_MAX ? s[r].known : o->place == COMPILE_FIXED;
}

static bool is_uniform(struct state s)
{
	return s.shape == SHAPE_LINE && !s.stride;
}

/* In each half. */
static bool is_even(struct state s)
{
	return s.shape < SHAPE_PATTERN && !s.stride;
}

static bool is_fixed(const struct compile_operand *o)
{
	return o->place == COMPILE_FIXED;
}

/* As the type of the operation sees a stride: modulo its width. */
static int64_t wrapped(int64_t stride, uint32_t lane)
{
	return lane == 4 ? (int32_t)(uint32_t)stride : stride;
}

static int64_t times(int64_t stride, const struct compile_operand *o)
{
	return (int64_t)((uint64_t)stride * o->value);
}

/* The product of two sources as a line: one is fixed, or both are the same in all lanes. */
static bool product(const struct compile_op *o, struct state a, struct state b, int64_t *ret)
{
	if (is_even(a) && is_even(b))
		*ret = 0;
	else if (is_fixed(&o->operand[2]))
		*ret = times(a.stride, &o->operand[2]);
	else if (is_fixed(&o->operand[1]))
		*ret = times(b.stride, &o->operand[1]);
	else
		return false;
	return true;
}

static int64_t wide_value(const struct compile_operand *o, bool is_signed)
{
	return is_signed ? (int64_t)(int32_t)(uint32_t)o->value : (int64_t)(uint32_t)o->value;
}

/* The same of a widening product, whose line must not wrap before it is widened. */
static bool wide_product(const struct compile_op *o, struct state a, struct state b, bool is_signed, int64_t *ret,
			 bool *ret_checks)
{
	*ret_checks = false;
	*ret = 0;
	if (is_even(a) && is_even(b))
		return true;
	*ret_checks = true;
	if (is_fixed(&o->operand[2]))
		*ret = a.stride * wide_value(&o->operand[2], is_signed);
	else if (is_fixed(&o->operand[1]))
		*ret = b.stride * wide_value(&o->operand[1], is_signed);
	else
		return false;
	return true;
}

/* Which bits of the lane's number a mask leaves in a line that is whole; -1: it is none, or no number masks it. */
static int masked_bits(const struct compile_op *o, const struct state *x)
{
	for (uint32_t k = 1; k < 3; k++)
		if (x[k].shape == SHAPE_LINE && x[k].whole && is_fixed(&o->operand[3 - k]))
			return (int)(o->operand[3 - k].value / (uint64_t)x[k].stride % LANES);
	return -1;
}

/* Of a result: the bits of the lane's number on which it does not depend. */
static uint8_t result_same(const struct compile_op *o, const struct inline_row *row, const struct state *x)
{
	const int left = row->code == CODE_AND ? masked_bits(o, x) : -1;
	uint8_t same = LANES - 1;

	if (left >= 0)
		return (uint8_t)(~left & (LANES - 1));
	for (uint32_t k = 1; k < COMPILE_OPERANDS; k++)
		if (o->operand[k].place != COMPILE_NONE)
			same &= state_same(&x[k]);
	return same;
}

/* Whether a line that is made of a whole one is whole. */
static bool result_whole(const struct inline_row *row, const struct state *x, int64_t stride)
{
	const bool passes = row->code == CODE_COPY || row->code == CODE_WIDEN_U || row->code == CODE_SHL;

	if (row->code == CODE_AND)
		return stride != 0;
	return passes && x[1].shape == SHAPE_LINE && x[1].whole && stride > 0 && stride <= WHOLE_MAX;
}

/* Whether the result is a line when its sources are, and its stride. */
static bool line_of(const struct flow *f, const struct compile_op *o, const struct inline_row *row,
		    const struct state *x, int64_t *ret, bool *ret_checks)
{
	bool uniform = true;
	int64_t p;

	*ret = 0;
	*ret_checks = false;
	for (uint32_t k = 1; k < COMPILE_OPERANDS; k++) {
		if (o->operand[k].place == COMPILE_NONE)
			continue;
		if (x[k].shape != SHAPE_LINE && x[k].shape != SHAPE_HALVES)
			return false;
		uniform = uniform && !x[k].stride;
	}
	if (uniform)
		return true;
	if (row->flags & (ROW_U16 | ROW_S16))
		return false; /* it wraps elsewhere */
	switch ((enum code)row->code) {
	case CODE_ADD:
		*ret = x[1].stride + x[2].stride;
		return true;
	case CODE_SUB:
		*ret = x[1].stride - x[2].stride;
		return true;
	case CODE_NEG:
		*ret = -x[1].stride;
		return true;
	case CODE_AND: /* what leaves a whole line as it is */
		*ret = x[1].stride | x[2].stride;
		return masked_bits(o, x) == LANES - 1;
	case CODE_COPY:
	case CODE_LOW:
	case CODE_SHARED_GENERIC:
		*ret = x[1].stride;
		return true;
	case CODE_MUL:
		return product(o, x[1], x[2], ret);
	case CODE_MAD:
		if (!product(o, x[1], x[2], &p))
			return false;
		*ret = p + x[3].stride;
		return true;
	case CODE_SHL:
		if (!is_fixed(&o->operand[2]) || o->operand[2].value >= o->operand[0].lane * 8u)
			return false;
		*ret = (int64_t)((uint64_t)x[1].stride << o->operand[2].value);
		return true;
	case CODE_SHL_ADD:
		if (!is_fixed(&o->operand[2]) || o->operand[2].value >= o->operand[0].lane * 8u)
			return false;
		*ret = (int64_t)(((uint64_t)x[1].stride << o->operand[2].value) + (uint64_t)x[3].stride);
		return true;
	case CODE_WIDEN_S:
	case CODE_WIDEN_U:
		*ret_checks = true;
		*ret = x[1].stride;
		return true;
	case CODE_ADD_WIDE_S:
	case CODE_ADD_WIDE_U:
		*ret_checks = x[1].stride != 0;
		*ret = x[1].stride + x[2].stride;
		return true;
	case CODE_MUL_WIDE_S:
	case CODE_MUL_WIDE_U:
		return wide_product(o, x[1], x[2], row->code == CODE_MUL_WIDE_S, ret, ret_checks);
	case CODE_MAD_WIDE_S:
	case CODE_MAD_WIDE_U:
		if (!wide_product(o, x[1], x[2], row->code == CODE_MAD_WIDE_S, &p, ret_checks))
			return false;
		*ret = p + x[3].stride;
		return true;
	default:
		return false;
	}
}

static bool has_wide(const struct compile_op *o)
{
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (o->operand[k].place != COMPILE_NONE && o->operand[k].lane > 8)
			return true;
	return false;
}

/* The common shape of two; strides are the caller's. */
static uint8_t wider(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

static uint8_t coarser(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* Of a product, which is rounded to a multiple of the same or of more. */
static uint8_t product_grain(uint8_t a, uint8_t b)
{
	const uint32_t both = (uint32_t)a + b;

	if (!a || !b || both <= GRAIN_ONE)
		return 0;
	return (uint8_t)(both - GRAIN_ONE < GRAIN_MAX ? both - GRAIN_ONE : GRAIN_MAX);
}

uint8_t result_grain(const struct flow *f, const struct compile_op *o, const struct inline_row *row,
		     const struct state *s)
{
	uint8_t x[COMPILE_OPERANDS] = { 0 };

	if (o->operand[0].lane != 4 || row->flags & (ROW_U16 | ROW_S16 | ROW_F64))
		return 0;
	for (uint32_t k = 1; k < COMPILE_OPERANDS; k++)
		x[k] = operand_state(f, &o->operand[k], s).grain;
	switch ((enum code)row->code) {
	case CODE_FLOAT_S:
	case CODE_FLOAT_U:
	case CODE_ROUND_EVEN:
	case CODE_ROUND_ZERO:
	case CODE_ROUND_DOWN:
	case CODE_ROUND_UP:
		return GRAIN_ONE;
	case CODE_HALF_WIDEN:
		return GRAIN_ONE - 24; /* the least that is not zero is 2 to the power of -24 */
	case CODE_COPY:
	case CODE_FNEG:
	case CODE_FABS:
		return x[1];
	case CODE_SELECT:
	case CODE_FMIN:
	case CODE_FMAX:
	case CODE_FADD:
	case CODE_FSUB:
		return coarser(x[1], x[2]);
	case CODE_FMUL:
		return product_grain(x[1], x[2]);
	case CODE_FMA:
		return coarser(product_grain(x[1], x[2]), x[3]);
	case CODE_SCALE_ADD:
		return coarser(product_grain(x[2], x[3]), x[4]);
	default:
		return 0;
	}
}

/* Whether a result is an f32 that cannot be subnormal. */
static bool is_flat(const struct compile_op *o, const struct inline_row *row, const struct state *x)
{
	if (o->operand[0].lane != 4)
		return false;
	if (row->flags & ROW_FTZ && row->flags & ROW_NAN)
		return true;
	if (row->code == CODE_COPY)
		return x[1].flat;
	return row->code == CODE_SELECT && !(row->flags & ROW_U16) && x[1].flat && x[2].flat;
}

/* Whether no byte of a result has its highest bit. */
static bool is_small(const struct compile_op *o, const struct inline_row *row, const struct state *x)
{
	if (o->operand[0].lane != 4 || row->flags & (ROW_U16 | ROW_S16))
		return false;
	switch ((enum code)row->code) {
	case CODE_AND:
		return x[1].small || x[2].small;
	case CODE_OR:
	case CODE_XOR:
	case CODE_SELECT:
		return x[1].small && x[2].small;
	case CODE_COPY:
		return x[1].small;
	default:
		return false;
	}
}

static void plan_inline(const struct flow *f, const struct compile_op *o, const struct state *s, struct plan *p)
{
	struct state x[COMPILE_OPERANDS], old, guard;
	struct state *r = &p->result[0];

	p->shape = SHAPE_LINE;
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++) {
		x[k] = operand_state(f, &o->operand[k], s);
		if (k && o->operand[k].place != COMPILE_NONE)
			p->shape = wider(p->shape, x[k].shape);
	}
	p->how = HOW_INLINE;
	if (line_of(f, o, p->row, x, &r->stride, &p->checks)) {
		r->shape = p->shape;
	} else if (!pattern_result(f, o, p->row, x, r, &p->checks)) {
		*r = (struct state){ .shape = SHAPE_LANES };
		p->checks = false;
	}
	p->shape = r->shape;
	r->stride = wrapped(r->stride, o->operand[0].lane);
	p->stride = r->stride;
	p->pattern = r->pattern;
	if (r->shape == SHAPE_LANES)
		r->same = result_same(o, p->row, x);
	else if (r->shape == SHAPE_PATTERN)
		r->same = pattern_of(f, r).same;
	if ((r->shape == SHAPE_LINE || r->shape == SHAPE_PATTERN) && o->guard.place == COMPILE_NONE)
		pattern_facts(o, p->row, x, r);
	r->whole = r->shape == SHAPE_LINE && o->guard.place == COMPILE_NONE && result_whole(p->row, x, r->stride);
	if (p->row->code == CODE_COPY && o->guard.place == COMPILE_NONE)
		r->known = operand_number(f, &o->operand[1], s, &r->value);
	if (!r->known)
		r->value = 0;
	r->grain = result_grain(f, o, p->row, s);
	r->flat = r->grain >= GRAIN_FLAT || is_flat(o, p->row, x);
	r->small = is_small(o, p->row, x);
	r->nan = p->row->flags & (ROW_NAN | ROW_PASS);
	for (uint32_t k = 1; p->row->flags & ROW_PASS && k < 3; k++)
		r->nan &= o->operand[k].place == COMPILE_NONE || x[k].nan;
	if (p->row->code == CODE_UNPACK && o->imm % 32)
		r->nan = false; /* not one of the two */
	if (o->guard.place == COMPILE_NONE)
		return;
	old = operand_state(f, &o->operand[0], s);
	guard = operand_state(f, &o->guard, s);
	r->same = state_same(r) & state_same(&old) & state_same(&guard);
	r->shape = wider(wider(r->shape, old.shape), guard.shape);
	if (r->shape >= SHAPE_PATTERN || old.stride != r->stride || !is_even(guard)) {
		r->shape = SHAPE_LANES;
		r->stride = 0;
		r->pattern = 0;
	}
	r->same = r->shape == SHAPE_LANES ? r->same : 0;
	r->nan &= old.nan;
	r->flat &= old.flat;
	r->grain = coarser(r->grain, old.grain);
	r->small &= old.small;
}

/* Lanes do not share bytes, and are aligned when the first is. */
static bool apart(const struct access_form *a, int64_t stride)
{
	const int64_t bytes = a->bytes * a->count;

	return stride % bytes == 0 && stride < STRIDE_MAX && stride > -STRIDE_MAX;
}

bool access_is_dense(const struct flow *f, const struct access_form *a, const struct state *address)
{
	return !strcmp(f->request->isa, "avx512") && a->store && a->count == 1 && a->bytes >= 4 &&
	       address->shape < SHAPE_PATTERN && address->stride > 0 && address->stride <= DENSE_MAX &&
	       address->stride % a->bytes == 0;
}

/* Whether lanes may lie anywhere: scatter.c. */
static bool can_scatter(const struct flow *f, const struct access_form *a)
{
	if (f->elements > SCATTERS_MAX)
		return false;
	return a->bytes >= 4 || a->count == 1;
}

/* What a group of lanes accesses by code of its own: one place, or one element behind the other. */
static bool plan_group_access(const struct flow *f, const struct access_form *a, struct state address)
{
	const bool wide = a->bytes >= 4 || !strcmp(f->request->isa, "avx512");

	return address.shape == SHAPE_LINE &&
	       (!address.stride || (address.stride == a->bytes && a->count == 1 && wide));
}

static bool plan_access(const struct flow *f, const struct compile_op *o, const struct state *s, const uint8_t *kept,
			struct plan *p)
{
	const struct access_form a = p->access;
	const struct state address = operand_state(f, &o->operand[1], s);

	if (!a.good || (a.param && o->guard.place != COMPILE_NONE))
		return false;
	p->guarded = o->guard.place != COMPILE_NONE;
	if (a.param) {
		p->how = HOW_PARAM;
	} else {
		p->strided = !kept && address.stride && address.stride != a.bytes * a.count;
		p->dense = p->strided && access_is_dense(f, &a, &address);
		p->scattered =
			kept ? !plan_group_access(f, &a, address)
			     : address.shape >= SHAPE_PATTERN ||
					(p->strided && !p->dense && (f->many_accesses || !apart(&a, address.stride)));
		if (p->scattered && !kept && !p->guarded && a.shared && !a.store && a.bytes >= 4)
			p->same = state_same(&address);
		if (p->scattered && !p->same && !can_scatter(f, &a))
			return false;
		p->how = a.store ? HOW_STORE : HOW_LOAD;
		p->known = !kept && (p->scattered || p->strided) &&
			   apart_fits(f, (uint32_t)(o - f->request->op), &a, &address);
		p->checks = p->known && apart_checks(f, (uint32_t)(o - f->request->op), &address);
	}
	for (uint32_t k = 0; !a.store && k < a.count; k++) /* of one address for all, or a half, so is what is there */
		p->result[element_operand[0][k]] =
			(struct state){ .shape = a.param					? SHAPE_LINE
						 : p->scattered || p->guarded || address.stride ? SHAPE_LANES
												: address.shape,
					.same = p->same };
	return true;
}

static bool plan_atomic(const struct flow *f, const struct compile_op *o, struct plan *p)
{
	p->atomic = atomic_row(o->name);
	if (!p->atomic || f->elements > SCATTERS_MAX)
		return false;
	p->access = (struct access_form){
		.store = true, .shared = strstr(o->name, ".shared.") != NULL, .count = 1, .bytes = p->atomic->bytes
	};
	p->how = HOW_ATOMIC;
	p->scattered = true;
	p->guarded = o->guard.place != COMPILE_NONE;
	p->result[0] = (struct state){ .shape = SHAPE_LANES };
	return true;
}

/* Of the special registers: in a row of threads lane 0 has a multiple of 32. */
static void special_facts(const struct compile_op *o, struct state *r)
{
	if (r->shape != SHAPE_LINE)
		return;
	if (o->imm == SP_laneid)
		r->low = 32;
	else if (o->imm == SP_tid_x)
		r->low = 5;
	if (o->imm == SP_laneid)
		r->high = 32 - 5;
	else if (o->imm <= SP_tid_z)
		r->high = 32 - THREAD_BITS;
}

static bool plan_special(const struct flow *f, const struct compile_op *o, struct plan *p)
{
	struct state *r = &p->result[0];

	if (o->guard.place != COMPILE_NONE || o->imm > SP_laneid)
		return false;
	p->how = HOW_SPECIAL;
	*r = (struct state){ .shape = SHAPE_LINE };
	if (o->imm <= SP_tid_z && f->request->layout == COMPILE_HALVES)
		r->shape = SHAPE_HALVES;
	if (o->imm <= SP_tid_z && f->request->layout == COMPILE_ANY)
		r->shape = SHAPE_LANES;
	else if (o->imm == SP_tid_x || o->imm == SP_laneid)
		r->stride = 1;
	r->whole = r->shape == SHAPE_LINE && r->stride;
	p->stride = r->stride;
	special_facts(o, r);
	return true;
}

/* shfl whose operands but the value are numbers: which lane each gets is known, as all are together. */
static bool plan_shuffle(const struct flow *f, const struct compile_op *o, const struct state *s, struct plan *p)
{
	struct state *r = p->result;
	uint64_t number;

	if (o->guard.place != COMPILE_NONE || !operand_number(f, &o->operand[2], s, &number) ||
	    !operand_number(f, &o->operand[3], s, &number))
		return false;
	p->how = HOW_SHUFFLE;
	r[0] = (struct state){ .shape = SHAPE_LANES };
	r[0].nan = operand_state(f, &o->operand[1], s).nan;
	r[0].flat = operand_state(f, &o->operand[1], s).flat;
	r[0].grain = operand_state(f, &o->operand[1], s).grain;
	r[4] = (struct state){ .shape = SHAPE_LANES };
	return true;
}

static void plan_call(const struct flow *f, const struct compile_op *o, const struct state *s, struct plan *p)
{
	bool uniform = o->lanewise && o->guard.place == COMPILE_NONE;

	p->how = HOW_CALL;
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (o->operand[k].place != COMPILE_NONE && !(o->defs >> k & 1))
			uniform = uniform && is_uniform(operand_state(f, &o->operand[k], s));
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		p->result[k] = (struct state){ .shape = uniform ? SHAPE_LINE : SHAPE_LANES, .synced = true };
}

/* What lanes that wait have is kept beside what the group writes: a line of the group stays one. */
static void plan_keep(const struct flow *f, const struct compile_op *o, const struct state *s, const uint8_t *kept,
		      struct plan *p)
{
	bool split;

	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++) {
		const uint32_t r = o->defs >> k & 1 ? flow_reg(f, &o->operand[k]) : UINT32_MAX;

		if (r == UINT32_MAX || !kept[r])
			continue;
		split = p->how != HOW_CALL && !p->guarded && p->result[k].shape == SHAPE_LINE;
		p->result[k] = (struct state){ .shape = split ? SHAPE_LINE : SHAPE_LANES,
					       .split = split,
					       .stride = split ? p->result[k].stride : 0,
					       .low = split ? p->result[k].low : 0,
					       .high = split ? p->result[k].high : 0,
					       .nan = p->result[k].nan && s[r].nan,
					       .flat = p->result[k].flat && s[r].flat,
					       .grain = coarser(p->result[k].grain, s[r].grain),
					       .small = p->result[k].small && s[r].small,
					       .synced = p->how == HOW_CALL };
	}
}

/* Of a group: how a function of the interpreter is called, if it can be. */
static void plan_group_call(const struct flow *f, const struct compile_op *o, const struct state *s, struct plan *p)
{
	p->meets = o->sync;
	if (p->how != HOW_CALL || (!o->more_count && (!o->sync || (o->operand[5].place != COMPILE_NONE &&
								   is_uniform(operand_state(f, &o->operand[5], s))))))
		return;
	p->how = HOW_LEAVE;
	p->result[0] = (struct state){ .shape = SHAPE_LANES, .synced = true };
}

static void plan_any(const struct flow *f, uint32_t i, const struct state *s, const uint8_t *kept, struct plan *ret)
{
	const struct compile_op *o = &f->request->op[i];

	memset(ret, 0, sizeof(*ret));
	if (o->kind != COMPILE_PLAIN) {
		ret->how = o->kind == COMPILE_BRANCH ? HOW_BRANCH : HOW_LEAVE;
		ret->result[0] = (struct state){ .shape = SHAPE_LANES, .synced = true };
		return;
	}
	if (!strcmp(o->name, "%nothing"))
		return;
	if (!strcmp(o->name, "%meet")) {
		ret->how = HOW_MEET;
		return;
	}
	if (!strcmp(o->name, "%strong") && o->guard.place == COMPILE_NONE) {
		ret->how = HOW_STRONG;
		return;
	}
	if (!strcmp(o->name, "%local_address.b64") && o->guard.place == COMPILE_NONE) {
		ret->how = HOW_LOCAL;
		ret->stride = f->request->local;
		ret->result[0] =
			(struct state){ .shape = ret->stride ? SHAPE_LINE : SHAPE_LANES, .stride = ret->stride };
		return;
	}
	ret->row = has_wide(o) ? NULL : inline_row(o->name);
	if (ret->row && ret->row->code == CODE_LOGIC && !is_fixed(&o->operand[4]))
		ret->row = NULL; /* its table is not known */
	if (ret->row && ret->row->code == CODE_PERMUTE && !is_fixed(&o->operand[3]))
		ret->row = NULL; /* nor which bytes */
	if (ret->row) {
		plan_inline(f, o, s, ret);
		return;
	}
	ret->access = access_form(o->name);
	if ((ret->access.good && plan_access(f, o, s, kept, ret)) || plan_atomic(f, o, ret) ||
	    (!strcmp(o->name, "%special.b32") && plan_special(f, o, ret)) ||
	    (!kept && !strncmp(o->name, "shfl.", 5) && plan_shuffle(f, o, s, ret)))
		return;
	if (o->product.rows && f->request->dots && !kept) {
		ret->how = HOW_PRODUCT;
		return;
	}
	plan_call(f, o, s, ret);
	if (kept)
		plan_group_call(f, o, s, ret);
}

void plan_make(const struct flow *f, uint32_t i, const struct state *s, const uint8_t *kept, struct plan *ret)
{
	plan_any(f, i, s, kept, ret);
	for (uint32_t k = 0; kept && k < COMPILE_OPERANDS; k++) {
		if (ret->result[k].shape == SHAPE_LANES)
			ret->result[k].same = 0;
		ret->result[k].whole = false;
	}
	if (kept && ret->how != HOW_LEAVE)
		plan_keep(f, &f->request->op[i], s, kept, ret);
}

bool plan_settles(const struct plan *p)
{
	if (p->row->flags & ROW_PASS)
		return !p->result[0].nan;
	return !(p->row->flags & ROW_F32);
}

/* The frame gets what an interpreter's function reads. */
static void sync(const struct flow *f, const struct compile_operand *o, struct state *s)
{
	const uint32_t r = flow_reg(f, o);

	if (r == UINT32_MAX)
		return;
	s[r].synced = true;
	s[r].nan = false;
}

void plan_apply(const struct flow *f, uint32_t i, const struct plan *p, struct state *s)
{
	const struct compile_op *o = &f->request->op[i];
	uint32_t r;

	if (o->kind == COMPILE_STOP || (o->kind == COMPILE_PLAIN && p->how == HOW_LEAVE)) {
		for (r = 0; r < f->reg_count; r++)
			s[r] = p->result[0];
		return;
	}
	if (o->kind == COMPILE_BARRIER)
		for (r = 0; r < f->reg_count; r++) {
			s[r].synced = s[r].shape == SHAPE_LANES || !flow_meets_briefly(f, i);
			s[r].brief = true;
			s[r].nan = false;
		}
	if (p->how == HOW_CALL) {
		for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
			if (!(o->defs >> k & 1) || o->guard.place != COMPILE_NONE)
				sync(f, &o->operand[k], s);
		for (uint32_t k = o->more_defs; k < o->more_count; k++)
			sync(f, &o->more[k], s);
		sync(f, &o->guard, s);
	}
	for (uint32_t k = 0; k < o->more_defs; k++)
		if ((r = flow_reg(f, &o->more[k])) != UINT32_MAX)
			s[r] = (struct state){ .shape = SHAPE_LANES, .synced = p->how == HOW_CALL || f->through };
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (o->defs >> k & 1 && (r = flow_reg(f, &o->operand[k])) != UINT32_MAX) {
			s[r] = p->result[k];
			if (f->through && s[r].shape == SHAPE_LANES) {
				s[r].synced = true;
				s[r].nan = false;
			}
		}
}

/* root.c: see root.h. */
#include "compile/root.h"
#include "compile/reg.h"

#include <stdlib.h>
#include <string.h>

struct roots {
	uint32_t begin, count; /* operations of the block */
	uint32_t *of_op;       /* for each: the root of its result, of an access: of its address; 0: none */
	uint32_t *of_reg;      /* for each register, as far as the block has been gone through */
	LLVMValueRef *offset;  /* likewise */
	struct root *root;     /* from 1 on */
	uint32_t made;
};

/* An operation that adds the same to all lanes: which operand has the lanes; 0: it is none. */
static uint32_t lanes_operand(const struct flow *f, const struct compile_op *o, const struct plan *p,
			      const struct state *s)
{
	struct state x[3];

	if (p->how != HOW_INLINE || o->guard.place != COMPILE_NONE || o->operand[0].lane != 8 ||
	    (p->row->code != CODE_ADD && p->row->code != CODE_COPY))
		return 0;
	for (uint32_t k = 1; k < 3; k++)
		x[k] = operand_state(f, &o->operand[k], s);
	if (p->row->code == CODE_COPY)
		return x[1].shape == SHAPE_LANES && flow_reg(f, &o->operand[1]) != UINT32_MAX;
	for (uint32_t k = 1; k < 3; k++)
		if (x[k].shape == SHAPE_LANES && flow_reg(f, &o->operand[k]) != UINT32_MAX &&
		    x[3 - k].shape == SHAPE_LINE && !x[3 - k].stride)
			return k;
	return 0;
}

static bool is_rooted_access(const struct flow *f, const struct compile_op *o, const struct plan *p)
{
	return (p->how == HOW_LOAD || p->how == HOW_STORE) && p->scattered && !p->guarded && !p->access.shared &&
	       !p->known && flow_reg(f, &o->operand[1]) != UINT32_MAX;
}

static uint32_t reg_root(struct roots *x, uint32_t r)
{
	if (!x->of_reg[r])
		x->of_reg[r] = ++x->made;
	return x->of_reg[r];
}

static void forget_results(const struct flow *f, const struct compile_op *o, struct roots *x)
{
	uint32_t r;

	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (o->defs >> k & 1 && (r = flow_reg(f, &o->operand[k])) != UINT32_MAX)
			x->of_reg[r] = 0;
	for (uint32_t k = 0; k < o->more_defs; k++)
		if ((r = flow_reg(f, &o->more[k])) != UINT32_MAX)
			x->of_reg[r] = 0;
}

/* Goes through the block to find which accesses have one root. */
static void find(struct emit *e, struct roots *x, struct state *s)
{
	const struct flow *f = e->flow;
	struct plan p;

	memcpy(s, e->s, f->reg_count * sizeof(*s));
	for (uint32_t k = 0; k < x->count; k++) {
		const struct compile_op *o = &f->request->op[x->begin + k];
		uint32_t lanes, to;

		plan_make(f, x->begin + k, s, NULL, &p);
		lanes = lanes_operand(f, o, &p, s);
		to = flow_reg(f, &o->operand[0]);
		if (lanes)
			x->of_op[k] = reg_root(x, flow_reg(f, &o->operand[lanes]));
		if (is_rooted_access(f, o, &p)) {
			x->of_op[k] = reg_root(x, flow_reg(f, &o->operand[1]));
			x->root[x->of_op[k]].uses++;
		}
		forget_results(f, o, x);
		if (lanes && to != UINT32_MAX)
			x->of_reg[to] = x->of_op[k];
		plan_apply(f, x->begin + k, &p, s);
	}
	memset(x->of_reg, 0, f->reg_count * sizeof(*x->of_reg));
}

void roots_end(struct emit *e)
{
	if (!e->roots)
		return;
	free(e->roots->of_op);
	free(e->roots->of_reg);
	free(e->roots->offset);
	free(e->roots->root);
	free(e->roots);
	e->roots = NULL;
}

bool roots_begin(struct emit *e, uint32_t b)
{
	const struct block_of_code *n = &e->flow->block[b];
	struct state *s = calloc(e->flow->reg_count + 1, sizeof(*s));
	struct roots *x = e->roots = calloc(1, sizeof(*x));

	if (x) {
		x->begin = n->begin;
		x->count = n->end - n->begin;
		x->of_op = calloc(x->count + 1, sizeof(*x->of_op));
		x->root = calloc(x->count + 2, sizeof(*x->root));
		x->of_reg = calloc(e->flow->reg_count + 1, sizeof(*x->of_reg));
		x->offset = calloc(e->flow->reg_count + 1, sizeof(LLVMValueRef));
	}
	if (!x || !s || !x->of_op || !x->root || !x->of_reg || !x->offset) {
		free(s);
		roots_end(e);
		return false;
	}
	find(e, x, s);
	free(s);
	return true;
}

static struct root *wanted_by(const struct emit *e, uint32_t i)
{
	const uint32_t k = e->roots ? e->roots->of_op[i - e->roots->begin] : 0;

	return k && e->roots->root[k].uses > 1 ? &e->roots->root[k] : NULL;
}

static struct root *wanted(const struct emit *e)
{
	return wanted_by(e, e->at);
}

bool roots_want(const struct emit *e, uint32_t i)
{
	return wanted_by(e, i);
}

void roots_pass(struct emit *e)
{
	if (e->roots)
		forget_results(e->flow, operation(e), e->roots);
}

static LLVMValueRef reduced(struct emit *e, const char *name, LLVMValueRef v)
{
	return value_intrinsic(e, name, LLVMTypeOf(v), &v, 1);
}

/* Where a root is met first. */
static void root_make(struct emit *e, struct root *x, LLVMValueRef lanes)
{
	LLVMValueRef far;

	x->lanes = lanes;
	x->first = LLVMBuildExtractElement(e->b, lanes, LLVMConstInt(e->i32, 0, false), "");
	far = LLVMBuildSub(e->b, lanes, value_spread(e, x->first), "");
	x->least = reduced(e, "llvm.vector.reduce.smin", far);
	x->span = LLVMBuildSub(e->b, reduced(e, "llvm.vector.reduce.smax", far), x->least, "");
	x->apart = reduced(e, "llvm.vector.reduce.or", LLVMBuildXor(e->b, lanes, value_spread(e, x->first), ""));
}

/* The offset of an operand's register, which becomes a root if it has none. */
static LLVMValueRef offset_of(struct emit *e, struct root *x, const struct compile_operand *o)
{
	const uint32_t r = flow_reg(e->flow, o), id = (uint32_t)(x - e->roots->root);

	if (e->roots->of_reg[r] != id) {
		root_make(e, x, source_lanes(e, o, true));
		e->roots->of_reg[r] = id;
		e->roots->offset[r] = LLVMConstNull(e->i64);
	}
	return e->roots->offset[r];
}

void roots_add(struct emit *e, const struct plan *p)
{
	const struct compile_op *o = operation(e);
	const uint32_t k = lanes_operand(e->flow, o, p, e->s), to = flow_reg(e->flow, &o->operand[0]);
	LLVMValueRef offset = NULL;
	struct root *x;

	if (!e->roots || p->how != HOW_INLINE)
		return;
	x = k ? wanted(e) : NULL;
	if (x) {
		offset = offset_of(e, x, &o->operand[k]);
		if (p->row->code == CODE_ADD)
			offset = LLVMBuildAdd(e->b, offset, source(e, &o->operand[3 - k], true).v[0], "");
	}
	forget_results(e->flow, o, e->roots);
	if (x && to != UINT32_MAX) {
		e->roots->of_reg[to] = (uint32_t)(x - e->roots->root);
		e->roots->offset[to] = offset;
	}
}

void roots_forget(struct emit *e, const struct plan *p)
{
	if (e->roots && p->how != HOW_INLINE)
		forget_results(e->flow, operation(e), e->roots);
}

const struct root *root_of_access(struct emit *e, LLVMValueRef *ret_offset)
{
	const struct compile_op *o = operation(e);
	struct root *x = wanted(e);

	if (x)
		*ret_offset =
			LLVMBuildAdd(e->b, offset_of(e, x, &o->operand[1]), LLVMConstInt(e->i64, o->imm, false), "");
	return x;
}

/* The least lies in the range, and so far from its end that the most does. Nothing wraps: span and size are in it. */
LLVMValueRef root_in_range(struct emit *e, const struct root *r, LLVMValueRef offset, LLVMValueRef begin,
			   LLVMValueRef range_bytes, uint64_t size)
{
	LLVMValueRef bytes = LLVMConstInt(e->i64, size, false), last = LLVMBuildSub(e->b, range_bytes, bytes, ""), low;
	LLVMValueRef fits = LLVMBuildICmp(e->b, LLVMIntUGE, range_bytes, bytes, "");

	low = LLVMBuildAdd(e->b, LLVMBuildAdd(e->b, r->first, r->least, ""), offset, "");
	low = LLVMBuildSub(e->b, low, begin, "");
	fits = LLVMBuildAnd(e->b, fits, LLVMBuildICmp(e->b, LLVMIntULE, r->span, last, ""), "");
	low = LLVMBuildICmp(e->b, LLVMIntULE, low, LLVMBuildSub(e->b, last, r->span, ""), "");
	return LLVMBuildAnd(e->b, fits, low, "");
}

LLVMValueRef root_aligned(struct emit *e, const struct root *r, LLVMValueRef offset, uint64_t align)
{
	LLVMValueRef low = LLVMBuildOr(e->b, r->apart, LLVMBuildAdd(e->b, r->first, offset, ""), "");

	low = LLVMBuildAnd(e->b, low, LLVMConstInt(e->i64, align - 1, false), "");
	return LLVMBuildICmp(e->b, LLVMIntEQ, low, LLVMConstNull(e->i64), "");
}

/*
 * emit.c: see emit.h.
 *
 * The function that is made runs one warp:
 *
 *   begin     goes where w->pc says, if an entry is there; else returns 0
 *   enter N   takes the registers that block N needs from the frame; where they do not look as flow.c found, returns 0
 *   code N    the operations of block N, of all lanes; and the same once more of a group of them (group.c)
 *   leave     puts the registers that are still needed back into the frame, sets w->pc, adds to the counters, returns
 *
 * Registers are places on the stack here (LLVM makes values of them): one for the base of a line, one for lanes.
 */
#include "compile/emit.h"
#include "compile/access.h"
#include "compile/apart.h"
#include "compile/fetch.h"
#include "compile/group.h"
#include "compile/leave.h"
#include "compile/loop.h"
#include "compile/operation.h"
#include "compile/product.h"
#include "compile/root.h"
#include "compile/single.h"
#include "compile/strip.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void count_pending(struct emit *e)
{
	count_more(e, e->pending);
	e->pending = 0;
}

/* What jump() of exec.c does of a warp whose lanes are all together. */
static void note_strong(struct emit *e)
{
	LLVMValueRef p = value_at(e, e->warp, offsetof(struct warp, strong), e->i8);

	add_to(e, e->block, offsetof(struct block, waits), LLVMBuildZExt(e->b, value_load(e, e->i8, p, 1), e->i64, ""));
	value_store(e, LLVMConstInt(e->i8, 0, false), p, 1);
}

/* From the end of a block into another one, at most after COMPILE_QUANTUM instructions of a loop by the interpreter. */
static void make_edge(struct emit *e, uint32_t to)
{
	const struct block_of_code *n = &e->flow->block[to];
	const uint64_t quantum = edge_quantum(e, to);
	LLVMBasicBlockRef on, out;

	if (e->kept) {
		group_edge(e, to);
		return;
	}
	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		if (n->live[r] && e->s[r].shape != SHAPE_UNKNOWN &&
		    (n->in[r].shape != e->s[r].shape || n->in[r].nan != e->s[r].nan)) {
			const struct value x = value_as(e, reg_value(e, r, &e->s[r], !n->in[r].nan), n->in[r].shape);

			reg_store(e, r, &x);
		}
	if (to <= e->in_block) {
		if (e->flow->strong)
			note_strong(e);
		on = new_block(e);
		out = new_block(e);
		LLVMBuildCondBr(e->b,
				expected(e, LLVMBuildICmp(e->b, LLVMIntULE, value_load(e, e->i64, e->count, 8),
							  LLVMConstInt(e->i64, quantum, false), "")),
				on, out);
		LLVMPositionBuilderAtEnd(e->b, out);
		leave(e, n->begin, n->live, n->in, 0);
		LLVMPositionBuilderAtEnd(e->b, on);
	}
	LLVMBuildBr(e->b, e->code[to]);
}

/* Of all lanes, some may go on and some may jump. */
static void branch_apart(struct emit *e, const struct value *x)
{
	const struct compile_op *o = operation(e);
	const struct block_of_code *n = &e->flow->block[e->in_block];
	LLVMBasicBlockRef yes = new_block(e), no = new_block(e), some = new_block(e), other = new_block(e);
	LLVMValueRef guard = value_lanes(e, x), taken;

	guard = LLVMBuildICmp(e->b, o->guard_not ? LLVMIntEQ : LLVMIntNE, guard, value_number(LLVMTypeOf(guard), 0),
			      "");
	taken = LLVMBuildBitCast(e->b, guard, e->i32, "");
	e->pending += o->weight;
	count_pending(e);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, taken, LLVMConstInt(e->i32, 0xffffffffu, false), ""), yes,
			other);
	LLVMPositionBuilderAtEnd(e->b, yes);
	make_edge(e, n->next[0]);
	LLVMPositionBuilderAtEnd(e->b, other);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, taken, LLVMConstNull(e->i32), ""), no, some);
	LLVMPositionBuilderAtEnd(e->b, no);
	make_edge(e, n->next[1]);
	LLVMPositionBuilderAtEnd(e->b, some);
	group_part(e, taken);
}

static void make_branch(struct emit *e)
{
	const struct compile_op *o = operation(e);
	const struct block_of_code *n = &e->flow->block[e->in_block];
	LLVMBasicBlockRef yes, no;
	LLVMValueRef guard;
	struct value x;

	if (o->guard.place == COMPILE_NONE) {
		e->pending += o->weight;
		count_pending(e);
		make_edge(e, n->next[0]);
		return;
	}
	x = source(e, &o->guard, false);
	if (part_may(e->flow, e->in_block, e->s)) {
		branch_apart(e, &x);
		return;
	}
	if (x.shape == SHAPE_HALVES)
		leave_unless(e, LLVMBuildICmp(e->b, LLVMIntEQ, x.v[0], x.v[1], ""));
	yes = new_block(e);
	guard = LLVMBuildICmp(e->b, o->guard_not ? LLVMIntEQ : LLVMIntNE, x.v[0], value_number(LLVMTypeOf(x.v[0]), 0),
			      "");
	if (value_is_lanes(guard)) {
		LLVMValueRef all = value_all(e, guard);

		leave_unless(e, LLVMBuildOr(e->b, all, LLVMBuildNot(e->b, value_any(e, guard), ""), ""));
		guard = all;
	}
	e->pending += o->weight;
	count_pending(e);
	no = new_block(e);
	LLVMBuildCondBr(e->b, guard, yes, no);
	LLVMPositionBuilderAtEnd(e->b, yes);
	make_edge(e, n->next[0]);
	LLVMPositionBuilderAtEnd(e->b, no);
	if (n->next_count > 1)
		make_edge(e, n->next[1]);
	else
		LLVMBuildUnreachable(e->b);
}

/* All lanes end together. */
static void end(struct emit *e)
{
	count_more(e, e->pending + operation(e)->weight);
	settle_counters(e);
	LLVMBuildRet(e->b, LLVMConstInt(e->i32, COMPILED_END, false));
}

/* All who live are here, or wait for the others; and no barrier has begun in the interpreter. Value: false when nothing
 * follows in this block. */
static bool make_meet(struct emit *e)
{
	const bool waits = e->kept && part_meets(e->flow, e->in_block);

	LLVMValueRef used = value_field(e, e->block, offsetof(struct block, bars_used), e->i32);
	LLVMValueRef good = LLVMBuildICmp(e->b, LLVMIntEQ, used, LLVMConstNull(e->i32), "");

	if (e->kept && !waits)
		good = LLVMBuildAnd(e->b, good, LLVMBuildICmp(e->b, LLVMIntEQ, e->here, e->live_lanes, ""), "");
	leave_unless(e, good);
	if (waits) {
		count_pending(e);
		group_edge(e, e->flow->block[e->in_block].meet);
	}
	return !waits;
}

static void access_any(struct emit *e, const struct plan *p)
{
	if (p->known)
		apart_load(e, p);
	else if (p->scattered)
		make_scattered(e, p);
	else if (p->access.store)
		(p->dense ? dense_store : p->strided ? strided_store : make_store)(e, &p->access);
	else
		(p->strided ? strided_load : make_load)(e, &p->access);
}

/* What the results hold already, as lanes. */
static void keep_results(struct emit *e)
{
	const struct compile_op *o = operation(e);

	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++) {
		const uint32_t r = o->defs >> k & 1 ? flow_reg(e->flow, &o->operand[k]) : UINT32_MAX;
		struct value old;

		if (r == UINT32_MAX)
			continue;
		if (e->flow->through && !e->s[r].synced)
			reg_to_frame(e, r, &e->s[r]);
		if (e->s[r].split) {
			reg_save(e, r, &e->s[r], e->here, true);
			continue;
		}
		old = reg_value(e, r, &e->s[r], true);
		old = all_lanes(value_lanes(e, &old));
		reg_store(e, r, &old);
	}
}

/* Where the guard holds for some lanes only, the interpreter's function does it. */
static void make_guarded(struct emit *e, const struct plan *p)
{
	const struct compile_op *o = operation(e);
	LLVMBasicBlockRef all = new_block(e), other = new_block(e), some = new_block(e), on = new_block(e);
	LLVMValueRef guard = source_lanes(e, &o->guard, false), whole = LLVMConstInt(e->i32, 0xffffffffu, false), bits;
	const bool told = e->told;

	guard = LLVMBuildICmp(e->b, o->guard_not ? LLVMIntEQ : LLVMIntNE, guard, LLVMConstNull(LLVMTypeOf(guard)), "");
	bits = LLVMBuildBitCast(e->b, guard, e->i32, "");
	if (e->kept) {
		whole = e->here;
		bits = LLVMBuildAnd(e->b, bits, whole, "");
	}
	keep_results(e);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, bits, whole, ""), all, other);
	LLVMPositionBuilderAtEnd(e->b, other);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, bits, LLVMConstNull(e->i32), ""), on, some);
	LLVMPositionBuilderAtEnd(e->b, some);
	make_call(e, p);
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, all);
	e->told = told; /* on the other way only */
	e->as_lanes = true;
	access_any(e, p);
	e->as_lanes = false;
	e->told = told;
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
}

static void make_access(struct emit *e, const struct plan *p)
{
	(p->guarded ? make_guarded : access_any)(e, p);
}

static void make_group_branch(struct emit *e)
{
	e->pending += operation(e)->weight;
	count_pending(e);
	group_branch(e);
}

/* Value: false when nothing follows in this block. */
static bool make_operation(struct emit *e, const struct plan *p)
{
	switch ((enum how)p->how) {
	case HOW_INLINE:
		make_inline(e, p);
		break;
	case HOW_CALL:
		make_call(e, p);
		break;
	case HOW_LOAD:
	case HOW_STORE:
	case HOW_ATOMIC:
		make_access(e, p);
		break;
	case HOW_PARAM:
		make_param(e, &p->access);
		break;
	case HOW_SPECIAL:
		make_special(e, p);
		break;
	case HOW_LOCAL:
		make_local(e, p);
		break;
	case HOW_SHUFFLE:
		make_shuffle(e, p);
		break;
	case HOW_PRODUCT:
		make_product(e);
		break;
	case HOW_STRONG:
		value_store(e, LLVMConstInt(e->i8, 1, false),
			    value_at(e, e->warp, offsetof(struct warp, strong), e->i8), 1);
		break;
	case HOW_MEET:
		return make_meet(e);
	case HOW_LEAVE:
		if (operation(e)->kind == COMPILE_END && !e->kept)
			end(e);
		else if (flow_meets_briefly(e->flow, e->at) && !e->kept)
			leave_at_barrier(e);
		else
			leave(e, e->at, e->live, e->s, e->pending);
		return false;
	case HOW_BRANCH:
		(e->kept ? make_group_branch : make_branch)(e);
		return false;
	case HOW_NOTHING:
		break;
	}
	return true;
}

/* Value: false when nothing follows in this block. */
static bool make_one(struct emit *e)
{
	struct plan p;
	bool on;

	plan_make(e->flow, e->at, e->s, e->kept, &p);
	e->results = p.result;
	roots_add(e, &p);
	on = make_operation(e, &p);
	e->results = NULL;
	roots_forget(e, &p);
	e->pending += on ? operation(e)->weight : 0;
	plan_apply(e->flow, e->at, &p, e->s);
	return on;
}

/* Of all lanes, or of a group. */
static bool make_code(struct emit *e, uint32_t b, bool group)
{
	const struct block_of_code *n = &e->flow->block[b];
	const size_t regs = e->flow->reg_count + 1;
	uint8_t *live = flow_live(e->flow, b);
	bool on = true;

	if (!live)
		return false;
	LLVMPositionBuilderAtEnd(e->b, group ? e->run_code[b] : e->code[b]);
	memcpy(e->s, group ? n->part.in : n->in, e->flow->reg_count * sizeof(*e->s));
	e->pending = 0;
	e->in_block = b;
	e->fetches = 0;
	if (group)
		group_begin(e, b);
	else
		on = roots_begin(e, b);
	if (!on) {
		free(live);
		return false;
	}
	loop_begin(e, b);
	for (e->at = n->begin; on && e->at < n->end;) {
		const uint32_t few = single_count(e, n->end);
		uint32_t strips;

		e->live = live + (e->at - n->begin) * regs;
		if (few) {
			single_run(e, few, e->live, make_one);
			continue;
		}
		strips = strip_count(e, n->end);
		if (strips && strip_run(e, strips))
			continue;
		on = make_one(e);
		e->at++;
	}
	if (on) {
		count_pending(e);
		if (n->next_count)
			make_edge(e, n->next[0]);
		else
			LLVMBuildUnreachable(e->b);
	}
	group_end(e);
	roots_end(e);
	free(live);
	return true;
}

static void go_on_if(struct emit *e, LLVMValueRef good, LLVMBasicBlockRef no)
{
	LLVMBasicBlockRef on = new_block(e);

	LLVMBuildCondBr(e->b, expected(e, good), on, no);
	LLVMPositionBuilderAtEnd(e->b, on);
}

/* Lanes whose numbers differ in these bits alone have one value. */
static void check_same(struct emit *e, LLVMValueRef v, uint32_t same, LLVMBasicBlockRef no)
{
	LLVMValueRef each[LANES], first;

	for (uint32_t i = 0; i < LANES; i++)
		each[i] = LLVMConstInt(e->i32, i & ~same, false);
	first = LLVMBuildShuffleVector(e->b, v, LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(each, LANES), "");
	go_on_if(e, value_all(e, LLVMBuildICmp(e->b, LLVMIntEQ, v, first, "")), no);
}

static void check_whole(struct emit *e, LLVMValueRef base, int64_t stride, LLVMBasicBlockRef no)
{
	LLVMTypeRef t = LLVMTypeOf(base);
	LLVMValueRef low = LLVMBuildAnd(e->b, base, LLVMConstInt(t, (uint64_t)stride * LANES - 1, false), "");

	go_on_if(e, LLVMBuildICmp(e->b, LLVMIntEQ, low, LLVMConstNull(t), ""), no);
}

/* Behind a barrier that compiled code has left at: nothing is to be checked. Builder: where it has not. */
static void enter_briefly(struct emit *e, uint32_t b)
{
	const struct block_of_code *n = &e->flow->block[b];
	LLVMBasicBlockRef brief = new_block(e), other = new_block(e);
	LLVMValueRef place = value_at(e, e->warp, offsetof(struct warp, brief), e->i32),
		     pc = value_load(e, e->i32, place, 4);
	struct brief_regs regs;

	reg_brief_find(e, n->begin - 1, &regs);
	LLVMBuildCondBr(e->b,
			expected(e, LLVMBuildICmp(e->b, LLVMIntEQ, pc, LLVMConstInt(e->i32, n->begin + 1, false), "")),
			brief, other);
	LLVMPositionBuilderAtEnd(e->b, brief);
	value_store(e, LLVMConstInt(e->i32, 0, false), place, 4);
	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		if (n->live[r] && n->in[r].shape != SHAPE_UNKNOWN)
			reg_from_frame_briefly(e, r, &regs, &n->in[r]);
	LLVMBuildBr(e->b, e->code[b]);
	LLVMPositionBuilderAtEnd(e->b, other);
}

/* Takes the registers of block b from the frame. */
static void make_enter(struct emit *e, uint32_t b, LLVMBasicBlockRef no)
{
	const struct block_of_code *n = &e->flow->block[b];

	if (n->begin && flow_meets_briefly(e->flow, n->begin - 1))
		enter_briefly(e, b);
	for (uint32_t r = 0; r < e->flow->reg_count; r++) {
		const struct state *s = &n->in[r];
		LLVMTypeRef t = type_int(e, e->flow->reg_lane[r]), lanes = type_lanes(t);
		struct value x = { .shape = s->shape, .stride = s->stride, .pattern = s->pattern };
		LLVMBasicBlockRef on;
		LLVMValueRef v;

		if (!n->live[r] || s->shape == SHAPE_UNKNOWN)
			continue;
		v = value_load(e, lanes, value_at(e, e->frame, e->flow->reg_at[r], lanes), VECTOR_ALIGN);
		if (s->shape == SHAPE_LANES) {
			value_store(e, v, e->lanes[r], VECTOR_ALIGN);
			if (s->same)
				check_same(e, v, s->same, no);
			continue;
		}
		x.v[0] = value_field(e, e->frame, e->flow->reg_at[r], t);
		if (s->shape == SHAPE_HALVES)
			x.v[1] = value_field(e, e->frame, e->flow->reg_at[r] + LANES / 2 * e->flow->reg_lane[r], t);
		reg_store(e, r, &x);
		on = new_block(e);
		LLVMBuildCondBr(e->b,
				expected(e, value_all(e, LLVMBuildICmp(e->b, LLVMIntEQ, v, value_lanes(e, &x), ""))),
				on, no);
		LLVMPositionBuilderAtEnd(e->b, on);
		if (s->whole)
			check_whole(e, x.v[0], s->stride, no);
	}
	LLVMBuildBr(e->b, e->code[b]);
}

static LLVMValueRef place(struct emit *e, LLVMTypeRef t, uint32_t align)
{
	LLVMValueRef p = LLVMBuildAlloca(e->b, t, "");

	LLVMSetAlignment(p, align);
	value_store(e, LLVMConstNull(t), p, align);
	return p;
}

static void make_begin(struct emit *e)
{
	const struct flow *f = e->flow;
	LLVMBasicBlockRef begin = new_block(e), no = new_block(e), enter, all = new_block(e), part = new_block(e);
	LLVMValueRef go, go_part, pc;

	LLVMPositionBuilderAtEnd(e->b, no);
	LLVMBuildRet(e->b, LLVMConstInt(e->i32, 0, false));
	LLVMPositionBuilderAtEnd(e->b, begin);
	e->warp = LLVMGetParam(e->function, 0);
	e->env = LLVMGetParam(e->function, 1);
	e->frame = value_field(e, e->warp, offsetof(struct warp, base), e->bytes);
	e->constants = value_field(e, e->warp, offsetof(struct warp, base) + sizeof(void *), e->bytes);
	e->block = value_field(e, e->warp, offsetof(struct warp, block), e->bytes);
	e->shared = value_field(e, e->block, offsetof(struct block, shared), e->bytes);
	e->count = value_at(e, place(e, e->i64, 8), 0, e->i8);
	e->sectors = value_at(e, place(e, e->i64, 8), 0, e->i8);
	e->idle = value_at(e, place(e, e->i64, 8), 0, e->i8);
	group_places(e);
	for (uint32_t r = 0; r < f->reg_count; r++) {
		LLVMTypeRef t = type_int(e, f->reg_lane[r]);

		e->base[r] = place(e, t, 8);
		e->second[r] = place(e, t, 8);
		e->lanes[r] = place(e, type_lanes(t), VECTOR_ALIGN);
	}
	pc = value_field(e, e->warp, offsetof(struct warp, pc), e->i32);
	LLVMBuildCondBr(e->b,
			LLVMBuildICmp(e->b, LLVMIntEQ, value_field(e, e->warp, offsetof(struct warp, mask), e->i32),
				      LLVMConstInt(e->i32, 0xffffffffu, false), ""),
			all, part);
	LLVMPositionBuilderAtEnd(e->b, all);
	go = LLVMBuildSwitch(e->b, pc, no, f->block_count);
	LLVMPositionBuilderAtEnd(e->b, part);
	go_part = LLVMBuildSwitch(e->b, pc, no, f->block_count);
	for (uint32_t b = 0; b < f->block_count; b++) {
		if (f->block[b].reached)
			e->code[b] = new_block(e);
		if (f->block[b].part.comes)
			e->come_code[b] = new_block(e);
		if (f->block[b].part.reached)
			e->run_code[b] = new_block(e);
	}
	for (uint32_t v = f->block_count; v < f->wait_count; v++)
		if (f->block[v].part.comes)
			e->come_code[v] = new_block(e);
	for (uint32_t b = 0; b < f->block_count; b++) {
		LLVMValueRef number = LLVMConstInt(e->i32, f->block[b].begin, false);

		if (f->block[b].entry && f->block[b].reached) {
			LLVMAddCase(go, number, enter = new_block(e));
			LLVMPositionBuilderAtEnd(e->b, enter);
			make_enter(e, b, no);
		}
		if (f->block[b].group_entry && f->block[b].part.reached) {
			LLVMAddCase(go_part, number, enter = new_block(e));
			LLVMPositionBuilderAtEnd(e->b, enter);
			group_enter(e, b, no);
		}
	}
}

static void make_entries(struct emit *e)
{
	const struct flow *f = e->flow;
	LLVMValueRef *each = calloc(f->request->count + 1, sizeof(LLVMValueRef)), global;

	if (!each)
		return;
	for (uint32_t i = 0; i < f->request->count; i++)
		each[i] = LLVMConstInt(e->i8, 0, false);
	for (uint32_t b = 0; b < f->block_count; b++)
		each[f->block[b].begin] = LLVMConstInt(
			e->i8,
			(f->block[b].reached && f->block[b].entry ? COMPILE_ENTRY_ALL : 0) |
				(f->block[b].part.reached && f->block[b].group_entry ? COMPILE_ENTRY_GROUP : 0),
			false);
	global = LLVMAddGlobal(e->module, LLVMArrayType(e->i8, f->request->count), COMPILE_ENTRIES_SYMBOL);
	LLVMSetInitializer(global, LLVMConstArray(e->i8, each, f->request->count));
	LLVMSetGlobalConstant(global, true);
	free(each);
}

static void set_attribute(struct emit *e, const char *name, const char *value)
{
	LLVMAddAttributeAtIndex(
		e->function, LLVMAttributeFunctionIndex,
		LLVMCreateStringAttribute(e->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

LLVMModuleRef emit_module(LLVMContextRef context, const struct flow *f)
{
	struct emit *e = calloc(1, sizeof(*e));
	const bool wide = !strcmp(f->request->isa, "avx512");
	LLVMModuleRef made = NULL;
	LLVMTypeRef args[2];
	bool good = true;

	if (!e)
		return NULL;
	e->flow = f;
	e->context = context;
	e->module = LLVMModuleCreateWithNameInContext("mete", context);
	e->b = LLVMCreateBuilderInContext(context);
	e->i1 = LLVMInt1TypeInContext(context);
	e->i8 = LLVMInt8TypeInContext(context);
	e->i32 = LLVMInt32TypeInContext(context);
	e->i64 = LLVMInt64TypeInContext(context);
	e->f32 = LLVMFloatTypeInContext(context);
	e->f64 = LLVMDoubleTypeInContext(context);
	e->bytes = LLVMPointerType(e->i8, 0);
	args[0] = args[1] = e->bytes;
	e->function = LLVMAddFunction(e->module, COMPILE_RUN_SYMBOL, LLVMFunctionType(e->i32, args, 2, false));
	set_attribute(e, "prefer-vector-width", wide ? "512" : "256");
	set_attribute(e, "min-legal-vector-width", wide ? "512" : "256");
	e->code = calloc(f->block_count + 1, sizeof(*e->code));
	e->run_code = calloc(f->block_count + 1, sizeof(*e->run_code));
	e->come_code = calloc(f->wait_count + 1, sizeof(*e->come_code));
	e->wait = calloc(f->wait_count + 1, sizeof(*e->wait));
	e->since = calloc(f->wait_count + 1, sizeof(*e->since));
	e->s = calloc(f->reg_count + 1, sizeof(*e->s));
	e->fetch = calloc(FETCHES_MAX, sizeof(*e->fetch));
	if (e->code && e->run_code && e->come_code && e->wait && e->since && e->s && e->fetch) {
		make_begin(e);
		for (uint32_t b = 0; good && b < f->block_count; b++) {
			if (f->block[b].reached)
				good = make_code(e, b, false);
			if (good && f->block[b].part.reached)
				good = make_code(e, b, true);
			if (good && f->block[b].part.comes)
				group_come(e, b);
		}
		for (uint32_t v = f->block_count; good && v < f->wait_count; v++)
			if (f->block[v].part.comes)
				group_meet(e, v);
		make_entries(e);
		made = good ? e->module : NULL;
	}
	if (!made)
		LLVMDisposeModule(e->module);
	LLVMDisposeBuilder(e->b);
	free(e->code);
	free(e->run_code);
	free(e->come_code);
	free(e->wait);
	free(e->since);
	free(e->s);
	free(e->fetch);
	free(e);
	return made;
}

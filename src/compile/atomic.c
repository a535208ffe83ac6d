/* atomic.c: see atomic.h. */
#include "compile/atomic.h"
#include "compile/group.h"

#include <stdlib.h>
#include <string.h>

#define SHARED "shared."

enum atomic_code {
	ATOMIC_ADD,
	ATOMIC_ADD_FLOAT,
	ATOMIC_MIN,
	ATOMIC_MAX,
	ATOMIC_AND,
	ATOMIC_OR,
	ATOMIC_XOR,
	ATOMIC_EXCHANGE,
	ATOMIC_COMPARE
};

static const struct atomic_row rows[] = {
	{ "add.{u32,s32}", ATOMIC_ADD, 4, false },
	{ "add.{u64,s64}", ATOMIC_ADD, 8, false },
	{ "add.f32", ATOMIC_ADD_FLOAT, 4, false },
	{ "add.f64", ATOMIC_ADD_FLOAT, 8, false },
	{ "min.u32", ATOMIC_MIN, 4, false },
	{ "min.s32", ATOMIC_MIN, 4, true },
	{ "min.u64", ATOMIC_MIN, 8, false },
	{ "min.s64", ATOMIC_MIN, 8, true },
	{ "max.u32", ATOMIC_MAX, 4, false },
	{ "max.s32", ATOMIC_MAX, 4, true },
	{ "max.u64", ATOMIC_MAX, 8, false },
	{ "max.s64", ATOMIC_MAX, 8, true },
	{ "and.b32", ATOMIC_AND, 4, false },
	{ "and.b64", ATOMIC_AND, 8, false },
	{ "or.b32", ATOMIC_OR, 4, false },
	{ "or.b64", ATOMIC_OR, 8, false },
	{ "xor.b32", ATOMIC_XOR, 4, false },
	{ "xor.b64", ATOMIC_XOR, 8, false },
	{ "exch.b32", ATOMIC_EXCHANGE, 4, false },
	{ "exch.b64", ATOMIC_EXCHANGE, 8, false },
	{ "cas.{b32,u32,s32}", ATOMIC_COMPARE, 4, false },
	{ "cas.{b64,u64,s64}", ATOMIC_COMPARE, 8, false },
};

static const char *spelling(const char *name)
{
	if (!name || strncmp(name, "%atom.", 6) != 0)
		return NULL;
	return strncmp(name + 6, SHARED, strlen(SHARED)) ? name + 6 : name + 6 + strlen(SHARED);
}

const struct atomic_row *atomic_row(const char *name)
{
	const char *word = spelling(name);

	for (size_t i = 0; word && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].name, word))
			return &rows[i];
	return NULL;
}

bool atomic_is_read(const struct flow *f, uint32_t i)
{
	const uint32_t b = f->block_of[i], r = flow_reg(f, &f->request->op[i].operand[0]);
	const size_t regs = f->reg_count + 1;
	uint8_t *live;
	bool read;

	if (r == UINT32_MAX)
		return false;
	live = flow_live(f, b);
	read = !live || live[(i + 1 - f->block[b].begin) * regs + r];
	free(live);
	return read;
}

bool atomic_is_probe(const struct flow *f, uint32_t i, const struct plan *p)
{
	return p->how == HOW_ATOMIC && p->atomic->code == ATOMIC_COMPARE && !p->guarded &&
	       flow_reg(f, &f->request->op[i].operand[1]) != UINT32_MAX && atomic_is_read(f, i);
}

/* Every one of them stands behind a mark. */
bool atomic_asks(const struct flow *f, uint32_t begin, uint32_t end)
{
	for (uint32_t i = begin; i < end; i++) {
		const char *name = f->request->op[i].name;

		if (name && !strcmp(name, "%strong") &&
		    (i + 1 == end || !atomic_row(f->request->op[i + 1].name) || atomic_is_read(f, i + 1)))
			return true;
	}
	return false;
}

static LLVMValueRef add_floats(struct emit *e, LLVMValueRef x, LLVMValueRef y)
{
	const bool wide = LLVMTypeOf(x) == e->i64;
	LLVMTypeRef real = wide ? e->f64 : e->f32;
	LLVMValueRef v =
		LLVMBuildFAdd(e->b, LLVMBuildBitCast(e->b, x, real, ""), LLVMBuildBitCast(e->b, y, real, ""), "");

	v = LLVMBuildBitCast(e->b, v, LLVMTypeOf(x), "");
	return wide ? v : value_settle(e, v);
}

static LLVMValueRef pick(struct emit *e, LLVMIntPredicate how, LLVMValueRef x, LLVMValueRef y)
{
	return LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, how, x, y, ""), x, y, "");
}

/* What stands there afterwards. */
static LLVMValueRef next_of(struct emit *e, const struct atomic_row *row, LLVMValueRef old, LLVMValueRef v,
			    LLVMValueRef other)
{
	switch ((enum atomic_code)row->code) {
	case ATOMIC_ADD:
		return LLVMBuildAdd(e->b, old, v, "");
	case ATOMIC_ADD_FLOAT:
		return add_floats(e, old, v);
	case ATOMIC_MIN:
		return pick(e, row->is_signed ? LLVMIntSLT : LLVMIntULT, old, v);
	case ATOMIC_MAX:
		return pick(e, row->is_signed ? LLVMIntSGT : LLVMIntUGT, old, v);
	case ATOMIC_AND:
		return LLVMBuildAnd(e->b, old, v, "");
	case ATOMIC_OR:
		return LLVMBuildOr(e->b, old, v, "");
	case ATOMIC_XOR:
		return LLVMBuildXor(e->b, old, v, "");
	case ATOMIC_EXCHANGE:
		return v;
	case ATOMIC_COMPARE:
		break;
	}
	return LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, old, v, ""), other, old, "");
}

static LLVMValueRef swap_if(struct emit *e, LLVMValueRef pointer, LLVMValueRef old, LLVMValueRef next)
{
	return LLVMBuildAtomicCmpXchg(e->b, pointer, old, next, LLVMAtomicOrderingSequentiallyConsistent,
				      LLVMAtomicOrderingSequentiallyConsistent, false);
}

/* Until nobody else has written in between. What would change nothing is a load. */
static LLVMValueRef swap_until(struct emit *e, const struct plan *p, LLVMValueRef pointer, LLVMValueRef v,
			       LLVMValueRef other)
{
	LLVMTypeRef t = LLVMTypeOf(v);
	LLVMBasicBlockRef from[2], head = new_block(e), swap = new_block(e), on = new_block(e);
	LLVMValueRef first = value_load(e, t, pointer, p->access.bytes), old, next, in[2], done;

	LLVMSetOrdering(first, LLVMAtomicOrderingSequentiallyConsistent);
	from[0] = LLVMGetInsertBlock(e->b);
	LLVMBuildBr(e->b, head);
	LLVMPositionBuilderAtEnd(e->b, head);
	old = LLVMBuildPhi(e->b, t, "");
	next = next_of(e, p->atomic, old, v, other);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, old, next, ""), on, swap);
	LLVMPositionBuilderAtEnd(e->b, swap);
	done = swap_if(e, pointer, old, next);
	from[1] = swap;
	in[0] = first;
	in[1] = LLVMBuildExtractValue(e->b, done, 0, "");
	LLVMAddIncoming(old, in, from, 2);
	LLVMBuildCondBr(e->b, LLVMBuildExtractValue(e->b, done, 1, ""), on, head);
	LLVMPositionBuilderAtEnd(e->b, on);
	/* where the exchange succeeded, it found `old` */
	return old;
}

static LLVMValueRef at_once(struct emit *e, LLVMAtomicRMWBinOp how, LLVMValueRef pointer, LLVMValueRef v)
{
	return LLVMBuildAtomicRMW(e->b, how, pointer, v, LLVMAtomicOrderingSequentiallyConsistent, false);
}

LLVMValueRef atomic_one(struct emit *e, const struct plan *p, LLVMValueRef pointer, LLVMValueRef v, LLVMValueRef other)
{
	LLVMTypeRef t = LLVMTypeOf(v);
	LLVMValueRef old;

	pointer = LLVMBuildBitCast(e->b, pointer, LLVMPointerType(t, 0), "");
	if (p->access.shared) {
		old = value_load(e, t, pointer, p->access.bytes);
		value_store(e, next_of(e, p->atomic, old, v, other), pointer, p->access.bytes);
		return old;
	}
	switch ((enum atomic_code)p->atomic->code) {
	case ATOMIC_ADD:
		return at_once(e, LLVMAtomicRMWBinOpAdd, pointer, v);
	case ATOMIC_EXCHANGE:
		return at_once(e, LLVMAtomicRMWBinOpXchg, pointer, v);
	default:
		return swap_until(e, p, pointer, v, other);
	}
}

/* A source of each lane: a number that all have, or an array. */
struct lanes_source {
	LLVMTypeRef t;
	LLVMValueRef one, all;
};

static struct lanes_source source_of(struct emit *e, const struct compile_operand *o, LLVMValueRef *place)
{
	struct lanes_source s = { .t = type_int(e, o->lane) };
	struct value x;

	if (o->place == COMPILE_NONE)
		return s;
	x = source(e, o, true);
	if (x.shape == SHAPE_LINE && !x.stride) {
		s.one = x.v[0];
		return s;
	}
	s.all = value_array(e, place, s.t);
	value_store(e, value_lanes(e, &x), s.all, VECTOR_ALIGN);
	return s;
}

static LLVMValueRef of_lane(struct emit *e, const struct lanes_source *s, LLVMValueRef lane)
{
	return s->all ? value_load(e, s->t, value_element(e, s->all, lane, s->t), 4) : s->one;
}

static LLVMValueRef pointer_of(struct emit *e, const struct plan *p, LLVMValueRef at, LLVMValueRef lane)
{
	LLVMTypeRef t = p->access.shared ? e->i32 : e->i64;
	LLVMValueRef v = value_load(e, t, value_element(e, at, lane, t), 4);

	if (!p->access.shared)
		return LLVMBuildIntToPtr(e->b, v, e->bytes, "");
	v = LLVMBuildZExt(e->b, v, e->i64, "");
	return LLVMBuildGEP2(e->b, e->i8, e->shared, &v, 1, "");
}

/* A loop over lanes: `left` has those that have not run, this one's number is the value. */
static LLVMValueRef each_lane(struct emit *e, LLVMValueRef here, LLVMValueRef *ret_left, LLVMBasicBlockRef *ret_head)
{
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), head = new_block(e);

	LLVMBuildBr(e->b, head);
	LLVMPositionBuilderAtEnd(e->b, head);
	*ret_left = LLVMBuildPhi(e->b, e->i32, "");
	LLVMAddIncoming(*ret_left, &here, &before, 1);
	*ret_head = head;
	return LLVMBuildZExt(e->b, group_first_of(e, *ret_left), e->i64, "");
}

static void next_lane(struct emit *e, LLVMValueRef left, LLVMBasicBlockRef head)
{
	LLVMBasicBlockRef end = LLVMGetInsertBlock(e->b), on = new_block(e);
	LLVMValueRef next = LLVMBuildSub(e->b, left, LLVMConstInt(e->i32, 1, false), "");

	next = LLVMBuildAnd(e->b, left, next, "");
	LLVMAddIncoming(left, &next, &end, 1);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, next, LLVMConstNull(e->i32), ""), on, head);
	LLVMPositionBuilderAtEnd(e->b, on);
}

/* The addresses may be far apart: the host fetches all of them at once, not one behind each atomic. */
static void fetch_ahead(struct emit *e, const struct plan *p, LLVMValueRef at, LLVMValueRef here)
{
	LLVMBasicBlockRef head;
	LLVMValueRef left, lane = each_lane(e, here, &left, &head);

	value_prefetch(e, pointer_of(e, p, at, lane), true);
	next_lane(e, left, head);
}

/* Whether somebody reads the result. */
static bool is_wanted(const struct emit *e, const struct compile_operand *o)
{
	const uint32_t r = flow_reg(e->flow, o);

	return r != UINT32_MAX && e->live[e->flow->reg_count + 1 + r];
}

void atomic_lanes(struct emit *e, const struct plan *p, LLVMValueRef at, LLVMValueRef here)
{
	const struct compile_op *o = operation(e);
	const bool wide = p->access.bytes == 8, wanted = is_wanted(e, &o->operand[0]);
	LLVMTypeRef t = type_int(e, p->access.bytes);
	LLVMValueRef place = value_array(e, &e->store_at[!p->access.shared], p->access.shared ? e->i32 : e->i64);
	LLVMValueRef left, lane, old, found = wanted ? value_array(e, &e->store_value[wide][3], t) : NULL;
	struct lanes_source v, other;
	LLVMBasicBlockRef head;

	value_store(e, at, place, VECTOR_ALIGN);
	v = source_of(e, &o->operand[2], &e->store_value[wide][0]);
	other = source_of(e, &o->operand[3], &e->store_value[wide][1]);
	if (!p->access.shared)
		fetch_ahead(e, p, place, here);
	lane = each_lane(e, here, &left, &head);
	old = atomic_one(e, p, pointer_of(e, p, place, lane), of_lane(e, &v, lane), of_lane(e, &other, lane));
	if (wanted)
		value_store(e, old, value_element(e, found, lane, t), 4);
	next_lane(e, left, head);
	if (wanted)
		result(e, &o->operand[0], all_lanes(value_load(e, type_lanes(t), found, VECTOR_ALIGN)), false);
}

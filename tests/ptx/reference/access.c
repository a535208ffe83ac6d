/* access.c: memory of the reference executor: addresses, loads, stores, atomics, moves of addresses. */
#include "machine.h"

#include <stdio.h>
#include <string.h>

static bool is(const struct ref_op *op, const char *name)
{
	return !strcmp(op->word[0], name);
}

static char space_of(const struct ref_op *op)
{
	for (int i = 1; i < op->words; i++) {
		if (!strcmp(op->word[i], "global"))
			return 'g';
		if (!strcmp(op->word[i], "const"))
			return 'c';
		if (!strncmp(op->word[i], "shared", 6))
			return 's';
		if (!strcmp(op->word[i], "local"))
			return 'l';
		if (!strncmp(op->word[i], "param", 5))
			return 'p';
	}
	return 0;
}

uint8_t *machine_bytes(struct machine *x, struct thread *t, char space, uint64_t address, uint64_t bytes)
{
	uint64_t from = address;

	if (bytes && address % bytes) {
		machine_fail(x, t, "address %llx is not aligned to %llu", (unsigned long long)address,
			     (unsigned long long)bytes);
		return NULL;
	}
	if (space == 's' && address < sizeof(x->shared))
		from += SHARED_BASE;
	if (space == 'l' && address < LOCAL_MAX)
		from += LOCAL_BASE;
	if (from >= SHARED_BASE && from + bytes <= SHARED_BASE + x->m->shared_bytes)
		return x->shared + (from - SHARED_BASE);
	if (from >= LOCAL_BASE && from + bytes <= LOCAL_BASE + LOCAL_MAX)
		return t->local + (from - LOCAL_BASE);
	if (from >= MODULE_BASE && from + bytes <= MODULE_BASE + x->m->data_bytes)
		return x->m->data + (from - MODULE_BASE);
	for (int i = 0; i < 4; i++) {
		const struct ref_memory *m = &x->l->memory[i];

		if (m->size && from >= m->address && from + bytes <= m->address + m->size)
			return m->bytes + (from - m->address);
	}
	machine_fail(x, t, "nothing at address %llx", (unsigned long long)address);
	return NULL;
}

/* The bytes that [a], [a+4] or [variable+4] mean. */
static uint8_t *operand_bytes(struct machine *x, struct thread *t, const struct ref_op *op, const struct ref_operand *o,
			      uint64_t bytes)
{
	char space = space_of(op);
	uint64_t base = 0;

	if (o->variable && o->variable->space == 'p') {
		const uint64_t at = o->variable->offset + (uint64_t)o->number;

		if (at % bytes || (uint64_t)o->number + bytes > o->variable->size) {
			machine_fail(x, t, "bad access of parameter %s", o->variable->name);
			return NULL;
		}
		return frame_of(t)->params + at;
	}
	if (o->variable) {
		base = o->variable->offset;
		base += o->variable->space == 's'   ? SHARED_BASE
			: o->variable->space == 'l' ? LOCAL_BASE + frame_of(t)->local_from
						    : MODULE_BASE;
		space = 0;
	} else if (o->reg >= 0) {
		base = (uint64_t)frame_of(t)->reg[o->reg];
		if (space == 's')
			base = (uint32_t)base;
	}
	return machine_bytes(x, t, space, base + (uint64_t)o->number, bytes);
}

static int vector_of(const struct ref_op *op)
{
	return ref_has(op, "v2") ? 2 : ref_has(op, "v4") ? 4 : ref_has(op, "v8") ? 8 : 1;
}

static void load(struct machine *x, struct thread *t, const struct ref_insn *in, bool store)
{
	const struct ref_type *type = &in->op.type[in->op.types - 1];
	const int count = vector_of(&in->op);
	const uint64_t size = (uint64_t)(type->bits * type->lanes) / 8;
	const struct ref_operand *values = &in->operand[store ? 1 : 0], *address = &in->operand[store ? 0 : 1];
	uint8_t *p = operand_bytes(x, t, &in->op, address, size * (uint64_t)count);
	wide v[8];

	if (!p)
		return;
	if (values->kind == OPERAND_VECTOR && values->items != count) {
		machine_fail(x, t, "%d elements", values->items);
		return;
	}
	for (int i = 0; i < count; i++) {
		const struct ref_operand *o = values->kind == OPERAND_VECTOR ? &values->item[i] : values;

		if (store) {
			v[i] = machine_value(x, t, o, type);
			memcpy(p + size * (uint64_t)i, &v[i], size);
		} else {
			v[i] = 0;
			memcpy(&v[i], p + size * (uint64_t)i, size);
			machine_write(x, t, o, type->lanes == 1 ? (wide)ref_int(type, v[i]) : v[i]);
		}
	}
}

static wide combined(const struct ref_op *op, const struct ref_type *t, wide old, wide b, wide c)
{
	static const char *const plain[] = { "add", "min", "max", "and", "or", "xor" };
	struct ref_op inner = { 0 };
	struct ref_result r = { 0 };
	wide src[2] = { old, b };
	char text[40];

	if (ref_has(op, "exch"))
		return b;
	if (ref_has(op, "cas"))
		return old == (b & ref_mask(t->bits)) ? c : old;
	if (ref_has(op, "inc"))
		return (uint32_t)old >= (uint32_t)b ? 0 : old + 1;
	if (ref_has(op, "dec"))
		return !(uint32_t)old || (uint32_t)old > (uint32_t)b ? b : old - 1;
	for (int i = 0; i < 6; i++)
		if (ref_has(op, plain[i])) {
			snprintf(text, sizeof(text), "%s.%s", plain[i], op->word[op->words - 1]);
			ref_op_parse(text, &inner);
			ref_compute(&inner, src, 2, NULL, &r);
		}
	return r.d;
}

static void atomic(struct machine *x, struct thread *t, const struct ref_insn *in, bool red)
{
	const struct ref_type *type = &in->op.type[in->op.types - 1];
	const uint64_t size = (uint64_t)(type->bits * type->lanes) / 8;
	const struct ref_operand *o = &in->operand[red ? 0 : 1];
	uint8_t *p = operand_bytes(x, t, &in->op, o, size);
	wide old = 0, now, b, c = 0;

	if (!p)
		return;
	memcpy(&old, p, size);
	b = machine_value(x, t, &o[1], type);
	if (ref_has(&in->op, "cas"))
		c = machine_value(x, t, &o[2], type);
	now = combined(&in->op, type, old, b, c);
	memcpy(p, &now, size);
	if (!red)
		machine_write(x, t, &in->operand[0], old);
}

static void convert_address(struct machine *x, struct thread *t, const struct ref_insn *in)
{
	static const struct ref_type u64 = { 'u', 64, 1 };
	const char space = space_of(&in->op);
	const uint64_t base = space == 's' ? SHARED_BASE : space == 'l' ? LOCAL_BASE : 0;
	uint64_t v = (uint64_t)machine_value(x, t, &in->operand[1], &u64);

	/* the reference moves local and shared variables as generic addresses or as offsets: both are taken */
	if (ref_has(&in->op, "to"))
		v = v >= base ? v - base : v;
	else
		v = v < base ? v + base : v;
	machine_write(x, t, &in->operand[0], v);
}

static void is_space(struct machine *x, struct thread *t, const struct ref_insn *in)
{
	static const struct ref_type u64 = { 'u', 64, 1 };
	const uint64_t v = (uint64_t)machine_value(x, t, &in->operand[1], &u64);
	const char space = space_of(&in->op);
	const char lies = v >= LOCAL_BASE ? 'l' : v >= SHARED_BASE ? 's' : 'g';

	machine_write(x, t, &in->operand[0], space == lies);
}

bool machine_access(struct machine *x, struct thread *t, const struct ref_insn *in)
{
	if (is(&in->op, "ld") || is(&in->op, "ldu"))
		load(x, t, in, false);
	else if (is(&in->op, "st"))
		load(x, t, in, true);
	else if (is(&in->op, "atom"))
		atomic(x, t, in, false);
	else if (is(&in->op, "red"))
		atomic(x, t, in, true);
	else if (is(&in->op, "cvta"))
		convert_address(x, t, in);
	else if (is(&in->op, "isspacep"))
		is_space(x, t, in);
	else
		return false;
	return true;
}

/*
 * exec.c: the loop that executes operations, and the instructions that move the loop itself. Built once per instruction
 * set of the host, as are the exec_*.c files with the other instructions; isa.c chooses.
 */
#include "softdev/ptx/count.h"
#include "softdev/ptx/hot.h"
#include "softdev/ptx/isa.h"
#include "softdev/ptx/lane.h"

#define MISSES_MAX 64u /* of a warp whose lanes do not look as they were compiled for */

static u32 guard_mask(const struct warp *w, const struct op *o)
{
	u32 m;

	if (o->guard == LOC_NONE)
		return w->mask;
	m = bits_of(at(w, o->guard));
	return (o->flags & OP_GUARD_NOT ? ~m : m) & w->mask;
}

static void guarded(struct warp *w, const struct op *o)
{
	const u32 before = w->mask, m = guard_mask(w, o);

	if (!m)
		return;
	if (m == before) {
		if (m == ~0u)
			lanes_of(w->lanes, m);
		o->inner(w, o);
		return;
	}
	w->mask = m;
	lanes_of(w->lanes, m);
	o->inner(w, o);
	w->mask = before;
	if (before != ~0u)
		lanes_of(w->lanes, before);
}

/* Whether every live lane that the group's members name is in the group. */
static bool sync_ready(const struct warp *w, const struct op *o, u32 lanes)
{
	const u32 *members = at(w, o->f);
	u32 needed = 0;

	for (u32 i = 0; i < LANES; i++)
		needed |= lanes & lane_bit[i] ? members[i] : 0;
	return !(needed & w->live & ~lanes);
}

/* Lanes that already wait at this operation join the group. */
static void sync_join(struct warp *w)
{
	const u64 key = w->key_base | w->pc;

	for (u32 k = w->place_count; k-- > 0;) {
		struct place *p = &w->place[k];
		const u32 join = p->lanes & w->wait_sync;

		if (!join || p->key != key || p->frame != w->frame)
			continue;
		w->mask |= join;
		w->wait_sync &= ~join;
		p->lanes &= ~join;
		if (!p->lanes)
			*p = w->place[--w->place_count];
	}
	lanes_of(w->lanes, w->mask);
}

static void sync_step(struct warp *w, const struct op *o)
{
	if (w->wait_sync)
		sync_join(w);
	if (!w->force && !sync_ready(w, o, w->mask)) {
		w->wait_sync |= w->mask;
		warp_save(w, w->mask, w->pc);
		warp_schedule(w);
		return;
	}
	w->force = false;
	w->pc++;
	(w->mask == ~0u ? o->full : o->masked)(w, o);
}

/* Parts the group: `lanes` stay, the rest waits at `pc`. */
static void part(struct warp *w, u32 lanes, u32 pc)
{
	const u64 key = w->key_base | pc;

	warp_save(w, w->mask & ~lanes, pc);
	if (key < w->other)
		w->other = key;
	w->mask = lanes;
	lanes_of(w->lanes, lanes);
}

/*
 * Lanes that jump backwards while others wait may be waiting for them: after a while the others get a turn
 * (warp_schedule).
 * A loop that touches memory which other threads change is suspected much sooner than one that computes.
 */
static void jump(struct warp *w, u32 to)
{
	if (to <= w->pc && (w->strong || w->mask != w->live)) {
		w->spins += w->mask == w->live ? 0 : w->strong ? SPINS_MAX / 32 : 1;
		w->block->waits += w->strong;
		w->strong = false;
	}
	w->pc = to;
}

static void branch(struct warp *w, const struct op *o)
{
	const u32 taken = guard_mask(w, o), to = (u32)o->imm, next = w->pc + 1;

	if (taken == w->mask) {
		jump(w, to);
	} else if (!taken || to == next) {
		w->pc = next;
	} else if (to < next) { /* the smaller position first */
		part(w, taken, next);
		jump(w, to);
	} else {
		part(w, w->mask & ~taken, to);
		w->pc = next;
	}
}

/* Every lane goes where its index says; lanes without a target are an error of the program. */
static void branch_indexed(struct warp *w, const struct op *o)
{
	const u32 *index = at(w, o->a);
	const u32 taken = guard_mask(w, o);

	for (u32 i = 0; i < LANES; i++) {
		if (!(w->mask & lane_bit[i]))
			continue;
		if (!(taken & lane_bit[i])) {
			warp_save(w, lane_bit[i], w->pc + 1);
		} else if (index[i] < o->targets[0]) {
			warp_save(w, lane_bit[i], o->targets[1 + index[i]]);
		} else {
			warp_fault(w, PTX_FAULT_INVALID_PC, o, i, index[i]);
			warp_save(w, lane_bit[i], w->pc + 1);
		}
	}
	w->mask = 0;
	warp_schedule(w);
}

static void control(struct warp *w, const struct op *o)
{
	u32 lanes;

	if (o->control == CTL_BRA) {
		branch(w, o);
		return;
	}
	if (o->control == CTL_BRX) {
		branch_indexed(w, o);
		return;
	}
	if (o->control == CTL_SYNC && w->mask == w->live && o->guard == LOC_NONE) {
		/* all are here, so whoever is named is */
		w->force = false;
		w->pc++;
		o->full(w, o);
		return;
	}
	lanes = guard_mask(w, o);
	if (!lanes) {
		w->pc++;
		return;
	}
	if (lanes != w->mask)
		part(w, lanes, w->pc + 1);
	switch ((enum control)o->control) {
	case CTL_CALL:
		warp_enter(w, o, lanes);
		break;
	case CTL_RET:
		warp_return(w, lanes);
		break;
	case CTL_EXIT:
		warp_exit(w, lanes);
		break;
	case CTL_BAR:
		warp_arrive(w, o, lanes);
		break;
	case CTL_SYNC:
		sync_step(w, o);
		break;
	default:
		break;
	}
}

/* What the warp's loop would do next: machine code has got to a barrier that all lanes come to. */
static void arrive(struct warp *w)
{
	const struct op *o = w->code + w->pc;

	if (o->flags & OP_LEADER)
		return;
	w->executed += o->weight;
	w->executed_lanes += (u64)o->weight * LANES;
	warp_arrive(w, o, ~0u);
}

/* Runs machine code from here on, where it has an entry for the group. False: the interpreter goes on. */
static bool run_compiled(struct warp *w)
{
	const struct machine *m = w->compiled;
	uint32_t r;

	if (w->block->shallow || !(m->entries[w->pc] & (w->mask == ~0u ? COMPILE_ENTRY_ALL : COMPILE_ENTRY_GROUP)))
		return false;
	r = m->run(w, &m->env);
	if (r == COMPILED_END)
		warp_end(w);
	else if (r == COMPILED_SOME && w->brief)
		arrive(w);
	if (r != COMPILED_NOTHING)
		return true;
	if (!w->brief && ++w->misses > MISSES_MAX) /* else it has got to a barrier */
		w->machine = w->compiled = NULL;
	return false;
}

/* `counted` is a constant where this is called. */
static inline __attribute__((always_inline)) void warp_loop(struct warp *w, uint32_t quantum, bool counted)
{
	const u64 until = w->executed + quantum;

	if (!w->mask)
		warp_schedule(w);
	while (w->mask) {
		const struct op *o = w->code + w->pc;

		if (o->flags & OP_LEADER) {
			if ((w->key_base | w->pc) >= w->other || w->spins > SPINS_MAX) {
				warp_save(w, w->mask, w->pc);
				warp_schedule(w);
				if (!w->mask)
					break;
				o = w->code + w->pc;
			}
			if (w->executed >= until)
				break;
			if (!counted && w->compiled && run_compiled(w)) {
				if (w->block->fault.kind)
					break;
				continue;
			}
		}
		if (o->control) {
			w->executed += o->weight;
			w->executed_lanes += (u64)o->weight * (u32)__builtin_popcount(w->mask);
			if (counted)
				count_operations(w, o, 1);
			control(w, o);
			if (w->block->fault.kind)
				break;
			continue;
		}
		w->executed += o->weight;
		w->executed_lanes += (u64)o->weight * (u32)__builtin_popcount(w->mask);
		w->pc += o->run;
		if (counted)
			count_operations(w, o, o->run);
		/* What lanes that have ended hold is nobody's: to compute for them too is cheaper than not to. */
		if (w->mask == w->live)
			for (u32 n = o->run; n; n--, o++)
				o->full(w, o);
		else
			for (u32 n = o->run; n; n--, o++)
				o->masked(w, o);
		if (w->block->fault.kind)
			break;
	}
}

static void warp_run(struct warp *w, uint32_t quantum)
{
	warp_loop(w, quantum, false);
}

static void warp_run_counted(struct warp *w, uint32_t quantum)
{
	warp_loop(w, quantum, true);
}

extern exec_fn ISA_NAME(matrix_multiply);
extern const struct rows ISA_NAME(rows_int), ISA_NAME(rows_float), ISA_NAME(rows_half), ISA_NAME(rows_cvt),
	ISA_NAME(rows_mem);
extern const struct isa ISA_NAME(isa);
const struct isa ISA_NAME(isa) = {
	.name = ISA_TEXT,
	.rows = { &ISA_NAME(rows_int), &ISA_NAME(rows_float), &ISA_NAME(rows_half), &ISA_NAME(rows_cvt),
		  &ISA_NAME(rows_mem), &rows_once },
	.guarded = guarded,
	.multiply = ISA_NAME(matrix_multiply),
	.warp_run = warp_run,
	.warp_run_counted = warp_run_counted,
};

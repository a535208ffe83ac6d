/*
 * exec.c: executes operations. Built once per instruction set of the host, with PTX_ISA as its name; isa.c chooses.
 *
 * The rows_*.h files are read twice: first the macros R1 ... R4 make two functions of each row, one for all 32 lanes
 * and one
 * for the lanes of a mask, then they make the table of rows. A new instruction that computes lane by lane is one
 * line there.
 */
#include "softdev/ptx/lane.h"
#include "softdev/ptx/text.h"

#include "softdev/ptx/int.h"
#include "softdev/ptx/fp.h"
#include "softdev/ptx/cvt.h"
#include "softdev/ptx/mem.h"
#include "softdev/ptx/cross.h"

static __attribute__((noinline, cold)) void settle_nan(f32 *d)
{
	for (u32 i = 0; i < LANES; i++)
		d[i] = settled(d[i]);
}

/*
 * The compiler may compute an expression for inactive lanes too and then drop the result: expressions must be
 * harmless for
 * any bits (division guards zero).
 */
#define LOOPS(name, td, sources, values, expr, settle, settle_masked)                                          \
	static void name##_full(struct warp *w, const struct op *o)                                                   \
	{                                                                                                              \
		ST_##td *d = at(w, o->d);                                                                              \
		sources EACH_LANE                                                                                      \
		{                                                                                                      \
			values d[i] = (ST_##td)(expr);                                                                 \
		}                                                                                                      \
		settle                                                                                                 \
	}                                                                                                              \
	static void name##_masked(struct warp *w, const struct op *o)                                                 \
	{                                                                                                              \
		ST_##td *d = at(w, o->d);                                                                              \
		const u32 *m = w->lanes;                                                                               \
		sources EACH_LANE                                                                                      \
		{                                                                                                      \
			values ST_##td r_ = (ST_##td)(expr);                                                           \
			settle_masked d[i] = m[i] ? r_ : d[i];                                                         \
		}                                                                                                      \
	}
#define SOURCE(x, t) const ST_##t *p##x = at(w, o->x);
#define VALUE(x, t) const VT_##t x __attribute__((unused)) = (VT_##t)p##x[i];

#define R1(pattern, name, td, ta, ...) LOOPS(name, td, SOURCE(a, ta), VALUE(a, ta), (__VA_ARGS__), , )
#define R2(pattern, name, td, ta, tb, ...)                                                                            \
	LOOPS(name, td, SOURCE(a, ta) SOURCE(b, tb), VALUE(a, ta) VALUE(b, tb), (__VA_ARGS__), , )
#define R2F(pattern, name, form, td, ta, tb, ...) R2(pattern, name, td, ta, tb, __VA_ARGS__)
#define R3(pattern, name, td, ta, tb, tc, ...)                                                                        \
	LOOPS(name, td, SOURCE(a, ta) SOURCE(b, tb) SOURCE(c, tc), VALUE(a, ta) VALUE(b, tb) VALUE(c, tc),             \
	      (__VA_ARGS__), , )
#define R4(pattern, name, td, ta, tb, tc, te, ...)                                                                    \
	LOOPS(name, td, SOURCE(a, ta) SOURCE(b, tb) SOURCE(c, tc) SOURCE(e, te),                                       \
	      VALUE(a, ta) VALUE(b, tb) VALUE(c, tc) VALUE(e, te), (__VA_ARGS__), , )

/*
 * f32 whose NaN is the canonical one. The host's own differs, and is so rare that results are looked at after they have
 * been stored: nothing waits for it.
 */
#define SETTLE                                                                                                        \
	if (__builtin_expect(any_nan(d), 0))                                                                           \
		settle_nan(d);
#define SETTLE_MASKED r_ = settled(r_);
#define N1(pattern, name, td, ta, ...)                                                                                \
	LOOPS(name, td, SOURCE(a, ta), VALUE(a, ta), (__VA_ARGS__), SETTLE, SETTLE_MASKED)
#define N2(pattern, name, td, ta, tb, ...)                                                                            \
	LOOPS(name, td, SOURCE(a, ta) SOURCE(b, tb), VALUE(a, ta) VALUE(b, tb), (__VA_ARGS__), SETTLE, SETTLE_MASKED)
#define N3(pattern, name, td, ta, tb, tc, ...)                                                                        \
	LOOPS(name, td, SOURCE(a, ta) SOURCE(b, tb) SOURCE(c, tc), VALUE(a, ta) VALUE(b, tb) VALUE(c, tc),             \
	      (__VA_ARGS__), SETTLE, SETTLE_MASKED)

#define SETTLED_f32(x) settled(x)
#define SETTLED_f64(x) (x)

/* Under another rounding mode: the values pass through volatiles, so that nothing is computed before or after. */
#define ROUNDED(name, td, sources, values, expr)                                                                      \
	static void name##_masked(struct warp *w, const struct op *o)                                                 \
	{                                                                                                              \
		ST_##td *d = at(w, o->d), r_[LANES];                                                                   \
		sources round_begin(o->imm);                                                                           \
		for (u32 i = 0; i < LANES; i++) {                                                                      \
			values *(volatile ST_##td *)&r_[i] = SETTLED_##td(expr);                                    \
		}                                                                                                      \
		round_end();                                                                                           \
		for (u32 i = 0; i < LANES; i++)                                                                        \
			d[i] = w->mask & lane_bit[i] ? r_[i] : d[i];                                                   \
	}
#define VOLATILE(x, t) const VT_##t x = (VT_##t) * (const volatile ST_##t *)&p##x[i];
#define RR1(pattern, name, td, ta, ...) ROUNDED(name, td, SOURCE(a, ta), VOLATILE(a, ta), (__VA_ARGS__))
#define RR2(pattern, name, td, ta, tb, ...)                                                                           \
	ROUNDED(name, td, SOURCE(a, ta) SOURCE(b, tb), VOLATILE(a, ta) VOLATILE(b, tb), (__VA_ARGS__))
#define RR3(pattern, name, td, ta, tb, tc, ...)                                                                       \
	ROUNDED(name, td, SOURCE(a, ta) SOURCE(b, tb) SOURCE(c, tc),                                                   \
		VOLATILE(a, ta) VOLATILE(b, tb) VOLATILE(c, tc), (__VA_ARGS__))
#define RH(...)
#define RF(...)

#include "softdev/ptx/rows_int.h"
#include "softdev/ptx/rows_float.h"
#include "softdev/ptx/rows_cvt.h"
#include "softdev/ptx/rows_mem.h"
#include "softdev/ptx/rows_tex.h"

#undef N1
#undef N2
#undef N3
#undef R1
#undef R2
#undef R2F
#undef R3
#undef R4
#undef RR1
#undef RR2
#undef RR3
#undef RH
#undef RF

#define R1(pattern, name, td, ta, ...) { pattern, name##_full, name##_masked, FORM_PLAIN, 2, { TY_##td, TY_##ta } },
#define R2(pattern, name, td, ta, tb, ...)                                                                            \
	{ pattern, name##_full, name##_masked, FORM_PLAIN, 3, { TY_##td, TY_##ta, TY_##tb } },
#define R2F(pattern, name, form, td, ta, tb, ...)                                                                     \
	{ pattern, name##_full, name##_masked, form, 3, { TY_##td, TY_##ta, TY_##tb } },
#define R3(pattern, name, td, ta, tb, tc, ...)                                                                        \
	{ pattern, name##_full, name##_masked, FORM_PLAIN, 4, { TY_##td, TY_##ta, TY_##tb, TY_##tc } },
#define N1 R1
#define N2 R2
#define N3 R3
#define R4(pattern, name, td, ta, tb, tc, te, ...)                                                                    \
	{ pattern, name##_full, name##_masked, FORM_PLAIN, 5, { TY_##td, TY_##ta, TY_##tb, TY_##tc, TY_##te } },
#define RR1(pattern, name, td, ta, ...) { pattern, name##_masked, name##_masked, FORM_PLAIN, 2, { TY_##td, TY_##ta } },
#define RR2(pattern, name, td, ta, tb, ...)                                                                           \
	{ pattern, name##_masked, name##_masked, FORM_PLAIN, 3, { TY_##td, TY_##ta, TY_##tb } },
#define RR3(pattern, name, td, ta, tb, tc, ...)                                                                       \
	{ pattern, name##_masked, name##_masked, FORM_PLAIN, 4, { TY_##td, TY_##ta, TY_##tb, TY_##tc } },
#define RH(pattern, fn, form, count, ...) { pattern, fn, fn, form, count, { __VA_ARGS__ } },
#define RF(pattern, form, count, ...) { pattern, NULL, NULL, form, count, { __VA_ARGS__ } },

static const struct row rows[] = {
#include "softdev/ptx/rows_int.h"
#include "softdev/ptx/rows_float.h"
#include "softdev/ptx/rows_cvt.h"
#include "softdev/ptx/rows_mem.h"
#include "softdev/ptx/rows_tex.h"
};

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

	for (u32 left = w->wait_sync & ~w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left);

		if (w->lane_key[i] == key && w->lane_frame[i] == w->frame) {
			w->mask |= lane_bit[i];
			w->wait_sync &= ~lane_bit[i];
		}
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
	} else if (!taken) {
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

static void warp_run(struct warp *w, uint32_t quantum)
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
		}
		if (o->control) {
			w->executed += o->weight;
			w->executed_lanes += (u64)o->weight * (u32)__builtin_popcount(w->mask);
			control(w, o);
			if (w->block->fault.kind)
				break;
			continue;
		}
		w->executed += o->weight;
		w->executed_lanes += (u64)o->weight * (u32)__builtin_popcount(w->mask);
		w->pc += o->run;
		if (w->mask == ~0u)
			for (u32 n = o->run; n; n--, o++)
				o->full(w, o);
		else
			for (u32 n = o->run; n; n--, o++)
				o->masked(w, o);
		if (w->block->fault.kind)
			break;
	}
}

#define NAME_(isa) isa_##isa
#define NAME(isa) NAME_(isa)
#define TEXT_(isa) #isa
#define TEXT(isa) TEXT_(isa)

#define MULTIPLY_(isa) matrix_multiply_##isa
#define MULTIPLY(isa) MULTIPLY_(isa)

extern exec_fn MULTIPLY(PTX_ISA);
extern const struct isa NAME(PTX_ISA);
const struct isa NAME(PTX_ISA) = {
	.name = TEXT(PTX_ISA),
	.row = rows,
	.row_count = sizeof(rows) / sizeof(rows[0]),
	.guarded = guarded,
	.multiply = MULTIPLY(PTX_ISA),
	.warp_run = warp_run,
};

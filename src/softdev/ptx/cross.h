/*
 * cross.h: instructions that exchange values between the lanes of a warp, and the special registers. They read all
 * sources before they write, because a result may have the place of a source.
 */
#pragma once

#include "softdev/ptx/vec.h"
#include "softdev/ptx/text.h"

#include <time.h>

/* d = v in the active lanes. */
static inline void give_lanes(const struct warp *w, u32 *d, const u32 *v)
{
	if (w->mask == ~0u)
		EACH_LANE d[i] = v[i];
	else
		EACH_LANE d[i] = w->lanes[i] ? v[i] : d[i];
}

/* The source lane of each lane, before the limit: one operation of shfl each. */
#define SHFL_FROM(name, expr, ok)										       \
	static void name(const u32 *b, const u32 *c, u32 *from, u32 *in)					       \
	{													       \
		EACH_LANE											       \
		{												       \
			const u32 clamp = c[i] & 31, segment = c[i] >> 8 & 31, by = b[i] & 31, least = i & segment;    \
			const u32 most = least | (clamp & ~segment), to = (expr);				       \
			in[i] = P(ok);										       \
			from[i] = (ok) ? to & 31 : i;								       \
		}												       \
	}
SHFL_FROM(shfl_up, i - by, (s32)to >= (s32)most)
SHFL_FROM(shfl_down, i + by, to <= most)
SHFL_FROM(shfl_bfly, i ^ by, to <= most)
SHFL_FROM(shfl_idx, least | (by & ~segment), to <= most)

/* value[i] = source[from[i]] */
static inline void take_from(u32 *value, const u32 *source, const u32 *from)
{
#if defined(__AVX512F__)
	const __m512i low = _mm512_load_si512(source), high = _mm512_load_si512(source + 16);

	_mm512_store_si512(value, _mm512_permutex2var_epi32(low, _mm512_load_si512(from), high));
	_mm512_store_si512(value + 16, _mm512_permutex2var_epi32(low, _mm512_load_si512(from + 16), high));
#else
#define SHFL_AT(i) source[from[i]]
	COLLECT32(value, SHFL_AT);
#endif
}

/* An inactive source lane gives 0: PTX leaves the value undefined, and programs sum over such lanes. */
static void shfl(struct warp *w, const struct op *o)
{
	static void (*const find[4])(const u32 *b, const u32 *c, u32 *from, u32 *in) = { shfl_up, shfl_down, shfl_bfly,
											 shfl_idx };
	u32 source[LANES] __attribute__((aligned(64))), from[LANES] __attribute__((aligned(64)));
	u32 in[LANES] __attribute__((aligned(64))), value[LANES] __attribute__((aligned(64)));
	const u32 *a = at(w, o->a);

	if (w->mask == ~0u)
		memcpy(source, a, sizeof(source));
	else
		EACH_LANE source[i] = w->lanes[i] ? a[i] : 0;
	find[o->imm & 3](at(w, o->b), at(w, o->c), from, in);
	take_from(value, source, from);
	give_lanes(w, at(w, o->d), value);
	if (o->e != LOC_NONE)
		give_lanes(w, at(w, o->e), in);
}

/* The member mask of a lane; forms without .sync have none, and mean all active lanes. */
static inline u32 members(const struct warp *w, const struct op *o, u32 lane)
{
	return o->f == LOC_NONE ? w->mask : ((const u32 *)at(w, o->f))[lane] & w->mask;
}

/* The member masks of all lanes. */
static inline void members_of(const struct warp *w, const struct op *o, u32 *m)
{
	if (o->f == LOC_NONE) {
		EACH_LANE m[i] = w->mask;
	} else {
		const u32 *f = at(w, o->f);

		EACH_LANE m[i] = f[i] & w->mask;
	}
}

static void vote(struct warp *w, const struct op *o)
{
	const u32 set = bits_of(at(w, o->a)), kind = (u32)o->imm;
	u32 r[LANES] __attribute__((aligned(64))), m[LANES] __attribute__((aligned(64)));

	members_of(w, o, m);
	EACH_LANE
	{
		const u32 yes = set & m[i], all = P(yes == m[i]), any = P(yes != 0);

		r[i] = kind == 0 ? all : kind == 1 ? any : all | ~any;
	}
	give_lanes(w, at(w, o->d), r);
}

static void ballot(struct warp *w, const struct op *o)
{
	const u32 set = bits_of(at(w, o->a));
	u32 r[LANES] __attribute__((aligned(64)));

	members_of(w, o, r);
	EACH_LANE r[i] &= set;
	give_lanes(w, at(w, o->d), r);
}

static void activemask(struct warp *w, const struct op *o)
{
	u32 *d = at(w, o->d);

	for (u32 i = 0; i < LANES; i++)
		d[i] = w->mask & lane_bit[i] ? w->mask : d[i];
}

#define MATCH(name, T, all_of)                                                                                         \
	static void name(struct warp *w, const struct op *o)                                                           \
	{                                                                                                              \
		const T *a = at(w, o->a);                                                                              \
		u32 r[LANES], whole[LANES], *d = at(w, o->d), *p = o->e == LOC_NONE ? NULL : at(w, o->e);              \
		for (u32 i = 0; i < LANES; i++) {                                                                      \
			const u32 m = members(w, o, i);                                                                \
			u32 same = 0;                                                                                  \
			for (u32 k = 0; k < LANES; k++)                                                                \
				same |= m & lane_bit[k] && a[k] == a[i] ? lane_bit[k] : 0;                             \
			whole[i] = P(same == m);                                                                       \
			r[i] = (all_of) ? same & whole[i] : same;                                                      \
		}                                                                                                      \
		for (u32 i = 0; i < LANES; i++) {                                                                      \
			if (!(w->mask & lane_bit[i]))                                                                  \
				continue;                                                                              \
			d[i] = r[i];                                                                                   \
			if (p)                                                                                         \
				p[i] = whole[i];                                                                       \
		}                                                                                                      \
	}
MATCH(match_any_32, u32, 0)
MATCH(match_any_64, u64, 0)
MATCH(match_all_32, u32, 1)
MATCH(match_all_64, u64, 1)

static inline u32 redux_step(u64 kind, u32 x, u32 y, bool is_signed)
{
	switch (kind) {
	case 0:
		return x + y;
	case 1:
		return is_signed ? ((s32)x < (s32)y ? x : y) : x < y ? x : y;
	case 2:
		return is_signed ? ((s32)x > (s32)y ? x : y) : x > y ? x : y;
	case 3:
		return x & y;
	case 4:
		return x | y;
	default:
		return x ^ y;
	}
}

/*
 * A lane of whose members none is there gets 0: PTX leaves the value undefined. An operation gives all active lanes a
 * result, so that what the place of a result held before is nothing that anybody keeps.
 */
static inline void redux(struct warp *w, const struct op *o, bool is_signed)
{
	const u32 *a = at(w, o->a);
	u32 r[LANES], *d = at(w, o->d), group = 0, value = 0;

	for (u32 i = 0; i < LANES; i++) {
		u32 left = members(w, o, i);

		if (left && left != group) {
			group = left;
			value = a[__builtin_ctz(left)];
			for (left &= left - 1; left; left &= left - 1)
				value = redux_step(o->imm, value, a[__builtin_ctz(left)], is_signed);
		}
		r[i] = members(w, o, i) ? value : 0;
	}
	for (u32 i = 0; i < LANES; i++)
		d[i] = w->mask & lane_bit[i] ? r[i] : d[i];
}

static void redux_u32(struct warp *w, const struct op *o)
{
	redux(w, o, false);
}

static void redux_s32(struct warp *w, const struct op *o)
{
	redux(w, o, true);
}

/* The lowest member is elected. */
static void elect(struct warp *w, const struct op *o)
{
	u32 r[LANES], *d = at(w, o->d), *p = o->e == LOC_NONE ? NULL : at(w, o->e);

	for (u32 i = 0; i < LANES; i++) {
		const u32 m = members(w, o, i);

		r[i] = m ? (u32)__builtin_ctz(m) : i;
	}
	for (u32 i = 0; i < LANES; i++) {
		if (!(w->mask & lane_bit[i]))
			continue;
		d[i] = r[i];
		if (p)
			p[i] = P(r[i] == i);
	}
}

static void sync_nothing(struct warp *w, const struct op *o)
{
}

static void nothing(struct warp *w, const struct op *o)
{
}

static void trap(struct warp *w, const struct op *o)
{
	warp_fault(w, PTX_FAULT_TRAP, o, (u32)__builtin_ctz(w->mask), 0);
}

static void dynamic_shared(struct warp *w, const struct op *o)
{
	const struct ptx_kernel *k = w->block->launch->kernel;
	const u32 v = (k->reserved_bytes + k->shared_bytes + 15) / 16 * 16 + (u32)o->imm;
	u32 *d = at(w, o->d);

	for (u32 i = 0; i < LANES; i++)
		d[i] = w->mask & lane_bit[i] ? v : d[i];
}

/*
 * Clocks count the operations of their warp: monotonic, and equal in every run. On hardware an operation that depends
 * on the previous one waits several cycles for it; loops that wait for a number of cycles would take ten times as long
 * here if an operation counted as one. The warp has counted all of a run when its first operation runs; an operation's
 * weight is that of its run from there on.
 */
#define CYCLES_PER_OPERATION 8u

static inline u64 cycles(const struct warp *w, const struct op *o)
{
	return (w->executed - o->weight) * CYCLES_PER_OPERATION;
}

/* Special registers: those that all lanes share. */
static __attribute__((noinline)) u64 special_value(const struct warp *w, const struct op *o)
{
	const u64 which = o->imm;
	const struct block *b = w->block;
	const struct ptx_launch *l = b->launch;
	struct timespec t;

	switch (which) {
	case SP_ntid_x:
	case SP_ntid_y:
	case SP_ntid_z:
		return l->block[which - SP_ntid_x];
	case SP_ctaid_x:
	case SP_ctaid_y:
	case SP_ctaid_z:
		return b->id[which - SP_ctaid_x];
	case SP_nctaid_x:
	case SP_nctaid_y:
	case SP_nctaid_z:
		return l->grid[which - SP_nctaid_x];
	case SP_warpid:
		return w->index;
	case SP_nwarpid:
		return 64;
	case SP_smid:
		return b->id[0] % (l->sm_count ? l->sm_count : 16);
	case SP_nsmid:
		return l->sm_count ? l->sm_count : 16;
	case SP_clock:
	case SP_clock64:
		return cycles(w, o);
	case SP_clock_hi:
		return cycles(w, o) >> 32;
	case SP_globaltimer:
	case SP_globaltimer_lo:
	case SP_globaltimer_hi:
		clock_gettime(CLOCK_REALTIME, &t);
		return ((u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec) >> (which == SP_globaltimer_hi ? 32 : 0);
	case SP_dynamic_smem_size:
		return l->shared_bytes;
	case SP_total_smem_size:
		return b->shared_bytes - l->kernel->reserved_bytes;
	case SP_aggr_smem_size:
		return b->shared_bytes - l->kernel->reserved_bytes + SHARED_RESERVED;
	case SP_grid_low:
		return (u32)b->range[3].begin;
	case SP_grid_high:
		return b->range[3].begin >> 32;
	case SP_one:
		return 1;
	default:
		return 0;
	}
}

static void lane_masks(u64 which, u32 *value)
{
	EACH_LANE
	{
		const u32 below = lane_bit[i] - 1;

		value[i] = which == SP_lanemask_eq   ? lane_bit[i]
			   : which == SP_lanemask_lt ? below
			   : which == SP_lanemask_le ? below | lane_bit[i]
			   : which == SP_lanemask_gt ? ~(below | lane_bit[i])
						     : ~below;
	}
}

static void special_32(struct warp *w, const struct op *o)
{
	u32 *d = at(w, o->d), value[LANES] __attribute__((aligned(64)));
	const u64 which = o->imm;

	if (which <= SP_tid_z) {
		give_lanes(w, d, w->tid[which]);
	} else if (which == SP_laneid) {
		give_lanes(w, d, lane_number32);
	} else if (which >= SP_lanemask_eq && which <= SP_lanemask_gt) {
		lane_masks(which, value);
		give_lanes(w, d, value);
	} else {
		const u32 v = which >= SP_ctaid_x && which <= SP_ctaid_z ? w->block->id[which - SP_ctaid_x]
			      : which >= SP_ntid_x && which <= SP_ntid_z
				      ? w->block->launch->block[which - SP_ntid_x]
				      : (u32)special_value(w, o);

		SPREAD(u32, v)
	}
}

static void special_64(struct warp *w, const struct op *o)
{
	const u64 v = special_value(w, o);
	u64 *d = at(w, o->d);

	for (u32 i = 0; i < LANES; i++)
		d[i] = w->mask & lane_bit[i] ? v : d[i];
}

/*
 * async.c: asynchronous copies, done at once, and barriers in memory (mbarrier).
 *
 * Addresses come as generic ones (forms_async.c converts). A barrier is one 64-bit word, changed by compare and swap,
 * for blocks of a cluster run on several threads of the host:
 *
 *   bit 63      phase, flips when one completes
 *   bits 42-62  pending transactions in bytes, two's complement
 *   bits 21-41  arrivals that a phase expects
 *   bits 0-20   arrivals still to come
 *
 * A phase is complete when nothing is pending of either. The state that an arrival gives is the word before it.
 */
#include "softdev/ptx/fp.h"
#include "softdev/ptx/once.h"
#include "softdev/ptx/reach.h"

#define COUNT_BITS 21u
#define COUNT_MASK ((1ull << COUNT_BITS) - 1)
#define COUNT_MAX ((1u << 20) - 1)
#define PHASE (1ull << 63)

static u64 *barrier_at(struct warp *w, const struct op *o, u32 lane, u32 loc)
{
	return (u64 *)(void *)reach_bytes(w, o, lane, lane_value(w, loc, lane, false), false, 8, 8, true);
}

static u64 barrier_word(u64 phase, u64 transactions, u64 expected, u64 pending)
{
	return phase | (transactions & COUNT_MASK) << 42 | (expected & COUNT_MASK) << COUNT_BITS |
	       (pending & COUNT_MASK);
}

/* Changes the three counts and completes the phase if that is what is left. Value: the word before. */
static u64 barrier_change(u64 *barrier, u64 bytes, u64 arrivals, u64 dropped)
{
	u64 old = __atomic_load_n(barrier, __ATOMIC_ACQUIRE), next;

	do {
		const u64 transactions = (old >> 42) + bytes, expected = (old >> COUNT_BITS & COUNT_MASK) - dropped;
		const u64 pending = (old & COUNT_MASK) - arrivals;

		next = (pending & COUNT_MASK) || (transactions & COUNT_MASK)
			       ? barrier_word(old & PHASE, transactions, expected, pending)
			       : barrier_word(~old & PHASE, 0, expected, expected);
	} while (!__atomic_compare_exchange_n(barrier, &old, next, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return old;
}

/* [a], b: arrivals */
void mbarrier_init(struct warp *w, const struct op *o)
{
	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left), count = ((const u32 *)at(w, o->b))[i];
		u64 *barrier = barrier_at(w, o, i, o->a);

		if (!barrier)
			return;
		if (count > COUNT_MAX || !count) {
			warp_fault(w, PTX_FAULT_ILLEGAL_INSTRUCTION, o, i, count);
			return;
		}
		__atomic_store_n(barrier, barrier_word(0, 0, count, count), __ATOMIC_RELEASE);
	}
}

/* d (the state, or none), [a], b arrivals, c bytes expected or none; imm: arrivals are dropped for good. */
void mbarrier_arrive(struct warp *w, const struct op *o)
{
	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left), count = ((const u32 *)at(w, o->b))[i];
		const u64 bytes = o->c == LOC_NONE ? 0 : ((const u32 *)at(w, o->c))[i];
		u64 *barrier = barrier_at(w, o, i, o->a), state;

		if (!barrier)
			return;
		state = barrier_change(barrier, bytes, count, o->imm ? count : 0);
		if (o->d != LOC_NONE)
			((u64 *)at(w, o->d))[i] = state;
	}
}

/* [a], b bytes; nothing completes by expecting more. */
void mbarrier_expect(struct warp *w, const struct op *o)
{
	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left);
		u64 *barrier = barrier_at(w, o, i, o->a);

		if (!barrier)
			return;
		barrier_change(barrier, ((const u32 *)at(w, o->b))[i], 0, 0);
	}
}

void mbarrier_complete(struct warp *w, const struct op *o)
{
	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left);
		u64 *barrier = barrier_at(w, o, i, o->a);

		if (!barrier)
			return;
		barrier_change(barrier, 0 - (u64)((const u32 *)at(w, o->b))[i], 0, 0);
	}
}

/* d predicate, [a], b: the state of an arrival, or with imm a parity in 32 bits: whether that phase is complete. */
void mbarrier_test(struct warp *w, const struct op *o)
{
	u32 *d = at(w, o->d);

	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left);
		const u64 value = lane_value(w, o->b, i, o->imm);
		const u64 phase = o->imm ? (value & 1) << 63 : value & PHASE;
		const u64 *barrier = barrier_at(w, o, i, o->a);

		if (!barrier)
			return;
		d[i] = P((__atomic_load_n(barrier, __ATOMIC_ACQUIRE) & PHASE) != phase);
	}
}

void mbarrier_pending(struct warp *w, const struct op *o)
{
	const u64 *a = at(w, o->a);
	u32 *d = at(w, o->d);

	for (u32 i = 0; i < LANES; i++)
		d[i] = w->mask & lane_bit[i] ? (u32)(a[i] & COUNT_MASK) : d[i];
}

void fence_all(struct warp *w, const struct op *o)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Copies of lanes that read all or nothing. False: look at each lane. */
static bool copy_lanes(struct warp *w, const struct op *o, u32 bytes)
{
	const u64 *to = at(w, o->a), *from = at(w, o->b);
	const u32 *count = o->c == LOC_NONE ? NULL : at(w, o->c);
	u32 reading = w->mask, partly = 0;

	for (u32 i = 0; count && i < LANES; i++) {
		reading &= count[i] ? ~0u : ~lane_bit[i];
		partly |= count[i] && count[i] < bytes ? lane_bit[i] : 0;
	}
	if (o->e != LOC_NONE || partly & w->mask || !reach_lanes(w, w->mask, to, bytes, bytes, true) ||
	    (reading && !reach_lanes(w, reading, from, bytes, bytes, false)))
		return false;
	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left);
		u8 data[16] = { 0 };

		/* sizes that are known make moves of them */
		if (bytes == 16) {
			if (reading & lane_bit[i])
				memcpy(data, (const void *)(uintptr_t)from[i], 16);
			memcpy((void *)(uintptr_t)to[i], data, 16);
		} else {
			if (reading & lane_bit[i])
				memcpy(data, (const void *)(uintptr_t)from[i], bytes);
			memcpy((void *)(uintptr_t)to[i], data, bytes);
		}
	}
	return true;
}

/* [a] shared, [b] global, imm bytes; c: bytes that are read, the rest is zero; e: read nothing. */
void async_copy(struct warp *w, const struct op *o)
{
	const u32 bytes = (u32)o->imm;

	if (copy_lanes(w, o, bytes))
		return;
	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left);
		const bool ignore = o->e != LOC_NONE && ((const u32 *)at(w, o->e))[i];
		u32 read = ignore ? 0 : o->c == LOC_NONE ? bytes : ((const u32 *)at(w, o->c))[i];
		u8 *to = reach_bytes(w, o, i, lane_value(w, o->a, i, false), false, bytes, bytes, true);
		const u8 *from;
		u8 data[16] = { 0 };

		read = read < bytes ? read : bytes;
		if (!to)
			return;
		if (read) {
			from = reach_bytes(w, o, i, lane_value(w, o->b, i, false), false, read, bytes, false);
			if (!from)
				return;
			memcpy(data, from, read);
		}
		memcpy(to, data, bytes);
	}
}

/* One copy of a lane, and the barrier that it completes bytes of. */
static bool bulk_piece(struct warp *w, const struct op *o, u32 lane, u64 to, const u8 *from, u32 bytes, u64 barrier)
{
	u8 *d = reach_bytes(w, o, lane, to, false, bytes, 16, true), *b = NULL;

	if (barrier)
		b = d ? reach_bytes(w, o, lane, barrier, false, 8, 8, true) : NULL;
	if (!d || (barrier && !b))
		return false;
	memmove(d, from, bytes);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (b)
		barrier_change((u64 *)(void *)b, 0 - (u64)bytes, 0, 0);
	return true;
}

/* [a] to, [b] from, c bytes, [e] barrier or none, f: blocks of the cluster that get a copy each, or none. */
void bulk_copy(struct warp *w, const struct op *o)
{
	const struct cluster *cluster = w->block->cluster;

	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left), bytes = ((const u32 *)at(w, o->c))[i];
		const u64 to = lane_value(w, o->a, i, false);
		const u64 barrier = o->e == LOC_NONE ? 0 : lane_value(w, o->e, i, false);
		const u8 *from = reach_bytes(w, o, i, lane_value(w, o->b, i, false), false, bytes, 16, false);
		u32 blocks;

		if (bytes % 16)
			warp_fault(w, PTX_FAULT_MISALIGNED, o, i, bytes);
		if (!from || bytes % 16)
			return;
		if (o->f == LOC_NONE) {
			if (!bulk_piece(w, o, i, to, from, bytes, barrier))
				return;
			continue;
		}
		blocks = ((const u32 *)at(w, o->f))[i] & ((1u << cluster->count) - 1);
		for (; blocks; blocks &= blocks - 1) {
			const u64 there = (uintptr_t)cluster->block[__builtin_ctz(blocks)]->shared;

			if (!bulk_piece(w, o, i, there + (to - (uintptr_t)w->block->shared), from, bytes,
					there + (barrier - (uintptr_t)w->block->shared)))
				return;
		}
	}
}

/* [a] to, [b] from, c bytes, e: which bytes of each 16 are copied. Nobody else's byte is written. */
void masked_copy(struct warp *w, const struct op *o)
{
	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left), bytes = ((const u32 *)at(w, o->c))[i];
		const u32 mask = ((const u32 *)at(w, o->e))[i];
		const u8 *from = reach_bytes(w, o, i, lane_value(w, o->b, i, false), false, bytes, 16, false);
		u8 *to = from ? reach_bytes(w, o, i, lane_value(w, o->a, i, false), false, bytes, 16, true) : NULL;

		if (to && bytes % 16)
			warp_fault(w, PTX_FAULT_MISALIGNED, o, i, bytes);
		if (!to || bytes % 16)
			return;
		for (u32 k = 0; k < bytes; k++)
			if (mask >> k % 16 & 1)
				to[k] = from[k];
	}
}

/* [a], b: bytes, a multiple of 8 */
void bulk_zero(struct warp *w, const struct op *o)
{
	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left);
		const u64 bytes = ((const u64 *)at(w, o->b))[i];
		const u64 size = bytes > SHARED_BYTES_MAX ? SHARED_BYTES_MAX + 1 : bytes;
		u8 *to = reach_bytes(w, o, i, lane_value(w, o->a, i, false), false, size, 8, true);

		if (to && bytes % 8)
			warp_fault(w, PTX_FAULT_MISALIGNED, o, i, bytes);
		if (!to || bytes % 8)
			return;
		memset(to, 0, size);
	}
}

/* [a] where the answer goes, 16 bytes of zeroes: no; [b] the barrier; imm: to all blocks of the cluster. */
void takeover_refuse(struct warp *w, const struct op *o)
{
	static const u8 no[16];
	const struct cluster *cluster = w->block->cluster;
	const uintptr_t own = (uintptr_t)w->block->shared;

	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left), blocks = o->imm && cluster ? cluster->count : 1;
		const u64 to = lane_value(w, o->a, i, false), barrier = lane_value(w, o->b, i, false);

		for (u32 k = 0; k < blocks; k++) {
			const u64 there = o->imm && cluster ? (uintptr_t)cluster->block[k]->shared : own;

			if (!bulk_piece(w, o, i, there + (to - own), no, sizeof(no), there + (barrier - own)))
				return;
		}
	}
}

/* What cp.reduce does to each element; in the order of forms_async.c's names. */
enum reduce { REDUCE_add, REDUCE_min, REDUCE_max, REDUCE_inc, REDUCE_dec, REDUCE_and, REDUCE_or, REDUCE_xor };

static u64 reduced(u64 old, u64 v, enum reduce op, enum type t)
{
	const u32 bytes = type_bytes(t);
	bool less;

	if (t == TY_f32)
		return bits32(f32_of((u32)old) + f32_of((u32)v));
	if (t == TY_f64)
		return bits64(f64_of(old) + f64_of(v));
	if (t == TY_f16)
		return op == REDUCE_add	  ? f2h(h2f((u32)old) + h2f((u32)v))
		       : op == REDUCE_min ? hmin((u32)old, (u32)v)
					  : hmax((u32)old, (u32)v);
	if (t == TY_bf16)
		return op == REDUCE_add	  ? bfma(0x3f80, (u32)old, (u32)v)
		       : op == REDUCE_min ? bmin((u32)old, (u32)v)
					  : bmax((u32)old, (u32)v);
	if (type_is_signed(t))
		less = bytes == 4 ? (s32)old < (s32)v : (s64)old < (s64)v;
	else
		less = old < v;
	switch (op) {
	case REDUCE_add:
		return old + v;
	case REDUCE_min:
		return less ? old : v;
	case REDUCE_max:
		return less ? v : old;
	case REDUCE_inc:
		return old >= v ? 0 : old + 1;
	case REDUCE_dec:
		return old == 0 || old > v ? v : old - 1;
	case REDUCE_and:
		return old & v;
	case REDUCE_or:
		return old | v;
	default:
		return old ^ v;
	}
}

#define REDUCE_ONE(T)                                                                                                  \
	{                                                                                                              \
		T *p = (T *)(void *)(to + k), old = __atomic_load_n(p, __ATOMIC_RELAXED), v, next;                     \
		memcpy(&v, from + k, sizeof(v));                                                                       \
		do {                                                                                                   \
			next = (T)reduced(old, v, op, t);                                                              \
		} while (!__atomic_compare_exchange_n(p, &old, next, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));       \
	}

void async_reduce(u8 *to, const u8 *from, u32 bytes, u32 which, enum type t)
{
	const enum reduce op = (enum reduce)which;
	const u32 size = type_bytes(t);

	for (u32 k = 0; k < bytes; k += size) {
		if (size == 2)
			REDUCE_ONE(u16)
		else if (size == 4)
			REDUCE_ONE(u32)
		else
			REDUCE_ONE(u64)
	}
}

bool async_complete(struct warp *w, const struct op *o, u32 lane, u64 barrier, u32 bytes)
{
	u8 *b = reach_bytes(w, o, lane, barrier, false, 8, 8, true);

	if (b)
		barrier_change((u64 *)(void *)b, 0 - (u64)bytes, 0, 0);
	return b;
}

/* [a] to, [b] from, c bytes, [e] barrier or none; imm: operation, and the type times 16. */
void bulk_reduce(struct warp *w, const struct op *o)
{
	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left), bytes = ((const u32 *)at(w, o->c))[i] & ~15u;
		const u8 *from = reach_bytes(w, o, i, lane_value(w, o->b, i, false), false, bytes, 16, false);
		u8 *to = from ? reach_bytes(w, o, i, lane_value(w, o->a, i, false), false, bytes, 16, true) : NULL;
		u64 *barrier;

		if (!to)
			return;
		async_reduce(to, from, bytes, o->imm & 15, (enum type)(o->imm >> 4));
		barrier = o->e == LOC_NONE ? NULL : barrier_at(w, o, i, o->e);
		if (o->e != LOC_NONE && !barrier)
			return;
		if (barrier)
			barrier_change(barrier, 0 - (u64)bytes, 0, 0);
	}
}

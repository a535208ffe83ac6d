/* reach.h: checked access to memory of one lane at a time, for instructions that move rows, matrices and barriers. */
#pragma once

#include "softdev/ptx/lane.h"

/*
 * The host address of `bytes` at an address of a lane; `shared`: the address is an offset in the block's shared memory.
 * NULL: the launch has failed with a fault.
 */
static inline u8 *reach_bytes(struct warp *w, const struct op *o, u32 lane, u64 address, bool shared, u64 bytes,
			      u32 align, bool write)
{
	const struct block *b = w->block;
	const u64 at = shared ? (uintptr_t)b->shared + (u32)address : address;

	const enum ptx_space space = shared ? PTX_SPACE_SHARED : PTX_SPACE_DEVICE;
	const u64 shown = shared ? (u32)address : address;
	bool good;

	if (address & (align - 1)) {
		warp_fault_access(w, PTX_FAULT_MISALIGNED, o, lane, space, shown, (u32)bytes);
		return NULL;
	}
	w->checked = lane;
	good = shared ? shown + bytes <= b->shared_bytes : at + bytes >= at && warp_reach(w, at, at + bytes, write);
	w->checked = LANES;
	if (!good) {
		warp_fault_access(w, PTX_FAULT_ILLEGAL_ADDRESS, o, lane, space, shown, (u32)bytes);
		return NULL;
	}
	return (u8 *)(uintptr_t)at;
}

/* True if all these lanes (at least one) may access `bytes` at their addresses; false: check each one. */
static inline bool reach_lanes(struct warp *w, u32 lanes, const u64 *address, u32 bytes, u32 align, bool write)
{
	const struct block *b = w->block;
	u64 low = ~0ull, high = 0, any = 0;
	const struct ptx_range *r;

	for (u32 i = 0; i < LANES; i++) {
		const u64 x = address[i];

		if (!(lanes & lane_bit[i]))
			continue;
		any |= x;
		low = x < low ? x : low;
		high = x > high ? x : high;
	}
	if (any & (align - 1) || high + bytes < high || !warp_reach(w, low, low + bytes, write))
		return false;
	r = &b->range[b->range_last];
	/* range 1 is the threads' own memory, a part for each */
	return b->range_last != 1 && low >= r->begin && high + bytes <= r->end && !(write && r->read_only);
}

/* The lane's value of an operand that is 4 bytes wide when `narrow`. */
static inline u64 lane_value(const struct warp *w, u32 loc, u32 lane, bool narrow)
{
	return narrow ? ((const u32 *)at(w, loc))[lane] : ((const u64 *)at(w, loc))[lane];
}

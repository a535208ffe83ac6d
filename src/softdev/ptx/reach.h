/* reach.h: memory of one lane at a time, checked: for instructions that move rows, matrices and barriers. */
#pragma once

#include "softdev/ptx/lane.h"

/*
 * `bytes` at an address of a lane, as the host sees them; `shared`: the address is an offset in the block's shared
 * memory. NULL: the launch has got a fault.
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

/* The lane's value of an operand that is 4 bytes wide when `narrow`. */
static inline u64 lane_value(const struct warp *w, u32 loc, u32 lane, bool narrow)
{
	return narrow ? ((const u32 *)at(w, loc))[lane] : ((const u64 *)at(w, loc))[lane];
}

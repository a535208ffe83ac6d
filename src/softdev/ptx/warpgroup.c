/*
 * warpgroup.c: where four warps that multiply together wait for one another.
 *
 * The product itself needs no meeting: each warp computes its own rows when it issues the instruction (matrix.c). But
 * whoever has waited for the product may let others overwrite the operands in shared memory, which all four read. So
 * none passes wgmma.wait_group before the others have come there. A block's warps run on one thread: plain data does.
 */
#include "softdev/ptx/lane.h"
#include "softdev/ptx/once.h"

void warpgroup_test(struct warp *w, const struct op *o)
{
	struct block *b = w->block;
	const u32 group = w->index / 4, left = b->warp_count - group * 4, members = left < 4 ? left : 4;
	u32 *d = at(w, o->d);
	bool done;

	if (!w->group_waits) {
		w->group_waits = true;
		w->group_phase = b->group_phase[group];
		if (++b->group_arrived[group] == members) {
			b->group_arrived[group] = 0;
			b->group_phase[group]++;
		}
	}
	done = w->group_phase != b->group_phase[group];
	w->group_waits = !done;
	for (u32 i = 0; i < LANES; i++)
		d[i] = w->mask & lane_bit[i] ? P(done) : d[i];
}

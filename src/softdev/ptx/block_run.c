/* block_run.c: one thread runs the warps of a block, until it ends, its time is over or it waits. */
#include "softdev/ptx/hot.h"
#include "softdev/ptx/run.h"

#include "base/clock.h"

/* Of one thread, over however many blocks, between its looks at the clock and the cancel flag. */
#define CHECK_OPERATIONS 8192u

/* Where the first thread stands that has not ended, or the first of those that wait at a barrier, who are counted. */
static void fault_where(struct block *b, bool waits)
{
	struct warp *first = NULL;

	for (uint32_t k = b->warp_count; k-- > 0;) {
		struct warp *w = &b->warp[k];

		if (!(waits ? w->live & w->wait_bar : w->live))
			continue;
		first = w;
		b->fault.threads += (uint32_t)__builtin_popcount(w->live & w->wait_bar);
	}
	if (first)
		warp_where(first, &b->fault);
}

/* Warps that run for long get what has been compiled meanwhile. */
static void block_refresh(struct block *b)
{
	const struct machine *m = hot_machine(b->run->function, b->launch);

	for (uint32_t k = 0; m && k < b->warp_count; k++) {
		struct warp *w = &b->warp[k];

		if (w->machine)
			break;
		w->machine = m;
		w->compiled = w->frame->depth ? NULL : m;
	}
}

bool block_out_of_time(struct block *b)
{
	struct run *run = b->run;
	const struct ptx_launch *l = run->launch;

	if (l->beat_ns)
		atomic_store_explicit(l->beat_ns, clock_now_ns(), memory_order_relaxed);
	if (atomic_load_explicit(&run->stop, memory_order_relaxed))
		b->fault.kind = PTX_FAULT_CANCELLED;
	else if (l->cancel && atomic_load_explicit(l->cancel, memory_order_relaxed))
		b->fault.kind = PTX_FAULT_CANCELLED;
	else if (run->deadline_ns && clock_now_ns() > run->deadline_ns)
		b->fault.kind = PTX_FAULT_TIMEOUT;
	if (b->fault.kind)
		fault_where(b, false);
	return b->fault.kind != PTX_FAULT_NONE;
}

enum slice block_run(struct block *b, const struct isa *isa, uint32_t quantum, uint64_t *unchecked)
{
	void (*const warp_run)(struct warp *w, uint32_t quantum) = b->launch->forms ? isa->warp_run_counted
										     : isa->warp_run;
	uint64_t spent = 0, waited = b->waits;

	while (b->live_threads) {
		uint64_t round = 0;

		for (uint32_t k = 0; k < b->warp_count; k++) {
			struct warp *w = &b->warp[k];
			const uint64_t before = w->executed;

			if (!w->live || (!w->mask && !(w->live & ~w->wait_bar)))
				continue;
			warp_run(w, quantum);
			if (b->fault.kind)
				return SLICE_FAULT;
			round += w->executed - before;
		}
		if (!round && b->live_threads) {
			b->fault = (struct ptx_fault){ .kind = PTX_FAULT_DEADLOCK, .function = b->run->function->name };
			fault_where(b, true);
			return SLICE_FAULT;
		}
		spent += round;
		*unchecked += round;
		if (*unchecked >= CHECK_OPERATIONS) {
			hot_add(b->run->function, b->launch, *unchecked);
			*unchecked = 0;
			if (block_out_of_time(b))
				return SLICE_FAULT;
			if (b->waits - waited > CHECK_OPERATIONS / 64 && b->live_threads)
				return SLICE_WAITS;
			waited = b->waits;
			block_refresh(b);
		}
		if (spent >= b->run->slice && b->live_threads)
			return SLICE_OVER;
	}
	return SLICE_ENDED;
}

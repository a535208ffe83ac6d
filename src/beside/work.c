/* work.c: see work.h. */
#include "beside/work.h"
#include "beside/inside.h"
#include "core/tick.h"

#define COPY_SEED 0x62736463u
#define RUN_SEED 0x62736472u

static bool enter(struct working *w, enum wire_engine engine)
{
	w->l.pace = NULL;
	w->entered = inside_work();
	return w->entered && start_is_metered() && pace_gated(engine);
}

static void leave(struct working *w)
{
	const unsigned int none = 0;

	if (w->entered)
		inside_end(&none);
}

static __attribute__((noinline)) void launch_gated(struct launch *l, enum vendor_call call, uint64_t what,
						   uint64_t blocks, face_queue queue)
{
	struct work work = { .engine = WIRE_COMPUTE,
			     .key = estimate_mix(what, blocks) | 1,
			     .family = what | 1,
			     .size = blocks,
			     .stream = queue,
			     .what = vendor_call_name[call],
			     .threads = blocks };

	if (!pace_begin_fast(l, WIRE_COMPUTE, work.key, queue))
		pace_begin_slow(l, &work);
}

void work_launch_begin(struct working *w, enum vendor_call call, uint64_t what, uint64_t blocks, face_queue queue)
{
	if (__builtin_expect(enter(w, WIRE_COMPUTE), 0))
		launch_gated(&w->l, call, what, blocks, vendor_queue(queue));
}

void work_run_begin(struct working *w, enum vendor_call call, uint64_t what)
{
	struct work work = { .engine = WIRE_COMPUTE,
			     .key = estimate_mix(RUN_SEED, what) | 1,
			     .family = what | 1,
			     .size = 1,
			     .waits = true,
			     .what = vendor_call_name[call] };

	if (!enter(w, WIRE_COMPUTE))
		return;
	pace_begin_slow(&w->l, &work);
	if (w->l.pace)
		w->l.host_ns = tick_now();
}

static void copy_begin(struct working *w, enum vendor_call call, uint64_t bytes, face_queue queue, bool waits)
{
	struct work work;

	w->l.pace = NULL;
	w->entered = inside_work();
	if (!w->entered || !start_is_metered() || !copies_matter())
		return;
	marks_break(queue, false, WIRE_COPY);
	if (!pace_gated(WIRE_COPY))
		return;
	work = copies_work(estimate_mix(COPY_SEED, (uint64_t)call), bytes, queue, false, waits, vendor_call_name[call]);
	copies_begin(&w->l, &work);
}

void work_copy_begin(struct working *w, enum vendor_call call, uint64_t bytes, face_queue queue)
{
	copy_begin(w, call, bytes, vendor_queue(queue), false);
}

void work_copy_begin_waiting(struct working *w, enum vendor_call call, uint64_t bytes)
{
	copy_begin(w, call, bytes, NULL, true);
}

vendor_result work_end(struct working *w, vendor_result r)
{
	leave(w);
	pace_end(&w->l, r == VENDOR_SUCCESS);
	return r;
}

/* A copy that has ended tells of the default queue alone; a model that has run waited for a queue of its own. */
vendor_result work_end_waiting(struct working *w, vendor_result r)
{
	leave(w);
	if (w->l.pace)
		pace_end_host(&w->l, r == VENDOR_SUCCESS);
	return r;
}

void work_breaks(face_queue queue)
{
	if (!inside_is)
		marks_break(vendor_queue(queue), false, MARKS_NONE);
}

vendor_result work_ended(face_queue queue, vendor_result r)
{
	if (r == VENDOR_SUCCESS && !inside_is)
		marks_ended(vendor_queue(queue), false);
	return r;
}

vendor_result work_ended_all(vendor_result r)
{
	if (r == VENDOR_SUCCESS && !inside_is)
		marks_ended_all();
	return r;
}

void work_queue_goes(face_queue queue)
{
	if (!inside_is)
		marks_queue_goes(queue);
}

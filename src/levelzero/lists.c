/* lists.c: see lists.h. */
#include "levelzero/lists.h"
#include "core/copies.h"

#define COPY_SEED 0x7a656370u
#define LISTS_SEED 0x7a656c73u

_Atomic bool lists_armed;

/* What it waits for is not its own time. */
static void wait_first(struct queue *q, uint32_t count, ze_event_handle_t *events)
{
	if (!count || !events)
		return;
	marks_break((face_queue)q, false, MARKS_NONE);
	pthread_mutex_lock(&q->lock);
	levelzero_real.zeCommandListAppendWaitOnEvents(q->list, count, events);
	pthread_mutex_unlock(&q->lock);
}

static void kernel_begin(struct launch *l, struct queue *q, const char *call, struct list_kind kind)
{
	struct work w = { .engine = q->engine,
			  .key = kind.key,
			  .family = kind.family,
			  .size = kind.size,
			  .stream = (face_queue)q,
			  .what = call,
			  .threads = kind.size };

	if (!pace_begin_fast(l, w.engine, w.key, w.stream))
		pace_begin_slow(l, &w);
}

static void copy_begin(struct launch *l, struct queue *q, const char *call, uint64_t bytes)
{
	struct work w = copies_work(estimate_mix(COPY_SEED, (uint64_t)(uintptr_t)call), bytes, (face_queue)q, false,
				    q->waits, call);

	copies_begin(l, &w);
}

void list_begin(struct list_work *w, ze_command_list_handle_t list, enum wire_engine engine, const char *call,
		uint64_t bytes, struct list_kind kind, uint32_t wait_count, ze_event_handle_t *waits)
{
	struct queue *q = queues_find(list);

	w->queue = q;
	w->launch.pace = NULL;
	if (!q)
		return;
	if (engine == WIRE_COPY)
		marks_break((face_queue)q, false, WIRE_COPY);
	if (pace_gated(engine == WIRE_COPY ? WIRE_COPY : q->engine)) {
		wait_first(q, wait_count, waits);
		if (engine == WIRE_COPY)
			copy_begin(&w->launch, q, call, bytes);
		else
			kernel_begin(&w->launch, q, call, kind);
	}
	pthread_mutex_lock(&q->lock);
}

void list_begin_between(struct list_work *w, ze_command_list_handle_t list, uint32_t wait_count)
{
	struct queue *q = queues_find(list);

	w->queue = q;
	w->launch.pace = NULL;
	if (!q)
		return;
	if (wait_count)
		marks_break((face_queue)q, false, MARKS_NONE);
	pthread_mutex_lock(&q->lock);
}

ze_result_t list_end(struct list_work *w, ze_result_t r)
{
	struct queue *q = w->queue;

	if (!q)
		return r;
	pthread_mutex_unlock(&q->lock);
	if (r == ZE_RESULT_SUCCESS && q->waits)
		marks_ended((face_queue)q, false);
	if (w->launch.pace && w->launch.waits)
		pace_end_host(&w->launch, r == ZE_RESULT_SUCCESS);
	else
		pace_end(&w->launch, r == ZE_RESULT_SUCCESS);
	return r;
}

/* Lists that are executed ------------------------------------------------------------------------------------------ */

static struct list_kind kind_of(uint32_t count, ze_command_list_handle_t *lists)
{
	uint64_t key = LISTS_SEED;

	for (uint32_t i = 0; lists && i < count; i++)
		key = estimate_mix(key, (uint64_t)(uintptr_t)lists[i]);
	return (struct list_kind){ key | 1, LISTS_SEED | 1, count };
}

ze_result_t face_zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t hCommandQueue, uint32_t numCommandLists,
						   ze_command_list_handle_t *phCommandLists, ze_fence_handle_t hFence)
{
	struct queue *q = work_is_watched() && numCommandLists ? queues_find(hCommandQueue) : NULL;
	struct list_work w = { .queue = q };
	ze_result_t r;

	if (!q)
		return levelzero_real.zeCommandQueueExecuteCommandLists(hCommandQueue, numCommandLists, phCommandLists,
									hFence);
	if (pace_gated(q->engine))
		kernel_begin(&w.launch, q, "zeCommandQueueExecuteCommandLists",
			     kind_of(numCommandLists, phCommandLists));
	pthread_mutex_lock(&q->lock);
	r = levelzero_real.zeCommandQueueExecuteCommandLists(hCommandQueue, numCommandLists, phCommandLists, hFence);
	return list_end(&w, r);
}

ze_result_t face_zeCommandListImmediateAppendCommandListsExp(ze_command_list_handle_t hCommandListImmediate,
							     uint32_t numCommandLists,
							     ze_command_list_handle_t *phCommandLists,
							     ze_event_handle_t hSignalEvent, uint32_t numWaitEvents,
							     ze_event_handle_t *phWaitEvents)
{
	struct list_work w;

	if (!work_is_watched())
		return levelzero_real.zeCommandListImmediateAppendCommandListsExp(
			hCommandListImmediate, numCommandLists, phCommandLists, hSignalEvent, numWaitEvents,
			phWaitEvents);
	list_begin(&w, hCommandListImmediate, WIRE_COMPUTE, "zeCommandListImmediateAppendCommandListsExp", 0,
		   kind_of(numCommandLists, phCommandLists), numWaitEvents, phWaitEvents);
	return list_end(&w, levelzero_real.zeCommandListImmediateAppendCommandListsExp(
				    hCommandListImmediate, numCommandLists, phCommandLists, hSignalEvent, numWaitEvents,
				    phWaitEvents));
}

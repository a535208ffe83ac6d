/* markers.c: see markers.h. */
#include "levelzero/markers.h"

#include <stdlib.h>
#include <time.h>

#define NAP_FIRST_NS 10000
#define NAP_MOST_NS 200000

struct marker {
	struct home *home;
	struct marker *next, *before; /* of the home's, under its lock */
	ze_event_pool_handle_t pool;
	ze_event_handle_t event;
	ze_command_list_handle_t list; /* NULL: not recorded */
	uint32_t ordinal;	       /* of the group that the list is for */
	bool put;		       /* it has been, and was not seen to happen since */
};

static void link_in(struct marker *m)
{
	struct home *h = m->home;

	pthread_mutex_lock(&h->lock);
	m->next = h->markers;
	if (m->next)
		m->next->before = m;
	h->markers = m;
	pthread_mutex_unlock(&h->lock);
}

static void link_out(struct marker *m)
{
	struct home *h = m->home;

	pthread_mutex_lock(&h->lock);
	if (m->before)
		m->before->next = m->next;
	else
		h->markers = m->next;
	if (m->next)
		m->next->before = m->before;
	pthread_mutex_unlock(&h->lock);
}

face_marker markers_new(face_context context)
{
	static const ze_event_pool_desc_t pool = { .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
						   .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE |
							    ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP,
						   .count = 1 };
	static const ze_event_desc_t event = { .stype = ZE_STRUCTURE_TYPE_EVENT_DESC };
	struct home *h = context;
	struct marker *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->home = h;
	if (levelzero_real.zeEventPoolCreate(h->context, &pool, 1, &h->device, &m->pool) != ZE_RESULT_SUCCESS) {
		free(m);
		return NULL;
	}
	if (levelzero_real.zeEventCreate(m->pool, &event, &m->event) != ZE_RESULT_SUCCESS) {
		levelzero_real.zeEventPoolDestroy(m->pool);
		free(m);
		return NULL;
	}
	link_in(m);
	return m;
}

/*
 * A driver's own wait may spin for as long as it is told to: the thread sleeps in between. `whatever`: also while the
 * context is being destroyed.
 */
static ze_result_t await(const struct marker *m, bool whatever)
{
	struct timespec nap = { .tv_nsec = NAP_FIRST_NS };
	ze_result_t r;

	while ((r = levelzero_real.zeEventQueryStatus(m->event)) == ZE_RESULT_NOT_READY) {
		if (!whatever && atomic_load(&m->home->leaves))
			return ZE_RESULT_ERROR_UNKNOWN;
		nanosleep(&nap, NULL);
		nap.tv_nsec = nap.tv_nsec * 2 < NAP_MOST_NS ? nap.tv_nsec * 2 : NAP_MOST_NS;
	}
	return r;
}

/* Waits for a marker that is on its way: what it is made of is in use until then. */
static void settle(struct marker *m)
{
	if (m->put)
		await(m, true);
	m->put = false;
}

static void destroy(struct marker *m)
{
	settle(m);
	if (m->list)
		levelzero_real.zeCommandListDestroy(m->list);
	levelzero_real.zeEventDestroy(m->event);
	levelzero_real.zeEventPoolDestroy(m->pool);
}

void markers_free_one(face_marker marker)
{
	struct marker *m = marker;

	link_out(m);
	destroy(m);
	free(m);
}

/* The list for a group of queues, which holds the barrier. False: there is none. */
static bool record(struct marker *m, uint32_t ordinal)
{
	const ze_command_list_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
					      .commandQueueGroupOrdinal = ordinal };

	if (m->list && m->ordinal == ordinal)
		return true;
	if (m->list)
		levelzero_real.zeCommandListDestroy(m->list);
	m->list = NULL;
	if (levelzero_real.zeCommandListCreate(m->home->context, m->home->device, &desc, &m->list) !=
	    ZE_RESULT_SUCCESS) {
		m->list = NULL;
		return false;
	}
	m->ordinal = ordinal;
	if (levelzero_real.zeCommandListAppendBarrier(m->list, m->event, 0, NULL) == ZE_RESULT_SUCCESS &&
	    levelzero_real.zeCommandListClose(m->list) == ZE_RESULT_SUCCESS)
		return true;
	levelzero_real.zeCommandListDestroy(m->list);
	m->list = NULL;
	return false;
}

bool markers_put(face_marker marker, face_queue queue, bool per_thread)
{
	struct marker *m = marker;
	struct queue *q = queue;
	ze_result_t r;

	(void)per_thread;
	settle(m);
	if (levelzero_real.zeEventHostReset(m->event) != ZE_RESULT_SUCCESS || (q->handle && !record(m, q->ordinal)))
		return false;
	pthread_mutex_lock(&q->lock);
	r = q->handle ? levelzero_real.zeCommandQueueExecuteCommandLists(q->handle, 1, &m->list, NULL)
		      : levelzero_real.zeCommandListAppendBarrier(q->list, m->event, 0, NULL);
	pthread_mutex_unlock(&q->lock);
	m->put = r == ZE_RESULT_SUCCESS;
	return m->put;
}

static enum face_state state_of(ze_result_t r)
{
	switch (r) {
	case ZE_RESULT_SUCCESS:
		return FACE_HAPPENED;
	case ZE_RESULT_NOT_READY:
		return FACE_PENDING;
	case ZE_RESULT_ERROR_UNINITIALIZED:
		return FACE_GONE;
	default:
		return FACE_FAILED;
	}
}

enum face_state markers_look(face_marker marker)
{
	struct marker *m = marker;

	return state_of(levelzero_real.zeEventQueryStatus(m->event));
}

enum face_state markers_wait(face_marker marker)
{
	return state_of(await(marker, false));
}

static bool stamp_of(const struct marker *m, uint64_t *ret)
{
	ze_kernel_timestamp_result_t stamp;

	if (levelzero_real.zeEventQueryKernelTimestamp(m->event, &stamp) != ZE_RESULT_SUCCESS)
		return false;
	*ret = stamp.global.kernelEnd;
	return true;
}

/* The counter starts again at 0: the difference is taken in the bits that it has. */
bool markers_between(face_marker from, face_marker to, int64_t *ret_ns)
{
	const struct marker *a = from, *b = to;
	const struct home *h = a->home;
	uint64_t first, last;
	int64_t ticks;

	if (!h->bits || !stamp_of(a, &first) || !stamp_of(b, &last))
		return false;
	ticks = (int64_t)((last - first) << (64 - h->bits)) >> (64 - h->bits);
	*ret_ns = (int64_t)((double)ticks * h->tick_ns);
	return true;
}

void markers_end(struct home *h)
{
	for (struct marker *m = h->markers; m; m = m->next)
		destroy(m);
}

void markers_free(struct home *h)
{
	for (struct marker *m = h->markers, *next; m; m = next) {
		next = m->next;
		free(m);
	}
	h->markers = NULL;
}

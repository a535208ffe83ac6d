/*
 * capture.c: recording of streams into a graph. See graph.h.
 *
 * A capture begins on one stream. Others join it when they wait for an event that was recorded in it. Each stream has a
 * tail: the nodes that its next operation depends on. The capture ends on the stream where it began, to which all
 * others must have come back: no node may be left that the last tail does not lead to.
 *
 * Captures are few and short; one lock guards all.
 */
#include "softdev/graph.h"

#include <stdlib.h>
#include <string.h>

struct capture {
	struct capture *next;
	struct graph *graph;
	struct stream *origin;
	uint64_t id;
	CUstreamCaptureMode mode;
	pthread_t thread; /* that began it */
	bool spoilt;
	bool given; /* the graph is the program's */
};

/* Where a stream or an event stands in a capture. */
struct tail {
	struct tail *next;
	struct capture *capture;
	void *owner; /* stream or event */
	uint64_t generation;
	struct node **node;
	CUgraphEdgeData *data; /* of the edges to come; as many as nodes */
	size_t count;
};

static pthread_mutex_t capture_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct tail *tails;
static struct capture *captures;
static uint64_t next_id;
static _Atomic uint32_t active;
static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* ---- tails ---- */

static struct tail *tail_find_locked(const struct handle *owner)
{
	for (struct tail *t = tails; t; t = t->next)
		if (t->owner == owner && t->generation == owner->generation)
			return t;
	return NULL;
}

static struct tail *tail_new_locked(struct capture *c, struct handle *owner)
{
	struct tail *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->capture = c;
	t->owner = owner;
	t->generation = owner->generation;
	t->next = tails;
	tails = t;
	return t;
}

static bool tail_add(struct tail *t, struct node *n, const CUgraphEdgeData *data)
{
	CUgraphEdgeData *more_data;
	struct node **more;

	for (size_t i = 0; i < t->count; i++)
		if (t->node[i] == n)
			return true;
	more = reallocarray(t->node, t->count + 1, sizeof(*more));
	if (!more)
		return false;
	t->node = more;
	more_data = reallocarray(t->data, t->count + 1, sizeof(*more_data));
	if (!more_data)
		return false;
	t->data = more_data;
	t->data[t->count] = data ? *data : (CUgraphEdgeData){ 0 };
	t->node[t->count++] = n;
	return true;
}

static bool tail_join(struct tail *t, const struct tail *other)
{
	for (size_t i = 0; i < other->count; i++)
		if (!tail_add(t, other->node[i], &other->data[i]))
			return false;
	return true;
}

static bool tail_set(struct tail *t, struct node *n)
{
	t->count = 0;
	return tail_add(t, n, NULL);
}

static struct needs tail_needs(const struct tail *t)
{
	return (struct needs){ (CUgraphNode const *)t->node, t->data, t->count };
}

static void tail_free(struct tail *t)
{
	free(t->node);
	free(t->data);
	free(t);
}

static void tails_drop_locked(const struct capture *c)
{
	struct tail **at = &tails;

	while (*at) {
		struct tail *t = *at;

		if (t->capture != c) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		tail_free(t);
	}
}

/* ---- captures ---- */

/* The capture is over; its streams and events are free. */
static void capture_end_locked(struct capture *c)
{
	tails_drop_locked(c);
	for (struct capture **at = &captures; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	c->graph->capturing = false;
	active--;
	free(c);
}

struct capture *capture_of(struct stream *s)
{
	struct capture *c = NULL;
	struct tail *t;

	if (!active)
		return NULL;
	pthread_mutex_lock(&capture_mutex);
	t = tail_find_locked(&s->head);
	if (t)
		c = t->capture;
	pthread_mutex_unlock(&capture_mutex);
	return c;
}

bool event_captured(struct event *e)
{
	bool captured;

	if (!active)
		return false;
	pthread_mutex_lock(&capture_mutex);
	captured = tail_find_locked(&e->head) != NULL;
	pthread_mutex_unlock(&capture_mutex);
	return captured;
}

static CUresult spoil_locked(struct capture *c, CUresult e)
{
	c->spoilt = true;
	return e;
}

/* Whether this capture forbids unsafe calls in this thread. */
static bool forbids(const struct capture *c)
{
	if (c->mode == CU_STREAM_CAPTURE_MODE_RELAXED || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	return pthread_equal(c->thread, pthread_self()) ||
	       (c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static CUresult unsafe_locked(void)
{
	CUresult e = CUDA_SUCCESS;

	for (struct capture *c = captures; c; c = c->next)
		if (forbids(c))
			e = spoil_locked(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	return e;
}

CUresult capture_unsafe(void)
{
	CUresult e;

	if (!active)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&capture_mutex);
	e = unsafe_locked();
	pthread_mutex_unlock(&capture_mutex);
	return e;
}

/* Is it the tail of a stream of this context? `blocking`: of one that the default stream waits for. */
static bool tail_in_context(const struct tail *t, const struct context *c, bool blocking)
{
	const struct stream *s = t->owner;

	return s->head.type == HANDLE_STREAM && s->head.generation == t->generation && s->context == c &&
	       !(blocking && s->flags & CU_STREAM_NON_BLOCKING);
}

/* Spoils what streams of the context capture. */
static CUresult spoil_streams_locked(const struct context *c, bool blocking, CUresult e)
{
	CUresult result = CUDA_SUCCESS;

	for (struct tail *t = tails; t; t = t->next)
		if (tail_in_context(t, c, blocking))
			result = spoil_locked(t->capture, e);
	return result;
}

CUresult capture_clash(struct stream *s, bool wait)
{
	CUresult e = CUDA_SUCCESS;

	if (!active)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&capture_mutex);
	if (s->legacy)
		e = spoil_streams_locked(s->context, true, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	if (!e && wait)
		e = unsafe_locked();
	pthread_mutex_unlock(&capture_mutex);
	return e;
}

CUresult capture_context(struct context *c)
{
	CUresult e;

	if (!active)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&capture_mutex);
	e = spoil_streams_locked(c, false, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	if (!e)
		e = unsafe_locked();
	pthread_mutex_unlock(&capture_mutex);
	return e;
}

CUresult capture_event_forbidden(struct event *e)
{
	struct tail *t;

	pthread_mutex_lock(&capture_mutex);
	t = tail_find_locked(&e->head);
	if (t)
		spoil_locked(t->capture, CUDA_SUCCESS);
	pthread_mutex_unlock(&capture_mutex);
	return CUDA_ERROR_CAPTURED_EVENT;
}

void capture_event_recorded(struct event *e)
{
	if (!active)
		return;
	pthread_mutex_lock(&capture_mutex);
	for (struct tail **at = &tails; *at; at = &(*at)->next)
		if ((*at)->owner == e && (*at)->generation == e->head.generation) {
			struct tail *t = *at;

			*at = t->next;
			tail_free(t);
			break;
		}
	pthread_mutex_unlock(&capture_mutex);
}

CUresult capture_forbidden(struct stream *s)
{
	struct tail *t;
	CUresult e = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;

	pthread_mutex_lock(&capture_mutex);
	t = tail_find_locked(&s->head);
	if (t)
		e = t->capture->spoilt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : spoil_locked(t->capture, e);
	pthread_mutex_unlock(&capture_mutex);
	return e;
}

void capture_abandon(struct stream *s)
{
	struct tail *t;

	if (!active)
		return;
	pthread_mutex_lock(&capture_mutex);
	t = tail_find_locked(&s->head);
	if (t)
		t->capture->spoilt = true;
	if (t && t->capture->origin == s) {
		struct graph *g = t->capture->given ? NULL : t->capture->graph;

		capture_end_locked(t->capture);
		if (g)
			graph_free(g);
	}
	pthread_mutex_unlock(&capture_mutex);
}

/* ---- what is recorded ---- */

/* The stream's tail, in a capture that can go on. */
static CUresult tail_of_locked(struct stream *s, struct tail **ret)
{
	*ret = tail_find_locked(&s->head);
	if (!*ret)
		return CUDA_ERROR_ILLEGAL_STATE;
	return (*ret)->capture->spoilt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

static CUresult submit_locked(struct stream *s, struct work *w)
{
	struct needs needs;
	struct tail *t;
	struct node *n;
	CUresult e = tail_of_locked(s, &t);

	if (e) {
		work_deinit(w);
		return e;
	}
	needs = tail_needs(t);
	e = node_work(t->capture->graph, &needs, w, &n);
	if (!e && n->type == CU_GRAPH_NODE_TYPE_KERNEL && s->priority)
		e = kernel_attribute_set(n, CU_LAUNCH_ATTRIBUTE_PRIORITY,
					 &(CUlaunchAttributeValue){ .priority = s->priority });
	if (!e && !tail_set(t, n))
		e = CUDA_ERROR_OUT_OF_MEMORY;
	return e ? spoil_locked(t->capture, e) : CUDA_SUCCESS;
}

CUresult capture_submit(struct stream *s, struct work *w)
{
	CUresult e;

	pthread_mutex_lock(&capture_mutex);
	e = submit_locked(s, w);
	pthread_mutex_unlock(&capture_mutex);
	return e;
}

CUresult capture_graph(struct stream *s, struct graph *g)
{
	struct needs needs;
	struct tail *t;
	struct node *n;
	CUresult e;

	pthread_mutex_lock(&capture_mutex);
	e = tail_of_locked(s, &t);
	if (!e) {
		needs = tail_needs(t);
		e = node_child(t->capture->graph, &needs, g, false, &n);
		if (!e && !tail_set(t, n))
			e = CUDA_ERROR_OUT_OF_MEMORY;
		if (e)
			spoil_locked(t->capture, e);
	}
	pthread_mutex_unlock(&capture_mutex);
	return e;
}

CUresult capture_alloc(struct stream *s, struct mempool *p, size_t bytes, CUdeviceptr *ret)
{
	struct needs needs;
	struct tail *t;
	struct node *n;
	CUresult e;

	pthread_mutex_lock(&capture_mutex);
	e = tail_of_locked(s, &t);
	if (!e) {
		needs = tail_needs(t);
		e = node_allocation(t->capture->graph, &needs, p->device, bytes, &n);
		if (!e && !tail_set(t, n))
			e = CUDA_ERROR_OUT_OF_MEMORY;
		if (e)
			spoil_locked(t->capture, e);
	}
	if (!e)
		*ret = n->alloc.params.dptr;
	pthread_mutex_unlock(&capture_mutex);
	return e;
}

CUresult capture_free(struct stream *s, CUdeviceptr address)
{
	struct needs needs;
	struct tail *t;
	struct node *n;
	CUresult e;

	pthread_mutex_lock(&capture_mutex);
	e = tail_of_locked(s, &t);
	if (!e) {
		needs = tail_needs(t);
		e = node_deallocation(t->capture->graph, &needs, address, &n);
		if (!e && !tail_set(t, n))
			e = CUDA_ERROR_OUT_OF_MEMORY;
		if (e)
			spoil_locked(t->capture, e);
	}
	pthread_mutex_unlock(&capture_mutex);
	return e;
}

static CUresult event_node_locked(struct stream *s, struct event *ev, enum work_kind kind)
{
	struct work w = { .kind = kind, .context = s->context };

	w.record.event = ev;
	w.record.event_generation = ev->head.generation;
	return submit_locked(s, &w);
}

static CUresult record_locked(struct stream *s, struct event *ev, unsigned flags)
{
	struct tail *t, *mark;
	CUresult e = tail_of_locked(s, &t);

	if (e)
		return e;
	if (flags & CU_EVENT_RECORD_EXTERNAL)
		return event_node_locked(s, ev, WORK_RECORD);
	mark = tail_find_locked(&ev->head);
	if (!mark)
		mark = tail_new_locked(t->capture, &ev->head);
	if (!mark)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mark->capture = t->capture;
	mark->count = 0;
	return tail_join(mark, t) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult capture_record(struct stream *s, struct event *ev, unsigned flags)
{
	CUresult e;

	pthread_mutex_lock(&capture_mutex);
	e = record_locked(s, ev, flags);
	pthread_mutex_unlock(&capture_mutex);
	return e;
}

static CUresult wait_locked(struct stream *s, struct event *ev, unsigned flags)
{
	struct tail *mark = tail_find_locked(&ev->head), *t = tail_find_locked(&s->head);

	if (t && flags & CU_EVENT_WAIT_EXTERNAL)
		return event_node_locked(s, ev, WORK_WAIT);
	if (!mark)
		return spoil_locked(t->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	if (mark->capture->spoilt)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (s->legacy)
		return spoil_locked(mark->capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	if (t && t->capture != mark->capture) {
		spoil_locked(t->capture, CUDA_SUCCESS);
		return spoil_locked(mark->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
	}
	if (!t)
		t = tail_new_locked(mark->capture, &s->head);
	return t && tail_join(t, mark) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult capture_wait(struct stream *s, struct event *ev, unsigned flags)
{
	CUresult e;

	pthread_mutex_lock(&capture_mutex);
	e = wait_locked(s, ev, flags);
	pthread_mutex_unlock(&capture_mutex);
	return e;
}

/* ---- calls ---- */

static CUresult begin(struct stream *s, struct graph *g, bool given, CUstreamCaptureMode mode,
		      const struct needs *needs)
{
	struct capture *c = calloc(1, sizeof(*c));
	struct tail *t;
	CUresult e = CUDA_SUCCESS;

	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*c = (struct capture){ .graph = g, .origin = s, .mode = mode, .thread = pthread_self(), .given = given };
	pthread_mutex_lock(&capture_mutex);
	t = tail_find_locked(&s->head) ? NULL : tail_new_locked(c, &s->head);
	for (size_t i = 0; t && needs && i < needs->count; i++)
		tail_add(t, (struct node *)needs->node[i], needs->data ? &needs->data[i] : NULL);
	if (t) {
		c->id = ++next_id;
		c->next = captures;
		captures = c;
		g->capturing = true;
		active++;
	} else {
		e = CUDA_ERROR_ILLEGAL_STATE;
		free(c);
	}
	pthread_mutex_unlock(&capture_mutex);
	return e;
}

static CUresult begin_check(CUstream h, CUstreamCaptureMode mode, struct stream **ret)
{
	CUresult e = stream_find(h, ret);

	if (e)
		return e;
	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	return (*ret)->legacy ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult soft_cuStreamBeginCapture_v2(CUstream h, CUstreamCaptureMode mode)
{
	struct stream *s;
	struct graph *g;
	CUresult e = begin_check(h, mode, &s);

	if (e)
		return e;
	g = graph_new();
	if (!g)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e = begin(s, g, false, mode, NULL);
	if (e)
		graph_free(g);
	return e;
}

CUresult soft_cuStreamBeginCapture(CUstream h)
{
	return soft_cuStreamBeginCapture_v2(h, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult soft_cuStreamBeginCaptureToGraph(CUstream h, CUgraph graph, const CUgraphNode *need,
					  const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode)
{
	struct stream *s;
	struct graph *g;
	struct node *n;
	CUresult e = begin_check(h, mode, &s);

	if (!e)
		e = graph_find(graph, &g);
	if (e)
		return e;
	if (g->capturing || (count && !need))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if ((e = node_find(need[i], &n)) || n->graph != g)
			return e ? e : CUDA_ERROR_INVALID_VALUE;
	return begin(s, g, true, mode, &(struct needs){ need, data, count });
}

/* Marks what the marked nodes of the list lead back to. The list is linked through `copied_to`. */
static void mark_back(struct node *list)
{
	while (list) {
		struct node *n = list;

		list = n->copied_to;
		for (size_t i = 0; i < n->need_count; i++) {
			struct node *from = n->need[i].from;

			if (from->mark)
				continue;
			from->mark = 1;
			from->copied_to = list;
			list = from;
		}
	}
}

static bool all_joined(const struct capture *c, const struct tail *t)
{
	struct node *list = NULL;

	for (struct node *n = c->graph->first; n; n = n->next)
		n->mark = 0;
	for (size_t i = 0; i < t->count; i++) {
		t->node[i]->mark = 1;
		t->node[i]->copied_to = list;
		list = t->node[i];
	}
	mark_back(list);
	for (struct tail *o = tails; o; o = o->next) {
		bool stream = ((struct handle *)o->owner)->type == HANDLE_STREAM;

		for (size_t i = 0; stream && o->capture == c && i < o->count; i++)
			if (!o->node[i]->mark)
				return false;
	}
	return true;
}

static CUresult end_locked(struct stream *s, struct graph **ret)
{
	struct tail *t = tail_find_locked(&s->head);
	struct capture *c;
	CUresult e = CUDA_SUCCESS;

	if (!t)
		return CUDA_ERROR_ILLEGAL_STATE;
	c = t->capture;
	if (c->origin != s)
		return spoil_locked(c, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (c->spoilt)
		e = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!all_joined(c, t))
		e = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	*ret = c->graph;
	if (e && !c->given)
		graph_free(c->graph);
	capture_end_locked(c);
	return e;
}

CUresult soft_cuStreamEndCapture(CUstream h, CUgraph *ret)
{
	struct graph *g = NULL;
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&capture_mutex);
	e = end_locked(s, &g);
	pthread_mutex_unlock(&capture_mutex);
	*ret = e ? NULL : (CUgraph)g;
	return e;
}

struct capture_info {
	CUstreamCaptureStatus status;
	cuuint64_t id;
	struct graph *graph;
	const CUgraphNode *need;
	const CUgraphEdgeData *data;
	size_t count;
	bool plain; /* no edge carries data */
};

static CUresult info(CUstream h, struct capture_info *ret)
{
	static const CUgraphEdgeData plain;
	struct stream *s;
	struct tail *t;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	*ret = (struct capture_info){ .status = CU_STREAM_CAPTURE_STATUS_NONE, .plain = true };
	if (!active)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&capture_mutex);
	for (t = tails; s->legacy && t; t = t->next)
		if (tail_in_context(t, s->context, true))
			e = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	t = tail_find_locked(&s->head);
	if (t) {
		*ret = (struct capture_info){ CU_STREAM_CAPTURE_STATUS_ACTIVE,
					      t->capture->id,
					      t->capture->graph,
					      (const CUgraphNode *)t->node,
					      t->data,
					      t->count,
					      true };
		if (t->capture->spoilt)
			ret->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
		for (size_t i = 0; i < t->count; i++)
			ret->plain &= !memcmp(&t->data[i], &plain, sizeof(plain));
	}
	pthread_mutex_unlock(&capture_mutex);
	return e;
}

CUresult soft_cuStreamIsCapturing(CUstream h, CUstreamCaptureStatus *ret)
{
	struct capture_info i;
	CUresult e = info(h, &i);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = i.status;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamGetCaptureInfo_v3(CUstream h, CUstreamCaptureStatus *ret_status, cuuint64_t *ret_id,
					CUgraph *ret_graph, const CUgraphNode **ret_need,
					const CUgraphEdgeData **ret_data, size_t *ret_count)
{
	struct capture_info i;
	CUresult e = info(h, &i);

	if (e)
		return e;
	if (!ret_status)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret_need && !ret_data && !i.plain)
		return CUDA_ERROR_LOSSY_QUERY;
	*ret_status = i.status;
	if (i.status == CU_STREAM_CAPTURE_STATUS_NONE)
		return CUDA_SUCCESS;
	if (ret_id)
		*ret_id = i.id;
	if (ret_graph)
		*ret_graph = (CUgraph)i.graph;
	if (ret_need)
		*ret_need = i.need;
	if (ret_data)
		*ret_data = i.data;
	if (ret_count)
		*ret_count = i.count;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamGetCaptureInfo_v2(CUstream h, CUstreamCaptureStatus *ret_status, cuuint64_t *ret_id,
					CUgraph *ret_graph, const CUgraphNode **ret_need, size_t *ret_count)
{
	return soft_cuStreamGetCaptureInfo_v3(h, ret_status, ret_id, ret_graph, ret_need, NULL, ret_count);
}

CUresult soft_cuStreamGetCaptureInfo(CUstream h, CUstreamCaptureStatus *ret_status, cuuint64_t *ret_id)
{
	return soft_cuStreamGetCaptureInfo_v3(h, ret_status, ret_id, NULL, NULL, NULL, NULL);
}

CUresult soft_cuStreamUpdateCaptureDependencies_v2(CUstream h, CUgraphNode *need, const CUgraphEdgeData *data,
						   size_t count, unsigned flags)
{
	struct stream *s;
	struct tail *t;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (count && !need))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&capture_mutex);
	e = tail_of_locked(s, &t);
	for (size_t i = 0; !e && i < count; i++)
		if (handle_find(HANDLE_NODE, need[i]) != need[i] ||
		    ((struct node *)need[i])->graph != t->capture->graph)
			e = CUDA_ERROR_INVALID_VALUE;
	if (!e && flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		t->count = 0;
	for (size_t i = 0; !e && i < count; i++)
		if (!tail_add(t, (struct node *)need[i], data ? &data[i] : NULL))
			e = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_unlock(&capture_mutex);
	return e;
}

CUresult soft_cuStreamUpdateCaptureDependencies(CUstream h, CUgraphNode *need, size_t count, unsigned flags)
{
	return soft_cuStreamUpdateCaptureDependencies_v2(h, need, NULL, count, flags);
}

CUresult soft_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode before = thread_mode;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

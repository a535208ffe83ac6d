/* capture_calls.c: the calls that begin a capture, end it, ask about it and change what comes next. See capture.c. */
#include "softdev/capture_tail.h"

#include <stdlib.h>
#include <string.h>

static CUresult begin(struct stream *s, struct graph *g, bool given, CUstreamCaptureMode mode,
		      const struct needs *needs)
{
	struct capture *c = calloc(1, sizeof(*c));
	struct capture_tail *t;
	CUresult e = CUDA_SUCCESS;

	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*c = (struct capture){ .graph = g, .origin = s, .mode = mode, .thread = pthread_self(), .given = given };
	pthread_mutex_lock(&captures.lock);
	t = capture_tail_find_locked(&s->head) ? NULL : capture_tail_new_locked(c, &s->head);
	for (size_t i = 0; t && needs && i < needs->count; i++)
		capture_tail_add(t, (struct node *)needs->node[i], needs->data ? &needs->data[i] : NULL);
	if (t) {
		c->id = ++captures.next_id;
		c->next = captures.list;
		captures.list = c;
		g->capturing = true;
		captures.active++;
	} else {
		e = CUDA_ERROR_ILLEGAL_STATE;
		free(c);
	}
	pthread_mutex_unlock(&captures.lock);
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

static bool all_joined(const struct capture *c, const struct capture_tail *t)
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
	for (struct capture_tail *o = captures.tails; o; o = o->next) {
		bool stream = ((struct handle *)o->owner)->type == HANDLE_STREAM;

		for (size_t i = 0; stream && o->capture == c && i < o->count; i++)
			if (!o->node[i]->mark)
				return false;
	}
	return true;
}

/* `unnamed`: the caller does not ask for the graph, which must be its own then. */
static CUresult end_locked(struct stream *s, bool unnamed, struct graph **ret)
{
	struct capture_tail *t = capture_tail_find_locked(&s->head);
	struct capture *c;
	CUresult e = CUDA_SUCCESS;

	if (!t)
		return CUDA_ERROR_ILLEGAL_STATE;
	c = t->capture;
	if (unnamed && !c->given)
		return CUDA_ERROR_INVALID_VALUE;
	if (c->origin != s)
		return capture_spoil_locked(c, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
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
	pthread_mutex_lock(&captures.lock);
	e = end_locked(s, !ret, &g);
	pthread_mutex_unlock(&captures.lock);
	if (ret)
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
	struct capture_tail *t;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	*ret = (struct capture_info){ .status = CU_STREAM_CAPTURE_STATUS_NONE, .plain = true };
	if (!captures.active)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&captures.lock);
	for (t = captures.tails; s->legacy && t; t = t->next)
		if (capture_tail_in_context(t, s->context, true))
			e = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	t = capture_tail_find_locked(&s->head);
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
	pthread_mutex_unlock(&captures.lock);
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
	struct capture_tail *t;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (count && !need))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&captures.lock);
	e = capture_tail_recording_locked(s, &t);
	for (size_t i = 0; !e && i < count; i++)
		if (handle_find(HANDLE_NODE, need[i]) != need[i] ||
		    ((struct node *)need[i])->graph != t->capture->graph)
			e = CUDA_ERROR_INVALID_VALUE;
	if (!e && flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		t->count = 0;
	for (size_t i = 0; !e && i < count; i++)
		if (!capture_tail_add(t, (struct node *)need[i], data ? &data[i] : NULL))
			e = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_unlock(&captures.lock);
	return e;
}

CUresult soft_cuStreamUpdateCaptureDependencies(CUstream h, CUgraphNode *need, size_t count, unsigned flags)
{
	return soft_cuStreamUpdateCaptureDependencies_v2(h, need, NULL, count, flags);
}

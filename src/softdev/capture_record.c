/* capture_record.c: what is submitted to a stream that is being captured becomes nodes of the graph. See capture.c. */
#include "softdev/capture_tail.h"

/* The node that was made, or why there is none: the stream's next one comes behind it. */
static CUresult made_locked(struct capture_tail *t, struct node *n, CUresult e)
{
	if (!e && !capture_tail_set(t, n))
		e = CUDA_ERROR_OUT_OF_MEMORY;
	return e ? capture_spoil_locked(t->capture, e) : CUDA_SUCCESS;
}

static CUresult submit_locked(struct stream *s, struct work *w)
{
	struct needs needs;
	struct capture_tail *t;
	struct node *n;
	CUresult e = capture_tail_recording_locked(s, &t);

	if (e) {
		work_deinit(w);
		return e;
	}
	needs = capture_tail_needs(t);
	e = node_work(t->capture->graph, &needs, w, &n);
	if (!e && n->type == CU_GRAPH_NODE_TYPE_KERNEL && s->priority)
		e = kernel_attribute_set(n, CU_LAUNCH_ATTRIBUTE_PRIORITY,
					 &(CUlaunchAttributeValue){ .priority = s->priority });
	return made_locked(t, n, e);
}

CUresult capture_submit(struct stream *s, struct work *w)
{
	CUresult e;

	pthread_mutex_lock(&captures.lock);
	e = submit_locked(s, w);
	pthread_mutex_unlock(&captures.lock);
	return e;
}

CUresult capture_graph(struct stream *s, struct graph *g)
{
	struct needs needs;
	struct capture_tail *t;
	struct node *n;
	CUresult e;

	pthread_mutex_lock(&captures.lock);
	e = capture_tail_recording_locked(s, &t);
	if (!e) {
		needs = capture_tail_needs(t);
		e = node_child(t->capture->graph, &needs, g, false, &n);
		e = made_locked(t, n, e);
	}
	pthread_mutex_unlock(&captures.lock);
	return e;
}

CUresult capture_alloc(struct stream *s, struct mempool *p, size_t bytes, CUdeviceptr *ret)
{
	struct needs needs;
	struct capture_tail *t;
	struct node *n;
	CUresult e;

	pthread_mutex_lock(&captures.lock);
	e = capture_tail_recording_locked(s, &t);
	if (!e) {
		needs = capture_tail_needs(t);
		e = node_allocation(t->capture->graph, &needs, p->device, bytes, &n);
		e = made_locked(t, n, e);
	}
	if (!e)
		*ret = n->alloc.params.dptr;
	pthread_mutex_unlock(&captures.lock);
	return e;
}

CUresult capture_free(struct stream *s, CUdeviceptr address)
{
	struct needs needs;
	struct capture_tail *t;
	struct node *n;
	CUresult e;

	pthread_mutex_lock(&captures.lock);
	e = capture_tail_recording_locked(s, &t);
	if (!e) {
		needs = capture_tail_needs(t);
		e = node_deallocation(t->capture->graph, &needs, address, &n);
		e = made_locked(t, n, e);
	}
	pthread_mutex_unlock(&captures.lock);
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
	struct capture_tail *t, *mark;
	CUresult e = capture_tail_recording_locked(s, &t);

	if (e)
		return e;
	if (flags & CU_EVENT_RECORD_EXTERNAL)
		return event_node_locked(s, ev, WORK_RECORD);
	mark = capture_tail_find_locked(&ev->head);
	if (!mark)
		mark = capture_tail_new_locked(t->capture, &ev->head);
	if (!mark)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mark->capture = t->capture;
	mark->count = 0;
	return capture_tail_join(mark, t) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult capture_record(struct stream *s, struct event *ev, unsigned flags)
{
	CUresult e;

	pthread_mutex_lock(&captures.lock);
	e = record_locked(s, ev, flags);
	pthread_mutex_unlock(&captures.lock);
	return e;
}

static CUresult wait_locked(struct stream *s, struct event *ev, unsigned flags)
{
	struct capture_tail *mark = capture_tail_find_locked(&ev->head), *t = capture_tail_find_locked(&s->head);

	if (t && flags & CU_EVENT_WAIT_EXTERNAL)
		return event_node_locked(s, ev, WORK_WAIT);
	if (!mark)
		return capture_spoil_locked(t->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	if (mark->capture->spoilt)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (s->legacy)
		return capture_spoil_locked(mark->capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	if (t && t->capture != mark->capture) {
		capture_spoil_locked(t->capture, CUDA_SUCCESS);
		return capture_spoil_locked(mark->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
	}
	if (!t)
		t = capture_tail_new_locked(mark->capture, &s->head);
	return t && capture_tail_join(t, mark) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult capture_wait(struct stream *s, struct event *ev, unsigned flags)
{
	CUresult e;

	pthread_mutex_lock(&captures.lock);
	e = wait_locked(s, ev, flags);
	pthread_mutex_unlock(&captures.lock);
	return e;
}

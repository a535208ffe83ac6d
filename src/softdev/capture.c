/*
 * capture.c: recording of streams into a graph. See graph.h.
 *
 * A capture begins on one stream. Others join it when they wait for an event that was recorded in it. Each stream has a
 * tail: the nodes that its next operation depends on. The capture ends on the stream where it began, to which all
 * others must have come back: no node may be left that the last tail does not lead to.
 *
 * Captures are few and short; one lock guards all.
 */
#include "softdev/capture_tail.h"

#include <stdlib.h>

static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

void capture_end_locked(struct capture *c)
{
	capture_tails_drop_locked(c);
	for (struct capture **at = &captures.list; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	c->graph->capturing = false;
	captures.active--;
	free(c);
}

struct capture *capture_of(struct stream *s)
{
	struct capture *c = NULL;
	struct capture_tail *t;

	if (!captures.active)
		return NULL;
	pthread_mutex_lock(&captures.lock);
	t = capture_tail_find_locked(&s->head);
	if (t)
		c = t->capture;
	pthread_mutex_unlock(&captures.lock);
	return c;
}

bool event_captured(struct event *e)
{
	bool captured;

	if (!captures.active)
		return false;
	pthread_mutex_lock(&captures.lock);
	captured = capture_tail_find_locked(&e->head) != NULL;
	pthread_mutex_unlock(&captures.lock);
	return captured;
}

CUresult capture_spoil_locked(struct capture *c, CUresult e)
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

	for (struct capture *c = captures.list; c; c = c->next)
		if (forbids(c))
			e = capture_spoil_locked(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	return e;
}

CUresult capture_unsafe(void)
{
	CUresult e;

	if (!captures.active)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&captures.lock);
	e = unsafe_locked();
	pthread_mutex_unlock(&captures.lock);
	return e;
}

/* Spoils what streams of the context capture. */
static CUresult spoil_streams_locked(const struct context *c, bool blocking, CUresult e)
{
	CUresult result = CUDA_SUCCESS;

	for (struct capture_tail *t = captures.tails; t; t = t->next)
		if (capture_tail_in_context(t, c, blocking))
			result = capture_spoil_locked(t->capture, e);
	return result;
}

CUresult capture_clash(struct stream *s, bool wait)
{
	CUresult e = CUDA_SUCCESS;

	if (!captures.active)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&captures.lock);
	if (s->legacy)
		e = spoil_streams_locked(s->context, true, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	if (!e && wait)
		e = unsafe_locked();
	pthread_mutex_unlock(&captures.lock);
	return e;
}

CUresult capture_context(struct context *c)
{
	CUresult e;

	if (!captures.active)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&captures.lock);
	e = spoil_streams_locked(c, false, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	if (!e)
		e = unsafe_locked();
	pthread_mutex_unlock(&captures.lock);
	return e;
}

CUresult capture_event_forbidden(struct event *e)
{
	struct capture_tail *t;

	pthread_mutex_lock(&captures.lock);
	t = capture_tail_find_locked(&e->head);
	if (t)
		capture_spoil_locked(t->capture, CUDA_SUCCESS);
	pthread_mutex_unlock(&captures.lock);
	return CUDA_ERROR_CAPTURED_EVENT;
}

void capture_event_recorded(struct event *e)
{
	if (!captures.active)
		return;
	pthread_mutex_lock(&captures.lock);
	for (struct capture_tail **at = &captures.tails; *at; at = &(*at)->next)
		if ((*at)->owner == e && (*at)->generation == e->head.generation) {
			struct capture_tail *t = *at;

			*at = t->next;
			capture_tail_free(t);
			break;
		}
	pthread_mutex_unlock(&captures.lock);
}

CUresult capture_forbidden(struct stream *s)
{
	struct capture_tail *t;
	CUresult e = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;

	pthread_mutex_lock(&captures.lock);
	t = capture_tail_find_locked(&s->head);
	if (t)
		e = t->capture->spoilt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : capture_spoil_locked(t->capture, e);
	pthread_mutex_unlock(&captures.lock);
	return e;
}

void capture_abandon(struct stream *s)
{
	struct capture_tail *t;

	if (!captures.active)
		return;
	pthread_mutex_lock(&captures.lock);
	t = capture_tail_find_locked(&s->head);
	if (t && t->capture->origin == s) {
		struct graph *g = t->capture->given ? NULL : t->capture->graph;

		capture_end_locked(t->capture);
		if (g)
			graph_free(g);
	}
	pthread_mutex_unlock(&captures.lock);
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

/* captures.c: see captures.h. */
#include "remote/worker/captures.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define CAPTURES 256u /* begun at a time; more count as relaxed */
#define THREADS 256u  /* of the client's that have changed their mode */

struct capture {
	CUstream stream; /* NULL: a free place */
	uint32_t thread;
	CUstreamCaptureMode mode;
};

struct mode {
	uint32_t thread; /* 0: a free place */
	CUstreamCaptureMode mode;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards both lists; never held over a call of the driver */
static struct capture captures[CAPTURES];
static struct mode modes[THREADS];
static const struct cuda_table *real;
static _Thread_local uint32_t thread_now;

void captures_thread(uint32_t thread)
{
	thread_now = thread;
}

/* The place of a stream's capture, or a free one for it. */
static struct capture *place_locked(CUstream stream, bool make)
{
	struct capture *empty = NULL;

	for (unsigned int i = 0; i < CAPTURES; i++) {
		if (captures[i].stream == stream)
			return &captures[i];
		if (!captures[i].stream && !empty)
			empty = &captures[i];
	}
	return make ? empty : NULL;
}

static void remember(CUstream stream, CUstreamCaptureMode mode)
{
	struct capture *c;

	pthread_mutex_lock(&lock);
	c = place_locked(stream, mode != CU_STREAM_CAPTURE_MODE_RELAXED);
	if (c)
		*c = (struct capture){ mode == CU_STREAM_CAPTURE_MODE_RELAXED ? NULL : stream, thread_now, mode };
	pthread_mutex_unlock(&lock);
}

/* Whether this client's thread may end it. */
static bool may_end(CUstream stream)
{
	struct capture *c;
	bool may;

	pthread_mutex_lock(&lock);
	c = stream ? place_locked(stream, false) : NULL;
	may = !c || c->thread == thread_now;
	pthread_mutex_unlock(&lock);
	return may;
}

static bool known(CUstreamCaptureMode mode)
{
	return (unsigned int)mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
}

static CUresult begin(CUstream stream, CUstreamCaptureMode mode)
{
	CUresult r = real->cuStreamBeginCapture_v2(stream, known(mode) ? CU_STREAM_CAPTURE_MODE_RELAXED : mode);

	if (r == CUDA_SUCCESS)
		remember(stream, mode);
	return r;
}

/* The first version of the call has no mode: it is global. */
static CUresult begin_global(CUstream stream)
{
	return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static CUresult begin_to_graph(CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
			       const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode)
{
	CUresult r = real->cuStreamBeginCaptureToGraph(stream, graph, dependencies, data, count,
						       known(mode) ? CU_STREAM_CAPTURE_MODE_RELAXED : mode);

	if (r == CUDA_SUCCESS)
		remember(stream, mode);
	return r;
}

static CUresult end(CUstream stream, CUgraph *ret)
{
	CUresult r;

	if (!may_end(stream))
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	r = real->cuStreamEndCapture(stream, ret);
	if (r == CUDA_SUCCESS || r == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
		remember(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
	return r;
}

static CUresult exchange(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode before = CU_STREAM_CAPTURE_MODE_GLOBAL;
	struct mode *m = NULL;

	if (!mode || !known(*mode))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < THREADS; i++) {
		if (!modes[i].thread && !m)
			m = &modes[i];
		if (modes[i].thread != thread_now)
			continue;
		m = &modes[i];
		before = m->mode;
		break;
	}
	if (m)
		*m = (struct mode){ *mode == CU_STREAM_CAPTURE_MODE_GLOBAL ? 0 : thread_now, *mode };
	pthread_mutex_unlock(&lock);
	*mode = before;
	return CUDA_SUCCESS;
}

void captures_forget(void)
{
	pthread_mutex_lock(&lock);
	memset(captures, 0, sizeof(captures));
	memset(modes, 0, sizeof(modes));
	pthread_mutex_unlock(&lock);
}

void captures_wrap(struct cuda_table *ret, const struct cuda_table *driver)
{
	real = driver;
	*ret = *driver;
	ret->cuStreamBeginCapture = begin_global;
	ret->cuStreamBeginCapture_v2 = begin;
	ret->cuStreamBeginCaptureToGraph = begin_to_graph;
	ret->cuStreamEndCapture = end;
	ret->cuThreadExchangeStreamCaptureMode = exchange;
}

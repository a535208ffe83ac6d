/* captures.c: see captures.h. */
#include "remote/worker/captures.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define CAPTURES 256u /* begun at a time; more count as relaxed */

struct capture {
	CUstream stream; /* NULL: a free place */
	uint32_t thread;
	CUstreamCaptureMode mode;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list; never held over a call of the driver */
static struct capture captures[CAPTURES];
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
	if (r == CUDA_SUCCESS || r == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED || r == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
		remember(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
	return r;
}

void captures_forget(void)
{
	pthread_mutex_lock(&lock);
	memset(captures, 0, sizeof(captures));
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
}

/* faults.c: see faults.h. */
#include "shim/faults.h"
#include "cuda_shim.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/map.h"
#include "shim/contexts.h"
#include "shim/scratch.h"
#include "shim/start.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#define CONTEXTS 64u /* asked for first; of a program with more, all are asked for */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards told */
static struct map told;					 /* contexts whose end meted knows of */
static _Atomic uint32_t told_count;

static bool tell_once(const void *context)
{
	struct map_entry e = { .key = (uint64_t)(uintptr_t)context };
	bool first;

	pthread_mutex_lock(&lock);
	first = !map_find(&told, e.key) && map_add(&told, &e);
	if (first)
		atomic_fetch_add(&told_count, 1);
	pthread_mutex_unlock(&lock);
	return first;
}

void faults_forget(const void *context)
{
	if (!atomic_load_explicit(&told_count, memory_order_relaxed))
		return;
	pthread_mutex_lock(&lock);
	map_remove(&told, (uint64_t)(uintptr_t)context, NULL);
	pthread_mutex_unlock(&lock);
}

void faults_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	map_clear(&told);
}

/* What the context answers: its default stream is asked, which waits for nothing. */
static CUresult ask(void *context)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUcontext popped;
	CUresult r;

	if (shim_real.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS)
		return CUDA_SUCCESS;
	shim_real.cuThreadExchangeStreamCaptureMode(&mode);
	r = shim_real.cuStreamQuery((CUstream)CU_STREAM_LEGACY);
	shim_real.cuThreadExchangeStreamCaptureMode(&mode);
	shim_real.cuCtxPopCurrent_v2(&popped);
	return r;
}

/* False: there are more than `most`, of which none was asked. */
static bool tell_of(CUresult r, unsigned int most)
{
	void **context = scratch_new(most, sizeof *context);
	unsigned int count, device;
	bool all;

	if (!context)
		return true;
	count = contexts_list(context, most);
	all = count < most;
	for (unsigned int i = 0; all && i < count; i++)
		if (ask(context[i]) == r && contexts_device(context[i], &device) && tell_once(context[i]))
			attach_fault(device, (uint32_t)r);
	scratch_free(context, most, sizeof *context);
	return all;
}

/* The call may have been about any context, not only the current one: those that are broken say so themselves. */
void faults_tell(CUresult r)
{
	unsigned int most = CONTEXTS;
	int saved = errno;

	if (!attach_page())
		return;
	while (!tell_of(r, most))
		most *= 2;
	errno = saved;
}

static CUresult stream_synchronize(CUstream stream)
{
	return faults_see(shim_real.cuStreamSynchronize(stream));
}

static CUresult stream_synchronize_ptsz(CUstream stream)
{
	return faults_see(shim_real.cuStreamSynchronize_ptsz(stream));
}

static CUresult ctx_synchronize(void)
{
	return faults_see(shim_real.cuCtxSynchronize());
}

static CUresult ctx_synchronize_v2(CUcontext context)
{
	return faults_see(shim_real.cuCtxSynchronize_v2(context));
}

static CUresult event_synchronize(CUevent event)
{
	return faults_see(shim_real.cuEventSynchronize(event));
}

static CUresult event_query(CUevent event)
{
	return faults_see(shim_real.cuEventQuery(event));
}

static CUresult stream_query(CUstream stream)
{
	return faults_see(shim_real.cuStreamQuery(stream));
}

static CUresult stream_query_ptsz(CUstream stream)
{
	return faults_see(shim_real.cuStreamQuery_ptsz(stream));
}

void faults_watch(void)
{
	static const struct {
		enum cuda_call call;
		void *function;
	} watched[] = {
		{ CUDA_CALL_cuStreamSynchronize, (void *)stream_synchronize },
		{ CUDA_CALL_cuStreamSynchronize_ptsz, (void *)stream_synchronize_ptsz },
		{ CUDA_CALL_cuCtxSynchronize, (void *)ctx_synchronize },
		{ CUDA_CALL_cuCtxSynchronize_v2, (void *)ctx_synchronize_v2 },
		{ CUDA_CALL_cuEventSynchronize, (void *)event_synchronize },
		{ CUDA_CALL_cuEventQuery, (void *)event_query },
		{ CUDA_CALL_cuStreamQuery, (void *)stream_query },
		{ CUDA_CALL_cuStreamQuery_ptsz, (void *)stream_query_ptsz },
	};

	for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
		if (shim_has(watched[i].call))
			start_put(watched[i].call, watched[i].function);
}

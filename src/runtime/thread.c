/* thread.c: what the runtime keeps per thread: the last error, the device, launch configurations. Plain data: needs no
 * end. */
#include "runtime/rt.h"

__thread struct rt_thread rt_thread;

void rt_per_thread_begin(void)
{
	rt_thread.per_thread++;
}

void rt_per_thread_end(void)
{
	rt_thread.per_thread--;
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t e = rt_thread.last;

	rt_thread.last = rt_thread.sticky;
	return e;
}

cudaError_t cudaPeekAtLastError(void)
{
	return rt_thread.last;
}

unsigned int __cudaPushCallConfiguration(struct dim3 gridDim, struct dim3 blockDim, size_t sharedMem,
					 struct CUstream_st *stream)
{
	struct rt_thread *t = &rt_thread;

	/* Deeper than arguments of launches that launch in turn; the stub is then not called, as after any failure. */
	if (t->depth == sizeof(t->launch) / sizeof(*t->launch)) {
		rt_done(cudaErrorLaunchOutOfResources);
		return 1;
	}
	t->launch[t->depth++] = (struct rt_launch){ gridDim, blockDim, sharedMem, stream };
	return 0;
}

cudaError_t __cudaPopCallConfiguration(struct dim3 *gridDim, struct dim3 *blockDim, size_t *sharedMem, void *stream)
{
	struct rt_thread *t = &rt_thread;
	struct rt_launch *l;

	if (!t->depth)
		return rt_done(cudaErrorMissingConfiguration);
	l = &t->launch[--t->depth];
	*gridDim = l->grid;
	*blockDim = l->block;
	*sharedMem = l->shared_bytes;
	*(cudaStream_t *)stream = l->stream;
	return cudaSuccess;
}

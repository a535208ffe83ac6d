/*
 * launch_driver.c: the software device, but for kernels that nobody executes: cuLaunchKernel checks nothing, counts and
 * returns. For what the way to a launch costs. All other calls are the software device's, which this library needs:
 * they are found in it by name.
 */
#include <cuda.h>

#include <stdatomic.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
			       unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params,
			       void **extra);

/* Without a reference the linker would leave the library out. */
EXPORT extern CUresult (*const launch_driver_needs)(unsigned int flags);
CUresult (*const launch_driver_needs)(unsigned int flags) = cuInit;

static _Atomic unsigned long long launches;

CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
			unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params,
			void **extra)
{
	atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed);
	return f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/*
 * driver.c: finds the driver, whichever it is, and fills the table with its symbols.
 *
 * libcuda.so.1 is opened at the first call that needs it, never before: a program that links the runtime and calls
 * nothing runs where there is no driver. Every member of the table is the symbol of that name. A driver's missing
 * symbol gets a function that says so; it takes no arguments, which the calling conventions that we build for allow.
 */
#include "runtime/rt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct cuda_table rt_driver;
int rt_driver_version;

static pthread_mutex_t load_mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool found, initialised, exiting;

static CUresult missing(void)
{
	return CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER;
}

static void fill(void *library)
{
	CUresult (*none)(void) = missing;

	for (int i = 0; i < CUDA_CALL_COUNT; i++) {
		void *p = dlsym(library, cuda_call_name[i]);

		memcpy((char *)&rt_driver + (size_t)i * sizeof(p), p ? (void *)&p : (void *)&none, sizeof(p));
	}
}

/*
 * Registered when the driver is found, thus after the program's constructors, so that it runs before what they left for
 * the end.
 */
static void end(void)
{
	atomic_store_explicit(&exiting, true, memory_order_relaxed);
}

static cudaError_t find_locked(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	cudaError_t e;
	int version = 0;

	if (!library)
		return cudaErrorInsufficientDriver;
	fill(library);
	e = rt_error(rt_driver.cuDriverGetVersion(&version));
	if (e)
		return e; /* a server that refuses says why; a driver of this machine always answers */
	rt_driver_version = version;
	atexit(end);
	atomic_store_explicit(&found, true, memory_order_release); /* pairs with rt_find */
	return cudaSuccess;
}

bool rt_exiting(void)
{
	return atomic_load_explicit(&exiting, memory_order_relaxed);
}

cudaError_t rt_find(void)
{
	cudaError_t e = cudaSuccess;

	if (atomic_load_explicit(&found, memory_order_acquire))
		return cudaSuccess;
	pthread_mutex_lock(&load_mutex);
	if (!atomic_load_explicit(&found, memory_order_relaxed))
		e = find_locked();
	pthread_mutex_unlock(&load_mutex);
	return e;
}

cudaError_t rt_loaded(void)
{
	cudaError_t e;

	if (atomic_load_explicit(&initialised, memory_order_acquire))
		return cudaSuccess;
	e = rt_find();
	if (e)
		return e;
	/* A driver may be older than the library within a major version, as documented for minor version compatibility.
	 */
	if (rt_driver_version / 1000 < CUDART_MAJOR)
		return cudaErrorInsufficientDriver;
	e = rt_error(rt_driver.cuInit(0));
	if (!e)
		atomic_store_explicit(&initialised, true, memory_order_release); /* pairs with the load above */
	return e;
}

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
	if (!driverVersion)
		return rt_done(cudaErrorInvalidValue);
	*driverVersion = rt_find() ? 0 : rt_driver_version;
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
	if (!runtimeVersion)
		return rt_done(cudaErrorInvalidValue);
	*runtimeVersion = CUDART_VERSION;
	return cudaSuccess;
}

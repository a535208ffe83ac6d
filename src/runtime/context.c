/*
 * context.c: the contexts that calls run in: the program's own if it made one current through the driver API, else the
 * primary context of the thread's device, retained at the first call that needs one and kept until the process ends or
 * cudaDeviceReset().
 *
 * A thread remembers which primary context this library made current for it and the device's generation at that time:
 * after a reset by any thread the generation is another, and the thread takes the new context.
 */
#include "runtime/rt.h"

#include <pthread.h>
#include <stdatomic.h>

struct primary {
	_Atomic(CUcontext) context; /* NULL: not retained; changed under the mutex */
	atomic_uint generation;	    /* rises with each reset */
};

static pthread_mutex_t primary_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct primary primaries[RT_DEVICES_MAX];

cudaError_t rt_device_good(int device)
{
	cudaError_t e = rt_loaded();
	int count = 0;

	if (!e)
		e = rt_error(rt_driver.cuDeviceGetCount(&count));
	if (!e && !count)
		e = cudaErrorNoDevice;
	if (e)
		return e;
	return device >= 0 && device < count && device < RT_DEVICES_MAX ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t rt_primary(int device, CUcontext *ret)
{
	struct primary *p = &primaries[device];
	CUcontext c = atomic_load_explicit(&p->context, memory_order_acquire);
	cudaError_t e = cudaSuccess;

	if (!c) {
		pthread_mutex_lock(&primary_mutex);
		c = atomic_load_explicit(&p->context, memory_order_relaxed);
		if (!c) {
			e = rt_error(rt_driver.cuDevicePrimaryCtxRetain(&c, device));
			if (!e)
				atomic_store_explicit(&p->context, c, memory_order_release); /* the load above */
		}
		pthread_mutex_unlock(&primary_mutex);
	}
	*ret = c;
	return e;
}

cudaError_t rt_context_use(int device)
{
	CUcontext c = NULL;
	cudaError_t e = rt_device_good(device);

	rt_thread.generation = e ? 0 : atomic_load_explicit(&primaries[device].generation, memory_order_acquire);
	if (!e)
		e = rt_primary(device, &c);
	if (!e)
		e = rt_error(rt_driver.cuCtxSetCurrent(c));
	if (e)
		return e;
	rt_thread.device = device;
	rt_thread.context = c;
	return cudaSuccess;
}

cudaError_t rt_ready(void)
{
	cudaError_t e = rt_loaded();
	CUcontext c = NULL;

	if (e)
		return e;
	e = rt_error(rt_driver.cuCtxGetCurrent(&c));
	if (e)
		return e;
	if (c && (c != rt_thread.context ||
		  rt_thread.generation ==
			  atomic_load_explicit(&primaries[rt_thread.device].generation, memory_order_acquire)))
		return cudaSuccess;
	return rt_context_use(rt_thread.device);
}

cudaError_t rt_device(int *ret)
{
	cudaError_t e = rt_loaded();
	CUcontext c = NULL;
	CUdevice d = 0;

	if (e)
		return e;
	e = rt_error(rt_driver.cuCtxGetCurrent(&c));
	if (e)
		return e;
	*ret = rt_thread.device;
	if (c && c != rt_thread.context) {
		e = rt_error(rt_driver.cuCtxGetDevice(&d));
		*ret = d;
	}
	return e;
}

cudaError_t cudaSetDevice(int device)
{
	cudaError_t e = rt_device_good(device);

	if (e)
		return rt_done(e);
#if CUDART_MAJOR < 12
	/* Until 12.0 the context was made by the first call that needs it. */
	if (!atomic_load_explicit(&primaries[device].context, memory_order_acquire)) {
		e = rt_error(rt_driver.cuCtxSetCurrent(NULL));
		if (!e) {
			rt_thread.device = device;
			rt_thread.context = NULL;
		}
		return rt_done(e);
	}
#endif
	return rt_done(rt_context_use(device));
}

cudaError_t cudaGetDevice(int *device)
{
	int d = 0;
	cudaError_t e = device ? rt_device(&d) : cudaErrorInvalidValue;

	if (!e)
		*device = d;
	return rt_done(e);
}

#if CUDART_MAJOR >= 12
cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
	cudaError_t e = rt_device_good(device);
	CUcontext c;

	if (!e && (flags & ~(unsigned)cudaInitDeviceFlagsAreValid))
		e = cudaErrorInvalidValue;
	if (!e && (flags & cudaInitDeviceFlagsAreValid))
		e = rt_error(
			rt_driver.cuDevicePrimaryCtxSetFlags_v2(device, deviceFlags & ~(unsigned)cudaDeviceMapHost));
	if (!e)
		e = rt_primary(device, &c);
	return rt_done(e);
}
#endif

cudaError_t cudaDeviceReset(void)
{
	int device = 0;
	cudaError_t e = rt_device(&device);

	if (e)
		return rt_done(e);
	pthread_mutex_lock(&primary_mutex);
	e = rt_error(rt_driver.cuDevicePrimaryCtxReset_v2(device));
	atomic_store_explicit(&primaries[device].context, NULL, memory_order_release);
	atomic_fetch_add_explicit(&primaries[device].generation, 1, memory_order_acq_rel);
	pthread_mutex_unlock(&primary_mutex);
	rt_thread.sticky = rt_thread.last = cudaSuccess;
	if (rt_thread.context && rt_thread.device == device)
		rt_driver.cuCtxSetCurrent(NULL);
	rt_thread.context = NULL;
	return rt_done(e);
}

cudaError_t cudaDeviceSynchronize(void)
{
	cudaError_t e = rt_ready();

	return rt_done(e ? e : rt_error(rt_driver.cuCtxSynchronize()));
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	int device = 0;
	cudaError_t e = flags & ~(unsigned)cudaDeviceMask ? cudaErrorInvalidValue : rt_device(&device);

	if (!e)
		e = rt_error(rt_driver.cuDevicePrimaryCtxSetFlags_v2(device, flags & ~(unsigned)cudaDeviceMapHost));
	return rt_done(e);
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
	int device = 0, active;
	unsigned f = 0;
	cudaError_t e = flags ? rt_device(&device) : cudaErrorInvalidValue;

	if (!e)
		e = rt_error(rt_driver.cuDevicePrimaryCtxGetState(device, &f, &active));
	if (!e)
		*flags = f | cudaDeviceMapHost; /* always on, as documented */
	return rt_done(e);
}

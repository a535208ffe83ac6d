/*
 * tools.c: calls for tools, and questions whose answer here is short.
 *
 * A profiler's marks are taken and go nowhere. A notification can be asked for and never comes: nothing on this device
 * has the budget that it would speak of. Writes of other devices are seen as they come, so there is nothing to flush.
 */
#include "softdev/context.h"

#include <stdlib.h>

/* ---- profiling ---- */

CUresult soft_cuProfilerStart(void)
{
	struct context *c;

	return context_current(&c);
}

CUresult soft_cuProfilerStop(void)
{
	struct context *c;

	return context_current(&c);
}

/* ---- notifications ---- */

struct CUasyncCallbackEntry_st {
	struct CUasyncCallbackEntry_st *next;
	CUdevice device;
	CUasyncCallback f;
	void *data;
};

static pthread_mutex_t notification_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct CUasyncCallbackEntry_st *notifications; /* notification_mutex guards it */

CUresult soft_cuDeviceRegisterAsyncNotification(CUdevice ordinal, CUasyncCallback f, void *data,
						CUasyncCallbackHandle *ret)
{
	struct CUasyncCallbackEntry_st *n;
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!f || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	n = malloc(sizeof(*n));
	if (!n)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&notification_mutex);
	*n = (struct CUasyncCallbackEntry_st){ notifications, ordinal, f, data };
	notifications = n;
	pthread_mutex_unlock(&notification_mutex);
	*ret = n;
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceUnregisterAsyncNotification(CUdevice ordinal, CUasyncCallbackHandle h)
{
	struct CUasyncCallbackEntry_st *found = NULL;
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	pthread_mutex_lock(&notification_mutex);
	for (struct CUasyncCallbackEntry_st **at = &notifications; *at; at = &(*at)->next)
		if (*at == h && h->device == ordinal) {
			found = *at;
			*at = found->next;
			break;
		}
	pthread_mutex_unlock(&notification_mutex);
	free(found);
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- atomics across the border: host and devices are threads of one machine ---- */

static unsigned atomic_capabilities(CUatomicOperation operation)
{
	const unsigned both = CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_SCALAR_64;

	switch (operation) {
	case CU_ATOMIC_OPERATION_INTEGER_ADD:
	case CU_ATOMIC_OPERATION_INTEGER_MIN:
	case CU_ATOMIC_OPERATION_INTEGER_MAX:
		return both | CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED |
		       CU_ATOMIC_CAPABILITY_REDUCTION;
	case CU_ATOMIC_OPERATION_INTEGER_INCREMENT:
	case CU_ATOMIC_OPERATION_INTEGER_DECREMENT:
		return CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_UNSIGNED | CU_ATOMIC_CAPABILITY_REDUCTION;
	case CU_ATOMIC_OPERATION_AND:
	case CU_ATOMIC_OPERATION_OR:
	case CU_ATOMIC_OPERATION_XOR:
		return both | CU_ATOMIC_CAPABILITY_UNSIGNED | CU_ATOMIC_CAPABILITY_REDUCTION;
	case CU_ATOMIC_OPERATION_EXCHANGE:
	case CU_ATOMIC_OPERATION_CAS:
		return both | CU_ATOMIC_CAPABILITY_UNSIGNED;
	case CU_ATOMIC_OPERATION_FLOAT_ADD:
		return both | CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_REDUCTION;
	default:
		return 0;
	}
}

static CUresult capabilities_get(unsigned *ret, const CUatomicOperation *operation, unsigned count)
{
	if (!ret || !operation || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		if ((unsigned)operation[i] >= CU_ATOMIC_OPERATION_MAX)
			return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		ret[i] = atomic_capabilities(operation[i]);
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetHostAtomicCapabilities(unsigned *ret, const CUatomicOperation *operation, unsigned count,
						CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	return e ? e : capabilities_get(ret, operation, count);
}

CUresult soft_cuDeviceGetP2PAtomicCapabilities(unsigned *ret, const CUatomicOperation *operation, unsigned count,
					       CUdevice from, CUdevice to)
{
	struct device *d;
	CUresult e = device_find(from, &d);

	if (!e)
		e = device_find(to, &d);
	if (e)
		return e;
	return from == to ? CUDA_ERROR_INVALID_DEVICE : capabilities_get(ret, operation, count);
}

/* ---- flushes ---- */

CUresult soft_cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
	    (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER &&
	     scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* ---- first versions, with 32-bit sizes: what does not fit is cut to the most that does ---- */

static unsigned narrow(size_t bytes)
{
	return bytes > UINT32_MAX ? UINT32_MAX : (unsigned)bytes;
}

CUresult soft_cuDeviceTotalMem(unsigned *ret, CUdevice ordinal)
{
	size_t bytes;
	CUresult e = ret ? soft_cuDeviceTotalMem_v2(&bytes, ordinal) : CUDA_ERROR_INVALID_VALUE;

	if (!e)
		*ret = narrow(bytes);
	return e;
}

CUresult soft_cuMemGetInfo(unsigned *ret_free, unsigned *ret_total)
{
	size_t left, total;
	CUresult e = soft_cuMemGetInfo_v2(&left, &total);

	if (e)
		return e;
	if (ret_free)
		*ret_free = narrow(left);
	if (ret_total)
		*ret_total = narrow(total);
	return CUDA_SUCCESS;
}

CUresult soft_cuMemAllocHost(void **ret, unsigned bytes)
{
	return soft_cuMemAllocHost_v2(ret, bytes);
}

/* advice.c: where managed memory should lie: advice, prefetches, and what is known of a range. */
#include "runtime/rt.h"

static cudaError_t advise(const void *p, size_t bytes, enum cudaMemoryAdvise advice, CUmemLocation where)
{
	return RT_CALL(cuMemAdvise_v2, (CUdeviceptr)(uintptr_t)p, bytes, (CUmem_advise)advice, where);
}

static cudaError_t prefetch(const void *p, size_t bytes, CUmemLocation where, unsigned flags, cudaStream_t stream)
{
	return RT_CALL(cuMemPrefetchAsync_v2, (CUdeviceptr)(uintptr_t)p, bytes, where, flags, stream);
}

#if CUDART_MAJOR < 13
/* What the older calls say with a device's number. */
static CUmemLocation location_of(int device)
{
	return (CUmemLocation){ .type = device == cudaCpuDeviceId ? CU_MEM_LOCATION_TYPE_HOST
								  : CU_MEM_LOCATION_TYPE_DEVICE,
				.id = device == cudaCpuDeviceId ? 0 : device };
}

cudaError_t cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice, int device)
{
	return advise(devPtr, count, advice, location_of(device));
}

cudaError_t cudaMemPrefetchAsync(const void *devPtr, size_t count, int dstDevice, cudaStream_t stream)
{
	return prefetch(devPtr, count, location_of(dstDevice), 0, stream);
}
#endif

#if CUDART_MAJOR >= 12
static CUmemLocation location(struct cudaMemLocation where)
{
	return (CUmemLocation){ .type = (CUmemLocationType)where.type, .id = where.id };
}
#endif

#if CUDART_MAJOR == 12
cudaError_t cudaMemAdvise_v2(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
			     struct cudaMemLocation where)
{
	return advise(devPtr, count, advice, location(where));
}

cudaError_t cudaMemPrefetchAsync_v2(const void *devPtr, size_t count, struct cudaMemLocation where, unsigned int flags,
				    cudaStream_t stream)
{
	return prefetch(devPtr, count, location(where), flags, stream);
}
#endif

#if CUDART_MAJOR >= 13
cudaError_t cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice, struct cudaMemLocation where)
{
	return advise(devPtr, count, advice, location(where));
}

cudaError_t cudaMemPrefetchAsync(const void *devPtr, size_t count, struct cudaMemLocation where, unsigned int flags,
				 cudaStream_t stream)
{
	return prefetch(devPtr, count, location(where), flags, stream);
}

cudaError_t cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count, struct cudaMemLocation *prefetchLocs,
				      size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
				      cudaStream_t stream)
{
	return RT_CALL(cuMemPrefetchBatchAsync, (CUdeviceptr *)dptrs, sizes, count, (CUmemLocation *)prefetchLocs,
		       prefetchLocIdxs, numPrefetchLocs, flags, stream);
}

cudaError_t cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count, unsigned long long flags,
				     cudaStream_t stream)
{
	return RT_CALL(cuMemDiscardBatchAsync, (CUdeviceptr *)dptrs, sizes, count, flags, stream);
}

cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
						struct cudaMemLocation *prefetchLocs, size_t *prefetchLocIdxs,
						size_t numPrefetchLocs, unsigned long long flags, cudaStream_t stream)
{
	return RT_CALL(cuMemDiscardAndPrefetchBatchAsync, (CUdeviceptr *)dptrs, sizes, count,
		       (CUmemLocation *)prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream);
}
#endif

/* ---- what is known of a range ---- */

cudaError_t cudaMemRangeGetAttribute(void *data, size_t dataSize, enum cudaMemRangeAttribute attribute,
				     const void *devPtr, size_t count)
{
	return RT_CALL(cuMemRangeGetAttribute, data, dataSize, (CUmem_range_attribute)attribute,
		       (CUdeviceptr)(uintptr_t)devPtr, count);
}

cudaError_t cudaMemRangeGetAttributes(void **data, size_t *dataSizes, enum cudaMemRangeAttribute *attributes,
				      size_t numAttributes, const void *devPtr, size_t count)
{
	return RT_CALL(cuMemRangeGetAttributes, data, dataSizes, (CUmem_range_attribute *)attributes, numAttributes,
		       (CUdeviceptr)(uintptr_t)devPtr, count);
}

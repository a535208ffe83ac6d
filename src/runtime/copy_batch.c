/* copy_batch.c: many copies in one call. They are described alike in both APIs. */
#include "runtime/rt.h"

#if CUDART_MAJOR >= 12

_Static_assert(sizeof(struct cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes), "attributes of copies");

static cudaError_t batch(void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count,
			 struct cudaMemcpyAttributes *attrs, size_t *firsts, size_t attr_count, size_t *fail,
			 cudaStream_t stream)
{
	return RT_CALL(cuMemcpyBatchAsync, (CUdeviceptr *)(uintptr_t)dsts, (CUdeviceptr *)(uintptr_t)srcs,
		       (size_t *)(uintptr_t)sizes, count, (CUmemcpyAttributes *)attrs, firsts, attr_count, fail,
		       stream);
}

/* Array extents are in texels, as at the driver. */
static cudaError_t batch3d(size_t count, struct cudaMemcpy3DBatchOp *ops, size_t *fail, unsigned long long flags,
			   cudaStream_t stream)
{
	return RT_CALL(cuMemcpy3DBatchAsync, count, (CUDA_MEMCPY3D_BATCH_OP *)ops, fail, flags, stream);
}

_Static_assert(sizeof(struct cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP), "operations of batches");

#if CUDART_MAJOR == 12
cudaError_t cudaMemcpyBatchAsync(void **dsts, void **srcs, size_t *sizes, size_t count,
				 struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
				 size_t *failIdx, cudaStream_t stream)
{
	return batch(dsts, (const void *const *)srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, stream);
}

cudaError_t cudaMemcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList, size_t *failIdx,
				   unsigned long long flags, cudaStream_t stream)
{
	return batch3d(numOps, opList, failIdx, flags, stream);
}
#else
/* Which copy was at fault is not told any more. */
cudaError_t cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count,
				 struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
				 cudaStream_t stream)
{
	size_t fail;

	return batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, &fail, stream);
}

cudaError_t cudaMemcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList, unsigned long long flags,
				   cudaStream_t stream)
{
	size_t fail;

	return batch3d(numOps, opList, &fail, flags, stream);
}
#endif

#endif

/*
 * device_copies.c: copies and prefetches that name devices: the program's numbers become the driver's, in a copy of the
 * list that holds them, and the copy engine's turn is waited for. A twin for per-thread streams differs by that alone,
 * so both are one function that is told which.
 */
#include "cuda_shim.h"
#include "shim/launches.h"
#include "shim/scratch.h"

/* Which of two twins is called, and with what. */
#define TWIN(symbol) __typeof__(shim_real.symbol) real, enum cuda_call call, bool per_thread

static void gate(struct launch *l, enum cuda_call call, uint64_t bytes, CUstream stream, bool per_thread)
{
	l->pace = NULL;
	if (copies_matter())
		copy_begin(l, call, bytes, stream, per_thread);
}

static uint64_t sizes_bytes(size_t count, const size_t *sizes)
{
	uint64_t bytes = 0;

	for (size_t i = 0; sizes && copies_matter() && i < count; i++)
		bytes += sizes[i];
	return bytes;
}

static uint64_t operations_bytes(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops)
{
	uint64_t bytes = 0;

	for (size_t i = 0; ops && copies_matter() && i < count; i++)
		bytes += (uint64_t)ops[i].extent.width * ops[i].extent.height * ops[i].extent.depth;
	return bytes;
}

static void hints_in(CUmemcpyAttributes *attributes, size_t count)
{
	for (size_t i = 0; attributes && i < count; i++) {
		attributes[i].srcLocHint = location_in(attributes[i].srcLocHint);
		attributes[i].dstLocHint = location_in(attributes[i].dstLocHint);
	}
}

static void operand_in(CUmemcpy3DOperand *o)
{
	if (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER)
		o->op.ptr.locHint = location_in(o->op.ptr.locHint);
}

static void operations_in(CUDA_MEMCPY3D_BATCH_OP *ops, size_t count)
{
	for (size_t i = 0; ops && i < count; i++) {
		operand_in(&ops[i].src);
		operand_in(&ops[i].dst);
	}
}

static uint64_t fabric_bytes(size_t count, const CUDA_FABRIC_COPY_BATCH_OP *ops)
{
	uint64_t bytes = 0;

	for (size_t i = 0; ops && copies_matter() && i < count; i++)
		bytes += ops[i].size;
	return bytes;
}

static void fabric_operand_in(CUfabricCpyOperand *o)
{
	if (o->type == CU_FABRIC_COPY_OPERAND_TYPE_POINTER)
		o->op.ptr.locHint = location_in(o->op.ptr.locHint);
}

static void fabric_in(CUDA_FABRIC_COPY_BATCH_OP *ops, size_t count)
{
	for (size_t i = 0; ops && i < count; i++) {
		fabric_operand_in(&ops[i].src);
		fabric_operand_in(&ops[i].dst);
	}
}

static void locations_in(CUmemLocation *list, size_t count)
{
	for (size_t i = 0; list && i < count; i++)
		list[i] = location_in(list[i]);
}

/* With a copy of `list` whose devices `in` has made the driver's: waits for a turn, calls, and gives the copy back. */
#define WITH_COPY(list, count, in, bytes, stream, real_call)                                                           \
	do {                                                                                                           \
		__typeof__(*(list)) *copy = scratch_copy(list, count, sizeof *copy);                                   \
		struct launch l;                                                                                       \
		CUresult r;                                                                                            \
		if ((list) && (count) && !copy)                                                                        \
			return CUDA_ERROR_OUT_OF_MEMORY;                                                               \
		in(copy, count);                                                                                       \
		gate(&l, call, bytes, stream, per_thread);                                                             \
		r = real_call;                                                                                         \
		pace_end(&l, r == CUDA_SUCCESS);                                                                       \
		scratch_free(copy, count, sizeof *copy);                                                               \
		return r;                                                                                              \
	} while (0)

static CUresult prefetch(TWIN(cuMemPrefetchAsync), CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
{
	struct launch l;
	CUresult r;

	gate(&l, call, bytes, stream, per_thread);
	r = real(address, bytes, devices_in(device), stream);
	pace_end(&l, r == CUDA_SUCCESS);
	return r;
}

static CUresult prefetch_v2(TWIN(cuMemPrefetchAsync_v2), CUdeviceptr address, size_t bytes, CUmemLocation location,
			    unsigned int flags, CUstream stream)
{
	struct launch l;
	CUresult r;

	gate(&l, call, bytes, stream, per_thread);
	r = real(address, bytes, location_in(location), flags, stream);
	pace_end(&l, r == CUDA_SUCCESS);
	return r;
}

/* Discarding first or not: both have these parameters. */
static CUresult prefetch_batch(TWIN(cuMemPrefetchBatchAsync), CUdeviceptr *addresses, size_t *sizes, size_t count,
			       CUmemLocation *locations, size_t *indices, size_t location_count,
			       unsigned long long flags, CUstream stream)
{
	WITH_COPY(locations, location_count, locations_in, sizes_bytes(count, sizes), stream,
		  real(addresses, sizes, count, copy, indices, location_count, flags, stream));
}

static CUresult copy_batch(TWIN(cuMemcpyBatchAsync), CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
			   CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count, size_t *failed,
			   CUstream stream)
{
	WITH_COPY(attributes, attribute_count, hints_in, sizes_bytes(count, sizes), stream,
		  real(dsts, srcs, sizes, count, copy, indices, attribute_count, failed, stream));
}

static CUresult copy_batch_v2(TWIN(cuMemcpyBatchAsync_v2), CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
			      size_t count, CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count,
			      CUstream stream)
{
	WITH_COPY(attributes, attribute_count, hints_in, sizes_bytes(count, sizes), stream,
		  real(dsts, srcs, sizes, count, copy, indices, attribute_count, stream));
}

static CUresult copy_3d_batch(TWIN(cuMemcpy3DBatchAsync), size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed,
			      unsigned long long flags, CUstream stream)
{
	WITH_COPY(ops, count, operations_in, operations_bytes(count, ops), stream,
		  real(count, copy, failed, flags, stream));
}

static CUresult copy_3d_batch_v2(TWIN(cuMemcpy3DBatchAsync_v2), size_t count, CUDA_MEMCPY3D_BATCH_OP *ops,
				 unsigned long long flags, CUstream stream)
{
	WITH_COPY(ops, count, operations_in, operations_bytes(count, ops), stream, real(count, copy, flags, stream));
}

static CUresult copy_one(TWIN(cuMemcpyWithAttributesAsync), CUdeviceptr dst, CUdeviceptr src, size_t bytes,
			 CUmemcpyAttributes *attribute, CUstream stream)
{
	CUmemcpyAttributes seen;
	struct launch l;
	CUresult r;

	if (attribute) {
		seen = *attribute;
		hints_in(&seen, 1);
	}
	gate(&l, call, bytes, stream, per_thread);
	r = real(dst, src, bytes, attribute ? &seen : NULL, stream);
	pace_end(&l, r);
	return r;
}

static CUresult copy_3d_one(TWIN(cuMemcpy3DWithAttributesAsync), CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags,
			    CUstream stream)
{
	CUDA_MEMCPY3D_BATCH_OP seen;
	struct launch l;
	CUresult r;

	if (op) {
		seen = *op;
		operations_in(&seen, 1);
	}
	gate(&l, call, operations_bytes(op ? 1 : 0, op), stream, per_thread);
	r = real(op ? &seen : NULL, flags, stream);
	pace_end(&l, r);
	return r;
}

static CUresult copy_fabric(TWIN(cuFabricCpyBatchAsync), size_t count, CUDA_FABRIC_COPY_BATCH_OP *ops,
			    unsigned long long flags, CUstream stream)
{
	WITH_COPY(ops, count, fabric_in, fabric_bytes(count, ops), stream, real(count, copy, flags, stream));
}

CUresult shim_cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
	return prefetch(shim_real.cuMemPrefetchAsync, CUDA_CALL_cuMemPrefetchAsync, false, devPtr, count, dstDevice,
			hStream);
}

CUresult shim_cuMemPrefetchAsync_ptsz(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
	return prefetch(shim_real.cuMemPrefetchAsync_ptsz, CUDA_CALL_cuMemPrefetchAsync_ptsz, true, devPtr, count,
			dstDevice, hStream);
}

CUresult shim_cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
				    CUstream hStream)
{
	return prefetch_v2(shim_real.cuMemPrefetchAsync_v2, CUDA_CALL_cuMemPrefetchAsync_v2, false, devPtr, count,
			   location, flags, hStream);
}

CUresult shim_cuMemPrefetchAsync_v2_ptsz(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
					 CUstream hStream)
{
	return prefetch_v2(shim_real.cuMemPrefetchAsync_v2_ptsz, CUDA_CALL_cuMemPrefetchAsync_v2_ptsz, true, devPtr,
			   count, location, flags, hStream);
}

CUresult shim_cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
				      size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
				      CUstream hStream)
{
	return prefetch_batch(shim_real.cuMemPrefetchBatchAsync, CUDA_CALL_cuMemPrefetchBatchAsync, false, dptrs, sizes,
			      count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream);
}

CUresult shim_cuMemPrefetchBatchAsync_ptsz(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
					   size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
					   CUstream hStream)
{
	return prefetch_batch(shim_real.cuMemPrefetchBatchAsync_ptsz, CUDA_CALL_cuMemPrefetchBatchAsync_ptsz, true,
			      dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, hStream);
}

CUresult shim_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
						CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
						size_t numPrefetchLocs, unsigned long long flags, CUstream hStream)
{
	return prefetch_batch(shim_real.cuMemDiscardAndPrefetchBatchAsync, CUDA_CALL_cuMemDiscardAndPrefetchBatchAsync,
			      false, dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags,
			      hStream);
}

CUresult shim_cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr *dptrs, size_t *sizes, size_t count,
						     CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
						     size_t numPrefetchLocs, unsigned long long flags, CUstream hStream)
{
	return prefetch_batch(shim_real.cuMemDiscardAndPrefetchBatchAsync_ptsz,
			      CUDA_CALL_cuMemDiscardAndPrefetchBatchAsync_ptsz, true, dptrs, sizes, count, prefetchLocs,
			      prefetchLocIdxs, numPrefetchLocs, flags, hStream);
}

CUresult shim_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
				 CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
				 CUstream hStream)
{
	return copy_batch(shim_real.cuMemcpyBatchAsync, CUDA_CALL_cuMemcpyBatchAsync, false, dsts, srcs, sizes, count,
			  attrs, attrsIdxs, numAttrs, failIdx, hStream);
}

CUresult shim_cuMemcpyBatchAsync_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
				      CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
				      CUstream hStream)
{
	return copy_batch(shim_real.cuMemcpyBatchAsync_ptsz, CUDA_CALL_cuMemcpyBatchAsync_ptsz, true, dsts, srcs, sizes,
			  count, attrs, attrsIdxs, numAttrs, failIdx, hStream);
}

CUresult shim_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
				    CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, CUstream hStream)
{
	return copy_batch_v2(shim_real.cuMemcpyBatchAsync_v2, CUDA_CALL_cuMemcpyBatchAsync_v2, false, dsts, srcs, sizes,
			     count, attrs, attrsIdxs, numAttrs, hStream);
}

CUresult shim_cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
					 CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
					 CUstream hStream)
{
	return copy_batch_v2(shim_real.cuMemcpyBatchAsync_v2_ptsz, CUDA_CALL_cuMemcpyBatchAsync_v2_ptsz, true, dsts,
			     srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream);
}

CUresult shim_cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
				   unsigned long long flags, CUstream hStream)
{
	return copy_3d_batch(shim_real.cuMemcpy3DBatchAsync, CUDA_CALL_cuMemcpy3DBatchAsync, false, numOps, opList,
			     failIdx, flags, hStream);
}

CUresult shim_cuMemcpy3DBatchAsync_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
					unsigned long long flags, CUstream hStream)
{
	return copy_3d_batch(shim_real.cuMemcpy3DBatchAsync_ptsz, CUDA_CALL_cuMemcpy3DBatchAsync_ptsz, true, numOps,
			     opList, failIdx, flags, hStream);
}

CUresult shim_cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags,
				      CUstream hStream)
{
	return copy_3d_batch_v2(shim_real.cuMemcpy3DBatchAsync_v2, CUDA_CALL_cuMemcpy3DBatchAsync_v2, false, numOps,
				opList, flags, hStream);
}

CUresult shim_cuMemcpy3DBatchAsync_v2_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags,
					   CUstream hStream)
{
	return copy_3d_batch_v2(shim_real.cuMemcpy3DBatchAsync_v2_ptsz, CUDA_CALL_cuMemcpy3DBatchAsync_v2_ptsz, true,
				numOps, opList, flags, hStream);
}

CUresult shim_cuMemcpyWithAttributesAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUmemcpyAttributes *attr,
					  CUstream hStream)
{
	return copy_one(shim_real.cuMemcpyWithAttributesAsync, CUDA_CALL_cuMemcpyWithAttributesAsync, false, dst, src,
			size, attr, hStream);
}

CUresult shim_cuMemcpyWithAttributesAsync_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t size, CUmemcpyAttributes *attr,
					       CUstream hStream)
{
	return copy_one(shim_real.cuMemcpyWithAttributesAsync_ptsz, CUDA_CALL_cuMemcpyWithAttributesAsync_ptsz, true,
			dst, src, size, attr, hStream);
}

CUresult shim_cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream hStream)
{
	return copy_3d_one(shim_real.cuMemcpy3DWithAttributesAsync, CUDA_CALL_cuMemcpy3DWithAttributesAsync, false, op,
			   flags, hStream);
}

CUresult shim_cuMemcpy3DWithAttributesAsync_ptsz(CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream hStream)
{
	return copy_3d_one(shim_real.cuMemcpy3DWithAttributesAsync_ptsz, CUDA_CALL_cuMemcpy3DWithAttributesAsync_ptsz,
			   true, op, flags, hStream);
}

CUresult shim_cuFabricCpyBatchAsync(size_t numOps, CUDA_FABRIC_COPY_BATCH_OP *opList, unsigned long long flags,
				    CUstream hStream)
{
	return copy_fabric(shim_real.cuFabricCpyBatchAsync, CUDA_CALL_cuFabricCpyBatchAsync, false, numOps, opList,
			   flags, hStream);
}

CUresult shim_cuFabricCpyBatchAsync_ptsz(size_t numOps, CUDA_FABRIC_COPY_BATCH_OP *opList, unsigned long long flags,
					 CUstream hStream)
{
	return copy_fabric(shim_real.cuFabricCpyBatchAsync_ptsz, CUDA_CALL_cuFabricCpyBatchAsync_ptsz, true, numOps,
			   opList, flags, hStream);
}

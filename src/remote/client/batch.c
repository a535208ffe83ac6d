/*
 * batch.c: many copies in one call, and single ones with the attributes of a batch. All are checked before the first is
 * sent; they run in stream order, one after the other, which no program can tell from the freedom that the vendor
 * documents.
 */
#include "cuda_remote.h"
#include "remote/client/array_shape.h"
#include "remote/client/call.h"
#include "remote/client/copy.h"

/* The stream of a batch: any but the legacy default one. */
static CUresult batch_stream(CUstream stream)
{
	struct client_call c;

	client_call(&c, CUDA_CALL_cuMemcpyBatchAsync_v2);
	client_use_stream(&c, stream);
	if (c.result == CUDA_SUCCESS && (!stream || stream == CU_STREAM_LEGACY))
		c.result = CUDA_ERROR_INVALID_VALUE;
	return client_end(&c);
}

static bool order_good(CUmemcpySrcAccessOrder order, unsigned int flags)
{
	return (int)order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY &&
	       !(flags & ~(unsigned int)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE);
}

/* One copy of a batch; *arg is the batch. */
typedef CUresult (*describe)(const void *arg, size_t i, struct copy *ret);

static CUresult batch_run(const void *arg, size_t count, describe one, CUstream stream, size_t *ret_failed)
{
	struct copy k;
	CUresult r;

	for (size_t i = 0; i < count; i++) {
		r = one(arg, i, &k);
		k.stream = stream;
		k.async = true;
		if (r == CUDA_SUCCESS)
			r = copy_check(&k);
		if (r != CUDA_SUCCESS) {
			if (ret_failed)
				*ret_failed = i;
			return r;
		}
	}
	for (size_t i = 0; i < count; i++) {
		r = one(arg, i, &k);
		k.stream = stream;
		k.async = true;
		if (r == CUDA_SUCCESS)
			r = copy_run(&k);
		if (r != CUDA_SUCCESS) {
			if (ret_failed)
				*ret_failed = SIZE_MAX;
			return r;
		}
	}
	return CUDA_SUCCESS;
}

/* ---- lines ---- */

struct lines {
	const CUdeviceptr *to, *from;
	const size_t *bytes;
	const CUmemcpyAttributes *attributes;
	const size_t *first;
	size_t count;
};

static CUresult attributes_check(const struct lines *l, size_t copies)
{
	if (!l->attributes || !l->first || !l->count || l->count > copies || l->first[0])
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < l->count; i++)
		if (!order_good(l->attributes[i].srcAccessOrder, l->attributes[i].flags) ||
		    (i && (l->first[i] <= l->first[i - 1] || l->first[i] >= copies)))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static const CUmemcpyAttributes *attributes_of(const struct lines *l, size_t copy)
{
	size_t low = 0, high = l->count;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (l->first[mid] <= copy)
			low = mid;
		else
			high = mid;
	}
	return &l->attributes[low];
}

static CUresult line(const void *arg, size_t i, struct copy *ret)
{
	const struct lines *l = arg;

	*ret = (struct copy){ .from = { .type = CU_MEMORYTYPE_UNIFIED, .address = l->from[i] },
			      .to = { .type = CU_MEMORYTYPE_UNIFIED, .address = l->to[i] },
			      .width = l->bytes[i],
			      .height = 1,
			      .depth = 1,
			      .read_now = attributes_of(l, i)->srcAccessOrder ==
					  CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL };
	return CUDA_SUCCESS;
}

CUresult client_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
				   CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
				   CUstream hStream)
{
	struct lines l = { dsts, srcs, sizes, attrs, attrsIdxs, numAttrs };
	CUresult r = batch_stream(hStream);

	if (failIdx)
		*failIdx = SIZE_MAX;
	if (r == CUDA_SUCCESS && (!dsts || !srcs || !sizes || !count))
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		r = attributes_check(&l, count);
	return r == CUDA_SUCCESS ? batch_run(&l, count, line, hStream, failIdx) : r;
}

CUresult client_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
				      CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, CUstream hStream)
{
	return client_cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, NULL, hStream);
}

/* ---- boxes ---- */

/* Bytes per element of the arrays that take part; 1 where none does. Lengths are given in elements. */
static CUresult element_of(const CUDA_MEMCPY3D_BATCH_OP *op, size_t *ret)
{
	const CUmemcpy3DOperand *side[] = { &op->src, &op->dst };

	*ret = 1;
	for (int i = 0; i < 2; i++) {
		struct array_shape s;
		CUresult r;

		if (side[i]->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
			continue;
		r = array_shape(side[i]->op.array.array, &s);
		if (r != CUDA_SUCCESS)
			return r;
		*ret = s.element_bytes;
	}
	return CUDA_SUCCESS;
}

static CUresult side_read(const CUmemcpy3DOperand *o, size_t element, struct copy_end *ret)
{
	bool over;

	*ret = (struct copy_end){ 0 };
	if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		ret->type = CU_MEMORYTYPE_ARRAY;
		ret->array = o->op.array.array;
		ret->y = o->op.array.offset.y;
		ret->z = o->op.array.offset.z;
		over = __builtin_mul_overflow(o->op.array.offset.x, element, &ret->x);
		return over ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	}
	if (o->type != CU_MEMCPY_OPERAND_TYPE_POINTER)
		return CUDA_ERROR_INVALID_VALUE;
	ret->type = CU_MEMORYTYPE_UNIFIED;
	ret->address = o->op.ptr.ptr;
	ret->height = o->op.ptr.layerHeight;
	over = __builtin_mul_overflow(o->op.ptr.rowLength, element, &ret->pitch);
	return over ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult box(const void *arg, size_t i, struct copy *ret)
{
	const CUDA_MEMCPY3D_BATCH_OP *op = (const CUDA_MEMCPY3D_BATCH_OP *)arg + i;
	size_t element;
	CUresult r;

	*ret = (struct copy){ .height = op->extent.height,
			      .depth = op->extent.depth,
			      .read_now = op->srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL };
	r = order_good(op->srcAccessOrder, op->flags) ? element_of(op, &element) : CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		r = side_read(&op->src, element, &ret->from);
	if (r == CUDA_SUCCESS)
		r = side_read(&op->dst, element, &ret->to);
	if (r == CUDA_SUCCESS && __builtin_mul_overflow(op->extent.width, element, &ret->width))
		r = CUDA_ERROR_INVALID_VALUE;
	return r;
}

CUresult client_cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
				     unsigned long long flags, CUstream hStream)
{
	CUresult r = batch_stream(hStream);

	if (failIdx)
		*failIdx = SIZE_MAX;
	if (r == CUDA_SUCCESS && (!numOps || !opList || flags))
		r = CUDA_ERROR_INVALID_VALUE;
	return r == CUDA_SUCCESS ? batch_run(opList, numOps, box, hStream, failIdx) : r;
}

CUresult client_cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags,
					CUstream hStream)
{
	return client_cuMemcpy3DBatchAsync(numOps, opList, NULL, flags, hStream);
}

/* ---- one copy with attributes: into any stream ---- */

CUresult client_cuMemcpyWithAttributesAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUmemcpyAttributes *attr,
					    CUstream hStream)
{
	const size_t first = 0;
	const struct lines l = { &dst, &src, &size, attr, &first, 1 };
	CUresult r = attributes_check(&l, 1);

	return r == CUDA_SUCCESS ? batch_run(&l, 1, line, hStream, NULL) : r;
}

CUresult client_cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream hStream)
{
	return op && !flags ? batch_run(op, 1, box, hStream, NULL) : CUDA_ERROR_INVALID_VALUE;
}

/*
 * batch.c: many copies in one call, and single copies with a batch's attributes.
 *
 * All are checked before the first is queued. They run in stream order, one after the other, which no program can tell
 * from the freedom that the vendor documents.
 */
#include "softdev/array.h"
#include "softdev/context.h"
#include "softdev/copy.h"
#include "softdev/stream.h"

#include <stdlib.h>

/* The stream of a batch: any but the legacy default one. */
static CUresult batch_stream(CUstream h)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	return e ? e : s->legacy ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static bool order_good(CUmemcpySrcAccessOrder order, unsigned flags)
{
	return (int)order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY &&
	       !(flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE);
}

/* A source that must be read during the call is treated like one that the driver does not know. */
static void order_apply(struct work *w, CUmemcpySrcAccessOrder order)
{
	if (w->kind == WORK_COPY && order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)
		w->copy.pageable_source = true;
}

/* Queues what has been described, or frees it. */
static CUresult batch_submit(struct work *w, size_t count, CUstream stream)
{
	CUresult e = CUDA_SUCCESS;

	for (size_t i = 0; i < count && !e; i++)
		e = copy_submit(&w[i], stream, false);
	return e;
}

/* ---- lines ---- */

static CUresult attributes_check(const CUmemcpyAttributes *a, const size_t *from, size_t count, size_t copies)
{
	if (!a || !from || !count || count > copies || from[0])
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!order_good(a[i].srcAccessOrder, a[i].flags) ||
		    (i && (from[i] <= from[i - 1] || from[i] >= copies)))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult line_describe(CUdeviceptr to, CUdeviceptr from, size_t bytes, struct work *ret)
{
	CUDA_MEMCPY3D d = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
			    .srcDevice = from,
			    .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
			    .dstDevice = to,
			    .WidthInBytes = bytes,
			    .Height = 1,
			    .Depth = 1 };

	return copy_describe(&d, false, ret);
}

CUresult soft_cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
				 CUmemcpyAttributes *attribute, size_t *first, size_t attributes, size_t *ret_failed,
				 CUstream stream)
{
	struct work *w = NULL;
	size_t failed = SIZE_MAX;
	CUresult e = batch_stream(stream);

	if (!e && (!to || !from || !bytes || !count))
		e = CUDA_ERROR_INVALID_VALUE;
	if (!e)
		e = attributes_check(attribute, first, attributes, count);
	if (!e && !(w = calloc(count, sizeof(*w))))
		e = CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0, at = 0; i < count && !e; i++) {
		if (at + 1 < attributes && first[at + 1] == i)
			at++;
		e = line_describe(to[i], from[i], bytes[i], &w[i]);
		if (e)
			failed = i;
		else
			order_apply(&w[i], attribute[at].srcAccessOrder);
	}
	if (!e)
		e = batch_submit(w, count, stream);
	if (e && ret_failed)
		*ret_failed = failed;
	free(w);
	return e;
}

CUresult soft_cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
				    CUmemcpyAttributes *attribute, size_t *first, size_t attributes, CUstream stream)
{
	return soft_cuMemcpyBatchAsync(to, from, bytes, count, attribute, first, attributes, NULL, stream);
}

/* ---- boxes ---- */

/* Bytes per element of the arrays that take part; 1 where none does. Lengths are given in elements. */
static CUresult element_of(const CUDA_MEMCPY3D_BATCH_OP *op, size_t *ret)
{
	const CUmemcpy3DOperand *side[] = { &op->src, &op->dst };
	struct array *a;

	*ret = 1;
	for (int i = 0; i < 2; i++) {
		CUresult e;

		if (side[i]->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
			continue;
		e = array_find(side[i]->op.array.array, &a);
		if (e)
			return e;
		*ret = a->element_bytes;
	}
	return CUDA_SUCCESS;
}

struct box_side {
	CUmemorytype type;
	CUdeviceptr address;
	CUarray array;
	size_t x, y, z, pitch, height;
};

static CUresult side_read(const CUmemcpy3DOperand *o, size_t element, struct box_side *ret)
{
	*ret = (struct box_side){ 0 };
	if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		ret->type = CU_MEMORYTYPE_ARRAY;
		ret->array = o->op.array.array;
		ret->y = o->op.array.offset.y;
		ret->z = o->op.array.offset.z;
		return __builtin_mul_overflow(o->op.array.offset.x, element, &ret->x) ? CUDA_ERROR_INVALID_VALUE
										     : CUDA_SUCCESS;
	}
	if (o->type != CU_MEMCPY_OPERAND_TYPE_POINTER)
		return CUDA_ERROR_INVALID_VALUE;
	ret->type = CU_MEMORYTYPE_UNIFIED;
	ret->address = o->op.ptr.ptr;
	ret->height = o->op.ptr.layerHeight;
	return __builtin_mul_overflow(o->op.ptr.rowLength, element, &ret->pitch) ? CUDA_ERROR_INVALID_VALUE
										: CUDA_SUCCESS;
}

static CUresult box_describe(const CUDA_MEMCPY3D_BATCH_OP *op, struct work *ret)
{
	struct box_side from, to;
	CUDA_MEMCPY3D d;
	size_t element, width;
	CUresult e;

	if (!order_good(op->srcAccessOrder, op->flags))
		return CUDA_ERROR_INVALID_VALUE;
	e = element_of(op, &element);
	if (!e)
		e = side_read(&op->src, element, &from);
	if (!e)
		e = side_read(&op->dst, element, &to);
	if (e)
		return e;
	if (__builtin_mul_overflow(op->extent.width, element, &width))
		return CUDA_ERROR_INVALID_VALUE;
	d = (CUDA_MEMCPY3D){
		.srcXInBytes = from.x,
		.srcY = from.y,
		.srcZ = from.z,
		.srcMemoryType = from.type,
		.srcDevice = from.address,
		.srcArray = from.array,
		.srcPitch = from.pitch,
		.srcHeight = from.height,
		.dstXInBytes = to.x,
		.dstY = to.y,
		.dstZ = to.z,
		.dstMemoryType = to.type,
		.dstDevice = to.address,
		.dstArray = to.array,
		.dstPitch = to.pitch,
		.dstHeight = to.height,
		.WidthInBytes = width,
		.Height = op->extent.height,
		.Depth = op->extent.depth,
	};
	return copy_describe(&d, false, ret);
}

CUresult soft_cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *op, size_t *ret_failed,
				   unsigned long long flags, CUstream stream)
{
	struct work *w = NULL;
	size_t failed = SIZE_MAX;
	CUresult e = batch_stream(stream);

	if (!e && (!count || !op || flags))
		e = CUDA_ERROR_INVALID_VALUE;
	if (!e && !(w = calloc(count, sizeof(*w))))
		e = CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < count && !e; i++) {
		e = box_describe(&op[i], &w[i]);
		if (e)
			failed = i;
		else
			order_apply(&w[i], op[i].srcAccessOrder);
	}
	if (!e)
		e = batch_submit(w, count, stream);
	if (e && ret_failed)
		*ret_failed = failed;
	free(w);
	return e;
}

CUresult soft_cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags,
				      CUstream stream)
{
	return soft_cuMemcpy3DBatchAsync(count, op, NULL, flags, stream);
}

/* ---- one copy with attributes: into any stream ---- */

CUresult soft_cuMemcpyWithAttributesAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemcpyAttributes *attribute,
					  CUstream stream)
{
	struct work w = { 0 };
	CUresult e;

	if (!attribute || !order_good(attribute->srcAccessOrder, attribute->flags))
		return CUDA_ERROR_INVALID_VALUE;
	e = line_describe(to, from, bytes, &w);
	if (e)
		return e;
	order_apply(&w, attribute->srcAccessOrder);
	return copy_submit(&w, stream, false);
}

CUresult soft_cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags, CUstream stream)
{
	struct work w = { 0 };
	CUresult e;

	if (!op || flags)
		return CUDA_ERROR_INVALID_VALUE;
	e = box_describe(op, &w);
	if (e)
		return e;
	order_apply(&w, op->srcAccessOrder);
	return copy_submit(&w, stream, false);
}

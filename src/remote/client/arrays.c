/*
 * arrays.c: copies that name an array and an offset in it: rows one after the other, as if it were linear memory. The
 * part must lie in one row, or be whole rows; the shape of the array is asked for once.
 */
#include "cuda_remote.h"
#include "remote/client/array_shape.h"
#include "remote/client/call.h"
#include "remote/client/copy.h"
#include "shim/array_format.h"

CUresult array_shape(CUarray array, struct array_shape *ret)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult r = client_cuArray3DGetDescriptor_v2(&d, array);
	size_t element;

	if (r != CUDA_SUCCESS)
		return r;
	element = (size_t)array_channel_bytes(d.Format) * d.NumChannels;
	*ret = (struct array_shape){ element, d.Width * element, d.Height ? d.Height : 1, d.Depth ? d.Depth : 1 };
	return ret->row_bytes ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* The piece of an array that `bytes` from `offset` are; *ret_done: how many of them it has. */
static void place(const struct array_shape *s, size_t offset, size_t bytes, CUarray array, struct copy_end *ret,
		  struct copy *k)
{
	size_t row = offset / s->row_bytes, inside = offset % s->row_bytes;

	*ret = (struct copy_end){
		.type = CU_MEMORYTYPE_ARRAY, .array = array, .x = inside, .y = row % s->height, .z = row / s->height
	};
	k->depth = 1;
	k->height = 1;
	k->width = bytes < s->row_bytes - inside ? bytes : s->row_bytes - inside;
	if (!inside && bytes >= s->row_bytes) {
		k->height = bytes / s->row_bytes;
		if (k->height > s->height - ret->y)
			k->height = s->height - ret->y;
	}
}

static CUresult copy_array(CUarray to_array, size_t to_offset, CUarray from_array, size_t from_offset,
			   CUmemorytype type, uint64_t linear, size_t bytes, CUstream stream, bool async)
{
	CUarray array = to_array ? to_array : from_array;
	size_t offset = to_array ? to_offset : from_offset, all;
	struct array_shape s;
	CUresult r = array_shape(array, &s);

	if (r != CUDA_SUCCESS)
		return r;
	if (__builtin_mul_overflow(s.row_bytes * s.height, s.depth, &all) || offset > all || bytes > all - offset ||
	    (bytes && !linear))
		return CUDA_ERROR_INVALID_VALUE;
	while (bytes && r == CUDA_SUCCESS) {
		struct copy k = { .stream = stream, .async = async };
		struct copy_end line = { .type = type, .address = linear };
		size_t done;

		place(&s, offset, bytes, array, to_array ? &k.to : &k.from, &k);
		*(to_array ? &k.from : &k.to) = line;
		r = copy_run(&k);
		done = k.width * k.height;
		offset += done;
		linear += done;
		bytes -= done;
	}
	return r;
}

/* Between arrays: row by row, cut where a row of either ends. */
static CUresult copy_arrays(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes,
			    CUstream stream, bool async)
{
	struct array_shape a, b;
	CUresult r = array_shape(from, &a);

	if (r == CUDA_SUCCESS)
		r = array_shape(to, &b);
	if (r != CUDA_SUCCESS)
		return r;
	if (from_offset > a.row_bytes * a.height * a.depth || bytes > a.row_bytes * a.height * a.depth - from_offset ||
	    to_offset > b.row_bytes * b.height * b.depth || bytes > b.row_bytes * b.height * b.depth - to_offset)
		return CUDA_ERROR_INVALID_VALUE;
	while (bytes && r == CUDA_SUCCESS) {
		struct copy k = { .stream = stream, .async = async }, other = { 0 };

		place(&a, from_offset, bytes, from, &k.from, &k);
		place(&b, to_offset, bytes, to, &k.to, &other);
		k.height = 1;
		if (other.width < k.width)
			k.width = other.width;
		r = copy_run(&k);
		from_offset += k.width;
		to_offset += k.width;
		bytes -= k.width;
	}
	return r;
}

AT_ONCE(cuMemcpyDtoA_v2, (CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount), copy_array,
	dstArray, dstOffset, NULL, 0, CU_MEMORYTYPE_DEVICE, srcDevice, ByteCount)
AT_ONCE(cuMemcpyHtoA_v2, (CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount), copy_array,
	dstArray, dstOffset, NULL, 0, CU_MEMORYTYPE_HOST, ADDRESS(srcHost), ByteCount)
AT_ONCE(cuMemcpyAtoD_v2, (CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount), copy_array,
	NULL, 0, srcArray, srcOffset, CU_MEMORYTYPE_DEVICE, dstDevice, ByteCount)
AT_ONCE(cuMemcpyAtoH_v2, (void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount), copy_array, NULL, 0,
	srcArray, srcOffset, CU_MEMORYTYPE_HOST, ADDRESS(dstHost), ByteCount)
AT_ONCE(cuMemcpyAtoA_v2, (CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset, size_t ByteCount),
	copy_arrays, dstArray, dstOffset, srcArray, srcOffset, ByteCount)

CUresult client_cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount,
				     CUstream hStream)
{
	return copy_array(dstArray, dstOffset, NULL, 0, CU_MEMORYTYPE_HOST, ADDRESS(srcHost), ByteCount, hStream, true);
}

CUresult client_cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
				     CUstream hStream)
{
	return copy_array(NULL, 0, srcArray, srcOffset, CU_MEMORYTYPE_HOST, ADDRESS(dstHost), ByteCount, hStream, true);
}

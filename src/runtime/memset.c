/* memset.c: filling memory with a byte, in one, two and three dimensions. */
#include "runtime/rt.h"

static CUdeviceptr address_of(const void *p)
{
	return (CUdeviceptr)(uintptr_t)p;
}

cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
	cudaError_t e = rt_ready();

	if (!e && count)
		e = rt_error(RT_TWIN(cuMemsetD8_v2, ptds)(address_of(devPtr), (unsigned char)value, count));
	return rt_done(e);
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
	cudaError_t e = rt_ready();

	if (!e && count)
		e = rt_error(rt_driver.cuMemsetD8Async(address_of(devPtr), (unsigned char)value, count, stream));
	return rt_done(e);
}

cudaError_t cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
	cudaError_t e = rt_ready();

	if (!e && width && height)
		e = rt_error(
			RT_TWIN(cuMemsetD2D8_v2, ptds)(address_of(devPtr), pitch, (unsigned char)value, width, height));
	return rt_done(e);
}

cudaError_t cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
	cudaError_t e = rt_ready();

	if (!e && width && height)
		e = rt_error(rt_driver.cuMemsetD2D8Async(address_of(devPtr), pitch, (unsigned char)value, width, height,
							 stream));
	return rt_done(e);
}

/* Some rows, in a stream, or with the call that waits where the memory is the host's. */
static cudaError_t fill_rows(CUdeviceptr p, size_t pitch, int value, size_t width, size_t rows,
			     const cudaStream_t *stream)
{
	return rt_error(stream ? rt_driver.cuMemsetD2D8Async(p, pitch, (unsigned char)value, width, rows, *stream)
			       : RT_TWIN(cuMemsetD2D8_v2, ptds)(p, pitch, (unsigned char)value, width, rows));
}

/* Slice by slice: the rows between two slices belong to nobody else only when the extent is as high as the allocation.
 */
static cudaError_t fill3d(struct cudaPitchedPtr p, int value, struct cudaExtent x, const cudaStream_t *stream)
{
	cudaError_t e = rt_ready();
	size_t slice;

	if (!x.width || !x.height || !x.depth)
		return e;
	if (!e && __builtin_mul_overflow(p.pitch, p.ysize, &slice))
		e = cudaErrorInvalidValue;
	if (!e && p.ysize == x.height)
		return fill_rows(address_of(p.ptr), p.pitch, value, x.width, x.height * x.depth, stream);
	for (size_t z = 0; !e && z < x.depth; z++)
		e = fill_rows(address_of(p.ptr) + z * slice, p.pitch, value, x.width, x.height, stream);
	return e;
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent)
{
	return rt_done(fill3d(pitchedDevPtr, value, extent, NULL));
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent,
			      cudaStream_t stream)
{
	return rt_done(fill3d(pitchedDevPtr, value, extent, &stream));
}

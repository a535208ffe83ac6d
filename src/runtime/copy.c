/*
 * copy.c: copies between memory of every kind but arrays (copy_array.c has those): linear, from and to variables,
 * pitched, between devices.
 *
 * The kind of a copy is a promise of the program; where it says "default" the driver finds out from the addresses.
 * Copies that wait take the driver's own waiting calls, whose ordering towards streams is the documented one.
 */
#include "runtime/rt.h"

#include <string.h>

static CUdeviceptr address_of(const void *p)
{
	return (CUdeviceptr)(uintptr_t)p;
}

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	cudaError_t e = rt_ready();

	if (e)
		return e;
	if ((unsigned)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (!bytes)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return rt_error(RT_TWIN(cuMemcpyHtoD_v2, ptds)(address_of(to), from, bytes));
	case cudaMemcpyDeviceToHost:
		return rt_error(RT_TWIN(cuMemcpyDtoH_v2, ptds)(to, address_of(from), bytes));
	case cudaMemcpyDeviceToDevice:
		return rt_error(RT_TWIN(cuMemcpyDtoD_v2, ptds)(address_of(to), address_of(from), bytes));
	default:
		return rt_error(RT_TWIN(cuMemcpy, ptds)(address_of(to), address_of(from), bytes));
	}
}

static cudaError_t copy_async(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	cudaError_t e = rt_ready();

	if (e)
		return e;
	if ((unsigned)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (!bytes)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return rt_error(rt_driver.cuMemcpyHtoDAsync_v2(address_of(to), from, bytes, stream));
	case cudaMemcpyDeviceToHost:
		return rt_error(rt_driver.cuMemcpyDtoHAsync_v2(to, address_of(from), bytes, stream));
	case cudaMemcpyDeviceToDevice:
		return rt_error(rt_driver.cuMemcpyDtoDAsync_v2(address_of(to), address_of(from), bytes, stream));
	default:
		return rt_error(rt_driver.cuMemcpyAsync(address_of(to), address_of(from), bytes, stream));
	}
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	return rt_done(copy(dst, src, count, kind));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return rt_done(copy_async(dst, src, count, kind, stream));
}

/* ---- variables ---- */

/* Value: the place in a variable, or why not: a copy must lie in it, and its kind must have a device at that end. */
static cudaError_t place(const void *symbol, size_t offset, size_t count, bool is_target, enum cudaMemcpyKind kind,
			 void **ret)
{
	struct rt_symbol s;
	cudaError_t e = rt_symbol_find(symbol, &s);

	if (e)
		return e;
	if (kind != cudaMemcpyDefault && kind != cudaMemcpyDeviceToDevice &&
	    kind != (is_target ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost))
		return cudaErrorInvalidMemcpyDirection;
	return rt_symbol_at(&s, offset, count, ret);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset,
			       enum cudaMemcpyKind kind)
{
	void *p = NULL;
	cudaError_t e = place(symbol, offset, count, true, kind, &p);

	return rt_done(e ? e : copy(p, src, count, kind));
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	void *p = NULL;
	cudaError_t e = place(symbol, offset, count, false, kind, &p);

	return rt_done(e ? e : copy(dst, p, count, kind));
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count, size_t offset,
				    enum cudaMemcpyKind kind, cudaStream_t stream)
{
	void *p = NULL;
	cudaError_t e = place(symbol, offset, count, true, kind, &p);

	return rt_done(e ? e : copy_async(p, src, count, kind, stream));
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
				      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	void *p = NULL;
	cudaError_t e = place(symbol, offset, count, false, kind, &p);

	return rt_done(e ? e : copy_async(dst, p, count, kind, stream));
}

/* ---- between devices ---- */

static cudaError_t contexts_of(int to, int from, CUcontext *ret_to, CUcontext *ret_from)
{
	cudaError_t e = rt_ready();

	if (!e)
		e = rt_device_good(to);
	if (!e)
		e = rt_device_good(from);
	if (!e)
		e = rt_primary(to, ret_to);
	return e ? e : rt_primary(from, ret_from);
}

cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
	CUcontext to = NULL, from = NULL;
	cudaError_t e = contexts_of(dstDevice, srcDevice, &to, &from);

	if (!e && count)
		e = rt_error(rt_driver.cuMemcpyPeer(address_of(dst), to, address_of(src), from, count));
	return rt_done(e);
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
				cudaStream_t stream)
{
	CUcontext to = NULL, from = NULL;
	cudaError_t e = contexts_of(dstDevice, srcDevice, &to, &from);

	if (!e && count)
		e = rt_error(rt_driver.cuMemcpyPeerAsync(address_of(dst), to, address_of(src), from, count, stream));
	return rt_done(e);
}

/* ---- pitched ---- */

static cudaError_t pitched(CUDA_MEMCPY2D *c, void *to, size_t to_pitch, const void *from, size_t from_pitch,
			   size_t width, size_t height, enum cudaMemcpyKind kind)
{
	bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
	bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;

	if ((unsigned)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (width > to_pitch || width > from_pitch)
		return cudaErrorInvalidPitchValue;
	memset(c, 0, sizeof(*c));
	c->dstMemoryType = kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
			   : to_device		     ? CU_MEMORYTYPE_DEVICE
						     : CU_MEMORYTYPE_HOST;
	c->srcMemoryType = kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED
			   : from_device	     ? CU_MEMORYTYPE_DEVICE
						     : CU_MEMORYTYPE_HOST;
	c->dstHost = to;
	c->dstDevice = address_of(to);
	c->dstPitch = to_pitch;
	c->srcHost = from;
	c->srcDevice = address_of(from);
	c->srcPitch = from_pitch;
	c->WidthInBytes = width;
	c->Height = height;
	return rt_ready();
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
			 enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D c;
	cudaError_t e = pitched(&c, dst, dpitch, src, spitch, width, height, kind);

	if (!e && width && height)
		e = rt_error(RT_TWIN(cuMemcpy2DUnaligned_v2, ptds)(&c));
	return rt_done(e);
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
			      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUDA_MEMCPY2D c;
	cudaError_t e = pitched(&c, dst, dpitch, src, spitch, width, height, kind);

	if (!e && width && height)
		e = rt_error(rt_driver.cuMemcpy2DAsync_v2(&c, stream));
	return rt_done(e);
}

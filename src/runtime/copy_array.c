/*
 * copy_array.c: copies of three dimensions and copies that have an array at an end.
 *
 * All of them become the driver's copy of three dimensions. Its positions and widths are bytes; the runtime counts
 * texels at an end that is an array, and bytes at a pointer.
 */
#include "runtime/rt.h"

#include <string.h>

struct end {
	CUarray array; /* NULL: pointer */
	const void *pointer;
	size_t pitch_bytes, height;
	size_t x_bytes, y, z;
};

static CUmemorytype pointer_type(enum cudaMemcpyKind kind, bool is_target)
{
	if (kind == cudaMemcpyDefault)
		return CU_MEMORYTYPE_UNIFIED;
	if (kind == cudaMemcpyDeviceToDevice || kind == (is_target ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost))
		return CU_MEMORYTYPE_DEVICE;
	return CU_MEMORYTYPE_HOST;
}

static void from_end(CUDA_MEMCPY3D *c, const struct end *e, enum cudaMemcpyKind kind)
{
	c->srcMemoryType = e->array ? CU_MEMORYTYPE_ARRAY : pointer_type(kind, false);
	c->srcArray = e->array;
	c->srcHost = e->pointer;
	c->srcDevice = (CUdeviceptr)(uintptr_t)e->pointer;
	c->srcPitch = e->pitch_bytes;
	c->srcHeight = e->height;
	c->srcXInBytes = e->x_bytes;
	c->srcY = e->y;
	c->srcZ = e->z;
}

static void to_end(CUDA_MEMCPY3D *c, const struct end *e, enum cudaMemcpyKind kind)
{
	c->dstMemoryType = e->array ? CU_MEMORYTYPE_ARRAY : pointer_type(kind, true);
	c->dstArray = e->array;
	c->dstHost = (void *)(uintptr_t)e->pointer;
	c->dstDevice = (CUdeviceptr)(uintptr_t)e->pointer;
	c->dstPitch = e->pitch_bytes;
	c->dstHeight = e->height;
	c->dstXInBytes = e->x_bytes;
	c->dstY = e->y;
	c->dstZ = e->z;
}

static cudaError_t copy_make(CUDA_MEMCPY3D *ret, const struct end *to, const struct end *from, struct cudaExtent bytes,
			     enum cudaMemcpyKind kind)
{
	if ((unsigned)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	memset(ret, 0, sizeof(*ret));
	to_end(ret, to, kind);
	from_end(ret, from, kind);
	ret->WidthInBytes = bytes.width;
	ret->Height = bytes.height;
	ret->Depth = bytes.depth;
	return cudaSuccess;
}

static bool nothing(const CUDA_MEMCPY3D *c)
{
	return !c->WidthInBytes || !c->Height || !c->Depth;
}

/* The stream is none for a copy that waits. */
struct when {
	bool async;
	cudaStream_t stream;
};

static cudaError_t run(const CUDA_MEMCPY3D *c, struct when when)
{
	if (nothing(c))
		return cudaSuccess;
	return rt_error(when.async ? rt_driver.cuMemcpy3DAsync_v2(c, when.stream) : RT_TWIN(cuMemcpy3D_v2, ptds)(c));
}

/* ---- three dimensions ---- */

static cudaError_t end_make(struct end *ret, cudaArray_t array, struct cudaPos pos, struct cudaPitchedPtr p,
			    size_t *texel_bytes)
{
	struct rt_array a;
	cudaError_t e;

	*ret = (struct end){ .array = (CUarray)array, .x_bytes = pos.x, .y = pos.y, .z = pos.z };
	if (!array) {
		if (!p.ptr)
			return cudaErrorInvalidValue;
		ret->pointer = p.ptr;
		ret->pitch_bytes = p.pitch;
		ret->height = p.ysize;
		return cudaSuccess;
	}
	if (p.ptr)
		return cudaErrorInvalidValue;
	e = rt_array_get(ret->array, &a);
	if (e)
		return e;
	ret->x_bytes *= a.texel_bytes;
	*texel_bytes = a.texel_bytes;
	return cudaSuccess;
}

cudaError_t rt_copy3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret)
{
	struct cudaExtent bytes;
	size_t texel_bytes = 1;
	struct end to, from;
	cudaError_t e;

	if (!p)
		return cudaErrorInvalidValue;
	e = end_make(&to, p->dstArray, p->dstPos, p->dstPtr, &texel_bytes);
	if (!e)
		e = end_make(&from, p->srcArray, p->srcPos, p->srcPtr, &texel_bytes);
	if (e)
		return e;
	bytes = p->extent;
	if (__builtin_mul_overflow(bytes.width, texel_bytes, &bytes.width))
		return cudaErrorInvalidValue;
	if ((!to.array && bytes.width > to.pitch_bytes) || (!from.array && bytes.width > from.pitch_bytes))
		return cudaErrorInvalidPitchValue;
	return copy_make(ret, &to, &from, bytes, p->kind);
}

static size_t texel_bytes_of(CUarray array)
{
	struct rt_array a;

	return array && !rt_array_get(array, &a) ? a.texel_bytes : 1;
}

void rt_copy3d_tell(const CUDA_MEMCPY3D *c, struct cudaMemcpy3DParms *ret)
{
	CUarray to = c->dstMemoryType == CU_MEMORYTYPE_ARRAY ? c->dstArray : NULL;
	CUarray from = c->srcMemoryType == CU_MEMORYTYPE_ARRAY ? c->srcArray : NULL;
	size_t to_texel = texel_bytes_of(to), from_texel = texel_bytes_of(from);
	bool to_host = c->dstMemoryType == CU_MEMORYTYPE_HOST, from_host = c->srcMemoryType == CU_MEMORYTYPE_HOST;
	bool unified = c->dstMemoryType == CU_MEMORYTYPE_UNIFIED || c->srcMemoryType == CU_MEMORYTYPE_UNIFIED;

	memset(ret, 0, sizeof(*ret));
	ret->dstArray = (cudaArray_t)to;
	ret->srcArray = (cudaArray_t)from;
	ret->dstPos = (struct cudaPos){ c->dstXInBytes / to_texel, c->dstY, c->dstZ };
	ret->srcPos = (struct cudaPos){ c->srcXInBytes / from_texel, c->srcY, c->srcZ };
	if (!to)
		ret->dstPtr = (struct cudaPitchedPtr){ to_host ? c->dstHost : (void *)(uintptr_t)c->dstDevice,
						       c->dstPitch, c->WidthInBytes, c->dstHeight };
	if (!from)
		ret->srcPtr = (struct cudaPitchedPtr){ from_host ? (void *)(uintptr_t)c->srcHost
								 : (void *)(uintptr_t)c->srcDevice,
						       c->srcPitch, c->WidthInBytes, c->srcHeight };
	ret->extent = (struct cudaExtent){ c->WidthInBytes / (to ? to_texel : from_texel), c->Height, c->Depth };
	ret->kind = unified	? cudaMemcpyDefault
		    : from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
				: (to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
}

static cudaError_t copy3d(const struct cudaMemcpy3DParms *p, struct when when)
{
	CUDA_MEMCPY3D c;
	cudaError_t e = rt_ready();

	if (!e)
		e = rt_copy3d(p, &c);
	return rt_done(e ? e : run(&c, when));
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
	return copy3d(p, (struct when){ 0 });
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	return copy3d(p, (struct when){ true, stream });
}

/* The peer form has the fields of the plain one in the same order, with the contexts in between. */
static cudaError_t peer_make(const struct cudaMemcpy3DPeerParms *p, CUDA_MEMCPY3D_PEER *ret)
{
	struct cudaMemcpy3DParms plain;
	CUcontext to = NULL, from = NULL;
	CUDA_MEMCPY3D c;
	cudaError_t e;

	if (!p)
		return cudaErrorInvalidValue;
	e = rt_primary(p->dstDevice, &to);
	if (!e)
		e = rt_primary(p->srcDevice, &from);
	if (e)
		return e;
	plain = (struct cudaMemcpy3DParms){ p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
					    p->dstPos,	 p->dstPtr, p->extent, cudaMemcpyDeviceToDevice };
	e = rt_copy3d(&plain, &c);
	if (e)
		return e;
	*ret = (CUDA_MEMCPY3D_PEER){
		.srcXInBytes = c.srcXInBytes,
		.srcY = c.srcY,
		.srcZ = c.srcZ,
		.srcMemoryType = c.srcMemoryType,
		.srcDevice = c.srcDevice,
		.srcArray = c.srcArray,
		.srcContext = from,
		.srcPitch = c.srcPitch,
		.srcHeight = c.srcHeight,
		.dstXInBytes = c.dstXInBytes,
		.dstY = c.dstY,
		.dstZ = c.dstZ,
		.dstMemoryType = c.dstMemoryType,
		.dstDevice = c.dstDevice,
		.dstArray = c.dstArray,
		.dstContext = to,
		.dstPitch = c.dstPitch,
		.dstHeight = c.dstHeight,
		.WidthInBytes = c.WidthInBytes,
		.Height = c.Height,
		.Depth = c.Depth,
	};
	return cudaSuccess;
}

static cudaError_t copy3d_peer(const struct cudaMemcpy3DPeerParms *p, struct when when)
{
	CUDA_MEMCPY3D_PEER c;
	cudaError_t e = rt_ready();

	if (!e)
		e = peer_make(p, &c);
	if (!e && c.WidthInBytes && c.Height && c.Depth)
		e = rt_error(when.async ? rt_driver.cuMemcpy3DPeerAsync(&c, when.stream)
					: RT_TWIN(cuMemcpy3DPeer, ptds)(&c));
	return rt_done(e);
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
	return copy3d_peer(p, (struct when){ 0 });
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
	return copy3d_peer(p, (struct when){ true, stream });
}

/* ---- two dimensions: widths and offsets in bytes ---- */

static struct end array_end(cudaArray_const_t array, size_t x_bytes, size_t y)
{
	return (struct end){ .array = (CUarray)(uintptr_t)array, .x_bytes = x_bytes, .y = y };
}

static struct end pointer_end(const void *p, size_t pitch_bytes)
{
	return (struct end){ .pointer = p, .pitch_bytes = pitch_bytes };
}

static cudaError_t copy2d(struct end to, struct end from, size_t width, size_t height, enum cudaMemcpyKind kind,
			  struct when when)
{
	CUDA_MEMCPY3D c;
	cudaError_t e = rt_ready();

	if (!e && ((!to.array && !to.pointer) || (!from.array && !from.pointer)))
		e = width && height ? cudaErrorInvalidValue : cudaSuccess;
	if (!e && height > 1 && ((to.pointer && width > to.pitch_bytes) || (from.pointer && width > from.pitch_bytes)))
		e = cudaErrorInvalidPitchValue;
	if (!e)
		e = copy_make(&c, &to, &from, (struct cudaExtent){ width, height, 1 }, kind);
	return e ? e : run(&c, when);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
				size_t width, size_t height, enum cudaMemcpyKind kind)
{
	return rt_done(copy2d(array_end(dst, wOffset, hOffset), pointer_end(src, spitch), width, height, kind,
			      (struct when){ 0 }));
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
				     size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return rt_done(copy2d(array_end(dst, wOffset, hOffset), pointer_end(src, spitch), width, height, kind,
			      (struct when){ true, stream }));
}

cudaError_t cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
				  size_t width, size_t height, enum cudaMemcpyKind kind)
{
	return rt_done(copy2d(pointer_end(dst, dpitch), array_end(src, wOffset, hOffset), width, height, kind,
			      (struct when){ 0 }));
}

cudaError_t cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
				       size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return rt_done(copy2d(pointer_end(dst, dpitch), array_end(src, wOffset, hOffset), width, height, kind,
			      (struct when){ true, stream }));
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
				     size_t wOffsetSrc, size_t hOffsetSrc, size_t width, size_t height,
				     enum cudaMemcpyKind kind)
{
	return rt_done(copy2d(array_end(dst, wOffsetDst, hOffsetDst), array_end(src, wOffsetSrc, hOffsetSrc), width,
			      height, kind, (struct when){ 0 }));
}

/* ---- bytes that go on in an array's next row when one is full ---- */

static cudaError_t row_bytes(const struct end *e, size_t *ret)
{
	struct rt_array a;
	cudaError_t r;

	*ret = SIZE_MAX;
	if (!e->array)
		return e->pointer ? cudaSuccess : cudaErrorInvalidValue;
	r = rt_array_get(e->array, &a);
	if (r)
		return r;
	*ret = a.width_bytes;
	return e->x_bytes < a.width_bytes ? cudaSuccess : cudaErrorInvalidValue;
}

static void end_advance(struct end *e, size_t bytes, size_t row)
{
	if (!e->array) {
		e->pointer = (const char *)e->pointer + bytes;
		return;
	}
	e->x_bytes += bytes;
	if (e->x_bytes == row) {
		e->x_bytes = 0;
		e->y++;
	}
}

static size_t room_in_row(const struct end *e, size_t row)
{
	return e->array ? row - e->x_bytes : SIZE_MAX;
}

static cudaError_t copy_flowing(struct end to, struct end from, size_t count, enum cudaMemcpyKind kind,
				struct when when)
{
	size_t to_row, from_row, n;
	cudaError_t e = rt_ready();

	if (!e)
		e = row_bytes(&to, &to_row);
	if (!e)
		e = row_bytes(&from, &from_row);
	for (; !e && count; count -= n) {
		n = count;
		if (n > room_in_row(&to, to_row))
			n = room_in_row(&to, to_row);
		if (n > room_in_row(&from, from_row))
			n = room_in_row(&from, from_row);
		e = copy2d(to, from, n, 1, kind, when);
		end_advance(&to, n, to_row);
		end_advance(&from, n, from_row);
	}
	return rt_done(e);
}

cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count,
			      enum cudaMemcpyKind kind)
{
	return copy_flowing(array_end(dst, wOffset, hOffset), pointer_end(src, 0), count, kind, (struct when){ 0 });
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count,
				   enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_flowing(array_end(dst, wOffset, hOffset), pointer_end(src, 0), count, kind,
			    (struct when){ true, stream });
}

cudaError_t cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count,
				enum cudaMemcpyKind kind)
{
	return copy_flowing(pointer_end(dst, 0), array_end(src, wOffset, hOffset), count, kind, (struct when){ 0 });
}

cudaError_t cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count,
				     enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_flowing(pointer_end(dst, 0), array_end(src, wOffset, hOffset), count, kind,
			    (struct when){ true, stream });
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
				   size_t wOffsetSrc, size_t hOffsetSrc, size_t count, enum cudaMemcpyKind kind)
{
	return copy_flowing(array_end(dst, wOffsetDst, hOffsetDst), array_end(src, wOffsetSrc, hOffsetSrc), count, kind,
			    (struct when){ 0 });
}

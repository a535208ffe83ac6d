/* copies.c: the calls that copy or fill memory, each as what it comes down to: see copy.h. */
#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/captures.h"
#include "remote/client/copy.h"
#include "remote/client/parked.h"
#include "remote/client/ranges.h"
#include "remote/client/unified.h"
#include "remote/copy.h"

#include <string.h>

#define HOST CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE
#define UNIFIED CU_MEMORYTYPE_UNIFIED

static CUresult copy_line(CUmemorytype to_type, uint64_t to, CUmemorytype from_type, uint64_t from, size_t bytes,
			  CUstream stream, bool async)
{
	const struct copy k = { .from = { .type = from_type, .address = from },
				.to = { .type = to_type, .address = to },
				.width = bytes,
				.height = 1,
				.depth = 1,
				.stream = stream,
				.async = async };

	return copy_run(&k);
}

AT_ONCE(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount), copy_line, UNIFIED, dst, UNIFIED, src,
	ByteCount)
AT_ONCE(cuMemcpyHtoD_v2, (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount), copy_line, DEVICE, dstDevice,
	HOST, ADDRESS(srcHost), ByteCount)
AT_ONCE(cuMemcpyDtoH_v2, (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount), copy_line, HOST, ADDRESS(dstHost),
	DEVICE, srcDevice, ByteCount)
AT_ONCE(cuMemcpyDtoD_v2, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount), copy_line, DEVICE, dstDevice,
	DEVICE, srcDevice, ByteCount)

CUresult client_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
	return copy_line(UNIFIED, dst, UNIFIED, src, ByteCount, hStream, true);
}

CUresult client_cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream)
{
	return copy_line(DEVICE, dstDevice, HOST, ADDRESS(srcHost), ByteCount, hStream, true);
}

CUresult client_cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
	return copy_line(HOST, ADDRESS(dstHost), DEVICE, srcDevice, ByteCount, hStream, true);
}

CUresult client_cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
	return copy_line(DEVICE, dstDevice, DEVICE, srcDevice, ByteCount, hStream, true);
}

/* ---- peers ---- */

/* What is queued in a context comes first, as with the driver. */
static CUresult peers_settle(CUcontext a, CUcontext b)
{
	CUresult r = captures_unsafe();

	if (r == CUDA_SUCCESS)
		r = client_cuCtxSynchronize_v2(a);
	if (r == CUDA_SUCCESS && b != a)
		r = client_cuCtxSynchronize_v2(b);
	return r;
}

static CUresult peers_check(CUcontext a, CUcontext b)
{
	CUdevice device;
	CUresult r = client_cuCtxGetDevice_v2(&device, a);

	return r != CUDA_SUCCESS ? r : client_cuCtxGetDevice_v2(&device, b);
}

static CUresult copy_peers(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
			   CUstream stream, bool async)
{
	CUresult r = async ? peers_check(to_context, from_context) : peers_settle(to_context, from_context);

	if (r == CUDA_SUCCESS)
		r = copy_line(DEVICE, to, DEVICE, from, bytes, stream, async);
	/* The other device's streams do not wait for ours. */
	return r == CUDA_SUCCESS && !async ? client_cuStreamSynchronize(stream) : r;
}

AT_ONCE(cuMemcpyPeer,
	(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount),
	copy_peers, dstDevice, dstContext, srcDevice, srcContext, ByteCount)

CUresult client_cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
				  CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
	return copy_peers(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, true);
}

/* ---- boxes ---- */

static CUresult copy_plane(const CUDA_MEMCPY2D *d, CUstream stream, bool async)
{
	struct copy k = { .height = 1, .depth = 1, .stream = stream, .async = async };

	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	k.from = (struct copy_end){ .type = d->srcMemoryType,
				    .address = d->srcMemoryType == HOST ? ADDRESS(d->srcHost) : d->srcDevice,
				    .array = d->srcArray,
				    .x = d->srcXInBytes,
				    .y = d->srcY,
				    .pitch = d->srcPitch };
	k.to = (struct copy_end){ .type = d->dstMemoryType,
				  .address = d->dstMemoryType == HOST ? ADDRESS(d->dstHost) : d->dstDevice,
				  .array = d->dstArray,
				  .x = d->dstXInBytes,
				  .y = d->dstY,
				  .pitch = d->dstPitch };
	k.width = d->WidthInBytes;
	k.height = d->Height;
	return copy_run(&k);
}

/* The fields that CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER share. */
#define BOX_OF(d, k)                                                                                                   \
	do {                                                                                                           \
		(k).from = (struct copy_end){ .type = (d)->srcMemoryType,                                              \
					      .address = (d)->srcMemoryType == HOST ? ADDRESS((d)->srcHost)            \
										    : (d)->srcDevice,                  \
					      .array = (d)->srcArray,                                                  \
					      .x = (d)->srcXInBytes,                                                   \
					      .y = (d)->srcY,                                                          \
					      .z = (d)->srcZ,                                                          \
					      .lod = (d)->srcLOD,                                                      \
					      .pitch = (d)->srcPitch,                                                  \
					      .height = (d)->srcHeight };                                              \
		(k).to = (struct copy_end){ .type = (d)->dstMemoryType,                                                \
					    .address = (d)->dstMemoryType == HOST ? ADDRESS((d)->dstHost)              \
										  : (d)->dstDevice,                    \
					    .array = (d)->dstArray,                                                    \
					    .x = (d)->dstXInBytes,                                                     \
					    .y = (d)->dstY,                                                            \
					    .z = (d)->dstZ,                                                            \
					    .lod = (d)->dstLOD,                                                        \
					    .pitch = (d)->dstPitch,                                                    \
					    .height = (d)->dstHeight };                                                \
		(k).width = (d)->WidthInBytes;                                                                         \
		(k).height = (d)->Height;                                                                              \
		(k).depth = (d)->Depth;                                                                                \
	} while (0)

static CUresult copy_box(const CUDA_MEMCPY3D *d, CUstream stream, bool async)
{
	struct copy k = { .stream = stream, .async = async };

	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	BOX_OF(d, k);
	return copy_run(&k);
}

static CUresult copy_box_peers(const CUDA_MEMCPY3D_PEER *d, CUstream stream, bool async)
{
	struct copy k = { .stream = stream, .async = async };
	CUresult r;

	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	r = async ? peers_check(d->srcContext, d->dstContext) : peers_settle(d->srcContext, d->dstContext);
	if (r != CUDA_SUCCESS)
		return r;
	BOX_OF(d, k);
	r = copy_run(&k);
	return r == CUDA_SUCCESS && !async ? client_cuStreamSynchronize(stream) : r;
}

AT_ONCE(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *pCopy), copy_plane, pCopy)
AT_ONCE(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *pCopy), copy_plane, pCopy)
AT_ONCE(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *pCopy), copy_box, pCopy)
AT_ONCE(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *pCopy), copy_box_peers, pCopy)

CUresult client_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
	return copy_plane(pCopy, hStream, true);
}

CUresult client_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
	return copy_box(pCopy, hStream, true);
}

CUresult client_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
	return copy_box_peers(pCopy, hStream, true);
}

/* ---- fills ---- */

/* Memory of the program's that the driver would reach, and the worker does not. */
static CUresult fill_here(const struct fill_request *q, CUdeviceptr at, CUstream stream)
{
	CUresult e = client_cuStreamSynchronize(stream);

	for (uint64_t y = 0; e == CUDA_SUCCESS && y < q->height; y++)
		for (uint64_t x = 0; x < q->width; x++)
			memcpy((uint8_t *)(uintptr_t)at + y * q->pitch + x * q->element, &q->value, q->element);
	return e;
}

static CUresult fill(CUdeviceptr at, size_t pitch, uint32_t value, uint32_t element, size_t width, size_t height,
		     CUstream stream, bool async)
{
	struct fill_request q = {
		.at = at, .pitch = pitch, .width = width, .height = height, .value = value, .element = element
	};
	uint64_t row, bytes = 0;
	struct client_call c;
	struct range r;
	bool known = false, waits;

	client_request(&c, CALL_FILL);
	q.stream = client_use_stream(&c, stream);
	if (c.result == CUDA_SUCCESS && !c.session)
		client_use_current(&c);
	if (c.result == CUDA_SUCCESS && (at % element || __builtin_mul_overflow(width, (uint64_t)element, &row) ||
					 (height > 1 && (pitch < row || pitch % element)) ||
					 (height && __builtin_mul_overflow(pitch, height - 1, &bytes)) ||
					 __builtin_add_overflow(bytes, row, &bytes)))
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result != CUDA_SUCCESS || !width || !height)
		return client_end(&c);
	if (!at || (ranges_find(at, &r) && !ranges_cover(at, bytes, &r) && r.kind != RANGE_MAPPED))
		c.result = CUDA_ERROR_INVALID_VALUE;
	else
		known = ranges_cover(at, bytes, &r);
	if (known && r.kind == RANGE_HOST)
		q.at = r.other + (at - r.begin);
	if (known && r.session != c.session) {
		if (q.stream != ID_STREAM_LEGACY && q.stream != ID_STREAM_PER_THREAD && c.result == CUDA_SUCCESS)
			c.result = CUDA_ERROR_INVALID_HANDLE;
		c.session = r.session;
		c.context = r.context;
	}
	if (known && c.result == CUDA_SUCCESS &&
	    (r.kind == RANGE_REGISTERED || (r.kind == RANGE_HOST && !r.session->coherent))) {
		client_end(&c);
		return fill_here(&q, at, stream);
	}
	if (!known)
		parked_doubt(at);
	if (c.result == CUDA_SUCCESS && unified_any(c.session))
		unified_begin(c.session, stream);
	waits = !async && ((known && r.kind == RANGE_HOST) || unified_touches(at, bytes));
	if (client_begin(&c, !known || range_closed(&r))) {
		remote_put(&c.out, &q, sizeof q);
		client_send(&c);
	}
	c.result = client_end(&c);
	return waits && c.result == CUDA_SUCCESS ? client_cuStreamSynchronize(stream) : c.result;
}

/* What waits for memory that the program reads itself. */
AT_ONCE(cuMemsetD8_v2, (CUdeviceptr dstDevice, unsigned char uc, size_t N), fill, dstDevice, 0, uc, 1, N, 1)
AT_ONCE(cuMemsetD16_v2, (CUdeviceptr dstDevice, unsigned short us, size_t N), fill, dstDevice, 0, us, 2, N, 1)
AT_ONCE(cuMemsetD32_v2, (CUdeviceptr dstDevice, unsigned int ui, size_t N), fill, dstDevice, 0, ui, 4, N, 1)
AT_ONCE(cuMemsetD2D8_v2, (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height), fill,
	dstDevice, dstPitch, uc, 1, Width, Height)
AT_ONCE(cuMemsetD2D16_v2, (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height),
	fill, dstDevice, dstPitch, us, 2, Width, Height)
AT_ONCE(cuMemsetD2D32_v2, (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height), fill,
	dstDevice, dstPitch, ui, 4, Width, Height)

CUresult client_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
	return fill(dstDevice, 0, uc, 1, N, 1, hStream, true);
}

CUresult client_cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
{
	return fill(dstDevice, 0, us, 2, N, 1, hStream, true);
}

CUresult client_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
	return fill(dstDevice, 0, ui, 4, N, 1, hStream, true);
}

CUresult client_cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height,
				  CUstream hStream)
{
	return fill(dstDevice, dstPitch, uc, 1, Width, Height, hStream, true);
}

CUresult client_cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
				   size_t Height, CUstream hStream)
{
	return fill(dstDevice, dstPitch, us, 2, Width, Height, hStream, true);
}

CUresult client_cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height,
				   CUstream hStream)
{
	return fill(dstDevice, dstPitch, ui, 4, Width, Height, hStream, true);
}

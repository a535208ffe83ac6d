/*
 * texture.c: texture and surface objects.
 *
 * The two APIs describe them alike in different words: channels instead of formats, fields instead of flags. Handles
 * are the driver's own.
 */
#include "runtime/rt.h"

#include <stddef.h>
#include <string.h>

/* The runtime's view is the driver's, before 13 without its reserved words. */
#define VIEW_BYTES sizeof(struct cudaResourceViewDesc)
_Static_assert(VIEW_BYTES <= sizeof(CUDA_RESOURCE_VIEW_DESC) &&
		       offsetof(struct cudaResourceViewDesc, lastLayer) == offsetof(CUDA_RESOURCE_VIEW_DESC, lastLayer),
	       "views are described alike");

/* ---- resources ---- */

static cudaError_t resource_make(const struct cudaResourceDesc *d, CUDA_RESOURCE_DESC *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->resType = (CUresourcetype)d->resType;
	switch (d->resType) {
	case cudaResourceTypeArray:
		ret->res.array.hArray = (CUarray)d->res.array.array;
		return cudaSuccess;
	case cudaResourceTypeMipmappedArray:
		ret->res.mipmap.hMipmappedArray = (CUmipmappedArray)d->res.mipmap.mipmap;
		return cudaSuccess;
	case cudaResourceTypeLinear:
		ret->res.linear.devPtr = (CUdeviceptr)(uintptr_t)d->res.linear.devPtr;
		ret->res.linear.sizeInBytes = d->res.linear.sizeInBytes;
		return rt_channel_format(&d->res.linear.desc, &ret->res.linear.format, &ret->res.linear.numChannels);
	case cudaResourceTypePitch2D:
		ret->res.pitch2D.devPtr = (CUdeviceptr)(uintptr_t)d->res.pitch2D.devPtr;
		ret->res.pitch2D.width = d->res.pitch2D.width;
		ret->res.pitch2D.height = d->res.pitch2D.height;
		ret->res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
		return rt_channel_format(&d->res.pitch2D.desc, &ret->res.pitch2D.format, &ret->res.pitch2D.numChannels);
	default:
		return cudaErrorInvalidValue;
	}
}

static cudaError_t resource_tell(const CUDA_RESOURCE_DESC *d, struct cudaResourceDesc *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->resType = (enum cudaResourceType)d->resType;
	switch (d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		ret->res.array.array = (cudaArray_t)d->res.array.hArray;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		ret->res.mipmap.mipmap = (cudaMipmappedArray_t)d->res.mipmap.hMipmappedArray;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_LINEAR:
		ret->res.linear.devPtr = (void *)(uintptr_t)d->res.linear.devPtr;
		ret->res.linear.sizeInBytes = d->res.linear.sizeInBytes;
		return rt_channel_desc(d->res.linear.format, d->res.linear.numChannels, &ret->res.linear.desc);
	case CU_RESOURCE_TYPE_PITCH2D:
		ret->res.pitch2D.devPtr = (void *)(uintptr_t)d->res.pitch2D.devPtr;
		ret->res.pitch2D.width = d->res.pitch2D.width;
		ret->res.pitch2D.height = d->res.pitch2D.height;
		ret->res.pitch2D.pitchInBytes = d->res.pitch2D.pitchInBytes;
		return rt_channel_desc(d->res.pitch2D.format, d->res.pitch2D.numChannels, &ret->res.pitch2D.desc);
	default:
		return cudaErrorUnknown;
	}
}

/* The format that is read; a context is current. */
static cudaError_t format_of(const CUDA_RESOURCE_DESC *d, CUarray_format *ret)
{
	CUarray array = d->res.array.hArray;
	struct rt_array a;
	cudaError_t e = cudaSuccess;

	if (d->resType == CU_RESOURCE_TYPE_LINEAR) {
		*ret = d->res.linear.format;
		return cudaSuccess;
	}
	if (d->resType == CU_RESOURCE_TYPE_PITCH2D) {
		*ret = d->res.pitch2D.format;
		return cudaSuccess;
	}
	if (d->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
		e = rt_error(rt_driver.cuMipmappedArrayGetLevel(&array, d->res.mipmap.hMipmappedArray, 0));
	if (!e)
		e = rt_array_get(array, &a);
	if (!e)
		*ret = a.desc.Format;
	return e;
}

static bool is_integer(CUarray_format f)
{
	return f == CU_AD_FORMAT_UNSIGNED_INT8 || f == CU_AD_FORMAT_UNSIGNED_INT16 ||
	       f == CU_AD_FORMAT_UNSIGNED_INT32 || f == CU_AD_FORMAT_SIGNED_INT8 || f == CU_AD_FORMAT_SIGNED_INT16 ||
	       f == CU_AD_FORMAT_SIGNED_INT32;
}

/* ---- sampling ---- */

static void texture_make(const struct cudaTextureDesc *d, CUarray_format format, CUDA_TEXTURE_DESC *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < 3; i++)
		ret->addressMode[i] = (CUaddress_mode)d->addressMode[i];
	ret->filterMode = (CUfilter_mode)d->filterMode;
	if (d->readMode == cudaReadModeElementType && is_integer(format))
		ret->flags |= CU_TRSF_READ_AS_INTEGER;
	if (d->normalizedCoords)
		ret->flags |= CU_TRSF_NORMALIZED_COORDINATES;
	if (d->sRGB)
		ret->flags |= CU_TRSF_SRGB;
	if (d->disableTrilinearOptimization)
		ret->flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
#if CUDART_MAJOR >= 12
	if (d->seamlessCubemap)
		ret->flags |= CU_TRSF_SEAMLESS_CUBEMAP;
#endif
	ret->maxAnisotropy = d->maxAnisotropy;
	ret->mipmapFilterMode = (CUfilter_mode)d->mipmapFilterMode;
	ret->mipmapLevelBias = d->mipmapLevelBias;
	ret->minMipmapLevelClamp = d->minMipmapLevelClamp;
	ret->maxMipmapLevelClamp = d->maxMipmapLevelClamp;
	memcpy(ret->borderColor, d->borderColor, sizeof(ret->borderColor));
}

static void texture_tell(const CUDA_TEXTURE_DESC *d, CUarray_format format, struct cudaTextureDesc *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < 3; i++)
		ret->addressMode[i] = (enum cudaTextureAddressMode)d->addressMode[i];
	ret->filterMode = (enum cudaTextureFilterMode)d->filterMode;
	ret->readMode = is_integer(format) && !(d->flags & CU_TRSF_READ_AS_INTEGER) ? cudaReadModeNormalizedFloat
										    : cudaReadModeElementType;
	ret->normalizedCoords = !!(d->flags & CU_TRSF_NORMALIZED_COORDINATES);
	ret->sRGB = !!(d->flags & CU_TRSF_SRGB);
	ret->disableTrilinearOptimization = !!(d->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
#if CUDART_MAJOR >= 12
	ret->seamlessCubemap = !!(d->flags & CU_TRSF_SEAMLESS_CUBEMAP);
#endif
	ret->maxAnisotropy = d->maxAnisotropy;
	ret->mipmapFilterMode = (enum cudaTextureFilterMode)d->mipmapFilterMode;
	ret->mipmapLevelBias = d->mipmapLevelBias;
	ret->minMipmapLevelClamp = d->minMipmapLevelClamp;
	ret->maxMipmapLevelClamp = d->maxMipmapLevelClamp;
	memcpy(ret->borderColor, d->borderColor, sizeof(ret->borderColor));
}

/* A 32-bit integer has no float that it could be read as; a filter needs floats. */
static cudaError_t sampling_good(const struct cudaTextureDesc *d, CUarray_format format)
{
	bool normalized = d->readMode == cudaReadModeNormalizedFloat;

	if (normalized && (format == CU_AD_FORMAT_UNSIGNED_INT32 || format == CU_AD_FORMAT_SIGNED_INT32))
		return cudaErrorInvalidNormSetting;
	if (!normalized && is_integer(format) && d->filterMode == cudaFilterModeLinear)
		return cudaErrorInvalidFilterSetting;
	return cudaSuccess;
}

/* ---- texture objects ---- */

static cudaError_t texture_create(cudaTextureObject_t *ret, const struct cudaResourceDesc *resource,
				  const struct cudaTextureDesc *sampling, const struct cudaResourceViewDesc *view)
{
	CUDA_RESOURCE_DESC r;
	CUDA_TEXTURE_DESC t;
	CUDA_RESOURCE_VIEW_DESC v = { 0 };
	CUarray_format format = 0;
	CUtexObject object = 0;
	cudaError_t e = ret && resource && sampling ? rt_ready() : cudaErrorInvalidValue;

	if (!e)
		e = resource_make(resource, &r);
	if (!e)
		e = format_of(&r, &format);
	if (!e)
		e = sampling_good(sampling, format);
	if (e)
		return e;
	texture_make(sampling, format, &t);
	if (view)
		memcpy(&v, view, VIEW_BYTES);
	e = rt_error(rt_driver.cuTexObjectCreate(&object, &r, &t, view ? &v : NULL));
	if (!e)
		*ret = object;
	return e;
}

static cudaError_t texture_describe(cudaTextureObject_t object, struct cudaTextureDesc *ret)
{
	CUDA_RESOURCE_DESC r;
	CUDA_TEXTURE_DESC t;
	CUarray_format format = 0;
	cudaError_t e = ret ? RT_TRY(cuTexObjectGetResourceDesc, &r, object) : cudaErrorInvalidValue;

	if (!e)
		e = format_of(&r, &format);
	if (!e)
		e = rt_error(rt_driver.cuTexObjectGetTextureDesc(&t, object));
	if (!e)
		texture_tell(&t, format, ret);
	return e;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *pTexObject, const struct cudaResourceDesc *pResDesc,
				    const struct cudaTextureDesc *pTexDesc,
				    const struct cudaResourceViewDesc *pResViewDesc)
{
	return rt_done(texture_create(pTexObject, pResDesc, pTexDesc, pResViewDesc));
}

cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc, cudaTextureObject_t texObject)
{
	return rt_done(texture_describe(texObject, pTexDesc));
}

#if CUDART_MAJOR == 11
/* The second form has one field more, at its end. */
cudaError_t cudaCreateTextureObject_v2(cudaTextureObject_t *pTexObject, const struct cudaResourceDesc *pResDesc,
				       const struct cudaTextureDesc_v2 *pTexDesc,
				       const struct cudaResourceViewDesc *pResViewDesc)
{
	struct cudaTextureDesc d;

	if (!pTexDesc)
		return rt_done(cudaErrorInvalidValue);
	memcpy(&d, pTexDesc, sizeof(d));
	return rt_done(texture_create(pTexObject, pResDesc, &d, pResViewDesc));
}

cudaError_t cudaGetTextureObjectTextureDesc_v2(struct cudaTextureDesc_v2 *pTexDesc, cudaTextureObject_t texObject)
{
	struct cudaTextureDesc d;
	cudaError_t e = pTexDesc ? texture_describe(texObject, &d) : cudaErrorInvalidValue;

	if (!e) {
		memset(pTexDesc, 0, sizeof(*pTexDesc));
		memcpy(pTexDesc, &d, sizeof(d));
	}
	return rt_done(e);
}
#endif

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texObject)
{
	cudaError_t e = rt_ready();

	return rt_done(e || !texObject ? e : rt_error(rt_driver.cuTexObjectDestroy(texObject)));
}

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc, cudaTextureObject_t texObject)
{
	CUDA_RESOURCE_DESC r;
	cudaError_t e = pResDesc ? RT_TRY(cuTexObjectGetResourceDesc, &r, texObject) : cudaErrorInvalidValue;

	return rt_done(e ? e : resource_tell(&r, pResDesc));
}

cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *pResViewDesc,
						 cudaTextureObject_t texObject)
{
	CUDA_RESOURCE_VIEW_DESC v;
	cudaError_t e = pResViewDesc ? RT_TRY(cuTexObjectGetResourceViewDesc, &v, texObject) : cudaErrorInvalidValue;

	if (!e)
		memcpy(pResViewDesc, &v, VIEW_BYTES);
	return rt_done(e);
}

/* ---- surface objects ---- */

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject, const struct cudaResourceDesc *pResDesc)
{
	CUDA_RESOURCE_DESC r;
	CUsurfObject object = 0;
	cudaError_t e = pSurfObject && pResDesc ? rt_ready() : cudaErrorInvalidValue;

	if (!e)
		e = resource_make(pResDesc, &r);
	if (!e)
		e = rt_error(rt_driver.cuSurfObjectCreate(&object, &r));
	if (!e)
		*pSurfObject = object;
	return rt_done(e);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject)
{
	cudaError_t e = rt_ready();

	return rt_done(e || !surfObject ? e : rt_error(rt_driver.cuSurfObjectDestroy(surfObject)));
}

cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc, cudaSurfaceObject_t surfObject)
{
	CUDA_RESOURCE_DESC r;
	cudaError_t e = pResDesc ? RT_TRY(cuSurfObjectGetResourceDesc, &r, surfObject) : cudaErrorInvalidValue;

	return rt_done(e ? e : resource_tell(&r, pResDesc));
}

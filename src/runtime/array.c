/* array.c: arrays and mipmapped arrays: making, freeing, asking. */
#include "runtime/rt.h"

#include <string.h>

_Static_assert(cudaArrayLayered == CUDA_ARRAY3D_LAYERED && cudaArraySurfaceLoadStore == CUDA_ARRAY3D_SURFACE_LDST &&
		       cudaArrayCubemap == CUDA_ARRAY3D_CUBEMAP &&
		       cudaArrayTextureGather == CUDA_ARRAY3D_TEXTURE_GATHER,
	       "flags of arrays");
_Static_assert(sizeof(struct cudaArrayMemoryRequirements) == sizeof(CUDA_ARRAY_MEMORY_REQUIREMENTS) &&
		       sizeof(struct cudaArraySparseProperties) == sizeof(CUDA_ARRAY_SPARSE_PROPERTIES),
	       "answers about arrays");

static cudaError_t describe(const struct cudaChannelFormatDesc *desc, struct cudaExtent x, unsigned flags,
			    CUDA_ARRAY3D_DESCRIPTOR *ret)
{
	*ret = (CUDA_ARRAY3D_DESCRIPTOR){ .Width = x.width, .Height = x.height, .Depth = x.depth, .Flags = flags };
	return rt_channel_format(desc, &ret->Format, &ret->NumChannels);
}

static cudaError_t array_make(cudaArray_t *ret, const struct cudaChannelFormatDesc *desc, struct cudaExtent x,
			      unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUarray a = NULL;
	cudaError_t e = ret && desc ? rt_ready() : cudaErrorInvalidValue;

	if (!e)
		e = describe(desc, x, flags, &d);
	if (!e)
		e = rt_error(rt_driver.cuArray3DCreate_v2(&a, &d));
	if (!e)
		*ret = (cudaArray_t)a;
	return rt_done(e);
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
			    unsigned int flags)
{
	return array_make(array, desc, (struct cudaExtent){ width, height, 0 }, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
			      unsigned int flags)
{
	return array_make(array, desc, extent, flags);
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
	cudaError_t e = rt_ready();

	return rt_done(e || !array ? e : rt_error(rt_driver.cuArrayDestroy((CUarray)array)));
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray, const struct cudaChannelFormatDesc *desc,
				     struct cudaExtent extent, unsigned int numLevels, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUmipmappedArray a = NULL;
	cudaError_t e = mipmappedArray && desc ? rt_ready() : cudaErrorInvalidValue;

	if (!e)
		e = describe(desc, extent, flags, &d);
	if (!e)
		e = rt_error(rt_driver.cuMipmappedArrayCreate(&a, &d, numLevels));
	if (!e)
		*mipmappedArray = (cudaMipmappedArray_t)a;
	return rt_done(e);
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
	cudaError_t e = rt_ready();

	if (!e && mipmappedArray)
		e = rt_error(rt_driver.cuMipmappedArrayDestroy((CUmipmappedArray)mipmappedArray));
	return rt_done(e);
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *levelArray, cudaMipmappedArray_const_t mipmappedArray,
				       unsigned int level)
{
	CUarray a = NULL;
	cudaError_t e = levelArray ? RT_TRY(cuMipmappedArrayGetLevel, &a, (CUmipmappedArray)mipmappedArray, level)
				   : cudaErrorInvalidValue;

	if (!e)
		*levelArray = (cudaArray_t)a;
	return rt_done(e);
}

/* ---- asking ---- */

cudaError_t rt_array_get(CUarray array, struct rt_array *ret)
{
	cudaError_t e = array ? rt_error(rt_driver.cuArray3DGetDescriptor_v2(&ret->desc, array))
			      : cudaErrorInvalidResourceHandle;

	if (e)
		return e;
	ret->texel_bytes = rt_channel_bytes(ret->desc.Format, ret->desc.NumChannels);
	ret->width_bytes = ret->desc.Width * ret->texel_bytes;
	return ret->texel_bytes ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned int *flags,
			     cudaArray_t array)
{
	struct rt_array a;
	cudaError_t e = rt_ready();

	if (!e)
		e = rt_array_get((CUarray)array, &a);
	if (!e && desc)
		e = rt_channel_desc(a.desc.Format, a.desc.NumChannels, desc);
	if (e)
		return rt_done(e);
	if (extent)
		*extent = (struct cudaExtent){ a.desc.Width, a.desc.Height, a.desc.Depth };
	if (flags)
		*flags = a.desc.Flags;
	return rt_done(cudaSuccess);
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
	struct rt_array a;
	cudaError_t e = desc ? rt_ready() : cudaErrorInvalidValue;

	if (!e)
		e = rt_array_get((CUarray)array, &a);
	return rt_done(e ? e : rt_channel_desc(a.desc.Format, a.desc.NumChannels, desc));
}

cudaError_t cudaArrayGetPlane(cudaArray_t *pPlaneArray, cudaArray_t hArray, unsigned int planeIdx)
{
	return RT_CALL(cuArrayGetPlane, (CUarray *)pPlaneArray, (CUarray)hArray, planeIdx);
}

cudaError_t cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *memoryRequirements, cudaArray_t array,
					   int device)
{
	cudaError_t e = rt_device_good(device);

	return rt_done(e ? e
			 : rt_error(rt_driver.cuArrayGetMemoryRequirements(
				   (CUDA_ARRAY_MEMORY_REQUIREMENTS *)memoryRequirements, (CUarray)array, device)));
}

cudaError_t cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *memoryRequirements,
						    cudaMipmappedArray_t mipmap, int device)
{
	cudaError_t e = rt_device_good(device);

	return rt_done(
		e ? e
		  : rt_error(rt_driver.cuMipmappedArrayGetMemoryRequirements(
			    (CUDA_ARRAY_MEMORY_REQUIREMENTS *)memoryRequirements, (CUmipmappedArray)mipmap, device)));
}

cudaError_t cudaArrayGetSparseProperties(struct cudaArraySparseProperties *sparseProperties, cudaArray_t array)
{
	return RT_CALL(cuArrayGetSparseProperties, (CUDA_ARRAY_SPARSE_PROPERTIES *)sparseProperties, (CUarray)array);
}

cudaError_t cudaMipmappedArrayGetSparseProperties(struct cudaArraySparseProperties *sparseProperties,
						  cudaMipmappedArray_t mipmap)
{
	return RT_CALL(cuMipmappedArrayGetSparseProperties, (CUDA_ARRAY_SPARSE_PROPERTIES *)sparseProperties,
		       (CUmipmappedArray)mipmap);
}

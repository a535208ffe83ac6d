/*
 * props.c: cudaGetDeviceProperties, in the layout of each version: one list of fields and the driver's attributes
 * behind them.
 *
 * A version's own fields are between its conditions. An attribute that a driver does not know leaves its field zero.
 */
#include "runtime/rt.h"

#include <stddef.h>
#include <string.h>

#define A(name) CU_DEVICE_ATTRIBUTE_##name

struct field {
	unsigned short offset;
	unsigned char bytes; /* 4 or 8 */
	CUdevice_attribute attribute;
};

/* clang-format off */
#define F(type, member, attribute) { offsetof(type, member), sizeof(((type *)0)->member), A(attribute) }

/* What every version has. */
#define COMMON(T) \
	F(T, sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK), \
	F(T, regsPerBlock, MAX_REGISTERS_PER_BLOCK), \
	F(T, warpSize, WARP_SIZE), \
	F(T, memPitch, MAX_PITCH), \
	F(T, maxThreadsPerBlock, MAX_THREADS_PER_BLOCK), \
	F(T, maxThreadsDim[0], MAX_BLOCK_DIM_X), \
	F(T, maxThreadsDim[1], MAX_BLOCK_DIM_Y), \
	F(T, maxThreadsDim[2], MAX_BLOCK_DIM_Z), \
	F(T, maxGridSize[0], MAX_GRID_DIM_X), \
	F(T, maxGridSize[1], MAX_GRID_DIM_Y), \
	F(T, maxGridSize[2], MAX_GRID_DIM_Z), \
	F(T, totalConstMem, TOTAL_CONSTANT_MEMORY), \
	F(T, major, COMPUTE_CAPABILITY_MAJOR), \
	F(T, minor, COMPUTE_CAPABILITY_MINOR), \
	F(T, textureAlignment, TEXTURE_ALIGNMENT), \
	F(T, texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT), \
	F(T, multiProcessorCount, MULTIPROCESSOR_COUNT), \
	F(T, integrated, INTEGRATED), \
	F(T, canMapHostMemory, CAN_MAP_HOST_MEMORY), \
	F(T, maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH), \
	F(T, maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH), \
	F(T, maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH), \
	F(T, maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT), \
	F(T, maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH), \
	F(T, maxTexture2DMipmap[1], MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT), \
	F(T, maxTexture2DLinear[0], MAXIMUM_TEXTURE2D_LINEAR_WIDTH), \
	F(T, maxTexture2DLinear[1], MAXIMUM_TEXTURE2D_LINEAR_HEIGHT), \
	F(T, maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH), \
	F(T, maxTexture2DGather[0], MAXIMUM_TEXTURE2D_GATHER_WIDTH), \
	F(T, maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT), \
	F(T, maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH), \
	F(T, maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT), \
	F(T, maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH), \
	F(T, maxTexture3DAlt[0], MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE), \
	F(T, maxTexture3DAlt[1], MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE), \
	F(T, maxTexture3DAlt[2], MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE), \
	F(T, maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH), \
	F(T, maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH), \
	F(T, maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS), \
	F(T, maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH), \
	F(T, maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT), \
	F(T, maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS), \
	F(T, maxTextureCubemapLayered[0], MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH), \
	F(T, maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS), \
	F(T, maxSurface1D, MAXIMUM_SURFACE1D_WIDTH), \
	F(T, maxSurface2D[0], MAXIMUM_SURFACE2D_WIDTH), \
	F(T, maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT), \
	F(T, maxSurface3D[0], MAXIMUM_SURFACE3D_WIDTH), \
	F(T, maxSurface3D[1], MAXIMUM_SURFACE3D_HEIGHT), \
	F(T, maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH), \
	F(T, maxSurface1DLayered[0], MAXIMUM_SURFACE1D_LAYERED_WIDTH), \
	F(T, maxSurface1DLayered[1], MAXIMUM_SURFACE1D_LAYERED_LAYERS), \
	F(T, maxSurface2DLayered[0], MAXIMUM_SURFACE2D_LAYERED_WIDTH), \
	F(T, maxSurface2DLayered[1], MAXIMUM_SURFACE2D_LAYERED_HEIGHT), \
	F(T, maxSurface2DLayered[2], MAXIMUM_SURFACE2D_LAYERED_LAYERS), \
	F(T, maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH), \
	F(T, maxSurfaceCubemapLayered[0], MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH), \
	F(T, maxSurfaceCubemapLayered[1], MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS), \
	F(T, surfaceAlignment, SURFACE_ALIGNMENT), \
	F(T, concurrentKernels, CONCURRENT_KERNELS), \
	F(T, ECCEnabled, ECC_ENABLED), \
	F(T, pciBusID, PCI_BUS_ID), \
	F(T, pciDeviceID, PCI_DEVICE_ID), \
	F(T, pciDomainID, PCI_DOMAIN_ID), \
	F(T, tccDriver, TCC_DRIVER), \
	F(T, asyncEngineCount, ASYNC_ENGINE_COUNT), \
	F(T, unifiedAddressing, UNIFIED_ADDRESSING), \
	F(T, memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH), \
	F(T, l2CacheSize, L2_CACHE_SIZE), \
	F(T, persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE), \
	F(T, maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR), \
	F(T, streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED), \
	F(T, globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED), \
	F(T, localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED), \
	F(T, sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR), \
	F(T, regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR), \
	F(T, managedMemory, MANAGED_MEMORY), \
	F(T, isMultiGpuBoard, MULTI_GPU_BOARD), \
	F(T, multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID), \
	F(T, hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED), \
	F(T, pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS), \
	F(T, concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS), \
	F(T, computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED), \
	F(T, canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM), \
	F(T, cooperativeLaunch, COOPERATIVE_LAUNCH), \
	F(T, sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), \
	F(T, pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES), \
	F(T, directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST), \
	F(T, maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR), \
	F(T, accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE), \
	F(T, reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK)

/* What 13.0 took out. */
#define UNTIL_12(T) \
	F(T, clockRate, CLOCK_RATE), \
	F(T, deviceOverlap, GPU_OVERLAP), \
	F(T, kernelExecTimeoutEnabled, KERNEL_EXEC_TIMEOUT), \
	F(T, computeMode, COMPUTE_MODE), \
	F(T, maxTexture1DLinear, MAXIMUM_TEXTURE1D_LINEAR_WIDTH), \
	F(T, memoryClockRate, MEMORY_CLOCK_RATE), \
	F(T, singleToDoublePrecisionPerfRatio, SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO), \
	F(T, cooperativeMultiDeviceLaunch, COOPERATIVE_MULTI_DEVICE_LAUNCH)

#define SINCE_12(T) \
	F(T, hostRegisterSupported, HOST_REGISTER_SUPPORTED), \
	F(T, sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED), \
	F(T, hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED), \
	F(T, timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED), \
	F(T, memoryPoolsSupported, MEMORY_POOLS_SUPPORTED), \
	F(T, gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED), \
	F(T, gpuDirectRDMAFlushWritesOptions, GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS), \
	F(T, gpuDirectRDMAWritesOrdering, GPU_DIRECT_RDMA_WRITES_ORDERING), \
	F(T, memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES), \
	F(T, deferredMappingCudaArraySupported, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED), \
	F(T, ipcEventSupported, IPC_EVENT_SUPPORTED), \
	F(T, clusterLaunch, CLUSTER_LAUNCH), \
	F(T, unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS)

#define SINCE_13(T) \
	F(T, deviceNumaConfig, NUMA_CONFIG), \
	F(T, deviceNumaId, NUMA_ID), \
	F(T, mpsEnabled, MPS_ENABLED), \
	F(T, hostNumaId, HOST_NUMA_ID), \
	F(T, gpuPciDeviceID, GPU_PCI_DEVICE_ID), \
	F(T, gpuPciSubsystemID, GPU_PCI_SUBSYSTEM_ID), \
	F(T, hostNumaMultinodeIpcSupported, HOST_NUMA_MULTINODE_IPC_SUPPORTED)

static const struct field fields[] = {
	COMMON(struct cudaDeviceProp),
#if CUDART_MAJOR < 13
	UNTIL_12(struct cudaDeviceProp),
#endif
#if CUDART_MAJOR >= 12
	SINCE_12(struct cudaDeviceProp),
#endif
#if CUDART_MAJOR >= 13
	SINCE_13(struct cudaDeviceProp),
#endif
};
/* clang-format on */

static void fill(void *to, const struct field *f, size_t count, CUdevice device)
{
	for (size_t i = 0; i < count; i++) {
		int value = 0;
		size_t wide;

		if (rt_driver.cuDeviceGetAttribute(&value, f[i].attribute, device))
			continue;
		wide = (size_t)value;
		memcpy((char *)to + f[i].offset, f[i].bytes == 8 ? (void *)&wide : (void *)&value, f[i].bytes);
	}
}

/* Name, UUID and memory stand first in every layout and alike. There are no LUIDs but on Windows. */
#define HEAD(p, device)                                                                                                \
	do {                                                                                                           \
		rt_driver.cuDeviceGetName((p)->name, sizeof((p)->name), device);                                       \
		rt_driver.cuDeviceTotalMem_v2(&(p)->totalGlobalMem, device);                                           \
		rt_driver.cuDeviceGetUuid((CUuuid *)&(p)->uuid, device);                                               \
	} while (0)

static cudaError_t properties(struct cudaDeviceProp *prop, int device)
{
	cudaError_t e = prop ? rt_device_good(device) : cudaErrorInvalidValue;

	if (e)
		return rt_done(e);
	memset(prop, 0, sizeof(*prop));
	HEAD(prop, device);
	fill(prop, fields, sizeof(fields) / sizeof(*fields), device);
	return cudaSuccess;
}

#if CUDART_MAJOR == 12
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *prop, int device)
{
	return properties(prop, device);
}

/* Programs that a 11 built. */
cudaError_t cudaGetDeviceProperties(struct cudaDevicePropV11 *prop, int device)
{
	static const struct field old[] = { COMMON(struct cudaDevicePropV11), UNTIL_12(struct cudaDevicePropV11) };
	cudaError_t e = prop ? rt_device_good(device) : cudaErrorInvalidValue;

	if (e)
		return rt_done(e);
	memset(prop, 0, sizeof(*prop));
	HEAD(prop, device);
	fill(prop, old, sizeof(old) / sizeof(*old), device);
	return cudaSuccess;
}
#else
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	return properties(prop, device);
}
#endif

/* ---- choosing a device by properties ---- */

static int score(const struct cudaDeviceProp *have, const struct cudaDeviceProp *want)
{
	int s = 0;

	s += !want->name[0] || !strcmp(have->name, want->name);
	s += have->totalGlobalMem >= want->totalGlobalMem;
	s += have->multiProcessorCount >= want->multiProcessorCount;
	s += have->sharedMemPerBlock >= want->sharedMemPerBlock;
	/* A capability that is too small is worth less than anything else. */
	if (have->major < want->major || (have->major == want->major && have->minor < want->minor))
		s -= 8;
	return s;
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
	int count = 0, best = 0, best_score = 0;
	cudaError_t e = device && prop ? cudaGetDeviceCount(&count) : cudaErrorInvalidValue;

	for (int i = 0; !e && i < count; i++) {
		struct cudaDeviceProp have;
		int s;

		e = properties(&have, i);
		s = e ? 0 : score(&have, prop);
		if (!i || s > best_score) {
			best = i;
			best_score = s;
		}
	}
	if (!e)
		*device = best;
	return rt_done(e);
}

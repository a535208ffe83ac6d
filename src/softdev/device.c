/*
 * device.c: devices and their attributes.
 *
 * An attribute is a promise: programs choose their way by it. Limits are those that the engine and the arrays keep;
 * what is not there says 0. Clocks and widths are those of the declared reference device (16 SMs at 1.5 GHz, 500 GB/s).
 */
#include "softdev/driver.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ATTRIBUTES CU_DEVICE_ATTRIBUTE_MAX

struct device *device_at(uint32_t index)
{
	for (uint32_t i = 0; i < driver.device_count; i++)
		if (driver.device[i].index == index)
			return &driver.device[i];
	return NULL;
}

CUresult device_find(CUdevice ordinal, struct device **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	if (ordinal < 0 || (uint32_t)ordinal >= driver.device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	*ret = &driver.device[ordinal];
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetCount(int *ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (int)driver.device_count;
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGet(CUdevice *ret, int ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = ordinal;
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetName(char *ret, int bytes, CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!ret || bytes <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(ret, (size_t)bytes, "%s", d->config->name);
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetUuid_v2(CUuuid *ret, CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(ret, d->config->uuid, sizeof(d->config->uuid));
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetUuid(CUuuid *ret, CUdevice ordinal)
{
	return soft_cuDeviceGetUuid_v2(ret, ordinal);
}

CUresult soft_cuDeviceTotalMem_v2(size_t *ret, CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = d->config->total_bytes;
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceComputeCapability(int *ret_major, int *ret_minor, CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!ret_major || !ret_minor)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_major = (int)d->config->cc_major;
	*ret_minor = (int)d->config->cc_minor;
	return CUDA_SUCCESS;
}

/* ---- PCI: a place that no other device has, in a domain of its own ---- */

CUresult soft_cuDeviceGetPCIBusId(char *ret, int bytes, CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!ret || bytes < 1)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(ret, (size_t)bytes, "%04x:%02x:%02x.0", d->config->pci_domain, d->config->pci_bus,
		 d->config->pci_device);
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetByPCIBusId(CUdevice *ret, const char *id)
{
	unsigned domain = 0, bus, slot, function = 0;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
		domain = 0;
		if (sscanf(id, "%x:%x.%x", &bus, &slot, &function) < 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (uint32_t i = 0; i < driver.device_count; i++) {
		const struct segment_config *c = driver.device[i].config;

		if (c->pci_domain == domain && c->pci_bus == bus && c->pci_device == slot && !function) {
			*ret = (CUdevice)i;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

/* ---- attributes ---- */

#define A(name) [CU_DEVICE_ATTRIBUTE_##name]

static const int fixed[ATTRIBUTES] = {
	A(MAX_THREADS_PER_BLOCK) = 1024,
	A(MAX_BLOCK_DIM_X) = 1024,
	A(MAX_BLOCK_DIM_Y) = 1024,
	A(MAX_BLOCK_DIM_Z) = 64,
	A(MAX_GRID_DIM_X) = 2147483647,
	A(MAX_GRID_DIM_Y) = 65535,
	A(MAX_GRID_DIM_Z) = 65535,
	A(MAX_SHARED_MEMORY_PER_BLOCK) = 48 << 10,
	A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) = 227 << 10,
	A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) = 228 << 10,
	A(RESERVED_SHARED_MEMORY_PER_BLOCK) = 1 << 10,
	A(TOTAL_CONSTANT_MEMORY) = 64 << 10,
	A(WARP_SIZE) = 32,
	A(MAX_PITCH) = 2147483647,
	A(MAX_REGISTERS_PER_BLOCK) = 65536,
	A(MAX_REGISTERS_PER_MULTIPROCESSOR) = 65536,
	A(MAX_THREADS_PER_MULTIPROCESSOR) = 2048,
	A(MAX_BLOCKS_PER_MULTIPROCESSOR) = 32,
	A(CLOCK_RATE) = 1500000,
	A(MEMORY_CLOCK_RATE) = 1250000,
	A(GLOBAL_MEMORY_BUS_WIDTH) = 1600,
	A(L2_CACHE_SIZE) = 32 << 20,
	A(TEXTURE_ALIGNMENT) = 512,
	A(TEXTURE_PITCH_ALIGNMENT) = 32,
	A(SURFACE_ALIGNMENT) = 512,
	A(GPU_OVERLAP) = 1,
	A(ASYNC_ENGINE_COUNT) = 2,
	A(CONCURRENT_KERNELS) = 1,
	A(CAN_MAP_HOST_MEMORY) = 1,
	A(COMPUTE_MODE) = CU_COMPUTEMODE_DEFAULT,
	A(UNIFIED_ADDRESSING) = 1,
	A(MAXIMUM_TEXTURE1D_WIDTH) = 131072,
	A(MAXIMUM_TEXTURE2D_WIDTH) = 131072,
	A(MAXIMUM_TEXTURE2D_HEIGHT) = 65536,
	A(MAXIMUM_TEXTURE3D_WIDTH) = 16384,
	A(MAXIMUM_TEXTURE3D_HEIGHT) = 16384,
	A(MAXIMUM_TEXTURE3D_DEPTH) = 16384,
	A(MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE) = 16384,
	A(MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE) = 16384,
	A(MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE) = 16384,
	A(MAXIMUM_TEXTURE2D_LAYERED_WIDTH) = 32768,
	A(MAXIMUM_TEXTURE2D_LAYERED_HEIGHT) = 32768,
	A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS) = 2048,
	A(MAXIMUM_TEXTURE1D_LAYERED_WIDTH) = 32768,
	A(MAXIMUM_TEXTURE1D_LAYERED_LAYERS) = 2048,
	A(MAXIMUM_TEXTURE2D_GATHER_WIDTH) = 32768,
	A(MAXIMUM_TEXTURE2D_GATHER_HEIGHT) = 32768,
	A(MAXIMUM_TEXTURECUBEMAP_WIDTH) = 32768,
	A(MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH) = 32768,
	A(MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS) = 2046,
	A(MAXIMUM_SURFACE1D_WIDTH) = 32768,
	A(MAXIMUM_SURFACE2D_WIDTH) = 131072,
	A(MAXIMUM_SURFACE2D_HEIGHT) = 65536,
	A(MAXIMUM_SURFACE3D_WIDTH) = 16384,
	A(MAXIMUM_SURFACE3D_HEIGHT) = 16384,
	A(MAXIMUM_SURFACE3D_DEPTH) = 16384,
	A(MAXIMUM_SURFACE1D_LAYERED_WIDTH) = 32768,
	A(MAXIMUM_SURFACE1D_LAYERED_LAYERS) = 2048,
	A(MAXIMUM_SURFACE2D_LAYERED_WIDTH) = 32768,
	A(MAXIMUM_SURFACE2D_LAYERED_HEIGHT) = 32768,
	A(MAXIMUM_SURFACE2D_LAYERED_LAYERS) = 2048,
	A(MAXIMUM_SURFACECUBEMAP_WIDTH) = 32768,
	A(MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH) = 32768,
	A(MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS) = 2046,
	A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH) = 134217728,
	A(MAXIMUM_TEXTURE2D_LINEAR_WIDTH) = 131072,
	A(MAXIMUM_TEXTURE2D_LINEAR_HEIGHT) = 65000,
	A(MAXIMUM_TEXTURE2D_LINEAR_PITCH) = 2097120,
	A(MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH) = 32768,
	A(MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT) = 32768,
	A(MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH) = 32768,
	A(STREAM_PRIORITIES_SUPPORTED) = 1,
	A(GLOBAL_L1_CACHE_SUPPORTED) = 1,
	A(LOCAL_L1_CACHE_SUPPORTED) = 1,
	A(MANAGED_MEMORY) = 1,
	A(CONCURRENT_MANAGED_ACCESS) = 1,
	A(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST) = 1,
	A(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO) = 2,
	A(COMPUTE_PREEMPTION_SUPPORTED) = 1,
	A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) = 1,
	A(CAN_USE_STREAM_MEM_OPS_V1) = 1,
	A(CAN_USE_64_BIT_STREAM_MEM_OPS_V1) = 1,
	A(CAN_USE_STREAM_WAIT_VALUE_NOR_V1) = 1,
	A(CAN_FLUSH_REMOTE_WRITES) = 1,
	A(CAN_USE_64_BIT_STREAM_MEM_OPS) = 1,
	A(CAN_USE_STREAM_WAIT_VALUE_NOR) = 1,
	A(COOPERATIVE_LAUNCH) = 1,
	A(HOST_REGISTER_SUPPORTED) = 1,
	A(READ_ONLY_HOST_REGISTER_SUPPORTED) = 1,
	A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) = 1,
	A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) = 1,
	A(MEMORY_POOLS_SUPPORTED) = 1,
	A(HOST_MEMORY_POOLS_SUPPORTED) = 1,
	A(HOST_NUMA_MEMORY_POOLS_SUPPORTED) = 1,
	A(IPC_EVENT_SUPPORTED) = 1,
	A(MEMPOOL_SUPPORTED_HANDLE_TYPES) = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	A(MEM_SYNC_DOMAIN_COUNT) = 1,
	A(MULTI_GPU_BOARD_GROUP_ID) = 0,
	A(NUMA_CONFIG) = CU_DEVICE_NUMA_CONFIG_NONE,
	A(NUMA_ID) = -1,
	A(HOST_NUMA_ID) = 0,
};

CUresult soft_cuDeviceGetAttribute(int *ret, CUdevice_attribute attribute, CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!ret || attribute < CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK || attribute >= ATTRIBUTES)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*ret = (int)d->config->sm_count;
		break;
	case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
	case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
		*ret = d->config->cc_major >= 9;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*ret = (int)d->config->cc_major;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*ret = (int)d->config->cc_minor;
		break;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*ret = (int)d->config->pci_bus;
		break;
	case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
		*ret = (int)d->config->pci_device;
		break;
	case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
		*ret = (int)d->config->pci_domain;
		break;
	default:
		*ret = fixed[attribute];
		break;
	}
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetProperties(CUdevprop *ret, CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUdevprop){
		.maxThreadsPerBlock = fixed[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK],
		.maxThreadsDim = { 1024, 1024, 64 },
		.maxGridSize = { 2147483647, 65535, 65535 },
		.sharedMemPerBlock = fixed[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK],
		.totalConstantMemory = fixed[CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY],
		.SIMDWidth = 32,
		.memPitch = fixed[CU_DEVICE_ATTRIBUTE_MAX_PITCH],
		.regsPerBlock = fixed[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK],
		.clockRate = fixed[CU_DEVICE_ATTRIBUTE_CLOCK_RATE],
		.textureAlign = fixed[CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT],
	};
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetExecAffinitySupport(int *ret, CUexecAffinityType type, CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!ret || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = 0;
	return CUDA_SUCCESS;
}

/* ---- peers ---- */

CUresult soft_cuDeviceCanAccessPeer(int *ret, CUdevice ordinal, CUdevice peer)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (!e)
		e = device_find(peer, &d);
	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = ordinal != peer;
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetP2PAttribute(int *ret, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to)
{
	struct device *d;
	CUresult e = device_find(from, &d);

	if (!e)
		e = device_find(to, &d);
	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (from == to)
		return CUDA_ERROR_INVALID_DEVICE;
	switch (attribute) {
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
	case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
		*ret = 0;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
		*ret = 1;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

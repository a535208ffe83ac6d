/*
 * binds.c: memory that becomes part of an object over several devices (multicast, logical endpoints). It stays on its
 * device from then on, because the object knows it by what the driver has.
 */
#include "core/log.h"
#include "cuda_shim.h"
#include "shim/devices.h"
#include "shim/movable.h"
#include "shim/vmm.h"

/*
 * By addresses. Plain memory that may leave the device is handles here: the driver would bind one, and that would keep
 * what has left and lead there for ever.
 */
static CUresult keep_at(const char *call, CUdeviceptr at, uint64_t bytes)
{
	if (movable_has(at) || (bytes && movable_has(at + bytes - 1))) {
		log_line("%s: memory that may leave the device (--spill) cannot be bound; run without --spill", call);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return vmm_keep_range(at, bytes) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult shim_cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
				 CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size,
				 unsigned long long flags)
{
	CUmemGenericAllocationHandle real;
	uint64_t held;
	CUresult r;

	if (!vmm_keep(memHandle, &real, &held))
		return CUDA_ERROR_INVALID_VALUE;
	r = shim_real.cuMulticastBindMem(mcHandle, mcOffset, real, memOffset, size, flags);
	vmm_give_back(held);
	return r;
}

CUresult shim_cuMulticastBindMem_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset,
				    CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size,
				    unsigned long long flags)
{
	CUmemGenericAllocationHandle real;
	uint64_t held;
	CUresult r;

	if (!vmm_keep(memHandle, &real, &held))
		return CUDA_ERROR_INVALID_VALUE;
	r = shim_real.cuMulticastBindMem_v2(mcHandle, devices_in(dev), mcOffset, real, memOffset, size, flags);
	vmm_give_back(held);
	return r;
}

CUresult shim_cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset, CUdeviceptr memptr,
				  size_t size, unsigned long long flags)
{
	CUresult r = keep_at("cuMulticastBindAddr", memptr, size);

	if (r != CUDA_SUCCESS)
		return r;
	return shim_real.cuMulticastBindAddr(mcHandle, mcOffset, memptr, size, flags);
}

CUresult shim_cuMulticastBindAddr_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset,
				     CUdeviceptr memptr, size_t size, unsigned long long flags)
{
	CUresult r = keep_at("cuMulticastBindAddr_v2", memptr, size);

	if (r != CUDA_SUCCESS)
		return r;
	return shim_real.cuMulticastBindAddr_v2(mcHandle, devices_in(dev), mcOffset, memptr, size, flags);
}

CUresult shim_cuLogicalEndpointBindMem(CUlogicalEndpointId leId, CUdevice dev, cuuint64_t offset,
				       CUmemGenericAllocationHandle memHandle, cuuint64_t memOffset, cuuint64_t size,
				       unsigned long long flags)
{
	CUmemGenericAllocationHandle real;
	uint64_t held;
	CUresult r;

	if (!vmm_keep(memHandle, &real, &held))
		return CUDA_ERROR_INVALID_VALUE;
	r = shim_real.cuLogicalEndpointBindMem(leId, devices_in(dev), offset, real, memOffset, size, flags);
	vmm_give_back(held);
	return r;
}

CUresult shim_cuLogicalEndpointBindAddr(CUlogicalEndpointId leId, CUdevice dev, cuuint64_t offset, void *ptr,
					cuuint64_t size, unsigned long long flags)
{
	CUresult r = keep_at("cuLogicalEndpointBindAddr", (CUdeviceptr)(uintptr_t)ptr, size);

	if (r != CUDA_SUCCESS)
		return r;
	return shim_real.cuLogicalEndpointBindAddr(leId, devices_in(dev), offset, ptr, size, flags);
}

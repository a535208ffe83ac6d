/*
 * binds.c: memory that becomes part of an object over several devices (multicast, logical endpoints). It stays on its
 * device from then on, because the object knows it by what the driver has.
 */
#include "cuda_shim.h"
#include "shim/devices.h"
#include "shim/vmm.h"

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
	if (!vmm_keep_range(memptr, size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return shim_real.cuMulticastBindAddr(mcHandle, mcOffset, memptr, size, flags);
}

CUresult shim_cuMulticastBindAddr_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset,
				     CUdeviceptr memptr, size_t size, unsigned long long flags)
{
	if (!vmm_keep_range(memptr, size))
		return CUDA_ERROR_OUT_OF_MEMORY;
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
	if (!vmm_keep_range((CUdeviceptr)(uintptr_t)ptr, size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return shim_real.cuLogicalEndpointBindAddr(leId, devices_in(dev), offset, ptr, size, flags);
}

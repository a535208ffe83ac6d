/*
 * device_calls.c: calls that take or give devices in structures and lists and do nothing else that concerns us: the
 * program's numbers become the driver's on the way in, and back on the way out. Where a device stands by itself the
 * body is generated ([body.devices] of api/cuda.toml). Only reached while some device is hidden, those of pointers also
 * where memory may move.
 */
#include "cuda_shim.h"
#include "shim/devices.h"
#include "shim/launches.h"
#include "shim/movable.h"
#include "shim/pools.h"
#include "shim/scratch.h"
#include "shim/start.h"
#include "shim/vmm.h"

#include <string.h>

#define BLOCK_IDS (1ull << 62) /* far from the driver's own */

CUresult shim_cuDeviceGetCount(int *count)
{
	CUresult r = shim_real.cuDeviceGetCount(count);

	if (r == CUDA_SUCCESS && !devices_same())
		*count = devices_seen_count();
	return r;
}

CUresult shim_cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult r = shim_real.cuDeviceGet(device, devices_in(ordinal));

	devices_tell(r, device);
	return r;
}

/* Devices of a display: those that the grant does not have are left out. */
static CUresult keep_seen(CUresult r, unsigned int *count, CUdevice *list, unsigned int room)
{
	unsigned int kept = 0;

	if (r != CUDA_SUCCESS || !count || !list)
		return r;
	for (unsigned int i = 0; i < *count && i < room; i++) {
		CUdevice seen = devices_out(list[i]);

		if (seen >= 0)
			list[kept++] = seen;
	}
	*count = kept;
	return r;
}

CUresult shim_cuGLGetDevices(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices, unsigned int cudaDeviceCount,
			     CUGLDeviceList deviceList)
{
	CUresult r = shim_real.cuGLGetDevices(pCudaDeviceCount, pCudaDevices, cudaDeviceCount, deviceList);

	return keep_seen(r, pCudaDeviceCount, pCudaDevices, cudaDeviceCount);
}

CUresult shim_cuGLGetDevices_v2(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices, unsigned int cudaDeviceCount,
				CUGLDeviceList deviceList)
{
	CUresult r = shim_real.cuGLGetDevices_v2(pCudaDeviceCount, pCudaDevices, cudaDeviceCount, deviceList);

	return keep_seen(r, pCudaDeviceCount, pCudaDevices, cudaDeviceCount);
}

/* Of memory that may move the driver knows the piece; the program is told of its allocation. False: as the driver says.
 */
static bool block_seen(void *data, CUpointer_attribute attribute, const struct movable_block *block)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = block->base;
		return true;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = block->bytes;
		return true;
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		memcpy(data, &block->context, sizeof block->context);
		return true;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		if (block->pool == MOVABLE_POOLS)
			return false;
		*(CUmemoryPool *)data = pools_handle(block->pool);
		return true;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)data = BLOCK_IDS | block->serial;
		return true;
	default:
		return false;
	}
}

/* What the driver says of a pointer, as the program is to see it. Value: the answer. */
static CUresult pointer_seen(CUresult r, void *data, CUpointer_attribute attribute, CUdeviceptr p)
{
	struct movable_block block;

	if (r == CUDA_SUCCESS && movable_has(p) && !movable_find(p, &block))
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
		devices_tell(r, data);
	else if (data && movable_find(p, &block) && block_seen(data, attribute, &block))
		return CUDA_SUCCESS;
	return r;
}

CUresult shim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	CUresult r = shim_real.cuPointerGetAttribute(data, attribute, ptr);

	return pointer_seen(r, data, attribute, ptr);
}

CUresult shim_cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes, void **data,
				     CUdeviceptr ptr)
{
	CUresult r = shim_real.cuPointerGetAttributes(numAttributes, attributes, data, ptr);

	for (unsigned int i = 0; r == CUDA_SUCCESS && i < numAttributes; i++)
		pointer_seen(r, data[i], attributes[i], ptr);
	return r;
}

/* Ranges: the older attributes are devices themselves, the newer ones devices only when their twin says so. */
static void range_out(void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr p, size_t count)
{
	CUmem_range_attribute type = CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE;
	CUmemLocationType is = CU_MEM_LOCATION_TYPE_INVALID;
	int *list = data;

	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		for (size_t i = 0; i < size / sizeof *list; i++)
			list[i] = devices_out(list[i]);
		return;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		type = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		break;
	default:
		return;
	}
	if (size >= sizeof *list && shim_real.cuMemRangeGetAttribute(&is, sizeof is, type, p, count) == CUDA_SUCCESS &&
	    is == CU_MEM_LOCATION_TYPE_DEVICE)
		*list = devices_out(*list);
}

CUresult shim_cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute, CUdeviceptr devPtr,
				     size_t count)
{
	CUresult r = shim_real.cuMemRangeGetAttribute(data, dataSize, attribute, devPtr, count);

	if (r == CUDA_SUCCESS)
		range_out(data, dataSize, attribute, devPtr, count);
	return r;
}

CUresult shim_cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes,
				      size_t numAttributes, CUdeviceptr devPtr, size_t count)
{
	CUresult r = shim_real.cuMemRangeGetAttributes(data, dataSizes, attributes, numAttributes, devPtr, count);

	for (size_t i = 0; r == CUDA_SUCCESS && i < numAttributes; i++)
		range_out(data[i], dataSizes[i], attributes[i], devPtr, count);
	return r;
}

CUresult shim_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
					    CUmemAllocationGranularity_flags option)
{
	CUmemAllocationProp seen;

	if (!prop)
		return shim_real.cuMemGetAllocationGranularity(granularity, prop, option);
	seen = *prop;
	seen.location = location_in(seen.location);
	return shim_real.cuMemGetAllocationGranularity(granularity, &seen, option);
}

CUresult shim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
	CUmemGenericAllocationHandle real;
	uint64_t held;
	CUresult r;

	if (!vmm_hold(handle, &real, &held))
		return CUDA_ERROR_INVALID_VALUE;
	r = shim_real.cuMemGetAllocationPropertiesFromHandle(prop, real);
	vmm_give_back(held);
	if (r == CUDA_SUCCESS && prop)
		prop->location = location_out(prop->location);
	return r;
}

/* An access list with the driver's numbers; NULL: there is none, or no memory for it (then *ret is set). */
static CUmemAccessDesc *access_in(const CUmemAccessDesc *list, size_t count, CUresult *ret)
{
	CUmemAccessDesc *copy = scratch_copy(list, count, sizeof *copy);

	*ret = list && count && !copy ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
	for (size_t i = 0; copy && i < count; i++)
		copy[i].location = location_in(copy[i].location);
	return copy;
}

CUresult shim_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	CUresult r;
	CUmemAccessDesc *copy = access_in(desc, count, &r);

	if (r == CUDA_SUCCESS && movable_has(ptr))
		r = CUDA_ERROR_INVALID_VALUE; /* as of any plain allocation */
	/* When memory returns, access of its device is all that is made again (vmm.c). */
	for (size_t i = 0; r == CUDA_SUCCESS && copy && i < count; i++)
		if (copy[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE && copy[i].flags && !vmm_keep_range(ptr, size))
			r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r == CUDA_SUCCESS)
		r = shim_real.cuMemSetAccess(ptr, size, copy, count);
	scratch_free(copy, count, sizeof *copy);
	return r;
}

CUresult shim_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	CUresult r;
	CUmemAccessDesc *copy = access_in(map, count, &r);

	if (r == CUDA_SUCCESS)
		r = shim_real.cuMemPoolSetAccess(pool, copy, count);
	scratch_free(copy, count, sizeof *copy);
	return r;
}

/* The alloc node's own parameters, with the driver's numbers; what the driver writes goes back to the program. */
#define ALLOC_NODE(real_call, params)                                                                                  \
	do {                                                                                                           \
		__typeof__(*(params)) seen = *(params);                                                                \
		CUresult r;                                                                                            \
		CUmemAccessDesc *copy = access_in(seen.accessDescs, seen.accessDescCount, &r);                         \
		if (r != CUDA_SUCCESS)                                                                                 \
			return r;                                                                                      \
		if (copy)                                                                                              \
			seen.accessDescs = copy;                                                                       \
		seen.poolProps.location = location_in(seen.poolProps.location);                                        \
		r = real_call;                                                                                         \
		if (r == CUDA_SUCCESS)                                                                                 \
			(params)->dptr = seen.dptr;                                                                    \
		scratch_free(copy, seen.accessDescCount, sizeof *copy);                                                \
		return r;                                                                                              \
	} while (0)

CUresult shim_cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				     size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
	if (!nodeParams)
		return shim_real.cuGraphAddMemAllocNode(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
	ALLOC_NODE(shim_real.cuGraphAddMemAllocNode(phGraphNode, hGraph, dependencies, numDependencies, &seen),
		   nodeParams);
}

/* The access list belongs to the node and keeps the driver's numbers; the pool's device is told as the program knows
 * it. */
CUresult shim_cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
	CUresult r = shim_real.cuGraphMemAllocNodeGetParams(hNode, params_out);

	if (r == CUDA_SUCCESS && params_out)
		params_out->poolProps.location = location_out(params_out->poolProps.location);
	return r;
}

static CUresult add_alloc_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
			       const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params,
			       __typeof__(shim_real.cuGraphAddNode_v2) with_edges)
{
	CUgraphNodeParams whole = *params;

	CUresult got;

	ALLOC_NODE((whole.alloc = seen,
		    got = with_edges ? with_edges(node, graph, dependencies, edges, count, &whole)
				     : shim_real.cuGraphAddNode(node, graph, dependencies, count, &whole),
		    seen.dptr = whole.alloc.dptr, got),
		   &params->alloc);
}

CUresult shim_cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
			     size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	if (nodeParams && nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return add_alloc_node(phGraphNode, hGraph, dependencies, NULL, numDependencies, nodeParams, NULL);
	return shim_real.cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

CUresult shim_cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				const CUgraphEdgeData *dependencyData, size_t numDependencies,
				CUgraphNodeParams *nodeParams)
{
	if (nodeParams && nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return add_alloc_node(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams,
				      shim_real.cuGraphAddNode_v2);
	return shim_real.cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, dependencyData, numDependencies,
					   nodeParams);
}

CUresult shim_cuGraphAddNode_v3(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				const CUgraphEdgeData *dependencyData, size_t numDependencies,
				CUgraphNodeParams *nodeParams)
{
	if (nodeParams && nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return add_alloc_node(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams,
				      shim_real.cuGraphAddNode_v3);
	return shim_real.cuGraphAddNode_v3(phGraphNode, hGraph, dependencies, dependencyData, numDependencies,
					   nodeParams);
}

CUresult shim_cuGraphNodeGetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	CUresult r = shim_real.cuGraphNodeGetParams(hNode, nodeParams);

	if (r == CUDA_SUCCESS && nodeParams && nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		nodeParams->alloc.poolProps.location = location_out(nodeParams->alloc.poolProps.location);
	return r;
}

/* One location per summary. */
CUresult shim_cuMemGetLocationInfo(CUdeviceptr ptr, size_t size, size_t summaryGranularity, size_t samplingGranularity,
				   CUmemLocation *location_out_)
{
	CUresult r = shim_real.cuMemGetLocationInfo(ptr, size, summaryGranularity, samplingGranularity, location_out_);
	const size_t count = size && summaryGranularity ? (size - 1) / summaryGranularity + 1 : 0;

	for (size_t i = 0; r == CUDA_SUCCESS && location_out_ && i < count; i++)
		location_out_[i] = location_out(location_out_[i]);
	return r;
}

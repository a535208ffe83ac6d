/* graph_devices.c: see graph_devices.h. */
#include "shim/graph_devices.h"
#include "cuda_shim.h"
#include "core/map.h"
#include "shim/contexts.h"
#include "shim/graphs.h"
#include "shim/modules.h"
#include "shim/start.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards execs */
static struct map execs;				 /* exec -> [0] devices */

bool graph_devices_several(void)
{
	uint32_t devices = contexts_devices();

	return devices & (devices - 1);
}

static uint32_t of_context(CUcontext context)
{
	unsigned int device;

	return context && contexts_device(context, &device) ? 1u << device : contexts_devices();
}

/* A function belongs to its module, and not to the context that is current or that is named beside it. */
static uint32_t of_function(CUfunction function)
{
	unsigned int device;
	CUmodule module;

	if (shim_has(CUDA_CALL_cuFuncGetModule) && shim_real.cuFuncGetModule(&module, function) == CUDA_SUCCESS &&
	    modules_device(module, &device))
		return 1u << device;
	return contexts_devices();
}

static uint32_t of_kernel(const CUDA_KERNEL_NODE_PARAMS *p)
{
	return p->func ? of_function(p->func) : of_context(p->ctx);
}

static uint32_t of_kernel_node(CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS params = { 0 };
	CUDA_KERNEL_NODE_PARAMS_v1 first = { 0 };

	if (shim_has(CUDA_CALL_cuGraphKernelNodeGetParams_v2)) {
		if (shim_real.cuGraphKernelNodeGetParams_v2(node, &params) == CUDA_SUCCESS)
			return of_kernel(&params);
	} else if (shim_real.cuGraphKernelNodeGetParams(node, &first) == CUDA_SUCCESS) {
		return of_function(first.func);
	}
	return contexts_devices();
}

/* The devices that a node with these parameters occupies. */
static uint32_t of_params(const CUgraphNodeParams *p)
{
	uint32_t devices = 0;

	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return p->kernel.func ? of_function(p->kernel.func) : of_context(p->kernel.ctx);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return of_context(p->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return of_context(p->memset.ctx);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return of_context(p->memOp.ctx);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return graphs_devices(p->graph.graph);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		if (!p->conditional.phGraph_out)
			return contexts_devices();
		devices = of_context(p->conditional.ctx);
		for (unsigned int i = 0; i < p->conditional.size; i++)
			devices |= graphs_devices(p->conditional.phGraph_out[i]);
		return devices;
	default:
		return 0;
	}
}

static bool has_context(CUgraphNodeType type)
{
	switch (type) {
	case CU_GRAPH_NODE_TYPE_HOST:
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return false;
	default:
		return true;
	}
}

uint32_t graph_devices_of_node(CUgraphNode node, CUgraphNodeType type)
{
	CUgraphNodeParams params = { 0 };

	if (!graph_devices_several() || !has_context(type))
		return has_context(type) ? contexts_devices() : 0;
	if (type == CU_GRAPH_NODE_TYPE_KERNEL)
		return of_kernel_node(node);
	if (!shim_has(CUDA_CALL_cuGraphNodeGetParams) ||
	    shim_real.cuGraphNodeGetParams(node, &params) != CUDA_SUCCESS || params.type != type)
		return contexts_devices();
	return of_params(&params);
}

void graph_devices_note(CUgraphExec exec, uint32_t devices, bool is_new)
{
	struct map_entry e = { .key = (uint64_t)(uintptr_t)exec, .value = { devices } };
	const struct map_entry *known;

	pthread_mutex_lock(&lock);
	known = map_find(&execs, e.key);
	if (known && !is_new)
		e.value[0] |= known->value[0];
	/* Of a graph that is not known every device counts: so it does if there is no memory to note it. */
	if ((known || is_new) && !map_add(&execs, &e))
		map_remove(&execs, e.key, NULL);
	pthread_mutex_unlock(&lock);
}

void graph_devices_forget(CUgraphExec exec)
{
	pthread_mutex_lock(&lock);
	map_remove(&execs, (uint64_t)(uintptr_t)exec, NULL);
	pthread_mutex_unlock(&lock);
}

uint32_t graph_devices_of(CUgraphExec exec)
{
	const struct map_entry *e;
	uint32_t devices;

	pthread_mutex_lock(&lock);
	e = exec ? map_find(&execs, (uint64_t)(uintptr_t)exec) : NULL;
	devices = e ? (uint32_t)e->value[0] : contexts_devices();
	pthread_mutex_unlock(&lock);
	return devices;
}

void graph_devices_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	map_clear(&execs);
}

/* Executable graphs that change ---------------------------------------------------------------------------------- */

/*
 * A driver changes no node's device, by its documentation. What the program asks for is added before the driver is
 * asked, so that no launch of another thread goes between.
 */
static void changes(CUgraphExec exec, uint32_t devices)
{
	graph_devices_note(exec, devices, false);
}

CUresult shim_cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					     const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	if (graph_devices_several() && nodeParams)
		changes(hGraphExec, of_function(nodeParams->func));
	return shim_real.cuGraphExecKernelNodeSetParams(hGraphExec, hNode, nodeParams);
}

CUresult shim_cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
						const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	if (graph_devices_several() && nodeParams)
		changes(hGraphExec, of_kernel(nodeParams));
	return shim_real.cuGraphExecKernelNodeSetParams_v2(hGraphExec, hNode, nodeParams);
}

CUresult shim_cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D *copyParams,
					     CUcontext ctx)
{
	if (graph_devices_several())
		changes(hGraphExec, of_context(ctx));
	return shim_real.cuGraphExecMemcpyNodeSetParams(hGraphExec, hNode, copyParams, ctx);
}

CUresult shim_cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					     const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
	if (graph_devices_several())
		changes(hGraphExec, of_context(ctx));
	return shim_real.cuGraphExecMemsetNodeSetParams(hGraphExec, hNode, memsetParams, ctx);
}

CUresult shim_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
						 const CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams)
{
	if (graph_devices_several() && nodeParams)
		changes(hGraphExec, of_context(nodeParams->ctx));
	return shim_real.cuGraphExecBatchMemOpNodeSetParams(hGraphExec, hNode, nodeParams);
}

CUresult shim_cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph)
{
	if (graph_devices_several())
		changes(hGraphExec, graphs_devices(childGraph));
	return shim_real.cuGraphExecChildGraphNodeSetParams(hGraphExec, hNode, childGraph);
}

CUresult shim_cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	if (graph_devices_several() && nodeParams)
		changes(hGraphExec, of_params(nodeParams));
	return shim_real.cuGraphExecNodeSetParams(hGraphExec, hNode, nodeParams);
}

CUresult shim_cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
				CUgraphExecUpdateResult *updateResult_out)
{
	if (graph_devices_several())
		changes(hGraphExec, graphs_devices(hGraph));
	return shim_real.cuGraphExecUpdate(hGraphExec, hGraph, hErrorNode_out, updateResult_out);
}

CUresult shim_cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo)
{
	if (graph_devices_several())
		changes(hGraphExec, graphs_devices(hGraph));
	return shim_real.cuGraphExecUpdate_v2(hGraphExec, hGraph, resultInfo);
}

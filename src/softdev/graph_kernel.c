/*
 * graph_kernel.c: kernel nodes: the calls that add them, ask for their parameters and attributes, and change them.
 *
 * Of the attributes, whether a launch is cooperative, its priority and the size of clusters mean something here; the
 * others are hints that are kept and given back.
 */
#include "softdev/graph.h"

#include "softdev/launch.h"

#include <stdlib.h>
#include <string.h>

static CUresult kernel_work(const CUDA_KERNEL_NODE_PARAMS *p, struct work *ret)
{
	MODULES_STAY;
	struct launch l;
	struct context *c;
	CUresult e;

	if (!p || (p->func && p->kern))
		return CUDA_ERROR_INVALID_VALUE;
	e = context_find(p->ctx, &c);
	if (e)
		return e;
	l = (struct launch){ p->func ? p->func : (CUfunction)p->kern,
			     { p->gridDimX, p->gridDimY, p->gridDimZ },
			     { p->blockDimX, p->blockDimY, p->blockDimZ },
			     p->sharedMemBytes,
			     false,
			     p->kernelParams,
			     p->extra };
	return launch_describe(&l, c, ret);
}

static CUDA_KERNEL_NODE_PARAMS kernel_widen(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	return (CUDA_KERNEL_NODE_PARAMS){ .func = p->func,
					  .gridDimX = p->gridDimX,
					  .gridDimY = p->gridDimY,
					  .gridDimZ = p->gridDimZ,
					  .blockDimX = p->blockDimX,
					  .blockDimY = p->blockDimY,
					  .blockDimZ = p->blockDimZ,
					  .sharedMemBytes = p->sharedMemBytes,
					  .kernelParams = p->kernelParams,
					  .extra = p->extra };
}

CUresult soft_cuGraphAddKernelNode_v2(CUgraphNode *ret, CUgraph h, const CUgraphNode *need, size_t count,
				      const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct graph *g;
	struct node *n;
	struct work w;
	CUresult e = graph_find(h, &g);

	if (!e && !ret)
		e = CUDA_ERROR_INVALID_VALUE;
	if (!e)
		e = kernel_work(p, &w);
	if (!e)
		e = node_work(g, &(struct needs){ need, NULL, count }, &w, &n);
	if (!e)
		*ret = (CUgraphNode)n;
	return e;
}

CUresult soft_cuGraphAddKernelNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count,
				   const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	wide = kernel_widen(p);
	return soft_cuGraphAddKernelNode_v2(ret, g, need, count, &wide);
}

CUresult soft_cuGraphKernelNodeGetParams_v2(CUgraphNode h, CUDA_KERNEL_NODE_PARAMS *ret)
{
	const struct work_kernel *k;
	struct node *n;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_KERNEL, &n);

	if (e)
		return e;
	k = &n->work.kernel;
	if (!ret || !k->function->head.live || k->function->head.generation != k->function_generation)
		return CUDA_ERROR_INVALID_VALUE;
	if (!n->param) {
		const struct ptx_kernel *p = k->function->kernel;

		n->param = calloc(p->param_count + 1, sizeof(*n->param));
		if (!n->param)
			return CUDA_ERROR_OUT_OF_MEMORY;
		for (uint32_t i = 0; i < p->param_count; i++)
			n->param[i] = (char *)k->params + p->param[i].offset;
	}
	*ret = (CUDA_KERNEL_NODE_PARAMS){ .func = (CUfunction)k->function,
					  .gridDimX = k->grid[0],
					  .gridDimY = k->grid[1],
					  .gridDimZ = k->grid[2],
					  .blockDimX = k->block[0],
					  .blockDimY = k->block[1],
					  .blockDimZ = k->block[2],
					  .sharedMemBytes = k->shared_bytes,
					  .kernelParams = n->param,
					  .ctx = (CUcontext)n->work.context };
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphKernelNodeGetParams(CUgraphNode h, CUDA_KERNEL_NODE_PARAMS_v1 *ret)
{
	CUDA_KERNEL_NODE_PARAMS wide;
	CUresult e = soft_cuGraphKernelNodeGetParams_v2(h, &wide);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(ret, &wide, sizeof(*ret)); /* the newer structure begins with the older one */
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphKernelNodeSetParams_v2(CUgraphNode h, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct node *n;
	struct work w;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_KERNEL, &n);

	if (!e)
		e = kernel_work(p, &w);
	if (e)
		return e;
	w.kernel.cooperative = n->work.kernel.cooperative;
	work_deinit(&n->work);
	n->work = w;
	free(n->param);
	n->param = NULL;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphKernelNodeSetParams(CUgraphNode h, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	wide = kernel_widen(p);
	return soft_cuGraphKernelNodeSetParams_v2(h, &wide);
}

CUresult soft_cuGraphExecKernelNodeSetParams_v2(CUgraphExec h, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct node like = { .type = CU_GRAPH_NODE_TYPE_KERNEL }, *n;
	struct exec *x;
	CUresult e = exec_node(h, node, &x, &n);

	if (!e && n->type != CU_GRAPH_NODE_TYPE_KERNEL)
		e = CUDA_ERROR_INVALID_VALUE;
	if (!e)
		e = kernel_work(p, &like.work);
	if (e)
		return e;
	like.work.kernel.cooperative = n->work.kernel.cooperative;
	return exec_node_set(h, node, &like);
}

CUresult soft_cuGraphExecKernelNodeSetParams(CUgraphExec x, CUgraphNode h, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	wide = kernel_widen(p);
	return soft_cuGraphExecKernelNodeSetParams_v2(x, h, &wide);
}

/* ---- attributes ---- */

static bool attribute_known(CUlaunchAttributeID id)
{
	switch (id) {
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
	case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
	case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
		return true;
	default:
		return false;
	}
}

int kernel_priority(const struct node *n)
{
	if (!n->attributes || !(n->attributes->set & 1u << CU_LAUNCH_ATTRIBUTE_PRIORITY))
		return 0;
	return n->attributes->value[CU_LAUNCH_ATTRIBUTE_PRIORITY].priority;
}

CUresult kernel_attribute_set(struct node *n, CUlaunchAttributeID id, const CUlaunchAttributeValue *value)
{
	if (!attribute_known(id))
		return CUDA_ERROR_INVALID_VALUE;
	if (id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE && value->deviceUpdatableKernelNode.deviceUpdatable)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
	    (value->clusterDim.x > 1 || value->clusterDim.y > 1 || value->clusterDim.z > 1))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	if (!n->attributes)
		n->attributes = calloc(1, sizeof(*n->attributes));
	if (!n->attributes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	n->attributes->set |= 1u << id;
	n->attributes->value[id] = *value;
	if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		n->work.kernel.cooperative = value->cooperative != 0;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphKernelNodeSetAttribute(CUgraphNode h, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *value)
{
	struct node *n;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_KERNEL, &n);

	if (e)
		return e;
	return value ? kernel_attribute_set(n, id, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuGraphKernelNodeGetAttribute(CUgraphNode h, CUkernelNodeAttrID id, CUkernelNodeAttrValue *ret)
{
	struct node *n;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_KERNEL, &n);

	if (e)
		return e;
	if (!ret || !attribute_known(id))
		return CUDA_ERROR_INVALID_VALUE;
	memset(ret, 0, sizeof(*ret));
	if (n->attributes && n->attributes->set & 1u << id)
		*ret = n->attributes->value[id];
	else if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		ret->cooperative = n->work.kernel.cooperative;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
	struct kernel_attributes *copy = NULL;
	struct node *m, *n;
	CUresult e = node_of(to, CU_GRAPH_NODE_TYPE_KERNEL, &m);

	if (!e)
		e = node_of(from, CU_GRAPH_NODE_TYPE_KERNEL, &n);
	if (e)
		return e;
	if (m == n)
		return CUDA_SUCCESS;
	if (n->attributes) {
		copy = malloc(sizeof(*copy));
		if (!copy)
			return CUDA_ERROR_OUT_OF_MEMORY;
		*copy = *n->attributes;
	}
	free(m->attributes);
	m->attributes = copy;
	m->work.kernel.cooperative = n->work.kernel.cooperative;
	return CUDA_SUCCESS;
}

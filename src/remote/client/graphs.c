/* graphs.c: calls about nodes whose parameters hold more than plain values; see remote/graph.h and nodes.h. */
#include "remote/client/graphs.h"
#include "remote/client/handles.h"
#include "remote/client/nodes.h"
#include "remote/client/ranges.h"
#include "remote/client/unified.h"
#include "remote/client/context.h"

#include "cuda_remote.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- adding ---- */

struct adding {
	CUgraph graph;
	const CUgraphNode *need;
	const CUgraphEdgeData *edge;
	size_t count;
	uint32_t flags;
};

static bool add_begin(struct client_call *c, const struct adding *a, const struct node_out *n, uint64_t id)
{
	struct graph_add head = { .id = id, .flags = a->flags, .dependencies = (uint32_t)a->count };
	uint64_t *need;

	head.graph = client_use(c, KIND_GRAPH, a->graph);
	for (size_t i = 0; i < a->count; i++)
		client_use(c, KIND_GRAPH_NODE, a->need[i]); /* errors before the request begins */
	if (!client_begin_room(c, true, sizeof(head) + a->count * (sizeof(*need) + sizeof(*a->edge)) + n->room))
		return false;
	remote_put(&c->out, &head, sizeof(head));
	need = remote_reserve(&c->out, a->count * sizeof(*need));
	for (size_t i = 0; need && i < a->count; i++)
		need[i] = client_use(c, KIND_GRAPH_NODE, a->need[i]);
	if (a->flags & GRAPH_EDGES)
		remote_put(&c->out, a->edge, a->count * sizeof(*a->edge));
	node_out_put(c, n);
	client_send(c);
	return c->result == CUDA_SUCCESS;
}

/* An allocation's place, as long as the graph lives. */
static void note_memory(struct client_call *c, const struct adding *a, CUdeviceptr at, size_t bytes)
{
	struct range range = { .begin = at,
			       .bytes = bytes,
			       .kind = RANGE_POOL,
			       .session = c->session,
			       .owner = (uint64_t)(uintptr_t)a->graph };
	struct context *context;

	atomic_store_explicit(&c->session->graph_memory, 1, memory_order_relaxed);
	if (context_current(c->thread, &context) == CUDA_SUCCESS) {
		range.context = context->handle;
		range.device = context->device;
	}
	if (graph_kept(a->graph))
		ranges_add(&range);
}

/* A condition's graphs live in an array that the program may look at as long as the node is there. */
static void graphs_in(struct client_call *c, const struct adding *a, void *node, uint32_t count, CUgraph **ret)
{
	const uint64_t *ids = remote_take(&c->in, count * sizeof(*ids));
	CUgraph *list = ids ? node_keep(c, node, count * sizeof(*list)) : NULL;

	if (!list)
		return;
	for (uint32_t i = 0; i < count; i++)
		list[i] = client_meet(c, KIND_GRAPH, a->graph, ids[i]);
	*ret = list;
}

static CUresult add(enum cuda_call call, CUgraphNode *ret, const struct adding *a, CUgraphNodeParams *p)
{
	struct graph_added added = { 0 };
	struct client_call c;
	struct node_out n;
	bool unmovable = false;
	void *node = NULL;
	uint64_t id;

	client_call(&c, call);
	c.call = CALL_GRAPH_ADD;
	if (!client_use(&c, KIND_GRAPH, a->graph) || !ret || !p || a->count > GRAPH_DEPENDENCIES_MOST ||
	    (a->count && !a->need))
		c.result = c.result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : c.result;
	if (c.result != CUDA_SUCCESS)
		return client_end(&c);
	if (node_out_prepare(&c, &n, p))
		node = client_mint(&c, KIND_GRAPH_NODE, a->graph, &id);
	if (node && add_begin(&c, a, &n, id)) {
		remote_get(&c.in, &added, sizeof(added));
		if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
			p->alloc.dptr = added.address;
			note_memory(&c, a, added.address, p->alloc.bytesize);
			unmovable = true; /* it lies elsewhere each time */
		}
		if (n.copy.before || n.copy.after)
			node_bounces(&c, node, &p->memcpy.copyParams);
		if (added.graphs)
			graphs_in(&c, a, node, added.graphs, &p->conditional.phGraph_out);
	}
	if (client_end(&c) == CUDA_SUCCESS) {
		*ret = node;
		if (unmovable)
			handles_deed(&c.session->handles, (uint64_t)(uintptr_t)node, NULL);
	} else {
		node_out_void(&c, &n);
		if (node)
			client_drop(node);
	}
	return c.result;
}

CUresult client_cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
					size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	struct adding a = { hGraph, dependencies, NULL, numDependencies, 0 };
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

	if (nodeParams)
		memcpy(&p.kernel, nodeParams, sizeof(*nodeParams));
	return add(CUDA_CALL_cuGraphAddKernelNode_v2, phGraphNode, &a, nodeParams ? &p : NULL);
}

CUresult client_cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				     size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	CUDA_KERNEL_NODE_PARAMS wide = { 0 };

	if (nodeParams)
		memcpy(&wide, nodeParams, sizeof(*nodeParams)); /* the newer one begins with the older */
	return client_cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies,
					      nodeParams ? &wide : NULL);
}

CUresult client_cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				     size_t numDependencies, const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	struct adding a = { hGraph, dependencies, NULL, numDependencies, 0 };
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };

	if (copyParams)
		p.memcpy.copyParams = *copyParams;
	p.memcpy.copyCtx = ctx;
	return add(CUDA_CALL_cuGraphAddMemcpyNode, phGraphNode, &a, copyParams ? &p : NULL);
}

CUresult client_cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				   size_t numDependencies, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	struct adding a = { hGraph, dependencies, NULL, numDependencies, 0 };
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_HOST };

	if (nodeParams)
		memcpy(&p.host, nodeParams, sizeof(*nodeParams));
	return add(CUDA_CALL_cuGraphAddHostNode, phGraphNode, &a, nodeParams ? &p : NULL);
}

CUresult client_cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				       size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
	struct adding a = { hGraph, dependencies, NULL, numDependencies, 0 };
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	CUresult r;

	if (nodeParams)
		memcpy(&p.alloc, nodeParams, sizeof(*nodeParams));
	r = add(CUDA_CALL_cuGraphAddMemAllocNode, phGraphNode, &a, nodeParams ? &p : NULL);
	if (r == CUDA_SUCCESS)
		nodeParams->dptr = p.alloc.dptr;
	return r;
}

CUresult client_cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
			       size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	struct adding a = { hGraph, dependencies, NULL, numDependencies, GRAPH_GENERIC };

	return add(CUDA_CALL_cuGraphAddNode, phGraphNode, &a, nodeParams);
}

CUresult client_cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				  const CUgraphEdgeData *dependencyData, size_t numDependencies,
				  CUgraphNodeParams *nodeParams)
{
	struct adding a = { hGraph, dependencies, dependencyData, numDependencies, GRAPH_GENERIC };

	if (dependencyData && numDependencies)
		a.flags |= GRAPH_EDGES;
	return add(CUDA_CALL_cuGraphAddNode_v2, phGraphNode, &a, nodeParams);
}

CUresult client_cuGraphAddNode_v3(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				  const CUgraphEdgeData *dependencyData, size_t numDependencies,
				  CUgraphNodeParams *nodeParams)
{
	return client_cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams);
}

/* ---- launching ---- */

/* Nobody waits for it, unless there are graphs that take memory when they are launched: that may fail. */
CUresult client_cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
	struct client_call c;
	uint64_t ids[2];
	bool waits = !hGraph;

	client_call(&c, CUDA_CALL_cuGraphLaunch);
	ids[0] = client_use(&c, KIND_GRAPH_EXEC, hGraph);
	ids[1] = client_use_stream(&c, hStream);
	if (c.session)
		waits |= atomic_load_explicit(&c.session->graph_memory, memory_order_relaxed);
	if (c.result == CUDA_SUCCESS && unified_any(c.session))
		unified_begin(c.session, hStream);
	if (client_begin(&c, waits)) {
		remote_put(&c.out, ids, sizeof(ids));
		client_send(&c);
	}
	return client_end(&c);
}

/* ---- changing ---- */

static CUresult set(enum cuda_call call, CUgraphExec exec, bool of_exec, CUgraphNode node, uint32_t flags,
		    const CUgraphNodeParams *p)
{
	struct graph_set head = { .type = p ? (uint32_t)p->type : 0, .flags = flags };
	struct client_call c;
	struct node_out n;

	client_call(&c, call);
	c.call = CALL_GRAPH_SET;
	/* An instance first: it is what changes. */
	if (of_exec)
		head.exec = client_use(&c, KIND_GRAPH_EXEC, exec);
	head.node = client_use(&c, KIND_GRAPH_NODE, node);
	if (c.result == CUDA_SUCCESS && (!head.node || (of_exec && !head.exec)))
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result != CUDA_SUCCESS || !node_out_prepare(&c, &n, p))
		return client_end(&c);
	if (client_begin_room(&c, true, sizeof(head) + n.room)) {
		remote_put(&c.out, &head, sizeof(head));
		node_out_put(&c, &n);
		client_send(&c);
	}
	if (client_end(&c) != CUDA_SUCCESS)
		node_out_void(&c, &n);
	return c.result;
}

static CUresult set_kernel(enum cuda_call call, CUgraphExec exec, bool of_exec, CUgraphNode node, const void *params,
			   size_t bytes)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

	if (params)
		memcpy(&p.kernel, params, bytes);
	return set(call, exec, of_exec, node, 0, params ? &p : NULL);
}

CUresult client_cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	return set_kernel(CUDA_CALL_cuGraphKernelNodeSetParams_v2, NULL, false, hNode, nodeParams, sizeof(*nodeParams));
}

CUresult client_cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	return set_kernel(CUDA_CALL_cuGraphKernelNodeSetParams, NULL, false, hNode, nodeParams, sizeof(*nodeParams));
}

CUresult client_cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
						  const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	return set_kernel(CUDA_CALL_cuGraphExecKernelNodeSetParams_v2, hGraphExec, true, hNode, nodeParams,
			  sizeof(*nodeParams));
}

CUresult client_cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					       const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	return set_kernel(CUDA_CALL_cuGraphExecKernelNodeSetParams, hGraphExec, true, hNode, nodeParams,
			  sizeof(*nodeParams));
}

static CUresult set_copy(enum cuda_call call, CUgraphExec exec, bool of_exec, CUgraphNode node,
			 const CUDA_MEMCPY3D *params, CUcontext context)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };

	if (params)
		p.memcpy.copyParams = *params;
	p.memcpy.copyCtx = context;
	return set(call, exec, of_exec, node, 0, params ? &p : NULL);
}

CUresult client_cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
	return set_copy(CUDA_CALL_cuGraphMemcpyNodeSetParams, NULL, false, hNode, nodeParams, NULL);
}

CUresult client_cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					       const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	return set_copy(CUDA_CALL_cuGraphExecMemcpyNodeSetParams, hGraphExec, true, hNode, copyParams, ctx);
}

static CUresult set_host(enum cuda_call call, CUgraphExec exec, bool of_exec, CUgraphNode node,
			 const CUDA_HOST_NODE_PARAMS *params)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_HOST };

	if (params)
		memcpy(&p.host, params, sizeof(*params));
	return set(call, exec, of_exec, node, 0, params ? &p : NULL);
}

CUresult client_cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	return set_host(CUDA_CALL_cuGraphHostNodeSetParams, NULL, false, hNode, nodeParams);
}

CUresult client_cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					     const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	return set_host(CUDA_CALL_cuGraphExecHostNodeSetParams, hGraphExec, true, hNode, nodeParams);
}

CUresult client_cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	return set(CUDA_CALL_cuGraphNodeSetParams, NULL, false, hNode, GRAPH_GENERIC, nodeParams);
}

CUresult client_cuGraphNodeSetParams_v2(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	return client_cuGraphNodeSetParams(hNode, nodeParams);
}

CUresult client_cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	return set(CUDA_CALL_cuGraphExecNodeSetParams, hGraphExec, true, hNode, GRAPH_GENERIC, nodeParams);
}

/* ---- asking ---- */

static CUresult get(enum cuda_call call, CUgraphNode node, CUgraphNodeType type, CUgraphNodeParams *ret, const void *to)
{
	struct graph_set head = { .type = (uint32_t)type };
	struct client_call c;

	client_call(&c, call);
	c.call = CALL_GRAPH_GET;
	head.node = client_use(&c, KIND_GRAPH_NODE, node);
	if (c.result == CUDA_SUCCESS && (!head.node || !to))
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (client_begin(&c, true)) {
		remote_put(&c.out, &head, sizeof(head));
		client_send(&c);
		if (c.result == CUDA_SUCCESS)
			node_in(&c, node, ret);
	}
	return client_end(&c);
}

/* The part of one kind of node, which begins where the union does; as the older calls give it out. */
static CUresult get_into(enum cuda_call call, CUgraphNode node, CUgraphNodeType type, void *ret, size_t bytes)
{
	CUgraphNodeParams p;
	CUresult r = get(call, node, type, &p, ret);

	if (r == CUDA_SUCCESS)
		memcpy(ret, &p.reserved1, bytes);
	return r;
}

CUresult client_cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	return get_into(CUDA_CALL_cuGraphKernelNodeGetParams_v2, hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams,
			sizeof(*nodeParams));
}

CUresult client_cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	return get_into(CUDA_CALL_cuGraphKernelNodeGetParams, hNode, CU_GRAPH_NODE_TYPE_KERNEL, nodeParams,
			sizeof(*nodeParams));
}

CUresult client_cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
	const CUDA_MEMCPY3D *bounced = node_bounced(hNode);
	CUgraphNodeParams p;
	CUresult r;

	if (bounced && nodeParams) {
		*nodeParams = *bounced;
		return CUDA_SUCCESS;
	}
	r = get(CUDA_CALL_cuGraphMemcpyNodeGetParams, hNode, CU_GRAPH_NODE_TYPE_MEMCPY, &p, nodeParams);
	if (r == CUDA_SUCCESS)
		*nodeParams = p.memcpy.copyParams;
	return r;
}

CUresult client_cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
	if (type && node_bounced(hNode)) {
		*type = CU_GRAPH_NODE_TYPE_MEMCPY;
		return CUDA_SUCCESS;
	}
	return client_plain_cuGraphNodeGetType(hNode, type);
}

CUresult client_cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
	return get_into(CUDA_CALL_cuGraphHostNodeGetParams, hNode, CU_GRAPH_NODE_TYPE_HOST, nodeParams,
			sizeof(*nodeParams));
}

CUresult client_cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
	return get_into(CUDA_CALL_cuGraphMemAllocNodeGetParams, hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params_out,
			sizeof(*params_out));
}

CUresult client_cuGraphBatchMemOpNodeGetParams(CUgraphNode hNode, CUDA_BATCH_MEM_OP_NODE_PARAMS *nodeParams_out)
{
	return get_into(CUDA_CALL_cuGraphBatchMemOpNodeGetParams, hNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
			nodeParams_out, sizeof(*nodeParams_out));
}

/* By the call that this kind of node has: their structures begin as the parts of this one do. */
CUresult client_cuGraphNodeGetParams(CUgraphNode hNode, CUgraphNodeParams *p)
{
	CUgraphNodeType type;
	CUresult r = p ? client_cuGraphNodeGetType(hNode, &type) : CUDA_ERROR_INVALID_VALUE;

	if (r != CUDA_SUCCESS)
		return r;
	memset(p, 0, sizeof(*p));
	p->type = type;
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return client_cuGraphKernelNodeGetParams_v2(hNode, (CUDA_KERNEL_NODE_PARAMS *)&p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return client_cuGraphMemcpyNodeGetParams(hNode, &p->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return cuda_remote_table.cuGraphMemsetNodeGetParams(hNode, (CUDA_MEMSET_NODE_PARAMS *)&p->memset);
	case CU_GRAPH_NODE_TYPE_HOST:
		return client_cuGraphHostNodeGetParams(hNode, (CUDA_HOST_NODE_PARAMS *)&p->host);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return cuda_remote_table.cuGraphChildGraphNodeGetGraph(hNode, &p->graph.graph);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return cuda_remote_table.cuGraphEventWaitNodeGetEvent(hNode, &p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return cuda_remote_table.cuGraphEventRecordNodeGetEvent(hNode, &p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return client_cuGraphBatchMemOpNodeGetParams(hNode, (CUDA_BATCH_MEM_OP_NODE_PARAMS *)&p->memOp);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return client_cuGraphMemAllocNodeGetParams(hNode, (CUDA_MEM_ALLOC_NODE_PARAMS *)&p->alloc);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return cuda_remote_table.cuGraphMemFreeNodeGetParams(hNode, &p->free.dptr);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED; /* what a condition holds is not told */
	}
}

/* ---- ending ---- */

/*
 * A graph that the program destroys may be needed yet, where the session can move: what was made of it can be made
 * again of it alone. Then it lives on, until the last such thing has ended.
 */
#define OWN 1u	 /* in the word of its handle: see graphs_own() */
#define HOLDS 2u /* see graphs_hold() */
#define OVER 4u	 /* the program has destroyed it */
#define OVER_MOST 1024u

static pthread_mutex_t over_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list */
static CUgraph over[OVER_MOST];
static unsigned int over_count;

void graphs_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	over_lock = unlocked;
	over_count = 0;
}

static struct session *session_of_graph(const void *handle)
{
	int index = handle_session((uint64_t)(uintptr_t)handle);

	return index >= 0 && (unsigned int)index < session_count ? sessions[index] : NULL;
}

/* Made here by the program, not named by the worker. */
static bool is_minted(CUgraph graph)
{
	struct client_call c;
	uint64_t id;

	client_request(&c, CUDA_CALL_cuGraphDestroy);
	id = client_use(&c, KIND_GRAPH, graph);
	client_end(&c);
	return id && !(id & CALL_ID_WORKER);
}

static bool is_wanted(CUgraph graph)
{
	struct session *s = session_of_graph(graph);

	return s && s->link.wall.welcome.flags & WALL_MOVES && handles_wanted(&s->handles, (uint64_t)(uintptr_t)graph);
}

static bool keep_over(CUgraph graph, _Atomic uint32_t *word)
{
	bool kept;

	if (atomic_load(word) & HOLDS || !is_wanted(graph))
		return false;
	pthread_mutex_lock(&over_lock);
	kept = over_count < OVER_MOST;
	if (kept)
		over[over_count++] = graph;
	pthread_mutex_unlock(&over_lock);
	if (kept)
		atomic_fetch_or(word, OVER);
	return kept;
}

/* One that nothing needs any more, taken off the list; or NULL. */
static CUgraph take_over(void)
{
	CUgraph found = NULL;

	pthread_mutex_lock(&over_lock);
	for (unsigned int i = 0; i < over_count && !found; i++)
		if (!is_wanted(over[i])) {
			found = over[i];
			over[i] = over[--over_count];
		}
	pthread_mutex_unlock(&over_lock);
	return found;
}

void graphs_own(CUgraph graph)
{
	_Atomic uint32_t *word = client_word(graph);

	if (word)
		atomic_fetch_or(word, OWN);
}

void graphs_hold(CUgraph graph)
{
	_Atomic uint32_t *word = client_word(graph);

	if (word)
		atomic_fetch_or(word, HOLDS);
}

/* Of a graph that the worker named it alone knows whether it is part of another one, unless it came from a capture. */
static CUresult destroy(CUgraph hGraph)
{
	_Atomic uint32_t *word = NULL;
	struct client_call c;
	uint64_t id;

	client_call(&c, CUDA_CALL_cuGraphDestroy);
	id = client_use(&c, KIND_GRAPH, hGraph);
	if (id)
		word = client_word(hGraph);
	if (client_begin(&c, !id || (id & CALL_ID_WORKER && (!word || !(atomic_load(word) & OWN))))) {
		remote_put(&c.out, &id, sizeof(id));
		client_send(&c);
	}
	if (c.result == CUDA_SUCCESS)
		client_drop(hGraph);
	return client_end(&c);
}

CUresult client_cuGraphDestroy(CUgraph hGraph)
{
	const bool is_graph = handle_kind((uint64_t)(uintptr_t)hGraph) == KIND_GRAPH;
	_Atomic uint32_t *word = is_graph ? client_word(hGraph) : NULL;
	CUgraph ended;

	while ((ended = take_over()))
		destroy(ended);
	if (word && atomic_load(word) & OVER)
		return CUDA_ERROR_INVALID_VALUE;
	/* Of one that may be part of another graph the worker alone knows whether it can be destroyed. */
	if (word && (atomic_load(word) & OWN || is_minted(hGraph)) && keep_over(hGraph, word))
		return CUDA_SUCCESS;
	return destroy(hGraph);
}

CUresult client_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
	CUresult r = client_plain_cuGraphRetainUserObject(graph, object, count, flags);

	if (r == CUDA_SUCCESS)
		graphs_hold(graph);
	return r;
}

/* A graph that has lost a node cannot be made again from what made it. */
CUresult client_cuGraphDestroyNode(CUgraphNode hNode)
{
	struct session *s = session_of_graph(hNode);
	uint64_t graph = s ? handles_owner(&s->handles, (uint64_t)(uintptr_t)hNode) : 0;
	CUresult r = client_plain_cuGraphDestroyNode(hNode);

	if (r == CUDA_SUCCESS && graph)
		handles_deed(&s->handles, graph, NULL);
	return r;
}

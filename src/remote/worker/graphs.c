/* graphs.c: requests about nodes of graphs; see remote/graph.h. Parameters: node_params.c. */
#include "remote/worker/graphs.h"

#include "cuda_remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct adding {
	struct graph_add head;
	CUgraph graph;
	CUgraphNode *need;	     /* owned */
	const CUgraphEdgeData *edge; /* in the request, or NULL */
	struct node_params params;
};

static int add_read(struct work *work, struct adding *a)
{
	const uint64_t *id;
	bool known;

	remote_get(&work->in, &a->head, sizeof(a->head));
	if (work->in.bad || a->head.dependencies > GRAPH_DEPENDENCIES_MOST)
		return -EPROTO;
	id = remote_take(&work->in, a->head.dependencies * sizeof(*id));
	if (a->head.flags & GRAPH_EDGES)
		a->edge = remote_take(&work->in, a->head.dependencies * sizeof(*a->edge));
	if (work->in.bad)
		return -EPROTO;
	a->graph = worker_find(work, KIND_GRAPH, a->head.graph, &known);
	if (!a->graph && work->result == CUDA_SUCCESS)
		work->result = CUDA_ERROR_INVALID_VALUE;
	a->need = calloc(a->head.dependencies + 1, sizeof(*a->need));
	if (!a->need)
		return -EMSGSIZE;
	for (uint32_t i = 0; i < a->head.dependencies; i++) {
		a->need[i] = worker_find(work, KIND_GRAPH_NODE, id[i], &known);
		if (!known && work->result == CUDA_SUCCESS)
			work->result = CUDA_ERROR_INVALID_VALUE;
	}
	return node_params_read(work, &a->params);
}

static CUresult add_typed(struct work *work, struct adding *a, CUgraphNode *ret)
{
	const struct cuda_table *d = work->driver;
	CUgraphNodeParams *p = &a->params.driver;
	CUgraphNode *need = a->need;
	size_t n = a->head.dependencies;
	CUresult r;

	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return d->cuGraphAddKernelNode_v2(ret, a->graph, need, n, (CUDA_KERNEL_NODE_PARAMS *)&p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return d->cuGraphAddMemcpyNode(ret, a->graph, need, n, &p->memcpy.copyParams, p->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_HOST:
		return d->cuGraphAddHostNode(ret, a->graph, need, n, (CUDA_HOST_NODE_PARAMS *)&p->host);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return d->cuGraphAddBatchMemOpNode(ret, a->graph, need, n, (CUDA_BATCH_MEM_OP_NODE_PARAMS *)&p->memOp);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		r = d->cuGraphAddMemAllocNode(ret, a->graph, need, n, (CUDA_MEM_ALLOC_NODE_PARAMS *)&p->alloc);
		return r;
	default:
		return CUDA_ERROR_INVALID_VALUE; /* the others have plain calls of their own */
	}
}

static CUresult add_generic(struct work *work, struct adding *a, CUgraphNode *ret)
{
	const struct cuda_table *d = work->driver;

	if (a->edge)
		return d->cuGraphAddNode_v2(ret, a->graph, a->need, a->edge, a->head.dependencies, &a->params.driver);
	return d->cuGraphAddNode(ret, a->graph, a->need, a->head.dependencies, &a->params.driver);
}

/* ---- copies from and to memory that only the client reaches ---- */

/* A node that has the client fill or empty a piece of the arena. */
static CUresult bounce_node(struct work *work, CUgraph graph, uint64_t token, const struct call_payload *brings,
			    bool belongs, const CUgraphNode *need, CUgraphNode *ret)
{
	CUDA_HOST_NODE_PARAMS p = { .fn = hosts_run, .userData = hosts_new(work, token) };
	CUresult r;

	if (!p.userData)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (brings)
		hosts_bring(p.userData, brings->offset, brings->bytes);
	r = work->driver->cuGraphAddHostNode(ret, graph, need, need ? 1 : 0, &p);
	if (r != CUDA_SUCCESS)
		free(p.userData);
	else if (belongs)
		hosts_belong(work, p.userData, graph);
	return r;
}

/* `belongs`: its functions are needed as long as the graph and what is made of it; else as long as the session. */
static CUresult bounced_graph(struct work *work, const struct node_params *n, bool belongs, CUgraph *ret)
{
	const CUDA_MEMCPY_NODE_PARAMS *p = &n->driver.memcpy;
	const struct cuda_table *d = work->driver;
	CUgraphNode first = NULL, copy = NULL, last;
	CUresult r = d->cuGraphCreate(ret, 0);

	if (r != CUDA_SUCCESS)
		return r;
	if (n->before)
		r = bounce_node(work, *ret, n->before, NULL, belongs, NULL, &first);
	if (r == CUDA_SUCCESS)
		r = d->cuGraphAddMemcpyNode(&copy, *ret, &first, first ? 1 : 0, &p->copyParams, p->copyCtx);
	if (r == CUDA_SUCCESS && n->after)
		r = bounce_node(work, *ret, n->after, &n->result, belongs, &copy, &last);
	if (r != CUDA_SUCCESS)
		d->cuGraphDestroy(*ret);
	return r;
}

/* All of it as one node: a child graph, so that whatever depends on the copy waits for what comes after it, too. */
static CUresult add_bounced(struct work *work, struct adding *a, CUgraphNode *ret)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_GRAPH };
	const struct cuda_table *d = work->driver;
	size_t needs = a->head.dependencies;
	CUgraph child;
	CUresult r = bounced_graph(work, &a->params, true, &child);

	if (r != CUDA_SUCCESS)
		return r;
	p.graph.graph = child;
	r = a->edge ? d->cuGraphAddNode_v2(ret, a->graph, a->need, a->edge, needs, &p)
		    : d->cuGraphAddChildGraphNode(ret, a->graph, a->need, needs, child);
	d->cuGraphDestroy(child);
	return r;
}

#define BOUNCED_MOST 3u /* nodes of such a graph */

/* Inside a node that was added so: other places for the same kinds of sides. */
static CUresult set_bounced_node(struct work *work, CUgraphNode node, struct node_params *n)
{
	const struct cuda_table *d = work->driver;
	CUgraphNode inner[BOUNCED_MOST];
	size_t count = BOUNCED_MOST;
	CUgraph child;
	CUresult r = d->cuGraphChildGraphNodeGetGraph(node, &child);

	if (r == CUDA_SUCCESS)
		r = d->cuGraphGetNodes(child, inner, &count);
	for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++) {
		CUgraphNodeType type;
		size_t needs = 0;

		r = d->cuGraphNodeGetType(inner[i], &type);
		if (r == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_MEMCPY) {
			r = d->cuGraphMemcpyNodeSetParams(inner[i], &n->driver.memcpy.copyParams);
		} else if (r == CUDA_SUCCESS) {
			CUDA_HOST_NODE_PARAMS p = { .fn = hosts_run };

			r = d->cuGraphNodeGetDependencies(inner[i], NULL, &needs);
			if (r != CUDA_SUCCESS)
				break;
			p.userData = hosts_new(work, needs ? n->after : n->before);
			if (!p.userData)
				return CUDA_ERROR_OUT_OF_MEMORY;
			if (needs)
				hosts_bring(p.userData, n->result.offset, n->result.bytes);
			r = d->cuGraphHostNodeSetParams(inner[i], &p);
			if (r == CUDA_SUCCESS)
				hosts_belong(work, p.userData, child);
		}
	}
	return r;
}

static CUresult set_bounced(struct work *work, CUgraphExec exec, CUgraphNode node, struct node_params *n)
{
	CUgraph child;
	CUresult r;

	if (!exec)
		return set_bounced_node(work, node, n);
	/* What is set in an executable graph does not hold the user objects of where it came from. */
	r = bounced_graph(work, n, false, &child);
	if (r != CUDA_SUCCESS)
		return r;
	r = work->driver->cuGraphExecChildGraphNodeSetParams(exec, node, child);
	work->driver->cuGraphDestroy(child);
	return r;
}

static CUresult add(struct work *work, struct adding *a, CUgraphNode *ret)
{
	CUresult r;

	if (a->params.before || a->params.after)
		return add_bounced(work, a, ret);
	r = a->head.flags & GRAPH_GENERIC ? add_generic(work, a, ret) : add_typed(work, a, ret);
	if (r == CUDA_SUCCESS && a->params.host) {
		hosts_belong(work, a->params.host, a->graph);
		a->params.host = NULL;
	}
	return r;
}

/* What a new node gives out besides itself. */
static void added_write(struct work *work, const struct adding *a)
{
	const CUgraphNodeParams *p = &a->params.driver;
	struct graph_added added = { 0 };
	bool conditional = p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && p->conditional.phGraph_out;

	if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
		added.address = p->alloc.dptr;
		worker_range_add(work, p->alloc.dptr, p->alloc.bytesize, a->head.graph);
	}
	if (a->params.moved)
		worker_own(work, a->params.moved, a->head.id);
	added.graphs = conditional ? p->conditional.size : 0;
	remote_put(&work->out, &added, sizeof(added));
	for (uint32_t i = 0; i < added.graphs; i++) {
		uint64_t id = worker_name(work, KIND_GRAPH, p->conditional.phGraph_out[i], a->head.id);

		remote_put(&work->out, &id, sizeof(id));
	}
}

static int add_node(struct work *work)
{
	struct adding *a = calloc(1, sizeof(*a));
	CUgraphNode node = NULL;
	int r;

	if (!a)
		return -EMSGSIZE;
	r = add_read(work, a);
	if (!r && work->in.used != work->in.size)
		r = -EPROTO;
	if (!r && work->result == CUDA_SUCCESS) {
		work->result = (int32_t)add(work, a, &node);
		if (work->result == CUDA_SUCCESS) {
			r = worker_add(work, KIND_GRAPH_NODE, a->head.id, node, a->head.graph);
			if (r && r != -EPROTO)
				r = -EMSGSIZE;
			if (!r)
				added_write(work, a);
		}
	}
	free(a->params.host);
	node_params_deinit(&a->params);
	free(a->need);
	free(a);
	return r;
}

/* ---- parameters of nodes that exist ---- */

static CUresult set_node(struct work *work, CUgraphNode node, struct node_params *n)
{
	const struct cuda_table *d = work->driver;
	CUgraphNodeParams *p = &n->driver;

	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return d->cuGraphKernelNodeSetParams_v2(node, (CUDA_KERNEL_NODE_PARAMS *)&p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return d->cuGraphMemcpyNodeSetParams(node, &p->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_HOST:
		return d->cuGraphHostNodeSetParams(node, (CUDA_HOST_NODE_PARAMS *)&p->host);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return d->cuGraphBatchMemOpNodeSetParams(node, (CUDA_BATCH_MEM_OP_NODE_PARAMS *)&p->memOp);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult set_exec(struct work *work, CUgraphExec exec, CUgraphNode node, struct node_params *n)
{
	const struct cuda_table *d = work->driver;
	CUgraphNodeParams *p = &n->driver;

	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return d->cuGraphExecKernelNodeSetParams_v2(exec, node, (CUDA_KERNEL_NODE_PARAMS *)&p->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return d->cuGraphExecMemcpyNodeSetParams(exec, node, &p->memcpy.copyParams, p->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_HOST:
		return d->cuGraphExecHostNodeSetParams(exec, node, (CUDA_HOST_NODE_PARAMS *)&p->host);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return d->cuGraphExecBatchMemOpNodeSetParams(exec, node, (CUDA_BATCH_MEM_OP_NODE_PARAMS *)&p->memOp);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult set(struct work *work, const struct graph_set *s, CUgraphExec exec, CUgraphNode node,
		    struct node_params *p)
{
	const struct cuda_table *d = work->driver;

	if (p->before || p->after)
		return set_bounced(work, exec, node, p);
	if (s->flags & GRAPH_GENERIC)
		return exec ? d->cuGraphExecNodeSetParams(exec, node, &p->driver)
			    : d->cuGraphNodeSetParams(node, &p->driver);
	return exec ? set_exec(work, exec, node, p) : set_node(work, node, p);
}

static int set_params(struct work *work)
{
	struct node_params *p = calloc(1, sizeof(*p));
	struct graph_set s;
	CUgraphNode node;
	CUgraphExec exec;
	bool known;
	int r;

	if (!p)
		return -EMSGSIZE;
	remote_get(&work->in, &s, sizeof(s));
	node = worker_find(work, KIND_GRAPH_NODE, s.node, &known);
	exec = worker_find(work, KIND_GRAPH_EXEC, s.exec, &known);
	r = work->in.bad ? -EPROTO : node_params_read(work, p);
	if (!r && work->in.used != work->in.size)
		r = -EPROTO;
	if (!r && work->result == CUDA_SUCCESS) {
		work->result = (int32_t)set(work, &s, exec, node, p);
		if (work->result == CUDA_SUCCESS)
			p->host = NULL; /* the node's, for as long as the session: nothing says when it is not needed */
	}
	free(p->host);
	node_params_deinit(p);
	free(p);
	return r;
}

static int get_params(struct work *work)
{
	struct graph_set s;
	CUgraphNode node;
	bool known;

	remote_get(&work->in, &s, sizeof(s));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	node = worker_find(work, KIND_GRAPH_NODE, s.node, &known);
	if (node)
		node_params_write(work, node, (CUgraphNodeType)s.type);
	else if (work->result == CUDA_SUCCESS)
		work->result = CUDA_ERROR_INVALID_VALUE;
	return work->out.bad ? -EMSGSIZE : 0;
}

/* ---- attributes of kernel nodes and streams ---- */

_Static_assert(sizeof(CUlaunchAttributeValue) == sizeof(((struct graph_attribute *)0)->value), "as it travels");

static int attribute_set(struct work *work)
{
	CUlaunchAttribute a = { 0 };
	struct graph_attribute g;
	bool known;
	void *of;

	remote_get(&work->in, &g, sizeof(g));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	a.id = (CUlaunchAttributeID)g.attribute;
	memcpy(&a.value, g.value, sizeof(a.value));
	launch_attribute_check(work, &a);
	if (g.object >> 56 == KIND_GRAPH_NODE) {
		of = worker_find(work, KIND_GRAPH_NODE, g.object, &known);
		if (known && work->result == CUDA_SUCCESS)
			work->result = (int32_t)work->driver->cuGraphKernelNodeSetAttribute(of, a.id, &a.value);
	} else {
		of = worker_find_stream(work, g.object, &known);
		if (known && work->result == CUDA_SUCCESS)
			work->result = (int32_t)work->driver->cuStreamSetAttribute(of, a.id, &a.value);
	}
	return 0;
}

/* Those whose value holds a handle or an address of this process. */
static bool is_inner(uint32_t attribute)
{
	return attribute == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
	       attribute == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT ||
	       attribute > CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
}

static int attribute_get(struct work *work)
{
	CUlaunchAttributeValue value = { { 0 } };
	struct graph_attribute g;
	bool known;
	void *of;

	remote_get(&work->in, &g, sizeof(g));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	if (is_inner(g.attribute)) {
		work->result = CUDA_ERROR_INVALID_VALUE;
		return 0;
	}
	if (g.object >> 56 == KIND_GRAPH_NODE) {
		of = worker_find(work, KIND_GRAPH_NODE, g.object, &known);
		if (known)
			work->result = (int32_t)work->driver->cuGraphKernelNodeGetAttribute(
				of, (CUlaunchAttributeID)g.attribute, &value);
	} else {
		of = worker_find_stream(work, g.object, &known);
		if (known)
			work->result = (int32_t)work->driver->cuStreamGetAttribute(of, (CUlaunchAttributeID)g.attribute,
										   &value);
	}
	memcpy(g.value, &value, sizeof(g.value));
	remote_put(&work->out, &g, sizeof(g));
	return 0;
}

/* ---- what a stream is being captured into ---- */

static CUresult capture_ask(struct work *work, CUstream stream, struct graph_capture *c, const CUgraphNode **nodes,
			    const CUgraphEdgeData **edges)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUgraph graph = NULL;
	cuuint64_t id = 0;
	size_t count = 0;
	CUresult r;

	*edges = NULL;
	r = work->driver->cuStreamGetCaptureInfo_v3(stream, &status, &id, &graph, nodes, edges, &count);
	if (r == CUDA_ERROR_NOT_SUPPORTED)
		r = work->driver->cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, nodes, &count);
	c->status = (uint32_t)status;
	if (r != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return r;
	c->capture = id;
	c->graph = worker_name(work, KIND_GRAPH, graph, 0);
	c->dependencies = *nodes ? count : 0;
	c->has_edges = *edges != NULL;
	return r;
}

static int capture_info(struct work *work)
{
	const CUgraphEdgeData *edges = NULL;
	const CUgraphNode *nodes = NULL;
	struct graph_capture c = { 0 };
	CUstream stream;
	uint64_t id;
	bool known;

	remote_get(&work->in, &id, sizeof(id));
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	stream = worker_find_stream(work, id, &known);
	if (!known)
		return 0;
	work->result = (int32_t)capture_ask(work, stream, &c, &nodes, &edges);
	if (work->result != CUDA_SUCCESS)
		return 0;
	remote_put(&work->out, &c, sizeof(c));
	for (uint64_t i = 0; i < c.dependencies; i++) {
		id = worker_name(work, KIND_GRAPH_NODE, nodes[i], c.graph);
		remote_put(&work->out, &id, sizeof(id));
	}
	if (c.has_edges)
		remote_put(&work->out, edges, c.dependencies * sizeof(*edges));
	return work->out.bad ? -EMSGSIZE : 0;
}

int worker_other_graph(struct work *work)
{
	switch ((enum graph_call)work->head.call) {
	case CALL_GRAPH_ADD:
		return add_node(work);
	case CALL_GRAPH_SET:
		return set_params(work);
	case CALL_GRAPH_GET:
		return get_params(work);
	case CALL_GRAPH_ATTRIBUTE_SET:
		return attribute_set(work);
	case CALL_GRAPH_ATTRIBUTE_GET:
		return attribute_get(work);
	case CALL_GRAPH_CAPTURE:
		return capture_info(work);
	default:
		work->result = CUDA_ERROR_NOT_SUPPORTED;
		return 0;
	}
}

/* attributes.c: attributes of kernel nodes and of streams, and what a stream is being captured into. */
#include "remote/client/nodes.h"

#include "cuda_remote.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(CUlaunchAttributeValue) == sizeof(((struct graph_attribute *)0)->value), "as it travels");

/* c has chosen the object already. `value`: what is set, or where it goes. */
static CUresult attribute(struct client_call *c, enum graph_call call, uint64_t object, CUlaunchAttributeID id,
			  const CUlaunchAttributeValue *set, CUlaunchAttributeValue *ret, bool waits)
{
	struct graph_attribute g = { .object = object, .attribute = (uint32_t)id };

	c->call = call;
	if (c->result == CUDA_SUCCESS && !set && !ret)
		c->result = CUDA_ERROR_INVALID_VALUE;
	if (set)
		memcpy(g.value, set, sizeof(g.value));
	if (client_begin(c, waits)) {
		remote_put(&c->out, &g, sizeof(g));
		client_send(c);
		if (ret && c->result == CUDA_SUCCESS) {
			remote_get(&c->in, &g, sizeof(g));
			memcpy(ret, g.value, sizeof(g.value));
		}
	}
	return client_end(c);
}

static uint64_t node_use(struct client_call *c, enum cuda_call call, CUgraphNode node)
{
	uint64_t id;

	client_call(c, call);
	id = client_use(c, KIND_GRAPH_NODE, node);
	if (c->result == CUDA_SUCCESS && !id)
		c->result = CUDA_ERROR_INVALID_VALUE;
	return id;
}

CUresult client_cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
					      CUkernelNodeAttrValue *value_out)
{
	struct client_call c;
	uint64_t node = node_use(&c, CUDA_CALL_cuGraphKernelNodeGetAttribute, hNode);

	return attribute(&c, CALL_GRAPH_ATTRIBUTE_GET, node, attr, NULL, value_out, true);
}

CUresult client_cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
					      const CUkernelNodeAttrValue *value)
{
	struct client_call c;
	uint64_t node = node_use(&c, CUDA_CALL_cuGraphKernelNodeSetAttribute, hNode);

	return attribute(&c, CALL_GRAPH_ATTRIBUTE_SET, node, attr, value, NULL, true);
}

CUresult client_cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value)
{
	struct client_call c;
	uint64_t stream = client_call_stream(&c, CUDA_CALL_cuStreamGetAttribute, hStream);

	return attribute(&c, CALL_GRAPH_ATTRIBUTE_GET, stream, attr, NULL, value, true);
}

CUresult client_cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *param)
{
	struct client_call c;
	uint64_t stream = client_call_stream(&c, CUDA_CALL_cuStreamSetAttribute, hStream);

	return attribute(&c, CALL_GRAPH_ATTRIBUTE_SET, stream, attr, param, NULL, true);
}

/* ---- capture ---- */

/* What the last answer about a capture pointed to: kept with its graph. */
struct capture_lists {
	CUgraphNode *nodes;
	CUgraphEdgeData *edges;
	uint64_t space[];
};

static struct capture_lists *lists_in(struct client_call *c, const struct graph_capture *g, void *graph)
{
	const uint64_t *id = remote_take(&c->in, remote_mul(&c->in.bad, g->dependencies, sizeof(*id)));
	const CUgraphEdgeData *edge = NULL;
	struct graph_kept *kept = graph_kept(graph);
	struct capture_lists *l;

	if (g->has_edges)
		edge = remote_take(&c->in, remote_mul(&c->in.bad, g->dependencies, sizeof(*edge)));
	if (c->in.bad)
		return NULL;
	l = calloc(1, sizeof(*l) + g->dependencies * (sizeof(*l->nodes) + sizeof(*edge)) + 1);
	if (!l || !kept) {
		free(l);
		c->result = CUDA_ERROR_OUT_OF_MEMORY;
		return NULL;
	}
	l->nodes = (CUgraphNode *)l->space;
	l->edges = edge ? (CUgraphEdgeData *)&l->space[g->dependencies] : NULL;
	for (uint64_t i = 0; i < g->dependencies; i++)
		l->nodes[i] = client_meet(c, KIND_GRAPH_NODE, graph, id[i]);
	if (edge)
		memcpy(l->edges, edge, g->dependencies * sizeof(*edge));
	free(kept->lists);
	kept->lists = l;
	return l;
}

struct capture_out {
	CUstreamCaptureStatus *status;
	cuuint64_t *id;
	CUgraph *graph;
	const CUgraphNode **nodes;
	const CUgraphEdgeData **edges;
	size_t *count;
};

/* Whether an edge says more than that one node follows the other; drivers may send such edges too. */
static bool says_more(const struct capture_lists *l, uint64_t count)
{
	static const CUgraphEdgeData plain;

	for (uint64_t i = 0; l->edges && i < count; i++)
		if (memcmp(&l->edges[i], &plain, sizeof(plain)))
			return true;
	return false;
}

static void capture_in(struct client_call *c, const struct capture_out *out)
{
	struct capture_lists *l;
	struct graph_capture g;
	void *graph;

	remote_get(&c->in, &g, sizeof(g));
	if (c->in.bad)
		return;
	*out->status = (CUstreamCaptureStatus)g.status;
	if (g.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return;
	graph = client_meet(c, KIND_GRAPH, NULL, g.graph);
	l = graph ? lists_in(c, &g, graph) : NULL;
	if (!l)
		return;
	if (out->nodes && !out->edges && says_more(l, g.dependencies))
		c->result = CUDA_ERROR_LOSSY_QUERY;
	if (out->id)
		*out->id = g.capture;
	if (out->graph)
		*out->graph = graph;
	if (out->nodes)
		*out->nodes = l->nodes;
	if (out->edges)
		*out->edges = l->edges;
	if (out->count)
		*out->count = g.dependencies;
}

static CUresult capture(enum cuda_call call, CUstream stream, const struct capture_out *out)
{
	struct client_call c;
	uint64_t id = client_call_stream(&c, call, stream);

	c.call = CALL_GRAPH_CAPTURE;
	if (c.result == CUDA_SUCCESS && !out->status)
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (client_begin(&c, true)) {
		remote_put(&c.out, &id, sizeof(id));
		client_send(&c);
		if (c.result == CUDA_SUCCESS)
			capture_in(&c, out);
	}
	return client_end(&c);
}

CUresult client_cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
					  cuuint64_t *id_out, CUgraph *graph_out, const CUgraphNode **dependencies_out,
					  size_t *numDependencies_out)
{
	struct capture_out out = { captureStatus_out, id_out, graph_out, dependencies_out, NULL, numDependencies_out };

	return capture(CUDA_CALL_cuStreamGetCaptureInfo_v2, hStream, &out);
}

CUresult client_cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
					  cuuint64_t *id_out, CUgraph *graph_out, const CUgraphNode **dependencies_out,
					  const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out)
{
	struct capture_out out = { captureStatus_out, id_out,	    graph_out,
				   dependencies_out,  edgeData_out, numDependencies_out };

	return capture(CUDA_CALL_cuStreamGetCaptureInfo_v3, hStream, &out);
}

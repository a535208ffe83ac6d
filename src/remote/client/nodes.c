/* nodes.c: see nodes.h. */
#include "remote/client/nodes.h"

#include "remote/client/bounce.h"
#include "remote/client/events.h"
#include "remote/client/hosts.h"
#include "remote/client/ranges.h"

#include "cuda_remote.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_LEAST 512u

/* ---- out ---- */

static bool kernel_prepare(struct client_call *c, struct node_out *n)
{
	const CUDA_KERNEL_NODE_PARAMS_v3 *k = &n->from->kernel;

	if (k->func && k->kern) {
		c->result = CUDA_ERROR_INVALID_VALUE;
		return false;
	}
	n->context = client_use(c, KIND_CONTEXT, k->ctx);
	n->launch = (struct launch){ .grid = { k->gridDimX, k->gridDimY, k->gridDimZ },
				     .block = { k->blockDimX, k->blockDimY, k->blockDimZ },
				     .shared_bytes = k->sharedMemBytes,
				     .kind = CODE_LAUNCH_PLAIN,
				     .params = k->kernelParams,
				     .extra = k->extra };
	if (!launch_check(c, &n->launch, k->func ? (const void *)k->func : (const void *)k->kern))
		return false;
	n->room += launch_room(&n->launch);
	return true;
}

/* Bytes from the first to behind the last that one side of the copy touches. */
static uint64_t extent(const CUDA_MEMCPY3D *c, size_t pitch, size_t height, size_t x, size_t y, size_t z)
{
	uint64_t rows, last;

	if (!c->WidthInBytes || !c->Height || !c->Depth)
		return 0;
	pitch = pitch ? pitch : c->WidthInBytes + x;
	height = height ? height : c->Height + y;
	if (__builtin_mul_overflow(z + c->Depth - 1, height, &rows) ||
	    __builtin_add_overflow(rows, y + c->Height - 1, &rows) || __builtin_mul_overflow(rows, pitch, &last) ||
	    __builtin_add_overflow(last, x + c->WidthInBytes, &last))
		return UINT64_MAX;
	return last;
}

/* One side that lies in host memory: pinned, in the arena, or something that has to be stood in for. */
static bool host_side(struct client_call *c, struct node_out *n, void *host, uint64_t bytes, bool write)
{
	struct graph_copy *g = &n->copy;
	uint64_t *offset = write ? &g->to_offset : &g->from_offset, *token = write ? &g->after : &g->before;
	uint64_t begin, whole;

	*(write ? &g->to : &g->from) = GRAPH_PLACE_ARENA;
	*(write ? &g->to_bytes : &g->from_bytes) = bytes;
	if (!host || bytes == UINT64_MAX) {
		c->result = CUDA_ERROR_INVALID_VALUE;
	} else if (arena_heap_find(&c->session->arena, host, offset, &begin, &whole)) {
		if (bytes > begin + whole - *offset)
			c->result = CUDA_ERROR_INVALID_VALUE;
		else if (bytes && !c->session->coherent && !(*token = bounce_pinned(c->session, *offset, bytes, write)))
			c->result = CUDA_ERROR_OUT_OF_MEMORY;
	} else if (bytes) {
		*token = bounce_new(c->session, host, bytes, write, &g->copy, offset);
		if (!*token)
			c->result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return c->result == CUDA_SUCCESS;
}

/* Unified addresses: what lies there decides. */
static bool is_host(CUmemorytype *type, CUdeviceptr device, const void **host)
{
	struct range range;

	if (*type != CU_MEMORYTYPE_UNIFIED)
		return *type == CU_MEMORYTYPE_HOST;
	*type = CU_MEMORYTYPE_DEVICE;
	if (ranges_find(device, &range) && range.kind != RANGE_HOST && range.kind != RANGE_REGISTERED)
		return false;
	*type = CU_MEMORYTYPE_HOST;
	*host = (const void *)(uintptr_t)device;
	return true;
}

static bool copy_prepare(struct client_call *c, struct node_out *n)
{
	CUDA_MEMCPY3D *m = &n->copy.copy;
	const void *from, *to;

	*m = n->from->memcpy.copyParams;
	from = m->srcHost;
	to = m->dstHost;
	m->srcHost = NULL;
	m->dstHost = NULL;
	m->reserved0 = m->reserved1 = NULL;
	n->context = client_use(c, KIND_CONTEXT, n->from->memcpy.copyCtx);
	m->srcArray =
		(CUarray)(uintptr_t)(m->srcMemoryType == CU_MEMORYTYPE_ARRAY ? client_use(c, KIND_ARRAY, m->srcArray)
									     : 0);
	m->dstArray =
		(CUarray)(uintptr_t)(m->dstMemoryType == CU_MEMORYTYPE_ARRAY ? client_use(c, KIND_ARRAY, m->dstArray)
									     : 0);
	if (!c->session)
		client_use_current(c);
	if (c->result == CUDA_SUCCESS && is_host(&m->srcMemoryType, m->srcDevice, &from))
		host_side(c, n, (void *)(uintptr_t)from,
			  extent(m, m->srcPitch, m->srcHeight, m->srcXInBytes, m->srcY, m->srcZ), false);
	if (c->result == CUDA_SUCCESS && is_host(&m->dstMemoryType, m->dstDevice, &to))
		host_side(c, n, (void *)(uintptr_t)to,
			  extent(m, m->dstPitch, m->dstHeight, m->dstXInBytes, m->dstY, m->dstZ), true);
	return c->result == CUDA_SUCCESS;
}

static bool host_prepare(struct client_call *c, struct node_out *n)
{
	const CUDA_HOST_NODE_PARAMS_v2 *h = &n->from->host;

	if (!h->fn)
		c->result = CUDA_ERROR_INVALID_VALUE;
	else if (!(n->token = hosts_add(c->session, h->fn, h->userData)))
		c->result = CUDA_ERROR_OUT_OF_MEMORY;
	return c->result == CUDA_SUCCESS;
}

static bool batch_prepare(struct client_call *c, struct node_out *n)
{
	const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *b = &n->from->memOp;

	if (b->count > GRAPH_BATCH_MOST || (b->count && !b->paramArray))
		c->result = CUDA_ERROR_INVALID_VALUE;
	n->context = client_use(c, KIND_CONTEXT, b->ctx);
	n->room += b->count * sizeof(*b->paramArray);
	return c->result == CUDA_SUCCESS;
}

bool node_out_prepare(struct client_call *c, struct node_out *n, const CUgraphNodeParams *p)
{
	memset(n, 0, sizeof(*n));
	n->from = p;
	n->room = ROOM_LEAST + sizeof(n->copy);
	if (c->result != CUDA_SUCCESS)
		return false;
	if (!p) {
		c->result = CUDA_ERROR_INVALID_VALUE;
		return false;
	}
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return kernel_prepare(c, n);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return copy_prepare(c, n);
	case CU_GRAPH_NODE_TYPE_HOST:
		return host_prepare(c, n);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return batch_prepare(c, n);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		n->context = client_use(c, KIND_CONTEXT, p->memset.ctx);
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		n->object = client_use(c, KIND_GRAPH, p->graph.graph);
		break;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		n->object = client_use(c, KIND_EVENT, p->eventWait.event);
		break;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		n->object = client_use(c, KIND_EVENT, p->eventRecord.event);
		events_in_graph(p->eventRecord.event);
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		n->context = client_use(c, KIND_CONTEXT, p->conditional.ctx);
		if (p->conditional.size > GRAPH_CONDITION_MOST)
			c->result = CUDA_ERROR_INVALID_VALUE;
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		if (p->alloc.accessDescCount > GRAPH_BATCH_MOST || (p->alloc.accessDescCount && !p->alloc.accessDescs))
			c->result = CUDA_ERROR_INVALID_VALUE;
		n->room += p->alloc.accessDescCount * sizeof(*p->alloc.accessDescs);
		break;
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		break;
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		c->result = CUDA_ERROR_NOT_SUPPORTED;
		break;
	default:
		c->result = CUDA_ERROR_INVALID_VALUE;
		break;
	}
	return c->result == CUDA_SUCCESS;
}

static void put_object(struct client_call *c, const struct node_out *n)
{
	struct graph_object g = { .id = n->object };

	if (n->from->type == CU_GRAPH_NODE_TYPE_GRAPH)
		g.ownership = n->from->graph.ownership;
	remote_put(&c->out, &g, sizeof(g));
}

static void put_alloc(struct client_call *c, const struct node_out *n)
{
	CUDA_MEM_ALLOC_NODE_PARAMS_v2 a = n->from->alloc;
	const CUmemAccessDesc *access = a.accessDescs;
	CUmemAccessDesc *to;

	a.accessDescs = NULL;
	a.poolProps.win32SecurityAttributes = NULL;
	a.dptr = 0;
	if (a.poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		a.poolProps.location.id = client_use_device(c, a.poolProps.location.id);
	remote_put(&c->out, &a, sizeof(a));
	to = remote_reserve(&c->out, a.accessDescCount * sizeof(*access));
	for (size_t i = 0; to && i < a.accessDescCount; i++) {
		to[i] = access[i];
		if (to[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE)
			to[i].location.id = client_use_device(c, to[i].location.id);
	}
}

static void put_batch(struct client_call *c, const struct node_out *n)
{
	const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *b = &n->from->memOp;
	struct graph_batch g = { b->count, b->flags };

	remote_put(&c->out, &g, sizeof(g));
	remote_put(&c->out, b->paramArray, b->count * sizeof(*b->paramArray));
}

void node_out_put(struct client_call *c, const struct node_out *n)
{
	struct graph_params head = { .type = (uint32_t)n->from->type, .context = n->context };
	struct graph_condition condition;
	struct graph_host host = { n->token };

	remote_put(&c->out, &head, sizeof(head));
	switch (n->from->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		launch_put(c, &n->launch, 0);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		remote_put(&c->out, &n->copy, sizeof(n->copy));
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		remote_put(&c->out, &n->from->memset, sizeof(n->from->memset));
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		remote_put(&c->out, &host, sizeof(host));
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		put_object(c, n);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		put_alloc(c, n);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		remote_put(&c->out, &n->from->free, sizeof(n->from->free));
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		put_batch(c, n);
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		condition = (struct graph_condition){ n->from->conditional.handle, (uint32_t)n->from->conditional.type,
						      n->from->conditional.size };
		remote_put(&c->out, &condition, sizeof(condition));
		break;
	default:
		break;
	}
}

void node_out_void(struct client_call *c, const struct node_out *n)
{
	hosts_remove(c->session, n->token);
	hosts_remove(c->session, n->copy.before);
	hosts_remove(c->session, n->copy.after);
}

/* ---- in ---- */

/* What an answer about a node pointed to. The one before it stays as well: the program may still look at it. */
struct kept {
	struct kept *before;
	bool bounced; /* data is a CUDA_MEMCPY3D */
	uint64_t data[];
};

static void kept_gone(void *data)
{
	struct kept *k = data;

	if (k->before)
		free(k->before);
	free(k);
}

void *node_keep(struct client_call *c, CUgraphNode node, size_t bytes)
{
	struct kept *old = client_kept(KIND_GRAPH_NODE, node), *k = malloc(sizeof(*k) + bytes);

	if (!k) {
		c->result = CUDA_ERROR_OUT_OF_MEMORY;
		return NULL;
	}
	if (old && old->before)
		free(old->before);
	if (old)
		old->before = NULL;
	k->before = old;
	k->bounced = false;
	client_keep(node, k, kept_gone);
	return k->data;
}

void node_bounces(struct client_call *c, CUgraphNode node, const CUDA_MEMCPY3D *copy)
{
	void *data = node_keep(c, node, sizeof(*copy));

	if (!data)
		return;
	memcpy(data, copy, sizeof(*copy));
	((struct kept *)client_kept(KIND_GRAPH_NODE, node))->bounced = true;
}

const CUDA_MEMCPY3D *node_bounced(CUgraphNode node)
{
	const struct kept *k = client_kept(KIND_GRAPH_NODE, node);

	return k && k->bounced ? (const CUDA_MEMCPY3D *)k->data : NULL;
}

static void graph_gone(void *data)
{
	struct graph_kept *k = data;

	ranges_drop_owner((uint64_t)(uintptr_t)k->graph);
	free(k->lists);
	free(k);
}

struct graph_kept *graph_kept(void *graph)
{
	struct graph_kept *k = client_kept(KIND_GRAPH, graph);

	if (k)
		return k;
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->graph = graph;
	client_keep(graph, k, graph_gone);
	return client_kept(KIND_GRAPH, graph); /* it may have ended, and what was to be kept with it */
}

static void kernel_in(struct client_call *c, CUgraphNode node, CUcontext context, CUDA_KERNEL_NODE_PARAMS_v3 *ret)
{
	struct function *f;
	struct code_launch h;
	const void *packed;
	enum remote_kind kind;
	struct client_call finding = { .session = c->session, .thread = c->thread };
	void *handle;
	void **list;

	remote_get(&c->in, &h, sizeof(h));
	packed = remote_take(&c->in, h.param_bytes);
	if (c->in.bad)
		return;
	kind = h.function >> 56 == KIND_KERNEL ? KIND_KERNEL : KIND_FUNCTION;
	handle = client_meet(c, kind, NULL, h.function);
	*ret = (CUDA_KERNEL_NODE_PARAMS_v3){ .func = kind == KIND_FUNCTION ? handle : NULL,
					     .kern = kind == KIND_KERNEL ? handle : NULL,
					     .gridDimX = h.grid[0],
					     .gridDimY = h.grid[1],
					     .gridDimZ = h.grid[2],
					     .blockDimX = h.block[0],
					     .blockDimY = h.block[1],
					     .blockDimZ = h.block[2],
					     .sharedMemBytes = h.shared_bytes,
					     .ctx = context };
	f = function_use(&finding, handle);
	if (!f || f->param_bytes > h.param_bytes) {
		c->result = f ? CUDA_ERROR_NOT_SUPPORTED : finding.result;
		return;
	}
	list = node_keep(c, node, f->params * sizeof(*list) + h.param_bytes);
	if (!list)
		return;
	memcpy(&list[f->params], packed, h.param_bytes);
	for (uint32_t i = 0; i < f->params; i++)
		list[i] = (uint8_t *)&list[f->params] + f->param[i].offset;
	ret->kernelParams = f->params ? list : NULL;
}

static void *arena_address(const struct client_call *c, uint32_t place, uint64_t offset)
{
	return place == GRAPH_PLACE_ARENA ? c->session->link.wall.arena + offset : NULL;
}

static void copy_in(struct client_call *c, CUDA_MEMCPY3D *ret)
{
	struct graph_copy g;

	remote_get(&c->in, &g, sizeof(g));
	if (c->in.bad)
		return;
	*ret = g.copy;
	ret->srcHost = arena_address(c, g.from, g.from_offset);
	ret->dstHost = arena_address(c, g.to, g.to_offset);
	ret->srcArray = client_meet(c, KIND_ARRAY, NULL, (uint64_t)(uintptr_t)g.copy.srcArray);
	ret->dstArray = client_meet(c, KIND_ARRAY, NULL, (uint64_t)(uintptr_t)g.copy.dstArray);
}

static void alloc_in(struct client_call *c, CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS_v2 *ret)
{
	const CUmemAccessDesc *access;
	CUmemAccessDesc *kept;

	remote_get(&c->in, ret, sizeof(*ret));
	access = remote_take(&c->in, remote_mul(&c->in.bad, ret->accessDescCount, sizeof(*access)));
	ret->accessDescs = NULL;
	if (c->in.bad)
		return;
	if (ret->poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		ret->poolProps.location.id = client_meet_device(c, ret->poolProps.location.id);
	if (!ret->accessDescCount)
		return;
	kept = node_keep(c, node, ret->accessDescCount * sizeof(*access));
	if (!kept)
		return;
	ret->accessDescs = memcpy(kept, access, ret->accessDescCount * sizeof(*access));
	for (size_t i = 0; i < ret->accessDescCount; i++)
		if (kept[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE)
			kept[i].location.id = client_meet_device(c, kept[i].location.id);
}

static void batch_in(struct client_call *c, CUgraphNode node, CUcontext context, CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *ret)
{
	struct graph_batch g;
	const void *operation;
	void *kept;

	remote_get(&c->in, &g, sizeof(g));
	operation = remote_take(&c->in, g.count * sizeof(*ret->paramArray));
	kept = c->in.bad ? NULL : node_keep(c, node, g.count * sizeof(*ret->paramArray));
	if (kept)
		*ret = (CUDA_BATCH_MEM_OP_NODE_PARAMS_v2){
			.ctx = context,
			.count = g.count,
			.flags = g.flags,
			.paramArray = memcpy(kept, operation, g.count * sizeof(*ret->paramArray)),
		};
}

static void host_in(struct client_call *c, CUDA_HOST_NODE_PARAMS_v2 *ret)
{
	struct graph_host g;

	remote_get(&c->in, &g, sizeof(g));
	if (!c->in.bad && !hosts_find(g.token, &ret->fn, &ret->userData))
		c->result = CUDA_ERROR_NOT_SUPPORTED; /* it is not the program's */
}

void node_in(struct client_call *c, CUgraphNode node, CUgraphNodeParams *ret)
{
	struct graph_params head;
	CUcontext context;

	remote_get(&c->in, &head, sizeof(head));
	memset(ret, 0, sizeof(*ret));
	ret->type = (CUgraphNodeType)head.type;
	context = c->in.bad ? NULL : client_meet(c, KIND_CONTEXT, NULL, head.context);
	switch (ret->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		kernel_in(c, node, context, &ret->kernel);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		copy_in(c, &ret->memcpy.copyParams);
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		host_in(c, &ret->host);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		alloc_in(c, node, &ret->alloc);
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		batch_in(c, node, context, &ret->memOp);
		break;
	default:
		c->in.bad = true;
		break;
	}
}

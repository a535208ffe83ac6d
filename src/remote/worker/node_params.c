/* node_params.c: see graphs.h. */
#include "remote/worker/graphs.h"

#include "remote/worker/box.h"
#include "remote/worker/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* The object of an id within the parameters; 0 is none. */
static void *object(struct work *work, enum remote_kind kind, uint64_t id)
{
	bool known;
	void *handle = worker_find(work, kind, id, &known);

	if (!known && work->result == CUDA_SUCCESS)
		work->result = CUDA_ERROR_INVALID_VALUE;
	return handle;
}

static int read_kernel(struct work *work, struct node_params *p, CUcontext context)
{
	CUDA_KERNEL_NODE_PARAMS_v3 *k = &p->driver.kernel;
	const struct code_launch *h = &p->launch.head;
	int r = launch_read(work, &p->launch);

	if (r || !p->launch.known)
		return r;
	if (work->result == CUDA_SUCCESS)
		launch_params(work, &p->launch);
	if (h->function >> 56 == KIND_KERNEL)
		k->kern = p->launch.known->handle;
	else
		k->func = p->launch.known->handle;
	k->gridDimX = h->grid[0];
	k->gridDimY = h->grid[1];
	k->gridDimZ = h->grid[2];
	k->blockDimX = h->block[0];
	k->blockDimY = h->block[1];
	k->blockDimZ = h->block[2];
	k->sharedMemBytes = h->shared_bytes;
	k->kernelParams = p->launch.params;
	k->extra = p->launch.extra;
	k->ctx = context;
	return 0;
}

/* An address of device memory, of which `bytes` are touched: the driver would take one of this process as well. */
static void touches(struct work *work, CUdeviceptr at, uint64_t bytes)
{
	if (work->result == CUDA_SUCCESS && bytes && !memory_good(work, at, bytes))
		work->result = CUDA_ERROR_INVALID_VALUE;
}

/* One side of a copy, its fields by name. What is not used of them is zero when a driver gets it. */
struct end {
	CUmemorytype type;
	void *host;
	CUdeviceptr device;
	CUarray array;
	size_t lod;
	struct box_place place;
};

/*
 * Where host memory of a copy lies here: `offset` is that of its description, of which `bytes` are the copy's. Not in
 * the staging, whose bytes are others by the time that the graph runs.
 */
static void *host_place(struct work *work, uint32_t place, uint64_t offset, uint64_t bytes, const struct box_span *span)
{
	uint64_t needed;

	if (place != GRAPH_PLACE_ARENA || offset < worker_welcome(work->worker)->heap_offset ||
	    __builtin_add_overflow(span->first, span->bytes, &needed) || needed > bytes)
		return NULL;
	return worker_arena(work, offset, bytes);
}

/* What a driver would fill in for a pitch or a height that is not told. */
static void fill_in(const struct box *box, struct box_place *place)
{
	if (!place->pitch && __builtin_add_overflow(place->x, box->width, &place->pitch))
		place->pitch = 0;
	if (!place->height && __builtin_add_overflow(place->y, box->height, &place->height))
		place->height = 0;
}

/* A side in linear memory. `host`: where it lies in the arena, if it does. */
static bool place_linear(struct work *work, const struct box *box, struct end *end, const struct call_payload *host,
			 uint32_t place)
{
	struct box_span span;
	CUdeviceptr at;

	end->array = NULL;
	fill_in(box, &end->place);
	if (!box_span(box, &end->place, &span))
		return false;
	if (end->type == CU_MEMORYTYPE_HOST) {
		end->device = 0;
		end->host = host_place(work, place, host->offset, host->bytes, &span);
		return end->host;
	}
	end->type = CU_MEMORYTYPE_DEVICE; /* the client says what lies there */
	end->host = NULL;
	end->device = worker_at(end->device);
	return !__builtin_add_overflow(end->device, span.first, &at) && memory_good(work, at, span.bytes);
}

static bool place_array(struct work *work, const struct box *box, struct end *end)
{
	bool known;

	end->host = NULL;
	end->device = 0;
	end->place.pitch = end->place.height = 0;
	end->array = worker_find(work, KIND_ARRAY, (uint64_t)(uintptr_t)end->array, &known);
	return end->array && box_sums(box, &end->place);
}

static void place_end(struct work *work, const struct box *box, struct end *end, const struct call_payload *host,
		      uint32_t place)
{
	bool good = false;

	if (work->result != CUDA_SUCCESS)
		return;
	if (end->type == CU_MEMORYTYPE_ARRAY)
		good = place_array(work, box, end);
	else if (end->type == CU_MEMORYTYPE_HOST || end->type == CU_MEMORYTYPE_DEVICE ||
		 end->type == CU_MEMORYTYPE_UNIFIED)
		good = place_linear(work, box, end, host, place);
	if ((!good || end->lod) && work->result == CUDA_SUCCESS)
		work->result = CUDA_ERROR_INVALID_VALUE;
}

/* The copy as the client describes it becomes one of numbers that were looked at, and of nothing else. */
static void read_copy_ends(struct work *work, const struct graph_copy *g, CUDA_MEMCPY3D *ret)
{
	const CUDA_MEMCPY3D *c = &g->copy;
	struct box box = { c->WidthInBytes, c->Height, c->Depth };
	struct end from = { .type = c->srcMemoryType,
			    .device = c->srcDevice,
			    .array = c->srcArray,
			    .lod = c->srcLOD,
			    .place = { c->srcXInBytes, c->srcY, c->srcZ, c->srcPitch, c->srcHeight } };
	struct end to = { .type = c->dstMemoryType,
			  .device = c->dstDevice,
			  .array = c->dstArray,
			  .lod = c->dstLOD,
			  .place = { c->dstXInBytes, c->dstY, c->dstZ, c->dstPitch, c->dstHeight } };
	struct call_payload read = { .offset = g->from_offset, .bytes = g->from_bytes };
	struct call_payload written = { .offset = g->to_offset, .bytes = g->to_bytes };

	place_end(work, &box, &from, &read, g->from);
	place_end(work, &box, &to, &written, g->to);
	*ret = (CUDA_MEMCPY3D){
		.srcXInBytes = from.place.x,
		.srcY = from.place.y,
		.srcZ = from.place.z,
		.srcMemoryType = from.type,
		.srcHost = from.host,
		.srcDevice = from.device,
		.srcArray = from.array,
		.srcPitch = from.place.pitch,
		.srcHeight = from.place.height,
		.dstXInBytes = to.place.x,
		.dstY = to.place.y,
		.dstZ = to.place.z,
		.dstMemoryType = to.type,
		.dstHost = to.host,
		.dstDevice = to.device,
		.dstArray = to.array,
		.dstPitch = to.place.pitch,
		.dstHeight = to.place.height,
		.WidthInBytes = box.width,
		.Height = box.height,
		.Depth = box.depth,
	};
}

static int read_copy(struct work *work, struct node_params *p, CUcontext context)
{
	struct graph_copy g;

	remote_get(&work->in, &g, sizeof(g));
	if (work->in.bad)
		return -EPROTO;
	p->before = g.before;
	p->after = g.after;
	p->driver.memcpy.copyCtx = context;
	read_copy_ends(work, &g, &p->driver.memcpy.copyParams);
	if (p->driver.memcpy.copyParams.dstHost) /* it was looked at */
		p->result = (struct call_payload){ .offset = g.to_offset, .bytes = g.to_bytes };
	return 0;
}

static int read_host(struct work *work, struct node_params *p)
{
	struct graph_host g;

	remote_get(&work->in, &g, sizeof(g));
	if (work->in.bad || !g.token)
		return -EPROTO;
	p->host = hosts_new(work, g.token);
	p->driver.host.fn = hosts_run;
	p->driver.host.userData = p->host;
	return 0;
}

static int read_alloc(struct work *work, struct node_params *p)
{
	CUDA_MEM_ALLOC_NODE_PARAMS_v2 *a = &p->driver.alloc;
	const CUmemAccessDesc *access;

	remote_get(&work->in, a, sizeof(*a));
	if (work->in.bad || a->accessDescCount > GRAPH_BATCH_MOST)
		return -EPROTO;
	access = remote_take(&work->in, a->accessDescCount * sizeof(*access));
	if (work->in.bad)
		return -EPROTO;
	a->poolProps.win32SecurityAttributes = NULL;
	a->dptr = 0;
	a->accessDescs = NULL;
	if (!a->accessDescCount)
		return 0;
	p->access = malloc(a->accessDescCount * sizeof(*access));
	if (p->access)
		a->accessDescs = memcpy(p->access, access, a->accessDescCount * sizeof(*access));
	else
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
	return 0;
}

static void operation_touches(struct work *work, CUstreamBatchMemOpParams *p)
{
	/* Of waits and writes it lies at the same place. */
	if (p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
	    p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 || p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64)
		p->waitValue.address = worker_at(p->waitValue.address);
	switch (p->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		touches(work, p->waitValue.address, sizeof(cuuint32_t));
		break;
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		touches(work, p->waitValue.address, sizeof(cuuint64_t));
		break;
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		touches(work, p->writeValue.address, sizeof(cuuint32_t));
		break;
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		touches(work, p->writeValue.address, sizeof(cuuint64_t));
		break;
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
	case CU_STREAM_MEM_OP_BARRIER:
		break; /* no address */
	default:       /* nobody knows whether there is one */
		if (work->result == CUDA_SUCCESS)
			work->result = CUDA_ERROR_NOT_SUPPORTED;
	}
}

static int read_batch(struct work *work, struct node_params *p, CUcontext context)
{
	const void *operation;
	struct graph_batch g;

	remote_get(&work->in, &g, sizeof(g));
	if (work->in.bad || g.count > GRAPH_BATCH_MOST)
		return -EPROTO;
	operation = remote_take(&work->in, g.count * sizeof(*p->batch));
	if (work->in.bad)
		return -EPROTO;
	p->driver.memOp.ctx = context;
	p->driver.memOp.count = g.count;
	p->driver.memOp.flags = g.flags;
	p->batch = malloc(g.count * sizeof(*p->batch) + 1);
	if (p->batch)
		p->driver.memOp.paramArray = memcpy(p->batch, operation, g.count * sizeof(*p->batch));
	else
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; p->batch && i < g.count; i++)
		operation_touches(work, &p->batch[i]);
	return 0;
}

static int read_memset(struct work *work, struct node_params *p, CUcontext context)
{
	CUDA_MEMSET_NODE_PARAMS_v2 *m = &p->driver.memset;
	uint64_t row, bytes;

	remote_get(&work->in, m, sizeof(*m));
	m->ctx = context;
	m->dst = worker_at(m->dst);
	if (work->in.bad)
		return -EPROTO;
	if (m->elementSize != 1 && m->elementSize != 2 && m->elementSize != 4)
		work->result = CUDA_ERROR_INVALID_VALUE;
	if (!m->width || !m->height)
		return 0;
	if (__builtin_mul_overflow(m->width, (uint64_t)m->elementSize, &row) ||
	    __builtin_mul_overflow(m->height - 1, m->pitch, &bytes) || __builtin_add_overflow(bytes, row, &bytes))
		bytes = UINT64_MAX;
	touches(work, m->dst, bytes);
	return 0;
}

static int read_object(struct work *work, struct node_params *p)
{
	struct graph_object g;

	remote_get(&work->in, &g, sizeof(g));
	if (work->in.bad)
		return -EPROTO;
	if (p->driver.type == CU_GRAPH_NODE_TYPE_GRAPH) {
		p->driver.graph.graph = object(work, KIND_GRAPH, g.id);
		p->driver.graph.ownership = (CUgraphChildGraphNodeOwnership)g.ownership;
		p->moved = g.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE ? g.id : 0;
	} else if (p->driver.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) {
		p->driver.eventWait.event = object(work, KIND_EVENT, g.id);
	} else {
		p->driver.eventRecord.event = object(work, KIND_EVENT, g.id);
	}
	return 0;
}

static int read_condition(struct work *work, struct node_params *p, CUcontext context)
{
	CUDA_CONDITIONAL_NODE_PARAMS *c = &p->driver.conditional;
	struct graph_condition g;

	remote_get(&work->in, &g, sizeof(g));
	if (work->in.bad || g.size > GRAPH_CONDITION_MOST)
		return -EPROTO;
	c->handle = g.handle; /* a number of the driver's, which kernels are given, too: it looks it up itself */
	c->type = (CUgraphConditionalNodeType)g.type;
	c->size = g.size;
	c->ctx = context;
	return 0;
}

int node_params_read(struct work *work, struct node_params *p)
{
	struct graph_params head;
	CUcontext context;

	memset(&p->driver, 0, sizeof(p->driver));
	p->host = NULL;
	p->before = p->after = p->moved = 0;
	p->access = NULL;
	p->batch = NULL;
	remote_get(&work->in, &head, sizeof(head));
	if (work->in.bad)
		return -EPROTO;
	p->driver.type = (CUgraphNodeType)head.type;
	p->context_id = head.context;
	context = object(work, KIND_CONTEXT, head.context);
	switch (p->driver.type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return read_kernel(work, p, context);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return read_copy(work, p, context);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return read_memset(work, p, context);
	case CU_GRAPH_NODE_TYPE_HOST:
		return read_host(work, p);
	case CU_GRAPH_NODE_TYPE_GRAPH:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return read_object(work, p);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return 0;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return read_alloc(work, p);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		remote_get(&work->in, &p->driver.free, sizeof(p->driver.free));
		if (!work->in.bad)
			touches(work, p->driver.free.dptr, 1);
		return work->in.bad ? -EPROTO : 0;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return read_batch(work, p, context);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return read_condition(work, p, context);
	default:
		return -EPROTO;
	}
}

void node_params_deinit(struct node_params *p)
{
	free(p->access);
	free(p->batch);
}

/* ---- writing ---- */

static uint64_t context_id(struct work *work, CUcontext context)
{
	return worker_known(work, KIND_CONTEXT, context);
}

static void put_head(struct work *work, CUgraphNodeType type, uint64_t context)
{
	struct graph_params head = { .type = (uint32_t)type, .context = context };

	remote_put(&work->out, &head, sizeof(head));
}

static void write_kernel(struct work *work, CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS k = { 0 };
	struct code_launch h = { 0 };
	const struct known *known;
	uint8_t *packed;

	work->result = (int32_t)work->driver->cuGraphKernelNodeGetParams_v2(node, &k);
	if (work->result != CUDA_SUCCESS)
		return;
	h.function = k.kern ? worker_known(work, KIND_KERNEL, k.kern) : worker_name_loose(work, k.func);
	known = h.function ? functions_known(work, h.function) : NULL;
	if (!h.function)
		work->result = k.kern ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
	else if (!known)
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
	else if (!known->layout)
		work->result = CUDA_ERROR_NOT_SUPPORTED;
	if (work->result != CUDA_SUCCESS)
		return;
	h.grid[0] = k.gridDimX;
	h.grid[1] = k.gridDimY;
	h.grid[2] = k.gridDimZ;
	h.block[0] = k.blockDimX;
	h.block[1] = k.blockDimY;
	h.block[2] = k.blockDimZ;
	h.shared_bytes = k.sharedMemBytes;
	h.param_bytes = known->param_bytes;
	put_head(work, CU_GRAPH_NODE_TYPE_KERNEL, context_id(work, k.ctx));
	remote_put(&work->out, &h, sizeof(h));
	packed = remote_reserve(&work->out, known->param_bytes);
	for (uint32_t i = 0; packed && k.kernelParams && i < known->params; i++)
		memcpy(packed + known->param[i].offset, k.kernelParams[i], known->param[i].bytes);
}

/* Host memory that lies in the arena, as its offset. */
static uint64_t offset_of(struct work *work, const void *host, uint32_t *ret_place)
{
	const struct wall_welcome *w = worker_welcome(work->worker);
	const uint8_t *base = worker_arena(work, 0, 1);
	uint64_t offset = base ? (uint64_t)((const uint8_t *)host - base) : UINT64_MAX;

	*ret_place = host && offset < w->arena_bytes ? GRAPH_PLACE_ARENA : GRAPH_PLACE_NONE;
	return *ret_place ? offset : 0;
}

static void write_copy(struct work *work, CUgraphNode node)
{
	struct graph_copy g = { 0 };
	CUDA_MEMCPY3D *c = &g.copy;

	work->result = (int32_t)work->driver->cuGraphMemcpyNodeGetParams(node, c);
	if (work->result != CUDA_SUCCESS)
		return;
	g.from_offset = offset_of(work, c->srcHost, &g.from);
	g.to_offset = offset_of(work, c->dstHost, &g.to);
	c->srcHost = NULL;
	c->dstHost = NULL;
	c->srcArray = (CUarray)(uintptr_t)worker_known(work, KIND_ARRAY, c->srcArray);
	c->dstArray = (CUarray)(uintptr_t)worker_known(work, KIND_ARRAY, c->dstArray);
	put_head(work, CU_GRAPH_NODE_TYPE_MEMCPY, 0);
	remote_put(&work->out, &g, sizeof(g));
}

static void write_host(struct work *work, CUgraphNode node)
{
	CUDA_HOST_NODE_PARAMS h = { 0 };
	struct graph_host g;

	work->result = (int32_t)work->driver->cuGraphHostNodeGetParams(node, &h);
	if (work->result != CUDA_SUCCESS)
		return;
	g.token = hosts_token(h.fn, h.userData);
	put_head(work, CU_GRAPH_NODE_TYPE_HOST, 0);
	remote_put(&work->out, &g, sizeof(g));
}

static void write_alloc(struct work *work, CUgraphNode node)
{
	CUDA_MEM_ALLOC_NODE_PARAMS_v1 a = { 0 };
	const CUmemAccessDesc *access;

	work->result = (int32_t)work->driver->cuGraphMemAllocNodeGetParams(node, &a);
	if (work->result != CUDA_SUCCESS)
		return;
	access = a.accessDescs;
	a.accessDescs = NULL;
	a.poolProps.win32SecurityAttributes = NULL;
	put_head(work, CU_GRAPH_NODE_TYPE_MEM_ALLOC, 0);
	if (!access)
		a.accessDescCount = 0;
	remote_put(&work->out, &a, sizeof(a));
	remote_put(&work->out, access, a.accessDescCount * sizeof(*access));
}

static void write_batch(struct work *work, CUgraphNode node)
{
	CUDA_BATCH_MEM_OP_NODE_PARAMS b = { 0 };
	struct graph_batch g;

	work->result = (int32_t)work->driver->cuGraphBatchMemOpNodeGetParams(node, &b);
	if (work->result != CUDA_SUCCESS)
		return;
	g = (struct graph_batch){ b.count, b.flags };
	put_head(work, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, context_id(work, b.ctx));
	remote_put(&work->out, &g, sizeof(g));
	remote_put(&work->out, b.paramArray, b.count * sizeof(*b.paramArray));
}

void node_params_write(struct work *work, CUgraphNode node, CUgraphNodeType type)
{
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		write_kernel(work, node);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		write_copy(work, node);
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		write_host(work, node);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		write_alloc(work, node);
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		write_batch(work, node);
		break;
	default:
		work->result = CUDA_ERROR_INVALID_VALUE;
		break;
	}
}

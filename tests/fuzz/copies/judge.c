/* judge.c: see judge.h. */
#include "judge.h"

#include "cuda_remote.h"

#include <stdio.h>
#include <stdlib.h>

struct judge judge;

__extension__ typedef __int128 wide;

static void guilty(const char *why)
{
	fprintf(stderr, "copies_fuzz: %s\n", why);
	abort();
}

/* ---- what is the client's ---- */

static bool within(wide begin, wide end, uint64_t from, uint64_t bytes)
{
	return begin >= (wide)from && end <= (wide)from + (wide)bytes;
}

/* The first 4 KiB are the board, which no copy touches. */
static bool in_arena(wide begin, wide end)
{
	return within(begin, end, (uint64_t)(uintptr_t)judge.arena + 4096, judge.arena_bytes - 4096);
}

static bool in_heap(wide begin, wide end)
{
	return within(begin, end, (uint64_t)(uintptr_t)judge.arena + judge.heap_offset,
		      judge.arena_bytes - judge.heap_offset);
}

static bool in_messages(wide begin, wide end)
{
	return within(begin, end, (uint64_t)(uintptr_t)judge.inside, judge.inside_bytes);
}

static bool on_device(wide begin, wide end)
{
	return within(begin, end, JUDGE_DEVICE, 2 * JUDGE_BYTES) || within(begin, end, JUDGE_APART, JUDGE_BYTES) ||
	       within(begin, end, JUDGE_KNOWN, JUDGE_BYTES) || in_heap(begin, end);
}

/* `kept`: the address is looked at again when the request has long been answered. */
static void host(wide begin, wide end, bool kept)
{
	if (!in_arena(begin, end) && !in_messages(begin, end))
		guilty("host memory that is not the client's");
	if (kept && !in_heap(begin, end))
		guilty("bytes that are gone when the graph runs");
	judge.judged++;
}

static void device(wide begin, wide end)
{
	if (!on_device(begin, end))
		guilty("device memory that is not the client's");
	judge.judged++;
}

static void host_line(const void *at, size_t bytes)
{
	if (bytes)
		host((wide)(uintptr_t)at, (wide)(uintptr_t)at + (wide)bytes, judge.capturing);
}

static void device_line(uint64_t at, size_t bytes)
{
	if (bytes)
		device((wide)at, (wide)at + (wide)bytes);
}

static void any_line(uint64_t at, size_t bytes)
{
	if (bytes && !on_device((wide)at, (wide)at + (wide)bytes))
		host_line((const void *)(uintptr_t)at, bytes);
}

/* ---- boxes ---- */

struct end {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	uint64_t x, y, z, lod, pitch, height;
};

static void array_end(const struct end *e, const CUDA_MEMCPY3D *c)
{
	if (e->array != JUDGE_ARRAY || e->host || e->device)
		guilty("an array and something else");
	if ((wide)e->x + (wide)c->WidthInBytes > (wide)UINT64_MAX || (wide)e->y + (wide)c->Height > (wide)UINT64_MAX ||
	    (wide)e->z + (wide)c->Depth > (wide)UINT64_MAX)
		guilty("a box in an array whose sums wrap");
	judge.judged++;
}

static void linear_end(const struct end *e, const CUDA_MEMCPY3D *c, bool kept)
{
	bool rows = c->Height > 1 || c->Depth > 1 || e->y || e->z, slices = c->Depth > 1 || e->z;
	uint64_t base = e->type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)e->host : e->device;
	wide begin, end, last, pitch = (wide)e->pitch, height = (wide)e->height;

	if (e->array || (e->type == CU_MEMORYTYPE_HOST ? e->device : (uint64_t)(uintptr_t)e->host))
		guilty("fields that are not used are not zero");
	if ((rows && (wide)e->pitch < (wide)e->x + (wide)c->WidthInBytes) ||
	    (slices && (wide)e->height < (wide)e->y + (wide)c->Height))
		guilty("a pitch or a height that the driver would make something of");
	last = (wide)e->z + (wide)c->Depth - 1;
	if (last && height > ((wide)1 << 100) / last)
		guilty("slices beyond all memory");
	end = last * height + (wide)e->y + (wide)c->Height - 1;
	if (end && pitch > ((wide)1 << 120) / end)
		guilty("rows beyond all memory");
	begin = ((wide)e->z * height + (wide)e->y) * pitch + (wide)e->x + (wide)base;
	end = end * pitch + (wide)e->x + (wide)c->WidthInBytes + (wide)base;
	if (e->type == CU_MEMORYTYPE_HOST)
		host(begin, end, kept);
	else
		device(begin, end);
}

static void one_end(const struct end *e, const CUDA_MEMCPY3D *c, bool kept)
{
	if (e->lod)
		guilty("a level");
	if (e->type == CU_MEMORYTYPE_ARRAY)
		array_end(e, c);
	else if (e->type == CU_MEMORYTYPE_HOST || e->type == CU_MEMORYTYPE_DEVICE)
		linear_end(e, c, kept);
	else
		guilty("memory of a kind that there is not");
}

static void box(const CUDA_MEMCPY3D *c, bool kept)
{
	struct end from = { c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcXInBytes,
			    c->srcY,	      c->srcZ,	  c->srcLOD,	c->srcPitch, c->srcHeight };
	struct end to = { c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstXInBytes,
			  c->dstY,	    c->dstZ,	c->dstLOD,    c->dstPitch, c->dstHeight };

	if (!c->WidthInBytes || !c->Height || !c->Depth)
		guilty("a box of nothing");
	if (c->reserved0 || c->reserved1)
		guilty("reserved fields are not zero");
	one_end(&from, c, kept);
	one_end(&to, c, kept);
}

static void fill(uint64_t at, size_t pitch, size_t element, size_t width, size_t height)
{
	wide row = (wide)width * (wide)element;

	if (!width || !height || (element != 1 && element != 2 && element != 4))
		return; /* as documented: nothing, or refused */
	if (height > 1 && pitch && (wide)height > ((wide)1 << 100) / (wide)pitch)
		guilty("a fill beyond all memory");
	device((wide)at, (wide)at + (wide)(height - 1) * (height > 1 ? (wide)pitch : 0) + row);
}

/* ---- calls ---- */

static CUresult absent(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult fine(void)
{
	return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *ret)
{
	*ret = JUDGE_CONTEXT;
	return CUDA_SUCCESS;
}

static CUresult is_capturing(CUstream stream, CUstreamCaptureStatus *ret)
{
	(void)stream;
	*ret = judge.capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

static CUresult make_stream(CUstream *ret, unsigned int flags)
{
	(void)flags;
	*ret = JUDGE_STREAM;
	return CUDA_SUCCESS;
}

static CUresult make_event(CUevent *ret, unsigned int flags)
{
	(void)flags;
	*ret = JUDGE_STREAM;
	return CUDA_SUCCESS;
}

static CUresult pointer_attribute(void *ret, CUpointer_attribute what, CUdeviceptr at)
{
	if (what != CU_POINTER_ATTRIBUTE_MEMORY_TYPE || at < JUDGE_KNOWN || at >= JUDGE_KNOWN + JUDGE_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	*(unsigned int *)ret = CU_MEMORYTYPE_DEVICE;
	return CUDA_SUCCESS;
}

static CUresult address_range(CUdeviceptr *ret, size_t *ret_bytes, CUdeviceptr at)
{
	if (at < JUDGE_KNOWN || at >= JUDGE_KNOWN + JUDGE_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = JUDGE_KNOWN;
	*ret_bytes = JUDGE_BYTES;
	return CUDA_SUCCESS;
}

static CUresult host_register(void *at, size_t bytes, unsigned int flags)
{
	(void)flags;
	if (!within((wide)(uintptr_t)at, (wide)(uintptr_t)at + (wide)bytes, (uint64_t)(uintptr_t)judge.arena,
		    judge.arena_bytes))
		guilty("memory that is not the client's is pinned");
	return CUDA_SUCCESS;
}

static CUresult device_pointer(CUdeviceptr *ret, void *at, unsigned int flags)
{
	(void)flags;
	*ret = (CUdeviceptr)(uintptr_t)at;
	return CUDA_SUCCESS;
}

static CUresult wait_value(CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned int flags)
{
	(void)stream, (void)value, (void)flags;
	if (at != (uint64_t)(uintptr_t)judge.arena) /* the board's word */
		device_line(at, sizeof(cuuint32_t));
	return CUDA_SUCCESS;
}

static CUresult to_device(CUdeviceptr to, const void *from, size_t bytes)
{
	device_line(to, bytes);
	host_line(from, bytes);
	return CUDA_SUCCESS;
}

static CUresult to_device_async(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	(void)stream;
	return to_device(to, from, bytes);
}

static CUresult to_host(void *to, CUdeviceptr from, size_t bytes)
{
	device_line(from, bytes);
	host_line(to, bytes);
	return CUDA_SUCCESS;
}

static CUresult to_host_async(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	(void)stream;
	return to_host(to, from, bytes);
}

static CUresult between(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	device_line(to, bytes);
	device_line(from, bytes);
	return CUDA_SUCCESS;
}

static CUresult between_async(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	(void)stream;
	return between(to, from, bytes);
}

static CUresult anywhere_async(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	(void)stream;
	any_line(to, bytes);
	any_line(from, bytes);
	return CUDA_SUCCESS;
}

static CUresult peers(CUdeviceptr to, CUcontext a, CUdeviceptr from, CUcontext b, size_t bytes)
{
	(void)a, (void)b;
	return between(to, from, bytes);
}

static CUresult array_to_device(CUdeviceptr to, CUarray from, size_t offset, size_t bytes)
{
	(void)from, (void)offset;
	device_line(to, bytes);
	return CUDA_SUCCESS;
}

static CUresult device_to_array(CUarray to, size_t offset, CUdeviceptr from, size_t bytes)
{
	(void)to, (void)offset;
	device_line(from, bytes);
	return CUDA_SUCCESS;
}

static CUresult host_to_array(CUarray to, size_t offset, const void *from, size_t bytes)
{
	(void)to, (void)offset;
	host_line(from, bytes);
	return CUDA_SUCCESS;
}

static CUresult array_to_host(void *to, CUarray from, size_t offset, size_t bytes)
{
	(void)from, (void)offset;
	host_line(to, bytes);
	return CUDA_SUCCESS;
}

static CUresult copy_box(const CUDA_MEMCPY3D *c, CUstream stream)
{
	(void)stream;
	box(c, judge.capturing);
	return CUDA_SUCCESS;
}

#define FILLS(bytes, type)                                                                                             \
	static CUresult fill_##bytes(CUdeviceptr at, type value, size_t count, CUstream stream)                        \
	{                                                                                                              \
		(void)value, (void)stream;                                                                             \
		fill(at, 0, bytes, count, 1);                                                                          \
		return CUDA_SUCCESS;                                                                                   \
	}                                                                                                              \
	static CUresult fill_rows_##bytes(CUdeviceptr at, size_t pitch, type value, size_t width, size_t height,       \
					  CUstream stream)                                                             \
	{                                                                                                              \
		(void)value, (void)stream;                                                                             \
		fill(at, pitch, bytes, width, height);                                                                 \
		return CUDA_SUCCESS;                                                                                   \
	}
FILLS(1, unsigned char)
FILLS(2, unsigned short)
FILLS(4, unsigned int)

/* ---- graphs: what stands in them is touched later, and again ---- */

static void node_params(const CUgraphNodeParams *p)
{
	const CUDA_MEMSET_NODE_PARAMS_v2 *m = &p->memset;

	if (p->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		box(&p->memcpy.copyParams, true);
	else if (p->type == CU_GRAPH_NODE_TYPE_MEMSET)
		fill(m->dst, m->pitch, m->elementSize, m->width, m->height);
}

static CUresult add_copy(CUgraphNode *ret, CUgraph graph, const CUgraphNode *need, size_t count, const CUDA_MEMCPY3D *c,
			 CUcontext context)
{
	(void)graph, (void)need, (void)count, (void)context;
	box(c, true);
	*ret = JUDGE_NODE;
	return CUDA_SUCCESS;
}

static CUresult add_any(CUgraphNode *ret, CUgraph graph, const CUgraphNode *need, size_t count, CUgraphNodeParams *p)
{
	(void)graph, (void)need, (void)count;
	node_params(p);
	*ret = JUDGE_NODE;
	return CUDA_SUCCESS;
}

static CUresult add_fill(CUgraphNode *ret, CUgraph graph, const CUgraphNode *need, size_t count,
			 const CUDA_MEMSET_NODE_PARAMS *m, CUcontext context)
{
	(void)graph, (void)need, (void)count, (void)context;
	if (m)
		fill(m->dst, m->pitch, m->elementSize, m->width, m->height);
	if (ret)
		*ret = JUDGE_NODE;
	return CUDA_SUCCESS;
}

static CUresult set_copy(CUgraphNode node, const CUDA_MEMCPY3D *c)
{
	(void)node;
	box(c, true);
	return CUDA_SUCCESS;
}

static CUresult set_exec_copy(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *c, CUcontext context)
{
	(void)exec, (void)node, (void)context;
	box(c, true);
	return CUDA_SUCCESS;
}

static CUresult set_any(CUgraphNode node, CUgraphNodeParams *p)
{
	(void)node;
	node_params(p);
	return CUDA_SUCCESS;
}

static CUresult set_exec_any(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
	(void)exec, (void)node;
	node_params(p);
	return CUDA_SUCCESS;
}

#define FINE(call) (*(void **)&ret->call = (void *)fine)

void __wrap_worker_log(const char *fmt, ...);

/* What makes no sense is most of what is sent here. */
void __wrap_worker_log(const char *fmt, ...)
{
	(void)fmt;
}

void judge_table(struct cuda_table *ret)
{
	for (unsigned int i = 0; i < CUDA_CALL_COUNT; i++)
		((void **)ret)[i] = (void *)absent;
	FINE(cuCtxSetCurrent);
	ret->cuCtxGetCurrent = get_current;
	ret->cuStreamIsCapturing = is_capturing;
	FINE(cuStreamSynchronize);
	ret->cuStreamCreate = make_stream;
	ret->cuEventCreate = make_event;
	FINE(cuEventRecord);
	FINE(cuEventQuery);
	FINE(cuEventDestroy_v2);
	FINE(cuMemGetInfo_v2);
	ret->cuPointerGetAttribute = pointer_attribute;
	ret->cuMemGetAddressRange_v2 = address_range;
	ret->cuMemHostRegister_v2 = host_register;
	FINE(cuMemHostUnregister);
	ret->cuMemHostGetDevicePointer_v2 = device_pointer;
	ret->cuStreamWaitValue64_v2 = wait_value;
	ret->cuMemcpyHtoD_v2 = to_device;
	ret->cuMemcpyHtoDAsync_v2 = to_device_async;
	ret->cuMemcpyDtoH_v2 = to_host;
	ret->cuMemcpyDtoHAsync_v2 = to_host_async;
	ret->cuMemcpyDtoD_v2 = between;
	ret->cuMemcpyDtoDAsync_v2 = between_async;
	ret->cuMemcpyAsync = anywhere_async;
	ret->cuMemcpyPeer = peers;
	ret->cuMemcpyAtoD_v2 = array_to_device;
	ret->cuMemcpyDtoA_v2 = device_to_array;
	ret->cuMemcpyHtoA_v2 = host_to_array;
	ret->cuMemcpyAtoH_v2 = array_to_host;
	ret->cuMemcpy3DAsync_v2 = copy_box;
	ret->cuMemsetD8Async = fill_1;
	ret->cuMemsetD16Async = fill_2;
	ret->cuMemsetD32Async = fill_4;
	ret->cuMemsetD2D8Async = fill_rows_1;
	ret->cuMemsetD2D16Async = fill_rows_2;
	ret->cuMemsetD2D32Async = fill_rows_4;
	ret->cuGraphAddMemcpyNode = add_copy;
	ret->cuGraphAddMemsetNode = add_fill;
	ret->cuGraphAddNode = add_any;
	ret->cuGraphMemcpyNodeSetParams = set_copy;
	ret->cuGraphExecMemcpyNodeSetParams = set_exec_copy;
	ret->cuGraphNodeSetParams = set_any;
	ret->cuGraphExecNodeSetParams = set_exec_any;
}

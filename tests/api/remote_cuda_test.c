/*
 * remote_cuda_test.c: the generated remote client and worker of the driver API, end to end over remote_ends.h.
 *
 * This is the program: it calls a table that holds the client's functions; what it asks for is executed on a small
 * backend: a memory of 4 KiB, handles that are addresses of a table.
 */
#include "base/tap.h"
#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/worker/worker.h"

static struct cuda_table backend;

#define END_CALL enum cuda_call
#define END_COUNT CUDA_CALL_COUNT
#define END_RESULT CUresult
#define END_OK CUDA_SUCCESS
#define END_LOST CUDA_ERROR_DEVICE_UNAVAILABLE
#define END_NOT_SUPPORTED CUDA_ERROR_NOT_SUPPORTED
#define END_INVALID_HANDLE CUDA_ERROR_INVALID_HANDLE
#define END_TRAITS cuda_remote_traits
#define END_DRIVER backend
#include "remote_ends.h"

static const struct cuda_table *const cuda = &cuda_remote_table;

uint64_t client_use_stream(struct client_call *c, CUstream stream)
{
	if (stream == CU_STREAM_PER_THREAD)
		return ID_STREAM_PER_THREAD;
	return !stream || stream == CU_STREAM_LEGACY ? ID_STREAM_LEGACY : client_use(c, KIND_STREAM, stream);
}

bool client_doubts(uint64_t address, uint64_t bytes)
{
	return !address || !bytes;
}

bool client_has_functions(const struct client_call *c)
{
	return !c->session;
}

int32_t client_use_device(struct client_call *c, CUdevice device)
{
	if (device < 0 || device > 2)
		end_fail(c, CUDA_ERROR_INVALID_DEVICE);
	c->session = &end_session;
	return device + END_DEVICES;
}

CUstream worker_find_stream(struct work *work, uint64_t id, bool *known)
{
	*known = true;
	return id <= ID_STREAM_PER_THREAD ? (CUstream)(uintptr_t)id : worker_find(work, KIND_STREAM, id, known);
}

/* The backend: handles are places in a table, so that it knows a foreign one. */

#define DEVICE_BASE 0x700000000000u
static uint8_t device_memory[4096];
static int executed;
static char place[64];
static int places;

static void *place_make(void)
{
	return &place[places++];
}

static bool place_is(const void *handle)
{
	return (const char *)handle >= place && (const char *)handle < place + places;
}

uint64_t worker_at(uint64_t at)
{
	return at;
}

bool worker_reaches(struct work *work, CUdeviceptr at, size_t bytes)
{
	return at >= DEVICE_BASE && at - DEVICE_BASE <= sizeof(device_memory) &&
	       bytes <= sizeof(device_memory) - (at - DEVICE_BASE);
}

static CUresult backend_name(char *name, int len, CUdevice dev)
{
	executed++;
	snprintf(name, (size_t)len, "device %d", dev);
	return CUDA_SUCCESS;
}

static CUresult backend_write(CUdeviceptr to, const void *from, size_t size)
{
	executed++;
	if (!from)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(device_memory + (to - DEVICE_BASE), from, size);
	return CUDA_SUCCESS;
}

static CUresult backend_read(void *to, CUdeviceptr from, size_t size)
{
	executed++;
	if (!to)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(to, device_memory + (from - DEVICE_BASE), size);
	return CUDA_SUCCESS;
}

static CUstream filled_on;

static CUresult backend_fill(CUdeviceptr to, unsigned char value, size_t n, CUstream stream)
{
	executed++;
	filled_on = stream;
	memset(device_memory + (to - DEVICE_BASE), value, n);
	return CUDA_SUCCESS;
}

static CUresult backend_fill_2d(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
				CUstream stream)
{
	executed++;
	return CUDA_SUCCESS;
}

static CUresult backend_stream_create(CUstream *stream, unsigned int flags)
{
	executed++;
	*stream = place_make();
	return CUDA_SUCCESS;
}

static CUresult backend_stream_destroy(CUstream stream)
{
	executed++;
	return place_is(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult backend_stream_synchronize(CUstream stream)
{
	executed++;
	return stream == CU_STREAM_LEGACY || place_is(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult backend_event_create(CUevent *event, unsigned int flags)
{
	executed++;
	*event = place_make();
	return CUDA_SUCCESS;
}

static CUresult backend_event_record(CUevent event, CUstream stream)
{
	executed++;
	return place_is(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult backend_load(CUmodule *module, const char *name)
{
	*module = place_make();
	return CUDA_SUCCESS;
}

static CUresult backend_get_function(CUfunction *function, CUmodule module, const char *name)
{
	executed++;
	if (!place_is(module))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!name || strcmp(name, "saxpy"))
		return CUDA_ERROR_NOT_FOUND;
	*function = (CUfunction)((char *)module + 1000);
	return CUDA_SUCCESS;
}

static int function_attribute = 7;

static CUresult backend_function_attribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
	executed++;
	*value = function_attribute;
	return CUDA_SUCCESS;
}

static CUresult backend_set_function_attribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	executed++;
	function_attribute = value;
	return CUDA_SUCCESS;
}

static CUresult backend_unload(CUmodule module)
{
	executed++;
	return place_is(module) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUgraphNode graph_nodes[3];

static CUresult backend_graph_create(CUgraph *graph, unsigned int flags)
{
	executed++;
	*graph = place_make();
	return CUDA_SUCCESS;
}

static CUresult backend_graph_add(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count)
{
	static int added;

	executed++;
	for (size_t i = 0; i < count; i++)
		if (dependencies[i] != graph_nodes[i])
			return CUDA_ERROR_INVALID_VALUE;
	*node = graph_nodes[added++] = place_make();
	return CUDA_SUCCESS;
}

static CUresult backend_graph_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	size_t room = nodes ? *count : 0;

	executed++;
	for (size_t i = 0; i < room; i++)
		nodes[i] = i < 3 ? graph_nodes[i] : NULL;
	*count = 3;
	return CUDA_SUCCESS;
}

static CUresult backend_instantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t size)
{
	executed++;
	if (error_node)
		*error_node = graph_nodes[1];
	snprintf(log, size, "the second node");
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult backend_prefetch(CUdeviceptr at, size_t count, CUmemLocation location, unsigned int flags,
				 CUstream stream)
{
	executed++;
	if (location.type != CU_MEM_LOCATION_TYPE_DEVICE || location.id != END_DEVICES + 2)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult backend_texture(CUtexObject *texture, const CUDA_RESOURCE_DESC *desc, const CUDA_TEXTURE_DESC *tex,
				const CUDA_RESOURCE_VIEW_DESC *view)
{
	executed++;
	if (desc->resType == CU_RESOURCE_TYPE_ARRAY && !place_is(desc->res.array.hArray))
		return CUDA_ERROR_INVALID_HANDLE;
	*texture = desc->resType == CU_RESOURCE_TYPE_ARRAY ? 0x4001 : desc->res.linear.devPtr;
	return view ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult backend_texture_get(CUDA_RESOURCE_DESC *desc, CUtexObject texture)
{
	executed++;
	*desc = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY,
				      .res.array.hArray = (CUarray)&place[texture - 0x4001] };
	return CUDA_SUCCESS;
}

static CUresult backend_array(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *desc)
{
	executed++;
	*array = (CUarray)place;
	return CUDA_SUCCESS;
}

static CUresult backend_create(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
			       unsigned long long flags)
{
	executed++;
	if (prop->win32HandleMetaData || prop->location.id != END_DEVICES + 1)
		return CUDA_ERROR_INVALID_VALUE;
	*handle = 0x5000;
	return CUDA_SUCCESS;
}

static CUresult backend_properties(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
	executed++;
	prop->location = (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, { END_DEVICES + 1 } };
	return handle == 0x5000 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult backend_batch(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
			      const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
	executed++;
	if (params->count != 2 || params->paramArray[1].writeValue.value != 22 || params->ctx)
		return CUDA_ERROR_INVALID_VALUE;
	*node = place_make();
	return CUDA_SUCCESS;
}

static struct cuda_table backend = {
	.cuDeviceGetName = backend_name,
	.cuMemcpyHtoD_v2 = backend_write,
	.cuMemcpyDtoH_v2 = backend_read,
	.cuMemsetD8Async = backend_fill,
	.cuMemsetD2D16Async = backend_fill_2d,
	.cuStreamCreate = backend_stream_create,
	.cuStreamDestroy_v2 = backend_stream_destroy,
	.cuStreamSynchronize = backend_stream_synchronize,
	.cuEventCreate = backend_event_create,
	.cuEventRecord = backend_event_record,
	.cuModuleGetFunction = backend_get_function,
	.cuFuncGetAttribute = backend_function_attribute,
	.cuFuncSetAttribute = backend_set_function_attribute,
	.cuModuleUnload = backend_unload,
	.cuGraphCreate = backend_graph_create,
	.cuGraphAddEmptyNode = backend_graph_add,
	.cuGraphGetNodes = backend_graph_nodes,
	.cuGraphInstantiate_v2 = backend_instantiate,
	.cuGraphAddBatchMemOpNode = backend_batch,
	.cuMemPrefetchAsync_v2 = backend_prefetch,
	.cuTexObjectCreate = backend_texture,
	.cuTexObjectGetResourceDesc = backend_texture_get,
	.cuArrayCreate_v2 = backend_array,
	.cuMemCreate = backend_create,
	.cuMemGetAllocationPropertiesFromHandle = backend_properties,
	.cuModuleLoad = backend_load,
};

/* A call that is written by hand at both ends takes the generated one's place. */

CUresult client_cuModuleLoad(CUmodule *module, const char *name)
{
	struct client_call c;
	void *handle;
	uint64_t id;

	client_call(&c, CUDA_CALL_cuModuleLoad);
	handle = client_mint(&c, KIND_MODULE, NULL, &id);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &id, sizeof(id));
		remote_put_string(&c.out, name);
		client_send(&c);
	}
	if (c.result == CUDA_SUCCESS)
		*module = handle;
	return client_end(&c);
}

int worker_cuModuleLoad(struct work *work)
{
	const char *name;
	CUmodule module;
	uint64_t id;

	remote_get(&work->in, &id, sizeof(id));
	name = remote_take_string(&work->in);
	if (work->in.bad)
		return -EPROTO;
	work->result = (int32_t)work->driver->cuModuleLoad(&module, name);
	return worker_add(work, KIND_MODULE, id, module, 0);
}

static void test_memory(void)
{
	uint8_t data[600], back[600];
	static uint8_t large[100000];
	int before;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	is(cuda->cuMemcpyHtoD_v2(DEVICE_BASE + 1, data, sizeof(data)), CUDA_SUCCESS);
	is(cuda->cuMemcpyDtoH_v2(back, DEVICE_BASE + 1, sizeof(back)), CUDA_SUCCESS);
	ok(!memcmp(back, data, sizeof(data)));
	is(cuda->cuMemcpyHtoD_v2(DEVICE_BASE, NULL, 4), CUDA_ERROR_INVALID_VALUE);
	is(cuda->cuMemcpyDtoH_v2(NULL, DEVICE_BASE, 4), CUDA_ERROR_INVALID_VALUE);
	is(cuda->cuMemcpyHtoD_v2(DEVICE_BASE, data, 0), CUDA_SUCCESS);
	/* Addresses that are not the session's reach nothing; nor does what fits no message. */
	before = executed;
	is(cuda->cuMemcpyDtoH_v2(back, 5, 4), CUDA_ERROR_INVALID_VALUE);
	is(cuda->cuMemcpyDtoH_v2(back, (uintptr_t)data, 4), CUDA_ERROR_INVALID_VALUE);
	is(cuda->cuMemcpyDtoH_v2(back, DEVICE_BASE + 4090, 7), CUDA_ERROR_INVALID_VALUE);
	is(cuda->cuMemcpyHtoD_v2(DEVICE_BASE, large, sizeof(large)), CUDA_ERROR_NOT_SUPPORTED);
	is(cuda->cuMemcpyDtoH_v2(large, DEVICE_BASE, sizeof(large)), CUDA_ERROR_NOT_SUPPORTED);
	is(cuda->cuMemcpyDtoH_v2(large, DEVICE_BASE, SIZE_MAX - 3), CUDA_ERROR_NOT_SUPPORTED);
	is(executed, before);
	is(end_yields, 5); /* who waits lets others go on */
}

static void test_fills(void)
{
	int before = executed, waited = end_waited;

	is(cuda->cuMemsetD8_v2(DEVICE_BASE, 9, 16), CUDA_SUCCESS);
	ok(filled_on == CU_STREAM_LEGACY && device_memory[15] == 9);
	is(cuda->cuMemsetD8_v2_ptds(DEVICE_BASE, 8, 16), CUDA_SUCCESS);
	ok(filled_on == CU_STREAM_PER_THREAD && device_memory[15] == 8);
	is(cuda->cuMemsetD8Async_ptsz(DEVICE_BASE, 7, 16, NULL), CUDA_SUCCESS);
	ok(filled_on == CU_STREAM_PER_THREAD);
	is(cuda->cuMemsetD8Async_ptsz(DEVICE_BASE, 7, 16, CU_STREAM_LEGACY), CUDA_SUCCESS);
	ok(filled_on == CU_STREAM_LEGACY);
	is(executed, before + 4);
	/* Rows: the last one ends where the memory ends. */
	is(cuda->cuMemsetD2D16Async(DEVICE_BASE, 1024, 1, 512, 4, NULL), CUDA_SUCCESS);
	is(cuda->cuMemsetD2D16Async(DEVICE_BASE + 1024, 1024, 1, 256, 3, NULL), CUDA_SUCCESS);
	is(executed, before + 6);
	is(cuda->cuMemsetD2D16Async(DEVICE_BASE, 1024, 1, 513, 4, NULL), CUDA_SUCCESS);
	is(cuda->cuMemsetD2D16Async(DEVICE_BASE, SIZE_MAX / 2, 1, 1, 4, NULL), CUDA_SUCCESS);
	is(executed, before + 6);
	is(end_waited, waited);
	/* What went wrong where nobody waited is told once, by the next call that reports, and the first of it. */
	is(cuda->cuStreamSynchronize(NULL), CUDA_ERROR_INVALID_VALUE);
	is(cuda->cuStreamSynchronize(NULL), CUDA_SUCCESS);
}

static void test_objects(void)
{
	CUstream stream = NULL, old;
	CUevent event = NULL;
	int waited = end_waited, before;

	is(cuda->cuStreamCreate(&stream, 0), CUDA_SUCCESS);
	is(cuda->cuEventCreate(&event, 0), CUDA_SUCCESS);
	is(cuda->cuEventRecord(event, stream), CUDA_SUCCESS);
	is(end_waited, waited);
	is(cuda->cuStreamSynchronize(stream), CUDA_SUCCESS);
	is(end_waited, waited + 1);
	ok(!place_is(stream) && !place_is(event)); /* the driver's handles stay where they are */
	/* What is wrong is answered here; but nothing at all is the driver's to judge. */
	before = end_messages;
	is(cuda->cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	is(cuda->cuStreamCreate(&old, 77), CUDA_ERROR_INVALID_VALUE);
	is(cuda->cuEventRecord((CUevent)stream, stream), CUDA_ERROR_INVALID_HANDLE);
	is(cuda->cuEventRecord((CUevent)0x1234, stream), CUDA_ERROR_INVALID_HANDLE);
	is(cuda->cuStreamDestroy_v2(CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_HANDLE);
	is(end_messages, before);
	is(cuda->cuEventRecord(NULL, stream), CUDA_ERROR_INVALID_HANDLE);
	is(end_messages, before + 1);
	old = stream;
	is(cuda->cuStreamDestroy(stream), CUDA_SUCCESS);
	is(cuda->cuStreamDestroy_v2(old), CUDA_ERROR_INVALID_HANDLE);
	is(cuda->cuEventRecord(event, old), CUDA_ERROR_INVALID_HANDLE);
	is(cuda->cuStreamSynchronize(NULL), CUDA_SUCCESS);
}

static void test_modules(void)
{
	CUmodule module = NULL;
	CUfunction function = NULL, again = NULL;
	int value = 0, before;

	is(cuda->cuModuleLoad(&module, "file"), CUDA_SUCCESS);
	is(cuda->cuModuleGetFunction(&function, module, "saxpy"), CUDA_SUCCESS);
	is(cuda->cuModuleGetFunction(&again, module, "saxpy"), CUDA_SUCCESS);
	ok(function == again);
	is(cuda->cuModuleGetFunction(&again, module, ""), CUDA_ERROR_NOT_FOUND);
	is(cuda->cuModuleGetFunction(&again, module, NULL), CUDA_ERROR_NOT_FOUND);
	/* Asked once, until it is set. */
	before = executed;
	for (int i = 0; i < 5; i++)
		is(cuda->cuFuncGetAttribute(&value, 0, function), CUDA_SUCCESS);
	is(value, 7);
	is(executed, before + 1);
	is(cuda->cuFuncSetAttribute(function, 8, 11), CUDA_SUCCESS);
	is(cuda->cuFuncGetAttribute(&value, 0, function), CUDA_SUCCESS);
	is(value, 11);
	/* A module's functions go with it. */
	is(cuda->cuModuleUnload(module), CUDA_SUCCESS);
	is(cuda->cuFuncSetAttribute(function, 8, 11), CUDA_ERROR_INVALID_HANDLE);
}

static void test_graphs(void)
{
	CUstreamBatchMemOpParams operations[2] = { { 0 } };
	CUDA_BATCH_MEM_OP_NODE_PARAMS params = { .count = 2, .paramArray = operations };
	CUgraph graph = NULL;
	CUgraphNode a[3] = { 0 }, nodes[5] = { 0 }, wrong = NULL, foreign = (CUgraphNode)graph_nodes;
	CUgraphExec exec = NULL;
	char log[32] = "", name[32] = "unchanged";
	size_t count = 0;
	int before;

	is(cuda->cuGraphCreate(&graph, 0), CUDA_SUCCESS);
	is(cuda->cuGraphAddEmptyNode(&a[0], graph, NULL, 0), CUDA_SUCCESS);
	is(cuda->cuGraphAddEmptyNode(&a[1], graph, a, 1), CUDA_SUCCESS);
	is(cuda->cuGraphAddEmptyNode(&a[2], graph, a, 2), CUDA_SUCCESS);
	before = executed;
	is(cuda->cuGraphAddEmptyNode(&wrong, graph, &foreign, 1), CUDA_ERROR_INVALID_HANDLE);
	is(cuda->cuGraphAddEmptyNode(&wrong, graph, a, SIZE_MAX / 2), CUDA_ERROR_INVALID_VALUE);
	ok(executed == before && !wrong);
	is(cuda->cuGraphGetNodes(graph, NULL, &count), CUDA_SUCCESS);
	is(count, 3);
	count = 2;
	is(cuda->cuGraphGetNodes(graph, nodes, &count), CUDA_SUCCESS);
	ok(nodes[0] == a[0] && nodes[1] == a[1] && !nodes[2] && count == 3);
	count = 5;
	is(cuda->cuGraphGetNodes(graph, nodes, &count), CUDA_SUCCESS);
	ok(nodes[2] == a[2] && !nodes[3] && count == 3);
	/* What a failing call tells. */
	is(cuda->cuGraphInstantiate_v2(&exec, graph, &wrong, log, sizeof(log)), CUDA_ERROR_INVALID_VALUE);
	ok(wrong == a[1] && !exec);
	is_str(log, "the second node");
	/* What a record points to, and the addresses in there. */
	operations[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	operations[0].waitValue.address = DEVICE_BASE;
	operations[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
	operations[1].writeValue.address = DEVICE_BASE + 4;
	operations[1].writeValue.value = 22;
	is(cuda->cuGraphAddBatchMemOpNode(&wrong, graph, a, 3, &params), CUDA_SUCCESS);
	operations[1].writeValue.address = (uintptr_t)log;
	before = executed;
	is(cuda->cuGraphAddBatchMemOpNode(&wrong, graph, a, 3, &params), CUDA_ERROR_INVALID_VALUE);
	params.paramArray = NULL;
	params.ctx = (CUcontext)a[0];
	is(cuda->cuGraphAddBatchMemOpNode(&wrong, graph, a, 3, &params), CUDA_ERROR_INVALID_HANDLE);
	is(executed, before);
	is(cuda->cuDeviceGetName(name, -1, 2), CUDA_ERROR_INVALID_VALUE);
	is(cuda->cuDeviceGetName(name, sizeof(name), 2), CUDA_SUCCESS);
	is_str(name, "device 12");
	is(cuda->cuDeviceGetName(name, sizeof(name), 3), CUDA_ERROR_INVALID_DEVICE);
}

static void test_records(void)
{
	CUmemLocation host = { CU_MEM_LOCATION_TYPE_HOST, { 0 } }, device = { CU_MEM_LOCATION_TYPE_DEVICE, { 2 } };
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 1 } }, .win32HandleMetaData = &host },
			    got;
	CUDA_ARRAY_DESCRIPTOR shape = { .Width = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
	CUDA_RESOURCE_DESC desc = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUmemGenericAllocationHandle handle = 0;
	CUtexObject texture = 0;
	CUarray array = NULL;

	is(cuda->cuMemPrefetchAsync_v2(DEVICE_BASE, 1, device, 0, NULL), CUDA_SUCCESS);
	is(cuda->cuStreamSynchronize(NULL), CUDA_SUCCESS);
	is(cuda->cuMemPrefetchAsync_v2(DEVICE_BASE, 1, host, 0, NULL), CUDA_SUCCESS);
	is(cuda->cuStreamSynchronize(NULL), CUDA_ERROR_INVALID_VALUE);
	is(cuda->cuMemCreate(&handle, 64, &prop, 0), CUDA_SUCCESS);
	ok(handle && handle != 0x5000);
	is(cuda->cuMemGetAllocationPropertiesFromHandle(&got, handle), CUDA_SUCCESS);
	is(got.location.id, 1);
	is(cuda->cuMemGetAllocationPropertiesFromHandle(&got, 0x5000), CUDA_ERROR_INVALID_HANDLE);
	/* A member of a union is a handle when its tag says so. Textures are what kernels get: the driver's own. */
	is(cuda->cuArrayCreate_v2(&array, &shape), CUDA_SUCCESS);
	desc.res.array.hArray = array;
	is(cuda->cuTexObjectCreate(&texture, &desc, NULL, NULL), CUDA_SUCCESS);
	is(texture, 0x4001);
	memset(&desc, 0, sizeof(desc));
	is(cuda->cuTexObjectGetResourceDesc(&desc, texture), CUDA_SUCCESS);
	ok(desc.res.array.hArray == array);
	desc.res.array.hArray = (CUarray)place;
	is(cuda->cuTexObjectCreate(&texture, &desc, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
	desc = (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_LINEAR, .res.linear.devPtr = DEVICE_BASE };
	is(cuda->cuTexObjectCreate(&texture, &desc, NULL, NULL), CUDA_SUCCESS);
	is(texture, DEVICE_BASE);
}

static void test_line(void)
{
	CUcontext context;
	char name[16] = "unchanged";

	/* Nobody has written it, or it cannot work. */
	is(end_refusals, 0);
	is(cuda->cuCtxCreate_v2(&context, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
	is(cuda->cuIpcOpenMemHandle_v2(NULL, (CUipcMemHandle){ 0 }, 0), CUDA_ERROR_NOT_SUPPORTED);
	is(end_refusals, 2);
	/* The driver lacks it. */
	is(cuda->cuProfilerStart(), CUDA_SUCCESS);
	is(cuda->cuStreamSynchronize(NULL), CUDA_ERROR_NOT_SUPPORTED);
	end_cut = true;
	is(cuda->cuDeviceGetName(name, sizeof(name), 1), CUDA_ERROR_DEVICE_UNAVAILABLE);
	is(cuda->cuProfilerStart(), CUDA_ERROR_DEVICE_UNAVAILABLE);
	is_str(name, "unchanged");
}

/*
 * By none of the worker's requests does memory, or what else the driver has, leave or enter its session: clients of one
 * server would reach each other's.
 */
static void test_shared(void)
{
	static const enum cuda_call shared[] = {
		CUDA_CALL_cuIpcGetEventHandle,
		CUDA_CALL_cuIpcOpenEventHandle,
		CUDA_CALL_cuIpcGetMemHandle,
		CUDA_CALL_cuIpcOpenMemHandle,
		CUDA_CALL_cuIpcOpenMemHandle_v2,
		CUDA_CALL_cuMemGetHandleForAddressRange,
		CUDA_CALL_cuMemExportToShareableHandle,
		CUDA_CALL_cuMemImportFromShareableHandle,
		CUDA_CALL_cuMemPoolExportToShareableHandle,
		CUDA_CALL_cuMemPoolImportFromShareableHandle,
		CUDA_CALL_cuMemPoolExportPointer,
		CUDA_CALL_cuMemPoolImportPointer,
		CUDA_CALL_cuImportExternalMemory,
		CUDA_CALL_cuImportExternalSemaphore,
	};

	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
		tap_ok(!worker_handler_find((uint16_t)shared[i]), "no request is %s", cuda_call_name[shared[i]]);
}

int main(void)
{
	tap_begin();
	test_shared();
	test_memory();
	test_fills();
	test_objects();
	test_modules();
	test_graphs();
	test_records();
	test_line();
	return tap_end();
}

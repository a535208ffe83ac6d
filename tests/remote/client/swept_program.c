/*
 * swept_program.c: a program that asks its server the same things again and again, while the server answers each with
 * another wrong word (lying_replies.c, LIES_SWEEP): lying_test.py runs it. It looks at nothing that it is told but
 * whether the session lives, and that the client has written no further than it may. It prints after how many rounds
 * the session was lost, or all of them.
 *
 *   swept_program KIND ROUNDS    KIND: 0 to 5, of `asks`
 *   swept_program long           memory of its own behind the addresses of a variable, where another one is said to
 *                                reach (LIES_LONG): it prints what has become of it
 */
#include <cuda.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROOM 4096u
#define PIECE (UINT64_C(32) << 20) /* of the addresses that a client keeps: ranges.h */
#define MARK 0x5a

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .global .align 8 .b8 there[64];\n"
			  ".visible .global .attribute(.managed) .align 8 .b8 shared[64];\n"
			  ".visible .global .attribute(.managed) .align 8 .b8 behind[64];\n"
			  ".visible .entry one(.param .u64 a, .param .u32 b) { ret; }\n"
			  ".visible .entry two(.param .u64 a) { ret; }\n";

static CUcontext context;
static CUmodule module;
static CUfunction function;
static CUlibrary library;
static CUkernel kernel;
static CUstream stream, captured;
static CUevent event;
static CUgraph graph, child, made;
static CUgraphExec exec;
static CUgraphNode nodes[8];
static CUarray array;
static CUmipmappedArray mipmapped;
static CUmemoryPool pool;
static CUdeviceptr memory, reserved;
static CUmemGenericAllocationHandle handle;
static CUtexObject texture;
static CUsurfObject surface;
static void *pinned;

static void must(CUresult r, int line)
{
	if (r == CUDA_SUCCESS)
		return;
	printf("line %d: %d\n", line, (int)r);
	_exit(1);
}

#define MUST(call) must(call, __LINE__)

static void CUDA_CB nothing(void *arg)
{
	(void)arg;
}

static void make_nodes(void)
{
	static uint8_t host[64];
	uint64_t a = 0;
	uint32_t b = 0;
	void *params[] = { &a, &b };
	CUDA_KERNEL_NODE_PARAMS k = { .func = function, .kernelParams = params };
	CUDA_MEMSET_NODE_PARAMS set = { .dst = memory, .elementSize = 1, .width = 64, .height = 1 };
	CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcDevice = memory,
			       .dstMemoryType = CU_MEMORYTYPE_HOST };
	CUDA_HOST_NODE_PARAMS host_params = { .fn = nothing };
	CUmemAccessDesc access = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } },
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUDA_MEM_ALLOC_NODE_PARAMS alloc = { .bytesize = 4096, .accessDescs = &access, .accessDescCount = 1 };
	CUstreamBatchMemOpParams operation = { .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
							       .address = memory } };
	CUDA_BATCH_MEM_OP_NODE_PARAMS batch = { .ctx = context, .count = 1, .paramArray = &operation };

	k.gridDimX = k.gridDimY = k.gridDimZ = k.blockDimX = k.blockDimY = k.blockDimZ = 1;
	copy.dstHost = host;
	copy.WidthInBytes = 64;
	copy.Height = copy.Depth = 1;
	alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	alloc.poolProps.location = access.location;
	MUST(cuGraphAddKernelNode(&nodes[0], graph, NULL, 0, &k));
	MUST(cuGraphAddMemsetNode(&nodes[1], graph, &nodes[0], 1, &set, context));
	MUST(cuGraphAddMemcpyNode(&nodes[2], graph, &nodes[1], 1, &copy, context));
	MUST(cuGraphAddHostNode(&nodes[3], graph, &nodes[2], 1, &host_params));
	MUST(cuGraphAddMemAllocNode(&nodes[4], graph, NULL, 0, &alloc));
	MUST(cuGraphAddMemFreeNode(&nodes[5], graph, &nodes[4], 1, alloc.dptr));
	MUST(cuGraphAddBatchMemOpNode(&nodes[6], graph, NULL, 0, &batch));
	MUST(cuGraphAddChildGraphNode(&nodes[7], graph, NULL, 0, child));
}

static void make(void)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1 };
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUDA_TEXTURE_DESC sampling = { .flags = 0 };
	CUgraphNode empty;

	MUST(cuInit(0));
	MUST(cuDevicePrimaryCtxRetain(&context, 0));
	MUST(cuCtxSetCurrent(context));
	MUST(cuModuleLoadData(&module, ptx));
	MUST(cuModuleGetFunction(&function, module, "one"));
	MUST(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	MUST(cuLibraryGetKernel(&kernel, library, "two"));
	MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
	MUST(cuEventCreate(&event, 0));
	MUST(cuMemAlloc(&memory, 1 << 16));
	MUST(cuMemHostAlloc(&pinned, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	MUST(cuMemAddressReserve(&reserved, 2 << 20, 0, 0, 0));
	MUST(cuMemCreate(&handle, 2 << 20, &prop, 0));
	MUST(cuMemMap(reserved, 2 << 20, 0, handle, 0));
	MUST(cuMemPoolCreate(&pool, &props));
	MUST(cuArray3DCreate(&array, &shape));
	MUST(cuMipmappedArrayCreate(&mipmapped, &shape, 3));
	resource.res.array.hArray = array;
	MUST(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
	shape.Flags = CUDA_ARRAY3D_SURFACE_LDST;
	MUST(cuArray3DCreate(&resource.res.array.hArray, &shape));
	MUST(cuSurfObjectCreate(&surface, &resource));
	MUST(cuGraphCreate(&graph, 0));
	MUST(cuGraphCreate(&child, 0));
	MUST(cuGraphAddEmptyNode(&empty, child, NULL, 0));
	make_nodes();
	MUST(cuGraphInstantiate(&exec, graph, 0));
	MUST(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
	MUST(cuMemsetD8Async(memory, 0, 64, captured));
	MUST(cuMemsetD8Async(memory, 0, 64, captured));
}

/* What is asked: each call with its results in `room`, behind which the client writes nothing. */
static uint8_t *room;

#define AT(type, n) ((type *)(void *)(room + (n)*512))

static void ask_devices(void)
{
	cuDeviceGetUuid(AT(CUuuid, 0), 0);
	cuDeviceTotalMem(AT(size_t, 0), 0);
	cuDeviceGetLuid(AT(char, 0), AT(unsigned int, 1), 0);
	cuDeviceGetPCIBusId(AT(char, 0), 64, 0);
	cuDeviceGetName(AT(char, 0), 64, 0);
	cuDeviceGetDefaultMemPool(AT(CUmemoryPool, 0), 0);
	cuDevicePrimaryCtxGetState(0, AT(unsigned int, 0), AT(int, 1));
	cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, AT(uint64_t, 0));
	cuMemGetInfo(AT(size_t, 0), AT(size_t, 1));
	cuCtxGetLimit(AT(size_t, 0), CU_LIMIT_STACK_SIZE);
	cuCtxGetId(context, AT(unsigned long long, 0));
	cuCtxGetStreamPriorityRange(AT(int, 0), AT(int, 1));
	cuCtxGetCacheConfig(AT(CUfunc_cache, 0));
}

static void ask_code(void)
{
	CUdeviceptr at;
	size_t bytes;

	cuModuleGetFunction(AT(CUfunction, 0), module, "two");
	cuModuleGetFunctionCount(AT(unsigned int, 0), module);
	cuModuleEnumerateFunctions(AT(CUfunction, 0), 2, module);
	cuModuleGetGlobal(&at, &bytes, module, "there");
	cuModuleGetGlobal(&at, &bytes, module, "shared");
	cuLibraryGetKernelCount(AT(unsigned int, 0), library);
	cuLibraryEnumerateKernels(AT(CUkernel, 0), 2, library);
	cuLibraryGetModule(AT(CUmodule, 0), library);
	cuLibraryGetGlobal(&at, &bytes, library, "there");
	cuLibraryGetManaged(&at, &bytes, library, "shared");
	cuKernelGetFunction(AT(CUfunction, 0), kernel);
	cuKernelGetLibrary(AT(CUlibrary, 0), kernel);
	cuKernelGetName(AT(const char *, 0), kernel);
	cuKernelGetParamInfo(kernel, 0, AT(size_t, 0), AT(size_t, 1));
	cuFuncGetModule(AT(CUmodule, 0), function);
	cuFuncGetAttribute(AT(int, 0), CU_FUNC_ATTRIBUTE_NUM_REGS, function);
	cuFuncGetParamInfo(function, 0, AT(size_t, 0), AT(size_t, 1));
	cuOccupancyMaxActiveBlocksPerMultiprocessor(AT(int, 0), function, 32, 0);
	cuOccupancyAvailableDynamicSMemPerBlock(AT(size_t, 0), function, 1, 32);
}

/* Code that is loaded while its answers are changed: what it tells of names, parameters and variables. */
static void load_code(void)
{
	CUfunction f;
	CUdeviceptr at;
	CUmodule m;
	size_t bytes;

	if (cuModuleLoadData(&m, ptx) != CUDA_SUCCESS)
		return;
	if (cuModuleGetFunction(&f, m, "one") == CUDA_SUCCESS)
		cuFuncGetParamInfo(f, 1, AT(size_t, 0), AT(size_t, 1));
	cuModuleGetGlobal(&at, &bytes, m, "there");
	cuModuleGetGlobal(&at, &bytes, m, "shared");
	cuModuleUnload(m);
}

static void ask_streams(void)
{
	cuStreamGetId(stream, AT(unsigned long long, 0));
	cuStreamGetPriority(stream, AT(int, 0));
	cuStreamGetFlags(stream, AT(unsigned int, 0));
	cuStreamGetCtx(stream, AT(CUcontext, 0));
	cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, AT(CUstreamAttrValue, 0));
	cuStreamIsCapturing(captured, AT(CUstreamCaptureStatus, 0));
	cuStreamGetCaptureInfo(captured, AT(CUstreamCaptureStatus, 0), AT(cuuint64_t, 1), AT(CUgraph, 2),
			       AT(const CUgraphNode *, 3), AT(const CUgraphEdgeData *, 5), AT(size_t, 4));
}

static void ask_graphs(void)
{
	*AT(size_t, 0) = 16;
	cuGraphGetNodes(graph, AT(CUgraphNode, 1), AT(size_t, 0));
	*AT(size_t, 0) = 16;
	cuGraphGetRootNodes(graph, AT(CUgraphNode, 1), AT(size_t, 0));
	*AT(size_t, 0) = 16;
	cuGraphGetEdges(graph, AT(CUgraphNode, 1), AT(CUgraphNode, 2), AT(CUgraphEdgeData, 3), AT(size_t, 0));
	*AT(size_t, 0) = 16;
	cuGraphNodeGetDependencies(nodes[1], AT(CUgraphNode, 1), AT(CUgraphEdgeData, 3), AT(size_t, 0));
	cuGraphNodeGetType(nodes[0], AT(CUgraphNodeType, 0));
	cuGraphKernelNodeGetParams(nodes[0], AT(CUDA_KERNEL_NODE_PARAMS, 0));
	cuGraphMemsetNodeGetParams(nodes[1], AT(CUDA_MEMSET_NODE_PARAMS, 0));
	cuGraphMemcpyNodeGetParams(nodes[2], AT(CUDA_MEMCPY3D, 0));
	cuGraphHostNodeGetParams(nodes[3], AT(CUDA_HOST_NODE_PARAMS, 0));
	cuGraphMemAllocNodeGetParams(nodes[4], AT(CUDA_MEM_ALLOC_NODE_PARAMS, 0));
	cuGraphMemFreeNodeGetParams(nodes[5], AT(CUdeviceptr, 0));
	cuGraphBatchMemOpNodeGetParams(nodes[6], AT(CUDA_BATCH_MEM_OP_NODE_PARAMS, 0));
	cuGraphChildGraphNodeGetGraph(nodes[7], AT(CUgraph, 0));
	cuGraphKernelNodeGetAttribute(nodes[0], CU_LAUNCH_ATTRIBUTE_PRIORITY, AT(CUkernelNodeAttrValue, 0));
	cuGraphExecGetFlags(exec, AT(cuuint64_t, 0));
	cuGraphNodeGetEnabled(exec, nodes[0], AT(unsigned int, 0));
	cuGraphExecUpdate(exec, graph, AT(CUgraphExecUpdateResultInfo, 0));
	if (cuGraphClone(&made, graph) != CUDA_SUCCESS)
		return;
	cuGraphNodeFindInClone(AT(CUgraphNode, 0), nodes[0], made);
	cuGraphDestroy(made);
}

static void ask_memory(void)
{
	CUmemLocation location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } };
	CUmemGenericAllocationHandle same;
	CUdeviceptr at;
	size_t pitch;

	cuMemGetAddressRange(AT(CUdeviceptr, 0), AT(size_t, 1), memory);
	cuPointerGetAttribute(AT(uint64_t, 0), CU_POINTER_ATTRIBUTE_BUFFER_ID, memory);
	cuMemGetAccess(AT(unsigned long long, 0), &location, reserved);
	cuMemGetAllocationPropertiesFromHandle(AT(CUmemAllocationProp, 0), handle);
	cuMemHostGetDevicePointer(AT(CUdeviceptr, 0), pinned, 0);
	cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, AT(uint64_t, 0));
	cuArray3DGetDescriptor(AT(CUDA_ARRAY3D_DESCRIPTOR, 0), array);
	cuArrayGetMemoryRequirements(AT(CUDA_ARRAY_MEMORY_REQUIREMENTS, 0), array, 0);
	cuMipmappedArrayGetLevel(AT(CUarray, 0), mipmapped, 0);
	cuTexObjectGetResourceDesc(AT(CUDA_RESOURCE_DESC, 0), texture);
	cuTexObjectGetTextureDesc(AT(CUDA_TEXTURE_DESC, 0), texture);
	cuSurfObjectGetResourceDesc(AT(CUDA_RESOURCE_DESC, 0), surface);
	cuMemcpyDtoH(AT(char, 0), memory, 512);
	if (cuMemRetainAllocationHandle(&same, (void *)(uintptr_t)reserved) == CUDA_SUCCESS)
		cuMemRelease(same);
	if (cuMemAlloc(&at, 4096) == CUDA_SUCCESS)
		cuMemFree(at);
	if (cuMemAllocPitch(&at, &pitch, 64, 4, 4) == CUDA_SUCCESS)
		cuMemFree(at);
	if (cuMemAllocManaged(&at, 4096, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS)
		cuMemFree(at);
	if (cuMemAllocAsync(&at, 4096, stream) == CUDA_SUCCESS)
		cuMemFreeAsync(at, stream);
}

static void (*const asks[])(void) = { ask_devices, ask_code, ask_streams, ask_graphs, ask_memory, load_code };

static bool is_marked(void)
{
	for (unsigned int i = ROOM; i < 2 * ROOM; i++)
		if (room[i] != MARK)
			return false;
	return true;
}

/* Value: the round in which the session was lost; `rounds`: in none. */
static unsigned int ask(void (*again)(void), unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		again();
		if (!is_marked()) {
			printf("it has written behind what is asked for in round %u\n", i);
			_exit(1);
		}
		if (cuStreamQuery(stream) == CUDA_ERROR_DEVICE_UNAVAILABLE)
			return i;
	}
	return rounds;
}

/* How the program may reach what lies there: as /proc/self/maps has it. */
static bool is_read_only(const void *at)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], rights[5] = "";
	unsigned long begin, end;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %4s", &begin, &end, rights) == 3 && begin <= (uintptr_t)at &&
		    (uintptr_t)at < end)
			break;
	if (maps)
		fclose(maps);
	return !strcmp(rights, "r--p");
}

static int long_variable(void)
{
	CUdeviceptr first = 0, second = 0;
	size_t bytes = 0;
	uint8_t *own;

	cuEventQuery(event);
	MUST(cuModuleGetGlobal(&first, &bytes, module, "shared"));
	own = mmap((void *)(uintptr_t)((first | (PIECE - 1)) + 1), 4096, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (own == MAP_FAILED) {
		printf("no room behind it\n");
		return 0;
	}
	memset(own, MARK, 4096);
	mprotect(own, 4096, PROT_READ);
	cuModuleGetGlobal(&second, &bytes, module, "behind");
	/* The program's own instructions reach the variable, and its kernels may have. */
	cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){ &first, &bytes }, NULL);
	cuStreamSynchronize(stream);
	*(volatile uint8_t *)(uintptr_t)first += 1;
	for (unsigned int i = 0; i < 4096; i++)
		if (own[i] != MARK) {
			printf("its memory was written\n");
			return 1;
		}
	printf("%s\n", is_read_only(own) ? "as it was" : "its memory can be written");
	return !is_read_only(own);
}

int main(int argc, char **argv)
{
	unsigned int kind = argc > 1 ? (unsigned int)atoi(argv[1]) : 0,
		     rounds = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;

	room = malloc(2 * ROOM);
	if (!room || kind >= sizeof(asks) / sizeof(*asks))
		return 2;
	memset(room, MARK, 2 * ROOM);
	make();
	if (argc > 1 && !strcmp(argv[1], "long")) {
		kind = (unsigned int)long_variable();
		fflush(stdout);
		_exit((int)kind);
	}
	/* From the answer to this on the server lies. */
	cuEventQuery(event);
	printf("%u\n", ask(asks[kind], rounds));
	fflush(stdout);
	_exit(0);
}

/* calls_test.c: lookup of calls as runtimes do it, peers, contexts, and the small calls for tools. */
#include "softdev/soft.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* What runtimes ask for, and what they must get. */
static const struct {
	const char *name;
	int version;
	const char *symbol;
} lookups[] = {
	{ "cuCtxCreate", 2000, "cuCtxCreate" },
	{ "cuCtxCreate", 3020, "cuCtxCreate_v2" },
	{ "cuCtxCreate", 11040, "cuCtxCreate_v3" },
	{ "cuCtxCreate", 13000, "cuCtxCreate_v4" },
	{ "cuDeviceGetUuid", 9020, "cuDeviceGetUuid" },
	{ "cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2" },
	{ "cuCtxSynchronize", 12000, "cuCtxSynchronize" },
	{ "cuCtxSynchronize", 13000, "cuCtxSynchronize_v2" },
	{ "cuCtxGetDevice", 12000, "cuCtxGetDevice" },
	{ "cuCtxGetDevice", 13000, "cuCtxGetDevice_v2" },
	{ "cuEventElapsedTime", 12000, "cuEventElapsedTime" },
	{ "cuEventElapsedTime", 12080, "cuEventElapsedTime_v2" },
	{ "cuMemAlloc", 2000, "cuMemAlloc" },
	{ "cuMemAlloc", 3020, "cuMemAlloc_v2" },
	{ "cuStreamGetCaptureInfo", 10010, "cuStreamGetCaptureInfo" },
	{ "cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2" },
	{ "cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3" },
	{ "cuGraphInstantiate", 10000, "cuGraphInstantiate" },
	{ "cuGraphInstantiate", 11000, "cuGraphInstantiate_v2" },
	{ "cuDevicePrimaryCtxRelease", 7000, "cuDevicePrimaryCtxRelease" },
	{ "cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2" },
	{ "cuDevicePrimaryCtxReset", 7000, "cuDevicePrimaryCtxReset" },
	{ "cuIpcOpenMemHandle", 4010, "cuIpcOpenMemHandle" },
	{ "cuIpcOpenMemHandle", 13000, "cuIpcOpenMemHandle_v2" },
};

static void lookup(void)
{
	CUresult (*old)(const char *, void **, int, cuuint64_t) =
		(CUresult(*)(const char *, void **, int, cuuint64_t))dlsym(RTLD_DEFAULT, "cuGetProcAddress");
	CUdriverProcAddressQueryResult status;
	void *f, *plain = NULL;
	int version;

	for (size_t i = 0; i < sizeof(lookups) / sizeof(lookups[0]); i++) {
		f = NULL;
		CU(cuGetProcAddress(lookups[i].name, &f, lookups[i].version, 0, &status));
		is(status, CU_GET_PROC_ADDRESS_SUCCESS);
		tap_ok(f && dlsym(RTLD_DEFAULT, lookups[i].symbol), "%s is there", lookups[i].symbol);
		/* Each version of a name is another function. */
		if (i && !strcmp(lookups[i].name, lookups[i - 1].name))
			tap_ok(f != plain, "%s differs from %s", lookups[i].symbol, lookups[i - 1].symbol);
		plain = f;
	}
	/* A miss is a success with nothing in it; the first version says 500 and leaves what was there. */
	f = &version;
	CU(cuGetProcAddress("cuNothing", &f, 13000, 0, &status));
	ok(!f && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	CU(cuGetProcAddress("cuMemAllocAsync", &f, 10000, 0, &status));
	ok(!f && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	CU(cuGetProcAddress("cuMemAllocAsync", &f, 10000, 0, NULL));
	ok(!f);
	CU(cuGetProcAddress("", &f, 13000, 0, &status));
	ok(!f && status == CU_GET_PROC_ADDRESS_SUCCESS);
	f = &version;
	FAILS(old("cuNothing", &f, 13000, 0), CUDA_ERROR_NOT_FOUND);
	FAILS(old("cuMemAlloc_v2", &f, 13000, 0), CUDA_ERROR_NOT_FOUND);
	ok(f == &version);
	/* Per-thread streams where a call has such a variant, else the plain one. */
	CU(cuGetProcAddress("cuMemcpy", &f, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
	CU(cuGetProcAddress("cuMemcpy", &plain, 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL));
	ok(f && f != plain);
	CU(cuGetProcAddress("cuMemAlloc", &f, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
	CU(cuGetProcAddress("cuMemAlloc", &plain, 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL));
	ok(f && f == plain);
	CU(cuGetProcAddress("cuMemcpy", &f, 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL));
	CU(cuGetProcAddress("cuMemcpy", &plain, 13000, CU_GET_PROC_ADDRESS_DEFAULT, NULL));
	ok(f == plain);
	FAILS(cuGetProcAddress("cuMemcpy", &f, 13000, 4, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuGetProcAddress(NULL, &f, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(cuDriverGetVersion(&version));
	is(version, 13050);
	FAILS(cuDriverGetVersion(NULL), CUDA_ERROR_INVALID_VALUE);
}

/* The attributes that runtimes ask for at their start must all have an answer. */
static void attributes(void)
{
	static const int ranges[][2] = { { 1, 12 },    { 14, 14 },   { 16, 16 },   { 18, 19 },
					 { 21, 35 },   { 37, 43 },   { 45, 68 },   { 70, 101 },
					 { 106, 106 }, { 108, 109 }, { 111, 121 }, { 125, 125 },
					 { 129, 131 }, { 133, 134 }, { 139, 140 }, { 143, 143 } };
	int value, failed = 0;

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		for (int a = ranges[i][0]; a <= ranges[i][1]; a++)
			failed += !!cuDeviceGetAttribute(&value, (CUdevice_attribute)a, 0);
	is(failed, 0);
}

static void peers(void)
{
	CUcontext first, second;
	CUdeviceptr a, b;
	int value = -1;
	unsigned back = 0;

	CU(cuDeviceCanAccessPeer(&value, 0, 1));
	is(value, 1);
	CU(cuDeviceCanAccessPeer(&value, 1, 1));
	is(value, 0);
	FAILS(cuDeviceCanAccessPeer(&value, 0, 9), CUDA_ERROR_INVALID_DEVICE);
	CU(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
	is(value, 1);
	FAILS(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0),
	      CUDA_ERROR_INVALID_DEVICE);
	FAILS(cuDeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)77, 0, 1), CUDA_ERROR_INVALID_VALUE);
	CU(cuCtxGetCurrent(&first));
	CU(cuDevicePrimaryCtxRetain(&second, 1));
	FAILS(cuCtxEnablePeerAccess(first, 0), CUDA_ERROR_INVALID_CONTEXT);
	FAILS(cuCtxEnablePeerAccess(second, 1), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuCtxDisablePeerAccess(second), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	CU(cuCtxEnablePeerAccess(second, 0));
	FAILS(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	CU(cuMemAlloc(&a, 4096));
	CU(cuMemsetD32(a, 0x11223344, 1024));
	CU(cuCtxPushCurrent(second));
	CU(cuMemAlloc(&b, 4096));
	CU(cuMemcpyPeer(b, second, a, first, 4096));
	CU(cuMemcpyDtoH(&back, b + 4092, 4));
	is(back, 0x11223344);
	CU(cuMemFree(b));
	CU(cuCtxPopCurrent(NULL));
	CU(cuCtxDisablePeerAccess(second));
	FAILS(cuMemcpyPeer(a, (CUcontext)(uintptr_t)0x1000, a, first, 16), CUDA_ERROR_INVALID_CONTEXT);
	CU(cuMemFree(a));
	CU(cuDevicePrimaryCtxRelease(1));
}

static atomic_int gate;

static void gate_wait(void *unused)
{
	while (!atomic_load(&gate))
		usleep(500);
}

/* All streams of a context, recorded and waited for at once. */
static void context_events(void)
{
	CUstream a, b;
	CUcontext c;
	CUevent e;

	CU(cuCtxGetCurrent(&c));
	CU(cuStreamCreate(&a, CU_STREAM_DEFAULT));
	CU(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	atomic_store(&gate, 0);
	CU(cuLaunchHostFunc(a, gate_wait, NULL));
	CU(cuCtxRecordEvent(c, e));
	FAILS(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	CU(cuCtxWaitEvent(c, e));
	FAILS(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
	atomic_store(&gate, 1);
	CU(cuStreamSynchronize(b));
	CU(cuEventQuery(e));
	CU(cuEventDestroy(e));
	CU(cuStreamDestroy(a));
	CU(cuStreamDestroy(b));
}

static void contexts(void)
{
	CUexecAffinityParam affinity = { .type = CU_EXEC_AFFINITY_TYPE_SM_COUNT, .param.smCount.val = 2 };
	CUctxCreateParams params = { .execAffinityParams = &affinity, .numExecAffinityParams = 1 };
	unsigned long long id = 0, other = 0;
	CUcontext first, c = NULL;
	CUsharedconfig bank;
	CUfunc_cache cache;
	unsigned version;
	int supported = 1, least, greatest;

	CU(cuCtxGetCurrent(&first));
	CU(cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
	is(supported, 0);
	FAILS(cuCtxCreate(&c, &params, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
	FAILS(cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
	CU(cuCtxCreate(&c, NULL, CU_CTX_SCHED_SPIN, 0));
	CU(cuCtxGetId(c, &id));
	CU(cuCtxGetId(first, &other));
	ok(id != other);
	CU(cuCtxGetApiVersion(c, &version));
	is(version, 3020);
	CU(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
	CU(cuCtxGetCacheConfig(&cache));
	is(cache, CU_FUNC_CACHE_PREFER_L1);
	FAILS(cuCtxSetCacheConfig((CUfunc_cache)9), CUDA_ERROR_INVALID_VALUE);
	CU(cuCtxGetSharedMemConfig(&bank));
	is(bank, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
	CU(cuCtxResetPersistingL2Cache());
	CU(cuCtxGetStreamPriorityRange(&least, &greatest));
	ok(least == 0 && greatest == -5);
	CU(cuCtxDestroy(c));
	CU(cuCtxSetCurrent(first));
	FAILS(cuCtxGetId(c, &id), CUDA_ERROR_INVALID_CONTEXT);
}

static void notified(CUasyncNotificationInfo *info, void *data, CUasyncCallbackHandle handle)
{
	atomic_store(&gate, 99);
}

static void tools(void)
{
	CUatomicOperation operations[] = { CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_FLOAT_MIN };
	CUresult (*total)(unsigned *, CUdevice);
	CUasyncCallbackHandle handle;
	unsigned capabilities[2] = { 0, 1 }, bytes = 0;

	*(void **)&total = dlsym(RTLD_DEFAULT, "cuDeviceTotalMem");
	CU(cuProfilerStart());
	CU(cuProfilerStop());
	CU(cuDeviceRegisterAsyncNotification(0, notified, NULL, &handle));
	FAILS(cuDeviceUnregisterAsyncNotification(1, handle), CUDA_ERROR_INVALID_VALUE);
	CU(cuDeviceUnregisterAsyncNotification(0, handle));
	FAILS(cuDeviceUnregisterAsyncNotification(0, handle), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuDeviceRegisterAsyncNotification(0, NULL, NULL, &handle), CUDA_ERROR_INVALID_VALUE);
	ok(gate != 99);
	CU(cuDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 0));
	ok(capabilities[0] & CU_ATOMIC_CAPABILITY_SCALAR_64 && !capabilities[1]);
	FAILS(cuDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 0), CUDA_ERROR_INVALID_DEVICE);
	CU(cuDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 1));
	CU(cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
				      CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
	FAILS(cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
					 (CUflushGPUDirectRDMAWritesScope)5),
	      CUDA_ERROR_INVALID_VALUE);
	CU(total(&bytes, 0));
	is(bytes, 64 << 20);
	CU(total(&bytes, 1)); /* what 32 bits cannot say is cut */
	ok(bytes == UINT32_MAX);
}

static char last_line[256];

static void logged(void *data, CUlogLevel level, char *message, size_t length)
{
	if (level == CU_LOG_LEVEL_ERROR && strlen(message) == length)
		snprintf(last_line, sizeof(last_line), "%s", message);
	++*(int *)data;
}

/* Says a line: machine code alone is refused, with a reason. */
static void say_a_line(void)
{
	static const unsigned char machine_code[64] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };
	CUmodule module;

	ok(cuModuleLoadData(&module, machine_code) != CUDA_SUCCESS);
}

static size_t file_bytes(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t n = 0;

	while (f && fgetc(f) != EOF)
		n++;
	if (f)
		fclose(f);
	return n;
}

/* What the device says is the program's to read as well. */
static void logs(void)
{
	CUlogsCallbackHandle handle;
	CUlogIterator at, then;
	char text[4096], path[300];
	size_t size = sizeof(text);
	int calls = 0;

	FAILS(cuLogsRegisterCallback(NULL, NULL, &handle), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuLogsCurrent(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	CU(cuLogsCurrent(&at, 0));
	CU(cuLogsRegisterCallback(logged, &calls, &handle));
	say_a_line();
	is(calls, 1);
	ok(!strncmp(last_line, "mete: ", 6));
	CU(cuLogsUnregisterCallback(handle));
	FAILS(cuLogsUnregisterCallback(handle), CUDA_ERROR_INVALID_VALUE);
	say_a_line();
	is(calls, 1);
	then = at;
	CU(cuLogsDumpToMemory(&then, text, &size, 0));
	is(size, 2 * (strlen(last_line) + 1));
	ok(!strncmp(text, last_line, strlen(last_line)) && text[strlen(last_line)] == '\n');
	size = sizeof(text);
	CU(cuLogsDumpToMemory(&then, text, &size, 0));
	is(size, 0);
	then = at;
	size = strlen(last_line) + 4; /* room for one */
	CU(cuLogsDumpToMemory(&then, text, &size, 0));
	is(size, strlen(last_line) + 1);
	snprintf(path, sizeof(path), "%s.log", soft_dir);
	CU(cuLogsDumpToFile(&at, path, 0));
	is(file_bytes(path), 2 * (strlen(last_line) + 1));
	FAILS(cuLogsDumpToFile(&at, "/nowhere/log", 0), CUDA_ERROR_INVALID_VALUE);
	for (int i = 0; i < 150; i++) /* more than is kept */
		say_a_line();
	size = sizeof(text);
	CU(cuLogsDumpToMemory(NULL, text, &size, 0));
	ok(size && size < sizeof(text) && text[size - 1] == '\n');
	unlink(path);
}

/*
 * A driver of CUDA 12.4 says so, knows no variants of 13.0, and takes the current context where a program of its time
 * finds a name that only a newer driver has, and gives it no context.
 */
static void older_driver(void)
{
	CUdriverProcAddressQueryResult status;
	CUresult (*get)(CUdevice *) = (CUresult(*)(CUdevice *))dlsym(RTLD_DEFAULT, "cuCtxGetDevice_v2");
	CUresult (*wait)(void) = (CUresult(*)(void))dlsym(RTLD_DEFAULT, "cuCtxSynchronize_v2");
	CUdevice device = -1;
	void *f, *plain;
	int version;

	setenv("METE_SOFT_DRIVER_VERSION", "12.4", 1);
	CU(cuDriverGetVersion(&version));
	is(version, 12040);
	CU(cuGetProcAddress("cuCtxGetDevice", &f, 13000, 0, &status));
	CU(cuGetProcAddress("cuCtxGetDevice", &plain, 12000, 0, &status));
	ok(f == plain);
	CU(get(&device));
	is(device, 0);
	CU(wait());
	unsetenv("METE_SOFT_DRIVER_VERSION");
	CU(cuDriverGetVersion(&version));
	is(version, 13050);
}

int main(void)
{
	soft_begin("2", "64M,8G");
	setenv("METE_LOG", "/dev/null", 1);
	soft_context();
	lookup();
	attributes();
	peers();
	context_events();
	contexts();
	older_driver();
	tools();
	logs();
	return soft_end();
}

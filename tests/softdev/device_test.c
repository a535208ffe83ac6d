/* device_test.c: devices by configuration and by CUDA_VISIBLE_DEVICES, attributes, contexts, lookup of calls. */
#include "softdev/soft.h"

#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#define UUID(n) "GPU-6d657465-0000-4000-8000-00000000000" #n

/* In a process of its own: which devices, by the last byte of their UUIDs, or the error of cuInit. */
static void show(void)
{
	CUresult e = cuInit(0);
	int count = 0;

	if (e)
		printf("error %d", e);
	cuDeviceGetCount(&count);
	for (int i = 0; i < count; i++) {
		CUuuid uuid;
		CUdevice d;

		cuDeviceGet(&d, i);
		cuDeviceGetUuid(&uuid, d);
		printf("%d ", uuid.bytes[15]);
	}
	fflush(stdout);
	_exit(0);
}

/* Runs show() with a variable set; value: what it printed. */
static const char *run(const char *variable, const char *value)
{
	static char text[256];
	ssize_t n;
	int out[2];
	pid_t pid;

	if (pipe(out))
		return "?";
	pid = fork();
	if (!pid) {
		setenv(variable, value, 1);
		dup2(out[1], 1);
		execl("/proc/self/exe", "device_test", "show", NULL);
		_exit(127);
	}
	close(out[1]);
	n = read(out[0], text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = 0;
	close(out[0]);
	waitpid(pid, NULL, 0);
	return text;
}

static void visible(void)
{
	const char *v = "CUDA_VISIBLE_DEVICES";

	is_str(run(v, "0,1,2"), "0 1 2 ");
	is_str(run(v, "2,0"), "2 0 ");
	is_str(run(v, "1, 2"), "1 2 ");
	is_str(run(v, UUID(2) ",0"), "2 0 ");
	is_str(run(v, "gpu-6d657465-0000-4000-8000-000000000001"), "1 ");
	is_str(run(v, "GPU-6d65"), "error 100"); /* the beginning of more than one */
	is_str(run(v, "1,7,0"), "1 ");		 /* the first bad entry ends the list */
	is_str(run(v, "1,x,0"), "1 ");
	is_str(run(v, "-1"), "error 100");
	is_str(run(v, ""), "error 100");
	is_str(run(v, "0,0"), "error 100");
	is_str(run(v, UUID(0) "," UUID(0)), "error 100");
}

static void configuration(void)
{
	is_str(run("METE_SOFT_DEVICES", "2"), "0 1 ");
	is_str(run("METE_SOFT_DEVICES", "0"), "error 100");
	is_str(run("METE_SOFT_DEVICES", "17"), "error 1");
	is_str(run("METE_SOFT_DEVICES", "-1"), "error 1");
	is_str(run("METE_SOFT_DEVICES", "two"), "error 1");
	is_str(run("METE_SOFT_MEMORY", "0"), "error 1");
	is_str(run("METE_SOFT_MEMORY", "50%"), "error 1");
	is_str(run("METE_SOFT_MEMORY", "much"), "error 1");
	is_str(run("METE_SOFT_CC", "9"), "error 1");
	is_str(run("METE_SOFT_DRIVER_VERSION", "12.4"), "0 1 2 ");
	is_str(run("METE_SOFT_DRIVER_VERSION", "11.8"), "error 1");
	is_str(run("METE_SOFT_DRIVER_VERSION", "14.0"), "error 1");
	is_str(run("METE_SOFT_DRIVER_VERSION", "12"), "error 1");
	is_str(run("METE_SOFT_SMS", "0"), "error 1");
	is_str(run("METE_SOFT_THREADS", "none"), "error 1");
	is_str(run("METE_SOFT_DIR", "relative"), "error 1");
	is_str(run("METE_SOFT_DIR", "/proc/nothing"), "error 304");
}

static void attributes(void)
{
	static const char *const wanted[] = { "mete software device" };
	char name[64], id[32];
	int value, bad = 0;
	size_t bytes;
	CUdevice d;

	for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; i++)
		bad += !!cuDeviceGetAttribute(&value, (CUdevice_attribute)i, 0);
	is(bad, 0);
	FAILS(cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 3), CUDA_ERROR_INVALID_DEVICE);
	CU(cuDeviceGetName(name, sizeof(name), 0));
	is_str(name, wanted[0]);
	CU(cuDeviceTotalMem(&bytes, 1));
	is(bytes, 32 << 20); /* METE_SOFT_MEMORY is a list; its last entry holds for the rest */
	CU(cuDeviceTotalMem(&bytes, 2));
	is(bytes, 32 << 20);
	CU(cuDeviceGetPCIBusId(id, sizeof(id), 2));
	CU(cuDeviceGetByPCIBusId(&d, id));
	is(d, 2);
	CU(cuDeviceCanAccessPeer(&value, 0, 1));
	is(value, 1);
}

static void contexts(void)
{
	CUcontext primary, created, now;
	unsigned flags;
	int active;
	CUdevice d;
	size_t n;

	FAILS(cuCtxGetDevice(&d), CUDA_ERROR_INVALID_CONTEXT);
	CU(cuDevicePrimaryCtxGetState(0, &flags, &active));
	is(active, 0);
	FAILS(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
	CU(cuDevicePrimaryCtxRetain(&primary, 0));
	CU(cuCtxPushCurrent(primary));
	CU(cuCtxCreate(&created, NULL, CU_CTX_SCHED_BLOCKING_SYNC, 1));
	CU(cuCtxGetDevice(&d));
	is(d, 1);
	CU(cuCtxGetFlags(&flags));
	is(flags, CU_CTX_SCHED_BLOCKING_SYNC);
	CU(cuCtxPopCurrent(&now));
	ok(now == created);
	CU(cuCtxGetCurrent(&now));
	ok(now == primary);
	CU(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
	CU(cuCtxGetLimit(&n, CU_LIMIT_STACK_SIZE));
	is(n, 4096);
	FAILS(cuCtxSetLimit(CU_LIMIT_MAX, 1), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuCtxDestroy(primary), CUDA_ERROR_INVALID_CONTEXT);
	CU(cuCtxSetCurrent(created));
	CU(cuCtxPushCurrent(created));
	CU(cuCtxDestroy(created));
	FAILS(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	FAILS(cuCtxPushCurrent(created), CUDA_ERROR_INVALID_CONTEXT);
	FAILS(cuCtxSetCurrent((CUcontext)(uintptr_t)0x1000), CUDA_ERROR_INVALID_CONTEXT);
	FAILS(cuCtxCreate(&created, NULL, 0x4000, 1), CUDA_ERROR_INVALID_VALUE);
	CU(cuDevicePrimaryCtxRelease(0));
	FAILS(cuCtxCreate(&created, NULL, 0, 9), CUDA_ERROR_INVALID_DEVICE);
}

static void lookup(void)
{
	CUdriverProcAddressQueryResult status;
	const void *table = (void *)1;
	CUuuid id = { { 0 } };
	const char *text;
	unsigned mask;
	char name[8];
	void *f, *g;

	CU(cuGetProcAddress("cuMemAlloc", &f, 3020, 0, &status));
	ok(f && status == CU_GET_PROC_ADDRESS_SUCCESS);
	CU(cuGetProcAddress("cuMemAlloc_v2", &f, 3020, 0, &status));
	ok(!f && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	CU(cuGetProcAddress("cuGraphAddNode", &f, 10000, 0, &status));
	ok(!f && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	CU(cuGetProcAddress("cuMemcpyAsync", &f, 13000, CU_GET_PROC_ADDRESS_DEFAULT, NULL));
	CU(cuGetProcAddress("cuMemcpyAsync", &g, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
	ok(f && g && f != g);
	FAILS(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
	ok(!table);
	CU(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
	is_str(text, "CUDA_ERROR_OUT_OF_MEMORY");
	FAILS(cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
	ok(!text);
	FAILS(cuDeviceGetLuid(name, &mask, 0), CUDA_ERROR_NOT_SUPPORTED); /* another system's */
}

int main(int argc, char **argv)
{
	if (argc > 1)
		show();
	soft_begin("3", "64M,32M");
	visible();
	configuration();
	FAILS(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	CU(cuInit(0));
	CU(cuInit(0));
	attributes();
	contexts();
	lookup();
	return soft_end();
}

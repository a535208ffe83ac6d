/*
 * processes.c: devices that a program may see, several processes and threads of one tenant, and a meted that is away.
 * processes NAME; run.py prepares the run.
 */
#include "kit.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

/* Devices 0 and 2 of four are granted, 64 and 32 MiB; TEST_EXPECT: the machine's devices that the program should see.
 */
static void case_devices(void)
{
	const char *expect = getenv("TEST_EXPECT");
	int count = -1, n = (int)strlen(expect), value;
	CUdevice d;
	CUuuid uuid;
	CUcontext c;
	size_t bytes, free_bytes;

	is(cu.cuInit(0), n ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
	if (!n)
		return;
	is(cu.cuDeviceGetCount(&count), CUDA_SUCCESS);
	is(count, n);
	for (int i = 0; i < n; i++) {
		int machine = expect[i] - '0';
		uint64_t quota = machine == 0 ? 64 * M : 32 * M;
		CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { i } } };
		CUmemGenericAllocationHandle h;

		is(cu.cuDeviceGet(&d, i), CUDA_SUCCESS);
		is(d, i);
		is(cu.cuDeviceGetUuid_v2(&uuid, d), CUDA_SUCCESS);
		is((unsigned char)uuid.bytes[5], 0xd0 + machine);
		is(cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, d), CUDA_SUCCESS);
		is(value, machine);
		is(cu.cuDeviceTotalMem_v2(&bytes, d), CUDA_SUCCESS);
		is(bytes, quota);
		is(cu.cuDevicePrimaryCtxRetain(&c, d), CUDA_SUCCESS);
		is(cu.cuCtxSetCurrent(c), CUDA_SUCCESS);
		is(cu.cuCtxGetDevice(&d), CUDA_SUCCESS);
		is(d, i);
		is(cu.cuMemGetInfo_v2(&free_bytes, &bytes), CUDA_SUCCESS);
		is(bytes, quota);
		is(free_bytes, quota);
		is(cu.cuMemCreate(&h, quota + 2 * M, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
		is(cu.cuMemCreate(&h, quota, &prop, 0), CUDA_SUCCESS);
		is(truth->used[machine], quota);
		is(cu.cuMemRelease(h), CUDA_SUCCESS);
	}
	is(cu.cuDeviceGet(&d, n), CUDA_ERROR_INVALID_DEVICE);
	is(cu.cuDeviceTotalMem_v2(&bytes, n), CUDA_ERROR_INVALID_DEVICE);
	is(cu.cuDevicePrimaryCtxRetain(&c, n), CUDA_ERROR_INVALID_DEVICE);
	if (n == 2) {
		is(cu.cuDeviceCanAccessPeer(&value, 0, 1), CUDA_SUCCESS);
		is(value, (expect[0] - '0') * 10 + expect[1] - '0');
	}
}

/* The driver shows more devices than the shim has places for: those behind them are hidden, granted or not. */
static void case_crowd(void)
{
	int strangers = atoi(getenv("TEST_DRIVER_STRANGERS")), count = -1;
	bool beyond = strangers >= 64;
	CUdeviceptr p;
	CUcontext c;
	CUdevice d;

	is(cu.cuInit(0), beyond ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS);
	is(cu.cuDevicePrimaryCtxRetain(&c, strangers), CUDA_ERROR_INVALID_DEVICE);
	is(cu.cuDeviceGet(&d, strangers), CUDA_ERROR_INVALID_DEVICE);
	if (beyond)
		return;
	is(cu.cuDeviceGetCount(&count), CUDA_SUCCESS);
	is(count, 1); /* device 0, at place 63 */
	is(cu.cuDevicePrimaryCtxRetain(&c, 1), CUDA_ERROR_INVALID_DEVICE);
	is(cu.cuDevicePrimaryCtxRetain(&c, 0), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(c), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p, 64 * M + 1), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuMemAlloc_v2(&p, 64 * M), CUDA_SUCCESS);
	is(truth->used[1], 0);
}

/* ---- the process around it ---- */

static void case_fork(void)
{
	CUdeviceptr p, q;
	int status;
	pid_t child;

	begin(0);
	is(cu.cuMemAlloc_v2(&p, 20 * M), CUDA_SUCCESS);
	child = fork();
	if (child == 0) {
		/* a client of its own, which sees what the parent holds but does not hold it */
		int bad = held() != 20 * M;

		bad |= cu.cuMemAlloc_v2(&q, 50 * M) != CUDA_ERROR_OUT_OF_MEMORY;
		bad |= cu.cuMemAlloc_v2(&q, 44 * M) != CUDA_SUCCESS;
		bad |= held() != 64 * M;
		bad |= cu.cuMemFree_v2(q) != CUDA_SUCCESS;
		bad |= held() != 20 * M;
		_exit(bad);
	}
	waitpid(child, &status, 0);
	is(status, 0);
	agree(20 * M);
	is(cu.cuMemAlloc_v2(&q, 44 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	is(cu.cuMemFree_v2(q), CUDA_SUCCESS);
	agree(0);
}

/* One half of the two processes that share; they take turns over a pair of pipes. */
static int turn_in, turn_out;

static void turn(void)
{
	char c = 0;

	if (write(turn_out, &c, 1) != 1 || read(turn_in, &c, 1) != 1)
		_exit(99);
}

/* The importer: what the exporter hands over stays charged to the tenant, once, until both have let go. */
static int import_side(int fd, const CUipcMemHandle *shared)
{
	CUmemGenericAllocationHandle h;
	CUdeviceptr p, q;
	CUipcMemHandle handle;
	char c;
	int bad = 0;

	bad |= read(turn_in, &c, 1) != 1;
	memcpy(&handle, shared, sizeof handle);
	bad |= cu.cuIpcOpenMemHandle_v2(&p, handle, 1) != CUDA_SUCCESS;
	bad |= cu.cuIpcOpenMemHandle_v2(&q, handle, 1) != CUDA_SUCCESS;
	bad |= cu.cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) !=
	       CUDA_SUCCESS;
	bad |= (held() != 28 * M) * 2;
	turn(); /* the exporter frees */
	bad |= (held() != 28 * M) * 4;
	bad |= cu.cuIpcCloseMemHandle(p) != CUDA_SUCCESS;
	bad |= (held() != 28 * M) * 8;
	bad |= cu.cuIpcCloseMemHandle(q) != CUDA_SUCCESS;
	bad |= (held() != 8 * M) * 16;
	bad |= cu.cuMemRelease(h) != CUDA_SUCCESS;
	bad |= (held() != 0) * 32;
	turn();
	return bad;
}

static void case_share(void)
{
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUmemGenericAllocationHandle h;
	CUdeviceptr p, rest;
	int there[2], back[2], status, fd = -1;
	CUipcMemHandle *handle = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	begin(0);
	ok(!pipe(there) && !pipe(back));
	is(cu.cuMemAlloc_v2(&p, 20 * M), CUDA_SUCCESS);
	is(cu.cuMemCreate(&h, 8 * M, &prop, 0), CUDA_SUCCESS);
	is(cu.cuIpcGetMemHandle(handle, p), CUDA_SUCCESS);
	is(cu.cuIpcGetMemHandle(handle, p), CUDA_SUCCESS);
	is(cu.cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
	agree(28 * M);
	/* moved, not doubled: the rest of the quota can be had, and no more */
	is(cu.cuMemAlloc_v2(&rest, 36 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemFree_v2(rest), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&rest, 36 * M + 1), CUDA_ERROR_OUT_OF_MEMORY);
	child = fork();
	if (child == 0) {
		turn_in = there[0];
		turn_out = back[1];
		_exit(import_side(fd, handle));
	}
	turn_in = back[0];
	turn_out = there[1];
	turn(); /* the importer imports */
	is(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	is(cu.cuMemRelease(h), CUDA_SUCCESS);
	is(held(), 28 * M);
	is(truth->used[0], 0);
	turn(); /* the importer lets go */
	is(held(), 0);
	is(write(turn_out, "", 1), 1);
	waitpid(child, &status, 0);
	is(status, 0);
	close(fd);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
}

/* What is exported through a device node, as NVIDIA's driver does: the inode tells nothing, a mark on the open file
 * does. */
static void case_node(void)
{
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUmemGenericAllocationHandle h, i;
	int fd, other;

	begin(0);
	is(cu.cuMemCreate(&h, 8 * M, &prop, 0), CUDA_SUCCESS);
	is(cu.cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
	is(cu.cuMemImportFromShareableHandle(&i, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
	   CUDA_SUCCESS);
	agree(8 * M);
	is(cu.cuMemRelease(i), CUDA_SUCCESS);
	agree(8 * M);
	is(cu.cuMemRelease(h), CUDA_SUCCESS);
	agree(0);
	/* Each allocation has a mark of its own, and no descriptor of another's. */
	is(cu.cuMemCreate(&h, 8 * M, &prop, 0), CUDA_SUCCESS);
	is(cu.cuMemCreate(&i, 8 * M, &prop, 0), CUDA_SUCCESS);
	is(cu.cuMemExportToShareableHandle(&other, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
	close(fd);
	is(cu.cuMemExportToShareableHandle(&fd, i, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
	agree(16 * M);
	is(cu.cuMemRelease(i), CUDA_SUCCESS);
	agree(8 * M);
	is(cu.cuMemRelease(h), CUDA_SUCCESS);
	agree(0);
	close(fd);
	close(other);
}

/* A program that closes every descriptor, and one that puts its own in the place. */
static void case_closed(void)
{
	CUdeviceptr p;
	int fd, most = 0;

	begin(0);
	is(cu.cuMemAlloc_v2(&p, 20 * M), CUDA_SUCCESS);
	for (fd = 3; fd < 65536; fd++)
		if (close(fd) == 0)
			most = fd;
	ok(most >= 0);
	agree(20 * M);
	is(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	agree(0);
	/* the descriptor is replaced by another file, which must survive */
	for (fd = 3; fd < 65536; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			dup2(0, fd);
	is(cu.cuMemAlloc_v2(&p, 64 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(cu.cuMemFree_v2(p), CUDA_SUCCESS);
	for (fd = 3; fd < 65536; fd++)
		close(fd);
	tap_begin();
}

static void *start_later(void *unused)
{
	usleep(1000000);
	tell("start");
	return NULL;
}

static void case_restart(void)
{
	CUdeviceptr p[4];
	pthread_t thread;

	begin(0);
	is(cu.cuMemAlloc_v2(&p[0], 20 * M), CUDA_SUCCESS);
	tell("kill");
	/* what is held stays usable, and is given back */
	is(cu.cuMemFree_v2(p[0]), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p[0], 20 * M), CUDA_SUCCESS);
	pthread_create(&thread, NULL, start_later, NULL);
	is(cu.cuMemAlloc_v2(&p[1], 44 * M), CUDA_SUCCESS);
	pthread_join(thread, NULL);
	agree(64 * M);
	is(cu.cuMemAlloc_v2(&p[2], 1), CUDA_ERROR_OUT_OF_MEMORY);
	tell("kill");
	tell("start");
	agree(64 * M);
	is(cu.cuMemFree_v2(p[1]), CUDA_SUCCESS);
	tell("kill");
	is(cu.cuMemAlloc_v2(&p[1], 60 * M), CUDA_ERROR_OUT_OF_MEMORY);
	tell("start");
	agree(20 * M);
	errno = 77;
	is(cu.cuMemAlloc_v2(&p[1], 44 * M), CUDA_SUCCESS);
	is(errno, 77);
	agree(64 * M);
}

/* TEST_EXPECT: what cuInit should answer without a keeper. */
static void case_unreachable(void)
{
	CUdeviceptr p;
	CUcontext c;
	int version;

	is(cu.cuDriverGetVersion(&version), access(getenv("METE_DRIVER"), F_OK) ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS);
	is(cu.cuInit(0), atoi(getenv("TEST_EXPECT")));
	if (atoi(getenv("TEST_EXPECT")) == 0) {
		is(cu.cuDevicePrimaryCtxRetain(&c, 0), CUDA_SUCCESS);
		is(cu.cuCtxSetCurrent(c), CUDA_SUCCESS);
		is(cu.cuMemAlloc_v2(&p, 8 * G), CUDA_SUCCESS);
	}
}

/* The driver was initialised past the shim, and there is no keeper: then there is no memory either. */
static void case_behind(void)
{
	void *driver = dlopen(getenv("METE_DRIVER"), RTLD_NOW);
	CUresult (*init)(unsigned int) = (CUresult(*)(unsigned int))dlsym(driver, "cuInit");
	CUdeviceptr p;
	CUcontext c;

	is(init(0), CUDA_SUCCESS);
	is(cu.cuDevicePrimaryCtxRetain(&c, 0), CUDA_SUCCESS);
	is(cu.cuCtxSetCurrent(c), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p, 512), CUDA_ERROR_OUT_OF_MEMORY);
	is(cu.cuInit(0), CUDA_ERROR_SYSTEM_NOT_READY);
}

/* 8 processes, each with as much as it can get of 64 MiB, many times: the driver must never see more. */
static void race_one(unsigned int seed)
{
	CUmemAllocationProp prop = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUmemGenericAllocationHandle h[4] = { 0 };
	CUdeviceptr p[8] = { 0 }, a[4] = { 0 };
	CUcontext c;

	kit_truth();
	if (cu.cuInit(0) || cu.cuDevicePrimaryCtxRetain(&c, 0) || cu.cuCtxSetCurrent(c))
		_exit(1);
	for (int n = 0; n < 800; n++) {
		int i = rand_r(&seed) % 16;
		uint64_t bytes = 1 + (uint64_t)rand_r(&seed) % (16 * M);

		if (i < 8) {
			if (p[i])
				cu.cuMemFree_v2(p[i]), p[i] = 0;
			else if (cu.cuMemAlloc_v2(&p[i], i < 4 ? bytes : bytes % 4096 + 1) != CUDA_SUCCESS)
				p[i] = 0;
		} else if (i < 12) {
			if (h[i - 8])
				cu.cuMemRelease(h[i - 8]), h[i - 8] = 0;
			else if (cu.cuMemCreate(&h[i - 8], (bytes / BLOCK + 1) * BLOCK, &prop, 0) != CUDA_SUCCESS)
				h[i - 8] = 0;
		} else {
			if (a[i - 12])
				cu.cuMemFreeAsync(a[i - 12], NULL), a[i - 12] = 0;
			else if (cu.cuMemAllocAsync(&a[i - 12], bytes, NULL) != CUDA_SUCCESS)
				a[i - 12] = 0;
		}
	}
	for (int i = 0; i < 8; i++)
		if (p[i])
			cu.cuMemFree_v2(p[i]);
	for (int i = 0; i < 4; i++) {
		if (h[i])
			cu.cuMemRelease(h[i]);
		if (a[i])
			cu.cuMemFreeAsync(a[i], NULL);
	}
	cu.cuDeviceGetDefaultMemPool((CUmemoryPool *)&p[0], 0);
	cu.cuMemPoolTrimTo((CUmemoryPool)(uintptr_t)p[0], 0);
	_exit(held() == UINT64_MAX);
}

static void case_race(void)
{
	int status, bad = 0;

	for (unsigned int i = 0; i < 8; i++)
		if (fork() == 0)
			race_one(i + 1);
	while (wait(&status) > 0)
		bad += status != 0;
	is(bad, 0);
	begin(0);
	agree(0);
	ok(truth->peak[0] <= 96 * M);
	ok(truth->peak[0] >= 64 * M);
	printf("# at most %llu of %llu bytes\n", (unsigned long long)truth->peak[0], (unsigned long long)(96 * M));
}

static void *race_thread(void *seed)
{
	unsigned int s = (unsigned int)(uintptr_t)seed;
	CUdeviceptr p[8] = { 0 };
	CUmodule m;
	CUcontext c;

	cu.cuDevicePrimaryCtxRetain(&c, 0);
	cu.cuCtxSetCurrent(c);
	for (int n = 0; n < 800; n++) {
		int i = rand_r(&s) % 9;

		if (i == 8) {
			if (n % 10 == 0 && cu.cuModuleLoadData(&m, "bytes 3145728") == CUDA_SUCCESS)
				cu.cuModuleUnload(m);
		} else if (p[i]) {
			cu.cuMemFree_v2(p[i]), p[i] = 0;
		} else if (cu.cuMemAlloc_v2(&p[i], 1 + (uint64_t)rand_r(&s) % (8 * M)) != CUDA_SUCCESS) {
			p[i] = 0;
		}
	}
	for (int i = 0; i < 8; i++)
		if (p[i])
			cu.cuMemFree_v2(p[i]);
	return NULL;
}

/* Threads that allocate while others load modules whose size only shows afterwards. */
static void case_threads(void)
{
	pthread_t threads[6];

	begin(0);
	for (uintptr_t i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, race_thread, (void *)(i + 1));
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	agree(BLOCK); /* the context */
}

static void case_procs(void)
{
	CUdriverProcAddressQueryResult status;
	CUresult (*alloc)(CUdeviceptr *, size_t);
	CUresult (*get)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
	CUdeviceptr p;
	void *f = &p;

	is(cu.cuGetProcAddress_v2("cuGetProcAddress", (void **)&get, 12000, 0, &status), CUDA_SUCCESS);
	is(get("cuMemAlloc", (void **)&alloc, 3020, 0, &status), CUDA_SUCCESS);
	is(status, CU_GET_PROC_ADDRESS_SUCCESS);
	begin(0);
	is(alloc(&p, 64 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(alloc(&p, 1), CUDA_ERROR_OUT_OF_MEMORY);
	is(get("cuNoSuchCall", &f, 12000, 0, &status), CUDA_SUCCESS);
	ok(f == NULL);
	is(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	/* a call that is not treated leads to the driver itself */
	is(get("cuLaunchKernel", &f, 4000, 0, NULL), CUDA_SUCCESS);
	ok(f && f != (void *)cu.cuLaunchKernel);
	is(get("cuMemAllocAsync", &f, 11020, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL), CUDA_SUCCESS);
	ok(f != NULL);
}

/* A variant that the driver has and this release does not know takes no memory that nobody counts. */
static void case_newer(void)
{
	const char *strict = getenv("METE_STRICT");
	CUdriverProcAddressQueryResult status;
	CUresult (*alloc)(CUdeviceptr *, size_t) = NULL;
	CUdeviceptr p;

	begin(0);
	is(cu.cuGetProcAddress_v2("cuMemAlloc", (void **)&alloc, 14000, 0, &status), CUDA_SUCCESS);
	if (strict) {
		ok(!alloc);
		is(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
		is(cu.cuGetProcAddress_v2("cuMemAlloc", (void **)&alloc, 13050, 0, &status), CUDA_SUCCESS);
	}
	is(alloc(&p, 64 * M), CUDA_SUCCESS);
	agree(64 * M);
	is(alloc(&p, 1), CUDA_ERROR_OUT_OF_MEMORY);
}

/* Loaded under the name in TEST_NAME: what comes must be the shim, whichever way. */
static void case_loading(void)
{
	CUdeviceptr p;

	begin(0);
	is(cu.cuMemAlloc_v2(&p, 64 * M), CUDA_SUCCESS);
	is(cu.cuMemAlloc_v2(&p, 1), CUDA_ERROR_OUT_OF_MEMORY);
}

static const struct kit_case cases[] = {
	{ "devices", case_devices }, { "crowd", case_crowd },
	{ "fork", case_fork },	     { "share", case_share },
	{ "node", case_node },	     { "closed", case_closed },
	{ "restart", case_restart }, { "unreachable", case_unreachable },
	{ "behind", case_behind },   { "race", case_race },
	{ "threads", case_threads }, { "procs", case_procs },
	{ "newer", case_newer },     { "loading", case_loading },
};

int main(int argc, char **argv)
{
	return kit_main(cases, sizeof cases / sizeof *cases, argc, argv);
}

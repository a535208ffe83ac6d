/*
 * cases.c: HIP programs in small, each a case by name, linked with libamdhip64.so.6 as a HIP compiler links its
 *programs; the tests run them under a grant and without one, and once with the library opened by hand (`-l LIBRARY`).
 *
 *	devices              what the library says of its devices: a line each
 *	quota BYTES STEP     takes blocks until it is refused; prints how many bytes it had, and the refusal
 *	exact BYTES          all of the quota, then one unit more, by every call that takes memory; and back
 *	shared WAY BYTES     memory of another process (ipc, fd, pool) is charged as long as somebody has it
 *	shared WAY BYTES dies	the other one is killed
 *	ended BYTES          pools that end, that do not, and devices that are reset
 *	across BYTES         a pool of the second device with a stream of the first one
 *	pools BYTES          stream-ordered memory: kept while it is a pool's, and back when it is needed
 *	fork BYTES           a child has an account of its own
 *	hold BYTES           takes one block, says so, and waits for a line on its input
 *	race STEP N          N times: takes what it gets, and gives it back; prints how much at once, and N
 *	sum N                a kernel of a module and one that was registered; their results printed
 *	spin SECONDS         kernels one after another; prints how many
 *	both BYTES           CUDA and HIP in one program: refused at the sum
 *	order                copies, graphs, events: done in order under whatever share
 */
#include "hip_table.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIVE 70000u
#define UNIT 512u

/* Compiled for a library of HIP's shape, there is no call of a version of AMD's. */
#ifdef SHAPE_PREFIX
#define VERSIONED(X)
#else
#define VERSIONED(X) X(hipGetDevicePropertiesR0600)
#define SHAPE_PREFIX "hip"
#endif

/* clang-format off */
#define CALLS(X)                                                                                               \
	X(hipInit) X(hipGetDeviceCount) X(hipSetDevice) X(hipGetDevice) X(hipDeviceGetName)                    \
	X(hipDeviceTotalMem) X(hipGetDeviceProperties) VERSIONED(X) X(hipMemGetInfo)                           \
	X(hipMalloc) X(hipExtMallocWithFlags) X(hipMallocManaged) X(hipMallocPitch) X(hipMemAllocPitch)        \
	X(hipMalloc3D) X(hipMallocArray) X(hipArrayCreate) X(hipArray3DCreate) X(hipFree) X(hipFreeArray)      \
	X(hipArrayDestroy) X(hipMallocAsync) X(hipMallocFromPoolAsync) X(hipFreeAsync) X(hipMemPoolCreate)     \
	X(hipMemPoolDestroy) X(hipMemPoolSetAttribute) X(hipDeviceGetDefaultMemPool) X(hipMemCreate)           \
	X(hipMemRelease) X(hipMemMap) X(hipMemUnmap) X(hipMemAddressReserve) X(hipMemAddressFree)              \
	X(hipMemSetAccess) X(hipMemGetAllocationGranularity) X(hipMemcpy) X(hipMemcpyAsync) X(hipMemset)       \
	X(hipMemsetAsync) X(hipStreamCreate) X(hipStreamDestroy) X(hipStreamSynchronize)                       \
	X(hipStreamBeginCapture) X(hipStreamEndCapture) X(hipGraphInstantiate) X(hipGraphLaunch)               \
	X(hipGraphExecDestroy) X(hipGraphDestroy) X(hipDeviceSynchronize) X(hipEventCreate)                    \
	X(hipEventRecord) X(hipEventSynchronize) X(hipEventElapsedTime) X(hipEventDestroy)                     \
	X(hipModuleLoadData) X(hipModuleGetFunction) X(hipModuleLaunchKernel) X(hipLaunchKernel)               \
	X(hipGetLastError) X(hipPeekAtLastError) X(hipDeviceReset) X(hipGetProcAddress)                        \
	X(__hipRegisterFatBinary) X(__hipRegisterFunction) X(hipGraphAddMemAllocNode)                          \
	X(hipRuntimeGetVersion) X(hipIpcGetMemHandle) X(hipIpcOpenMemHandle) X(hipIpcCloseMemHandle)           \
	X(hipMemExportToShareableHandle) X(hipMemImportFromShareableHandle)                                    \
	X(hipMemPoolExportToShareableHandle) X(hipMemPoolImportFromShareableHandle)                            \
	X(hipMemPoolExportPointer) X(hipMemPoolImportPointer) X(hipMemPoolTrimTo)                              \
	X(hipImportExternalMemory) X(hipDestroyExternalMemory) X(hipExternalMemoryGetMappedBuffer)
/* clang-format on */

/* The library's, as the linker binds them. */
#define DECLARE(name) extern __typeof__(*((struct hip_table *)0)->name) name;
CALLS(DECLARE)

/* And as this program calls them: those, or what dlsym() finds in a library that was opened by hand. */
static struct hip_table hip;
static unsigned int checks, failed;

static const char code[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			   ".visible .entry square(.param .u64 p)\n{\n"
			   "	.reg .b32 %r<4>;\n	.reg .b64 %rd<4>;\n"
			   "	ld.param.u64 %rd1, [p];\n"
			   "	mov.u32 %r1, %tid.x;\n"
			   "	mul.lo.s32 %r2, %r1, %r1;\n"
			   "	mul.wide.s32 %rd2, %r1, 4;\n"
			   "	add.s64 %rd3, %rd1, %rd2;\n"
			   "	st.global.u32 [%rd3], %r2;\n"
			   "	ret;\n}\n"
			   ".visible .entry spin_a()\n{\n	ret;\n}\n";

static void bind_calls(const char *library)
{
	void *handle = library ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (library && !handle) {
		printf("%s\n", dlerror());
		exit(3);
	}
#define BIND(name) hip.name = library ? (__typeof__(hip.name))dlsym(handle, #name) : name;
	CALLS(BIND)
}

static void ok(bool good, const char *fmt, ...)
{
	va_list ap;

	checks++;
	failed += !good;
	printf("%sok %u - ", good ? "" : "not ", checks);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	puts("");
	fflush(stdout);
}

static int done(void)
{
	printf("1..%u\n", checks);
	return failed != 0;
}

static void need(hipError_t r, const char *what)
{
	if (r == hipSuccess)
		return;
	printf("%s: %d\n", what, r);
	exit(3);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t room(void)
{
	size_t free = 0, total = 0;

	need(hip.hipMemGetInfo(&free, &total), "hipMemGetInfo");
	return free;
}

static int devices(void)
{
	int count = 0;
	hipError_t r = hip.hipGetDeviceCount(&count);

	printf("%d %d\n", r, count);
	for (int i = 0; i < count; i++) {
		char old[4096] = "", name[128] = "";
		static char newer[8192];
		size_t total = 0, in_old, in_newer, free = 0, all = 0;

		need(hip.hipSetDevice(i), "hipSetDevice");
		need(hip.hipDeviceGetName(name, sizeof name, i), "hipDeviceGetName");
		need(hip.hipDeviceTotalMem(&total, i), "hipDeviceTotalMem");
		need(hip.hipGetDeviceProperties(old, i), "hipGetDeviceProperties");
		if (hip.hipGetDevicePropertiesR0600)
			need(hip.hipGetDevicePropertiesR0600(newer, i), "hipGetDevicePropertiesR0600");
		else
			memcpy(newer + 288, old + 256, sizeof in_newer);
		need(hip.hipMemGetInfo(&free, &all), "hipMemGetInfo");
		memcpy(&in_old, old + 256, sizeof in_old);
		memcpy(&in_newer, newer + 288, sizeof in_newer);
		printf("%d %zu %zu %zu %zu %zu %s\n", i, total, in_old, in_newer, free, all, name);
	}
	return 0;
}

static int quota(uint64_t bytes, size_t step)
{
	static void *made[LIVE];
	uint64_t total = 0;
	unsigned int n = 0;
	hipError_t r = hipSuccess;

	while (n < LIVE && total <= bytes && (r = hip.hipMalloc(&made[n], step)) == hipSuccess) {
		total += step;
		n++;
	}
	printf("%llu %d\n", (unsigned long long)total, r);
	while (n)
		need(hip.hipFree(made[--n]), "hipFree");
	return 0;
}

/* Each way to take memory of exactly so many bytes: what the program got, and how it gives that back. */
static hipError_t take_plain(void **p, size_t bytes)
{
	return hip.hipMalloc(p, bytes);
}

static hipError_t take_flags(void **p, size_t bytes)
{
	return hip.hipExtMallocWithFlags(p, bytes, 0);
}

static hipError_t take_managed(void **p, size_t bytes)
{
	return hip.hipMallocManaged(p, bytes, 1);
}

static hipError_t take_pitch(void **p, size_t bytes)
{
	size_t pitch;

	return hip.hipMallocPitch(p, &pitch, UNIT, bytes / UNIT);
}

static hipError_t take_pitch_of_module(void **p, size_t bytes)
{
	size_t pitch;

	return hip.hipMemAllocPitch(p, &pitch, UNIT, bytes / UNIT, 4);
}

static hipError_t take_3d(void **p, size_t bytes)
{
	hipPitchedPtr made = { 0 };
	hipError_t r = hip.hipMalloc3D(&made, (hipExtent){ UNIT, bytes / UNIT / 8, 8 });

	*p = made.ptr;
	return r;
}

static hipError_t take_array(void **p, size_t bytes)
{
	hipChannelFormatDesc desc = { 32, 0, 0, 0, 2 };

	return hip.hipMallocArray((hipArray_t *)p, &desc, 1024, bytes / 4096, 0);
}

static hipError_t take_array_of_module(void **p, size_t bytes)
{
	HIP_ARRAY_DESCRIPTOR d = { 1024, bytes / 4096, 0x20, 1 };

	return hip.hipArrayCreate((hipArray_t *)p, &d);
}

static hipError_t take_array_3d(void **p, size_t bytes)
{
	HIP_ARRAY3D_DESCRIPTOR d = { 64, 64, bytes / 16384, 0x03, 1, 0 };

	return hip.hipArray3DCreate((hipArray_t *)p, &d);
}

static hipError_t take_handle(void **p, size_t bytes)
{
	hipMemAllocationProp prop = { .type = 1, .location = { hipMemLocationTypeDevice, 0 } };

	return hip.hipMemCreate((hipMemGenericAllocationHandle_t *)p, bytes, &prop, 0);
}

/* Imported, mapped, and given back by its import before the map: the mapped part holds it. */
static hipError_t take_external(void **p, size_t bytes)
{
	hipExternalMemoryHandleDesc desc = { .type = 1, .handle = { .fd = -1 }, .size = bytes };
	hipExternalMemoryBufferDesc all = { .size = bytes };
	hipExternalMemory_t memory = NULL;
	hipError_t r = hip.hipImportExternalMemory(&memory, &desc);

	if (r != hipSuccess)
		return r;
	r = hip.hipExternalMemoryGetMappedBuffer(p, memory, &all);
	ok(hip.hipDestroyExternalMemory(memory) == hipSuccess && (r != hipSuccess || *p),
	   "the import of mapped memory ends");
	return r;
}

/* The other way round. */
static hipError_t take_import(void **p, size_t bytes)
{
	hipExternalMemoryHandleDesc desc = { .type = 1, .handle = { .fd = -1 }, .size = bytes };
	hipExternalMemoryBufferDesc all = { .size = bytes };
	void *at = NULL;
	hipError_t r = hip.hipImportExternalMemory((hipExternalMemory_t *)p, &desc);

	if (r == hipSuccess)
		ok(hip.hipExternalMemoryGetMappedBuffer(&at, *p, &all) == hipSuccess && hip.hipFree(at) == hipSuccess,
		   "a part is mapped and freed");
	return r;
}

static hipError_t drop_import(void *p)
{
	return hip.hipDestroyExternalMemory(p);
}

static hipError_t drop_plain(void *p)
{
	return hip.hipFree(p);
}

static hipError_t drop_array(void *p)
{
	return hip.hipFreeArray(p);
}

static hipError_t drop_array_of_module(void *p)
{
	return hip.hipArrayDestroy(p);
}

static hipError_t drop_handle(void *p)
{
	return hip.hipMemRelease(p);
}

static const struct way {
	const char *name;
	hipError_t (*take)(void **p, size_t bytes);
	hipError_t (*drop)(void *p);
} ways[] = {
	{ "hipMalloc", take_plain, drop_plain },
	{ "hipExtMallocWithFlags", take_flags, drop_plain },
	{ "hipMallocManaged", take_managed, drop_plain },
	{ "hipMallocPitch, which calls hipMalloc", take_pitch, drop_plain },
	{ "hipMemAllocPitch", take_pitch_of_module, drop_plain },
	{ "hipMalloc3D", take_3d, drop_plain },
	{ "hipMallocArray", take_array, drop_array },
	{ "hipArrayCreate", take_array_of_module, drop_array_of_module },
	{ "hipArray3DCreate", take_array_3d, drop_array },
	{ "hipMemCreate", take_handle, drop_handle },
	{ "hipImportExternalMemory, mapped", take_external, drop_plain },
	{ "hipImportExternalMemory", take_import, drop_import },
};

static int exact(uint64_t bytes)
{
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		void *all = NULL, *half = NULL, *one = NULL;
		const char *name = ways[i].name;
		uint64_t before = room();
		hipError_t r;

		ok(before == bytes, "%s: all is free before", name);
		r = ways[i].take(&all, bytes + (1 << 21));
		ok(r == hipErrorOutOfMemory, "%s: more than the quota is refused: %d", name, r);
		ok(hip.hipPeekAtLastError() == hipErrorOutOfMemory && hip.hipGetLastError() == hipErrorOutOfMemory &&
			   hip.hipGetLastError() == hipSuccess,
		   "%s: and that is the last error, once", name);
		r = ways[i].take(&half, bytes / 2);
		ok(r == hipSuccess && room() == bytes - bytes / 2, "%s: half of it is charged once: %d, %llu left",
		   name, r, (unsigned long long)room());
		if (r == hipSuccess)
			need(ways[i].drop(half), name);
		r = ways[i].take(&all, bytes);
		ok(r == hipSuccess && !room(), "%s: all of it: %d, %llu left", name, r, (unsigned long long)room());
		ok(hip.hipMalloc(&one, 1) == hipErrorOutOfMemory, "%s: then not a byte", name);
		if (r == hipSuccess)
			ok(ways[i].drop(all) == hipSuccess && room() == bytes, "%s: and back", name);
	}
	ok(hip.hipFree(NULL) == hipSuccess, "nothing is freed as ever");
	ok(hip.hipFree((void *)&checks) != hipSuccess && room() == bytes,
	   "what is no memory of the device's gives nothing back");
	{
		void *p;

		need(hip.hipMalloc(&p, bytes), "hipMalloc");
		ok(hip.hipDeviceReset() == hipSuccess && room() == bytes, "a reset of the device gives all back");
	}
	return done();
}

/* A handle is held by its mappings as well. */
static void mapped(uint64_t bytes)
{
	hipMemAllocationProp prop = { .type = 1, .location = { hipMemLocationTypeDevice, 0 } };
	hipMemAccessDesc access = { { hipMemLocationTypeDevice, 0 }, 3 };
	hipMemGenericAllocationHandle_t handle;
	size_t granule = 0, size;
	uint64_t before = room();
	void *at;

	need(hip.hipMemGetAllocationGranularity(&granule, &prop, 0), "hipMemGetAllocationGranularity");
	size = (bytes / 4 + granule - 1) / granule * granule;
	need(hip.hipMemAddressReserve(&at, size, 0, NULL, 0), "hipMemAddressReserve");
	need(hip.hipMemCreate(&handle, size, &prop, 0), "hipMemCreate");
	need(hip.hipMemMap(at, size, 0, handle, 0), "hipMemMap");
	need(hip.hipMemSetAccess(at, size, &access, 1), "hipMemSetAccess");
	need(hip.hipMemset(at, 1, size), "hipMemset");
	need(hip.hipMemRelease(handle), "hipMemRelease");
	ok(room() == before - size, "mapped memory stays charged when its handle is released");
	need(hip.hipMemUnmap(at, size), "hipMemUnmap");
	ok(room() == before, "and goes back with the mapping");
	need(hip.hipMemAddressFree(at, size), "hipMemAddressFree");
}

static int pools(uint64_t bytes)
{
	hipMemPoolProps props = { .allocType = 1, .location = { hipMemLocationTypeDevice, 0 } };
	hipStream_t stream;
	hipMemPool_t pool;
	uint64_t keep = UINT64_MAX;
	void *p, *q;

	mapped(bytes);
	need(hip.hipStreamCreate(&stream), "hipStreamCreate");
	need(hip.hipMallocAsync(&p, bytes / 2, stream), "hipMallocAsync");
	ok(room() == bytes - bytes / 2, "stream-ordered memory is charged when it is asked for");
	ok(hip.hipMallocAsync(&q, bytes / 2 + UNIT, stream) == hipErrorOutOfMemory, "and refused beyond the quota");
	need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	need(hip.hipMallocAsync(&p, bytes / 4, stream), "hipMallocAsync");
	ok(room() == bytes / 2 || room() == bytes / 4,
	   "what the stream freed stays charged, as far as the pool has it");
	need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	need(hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
	ok(room() == bytes, "a wait for the device gives back what pools keep");
	for (int i = 0; i < 200; i++) {
		need(hip.hipMallocAsync(&p, bytes, stream), "hipMallocAsync");
		need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	}
	ok(hip.hipMalloc(&q, bytes) == hipSuccess, "and before a request is refused, they give it back at once");
	need(hip.hipFree(q), "hipFree");
	need(hip.hipMemPoolCreate(&pool, &props), "hipMemPoolCreate");
	need(hip.hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &keep), "hipMemPoolSetAttribute");
	need(hip.hipMallocFromPoolAsync(&p, bytes / 2, pool, stream), "hipMallocFromPoolAsync");
	need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	need(hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
	ok(room() == bytes - bytes / 2, "a pool that was told to keep memory keeps it, and so does the account");
	ok(hip.hipMalloc(&q, bytes) == hipSuccess, "until it is needed");
	need(hip.hipFree(q), "hipFree");
	need(hip.hipMallocFromPoolAsync(&p, bytes / 2, pool, stream), "hipMallocFromPoolAsync");
	need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	need(hip.hipMemPoolDestroy(pool), "hipMemPoolDestroy");
	ok(hip.hipMalloc(&q, bytes) == hipSuccess, "and from a pool that is destroyed");
	need(hip.hipFree(q), "hipFree");
	need(hip.hipMalloc(&q, bytes / 2), "hipMalloc");
	need(hip.hipFreeAsync(q, stream), "hipFreeAsync");
	need(hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
	ok(room() == bytes, "plain memory that is freed in a stream goes back as well");
	return done();
}

static void in_stream(hipMemPool_t pool, void **p, uint64_t bytes, hipStream_t stream)
{
	need(hip.hipMallocFromPoolAsync(p, bytes, pool, stream), "hipMallocFromPoolAsync");
}

/*
 * Whatever a pool keeps stays charged until it has gone: in pieces, none of which serves a larger request; of a pool
 * that is destroyed, whose handle is the next one's; and when the stream is another one. Prints the bytes that are left
 * of the quota each time, and waits to be told to go on: whoever reads it looks at the device.
 */
static int kept(uint64_t bytes)
{
	hipMemPoolProps props = { .allocType = 1, .location = { hipMemLocationTypeDevice, 0 } };
	hipMemPool_t pool;
	hipStream_t stream;
	uint64_t keep = UINT64_MAX;
	void *piece[16], *p;

	for (int turn = 0; turn < 3; turn++) {
		need(hip.hipMemPoolCreate(&pool, &props), "hipMemPoolCreate");
		need(hip.hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &keep), "hipMemPoolSetAttribute");
		need(hip.hipStreamCreate(&stream), "hipStreamCreate");
		for (int i = 0; i < 16; i++)
			in_stream(pool, &piece[i], bytes / 32, stream);
		for (int i = 0; i < 16; i++)
			need(hip.hipFreeAsync(piece[i], stream), "hipFreeAsync");
		in_stream(pool, &p, bytes / 2, stream);
		printf("%llu\n", (unsigned long long)room());
		fflush(stdout);
		if (getchar() < 0)
			return 1;
		need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
		need(hip.hipMemPoolDestroy(pool), "hipMemPoolDestroy");
		need(hip.hipStreamDestroy(stream), "hipStreamDestroy");
	}
	return 0;
}

/* Memory that one process makes and another one opens: what goes between them. */
struct offer {
	hipIpcMemHandle_t handle; /* ipc */
	char pointer[64];	  /* pool: of the memory in it */
};

static void send_offer(int to, const struct offer *offer, int fd)
{
	struct iovec data = { (void *)offer, sizeof *offer };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof fd)];
	} with = { .head = { CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS } };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };

	if (fd >= 0) {
		memcpy(CMSG_DATA(&with.head), &fd, sizeof fd);
		m.msg_control = &with;
		m.msg_controllen = sizeof with;
	}
	if (sendmsg(to, &m, 0) < 0)
		exit(4);
}

static int take_offer(int from, struct offer *ret)
{
	struct iovec data = { ret, sizeof *ret };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} with;
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &with, .msg_controllen = sizeof with };
	int fd = -1;

	if (recvmsg(from, &m, 0) != sizeof *ret)
		exit(4);
	if (m.msg_controllen)
		memcpy(&fd, CMSG_DATA(&with.head), sizeof fd);
	return fd;
}

static const hipMemAllocationProp exportable = { .type = 1,
						 .requestedHandleType = 1,
						 .location = { hipMemLocationTypeDevice, 0 } };

/* The maker's process: until it is told that it may free, and has. */
static void make_and_offer(int other, const char *way, uint64_t bytes)
{
	hipMemPoolProps props = { .allocType = 1, .handleTypes = 1, .location = { hipMemLocationTypeDevice, 0 } };
	hipMemGenericAllocationHandle_t handle = NULL;
	struct offer offer = { .pointer = "" };
	hipMemPool_t pool = NULL;
	hipStream_t stream;
	void *p = NULL;
	int fd = -1;
	char c;

	need(hip.hipStreamCreate(&stream), "hipStreamCreate");
	if (!strcmp(way, "fd")) {
		need(hip.hipMemCreate(&handle, bytes, &exportable, 0), "hipMemCreate");
		need(hip.hipMemExportToShareableHandle(&fd, handle, 1, 0), "hipMemExportToShareableHandle");
	} else if (!strcmp(way, "pool")) {
		need(hip.hipMemPoolCreate(&pool, &props), "hipMemPoolCreate");
		need(hip.hipMallocFromPoolAsync(&p, bytes, pool, stream), "hipMallocFromPoolAsync");
		need(hip.hipMemPoolExportToShareableHandle(&fd, pool, 1, 0), "hipMemPoolExportToShareableHandle");
		need(hip.hipMemPoolExportPointer((void *)offer.pointer, p), "hipMemPoolExportPointer");
	} else {
		need(hip.hipMalloc(&p, bytes), "hipMalloc");
		need(hip.hipIpcGetMemHandle(&offer.handle, p), "hipIpcGetMemHandle");
	}
	send_offer(other, &offer, fd);
	if (fd >= 0)
		close(fd);
	if (read(other, &c, 1) != 1)
		exit(4);
	if (handle)
		need(hip.hipMemRelease(handle), "hipMemRelease");
	else
		need(pool ? hip.hipFreeAsync(p, stream) : hip.hipFree(p), "hipFree");
	need(hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
	if (pool)
		need(hip.hipMemPoolDestroy(pool), "hipMemPoolDestroy");
	if (write(other, &c, 1) != 1 || read(other, &c, 1) != 0)
		exit(4);
	exit(0);
}

/* An importer's hold. */
struct import {
	hipMemGenericAllocationHandle_t handle;
	hipMemPool_t pool;
	void *p;
};

static void import_offer(struct import *i, const char *way, const struct offer *offer, int fd)
{
	if (!strcmp(way, "fd")) {
		need(hip.hipMemImportFromShareableHandle(&i->handle, (void *)(intptr_t)fd, 1),
		     "hipMemImportFromShareableHandle");
	} else if (!strcmp(way, "pool")) {
		need(hip.hipMemPoolImportFromShareableHandle(&i->pool, (void *)(intptr_t)fd, 1, 0),
		     "hipMemPoolImportFromShareableHandle");
		need(hip.hipMemPoolImportPointer(&i->p, i->pool, (void *)offer->pointer), "hipMemPoolImportPointer");
	} else {
		need(hip.hipIpcOpenMemHandle(&i->p, offer->handle, 1), "hipIpcOpenMemHandle");
		need(hip.hipIpcOpenMemHandle(&i->p, offer->handle, 1), "hipIpcOpenMemHandle, once more");
		need(hip.hipIpcCloseMemHandle(i->p), "hipIpcCloseMemHandle");
	}
	if (fd >= 0)
		close(fd);
}

static void let_go(const struct import *i)
{
	if (i->handle)
		need(hip.hipMemRelease(i->handle), "hipMemRelease");
	else
		need(i->pool ? hip.hipFree(i->p) : hip.hipIpcCloseMemHandle(i->p), "letting go");
	if (i->pool)
		need(hip.hipMemPoolDestroy(i->pool), "hipMemPoolDestroy");
}

static bool comes_to(uint64_t bytes)
{
	for (int i = 0; i < 3000 && room() != bytes; i++)
		usleep(10000);
	return room() == bytes;
}

static int shared(const char *way, uint64_t bytes, bool dies)
{
	struct import import = { 0 };
	struct offer offer;
	int pair[2], fd;
	void *p, *q;
	pid_t maker;
	char c = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 3;
	maker = fork();
	if (!maker) {
		close(pair[0]);
		make_and_offer(pair[1], way, bytes / 2);
	}
	close(pair[1]);
	fd = take_offer(pair[0], &offer);
	ok(room() == bytes / 2, "%s: its maker has it", way);
	import_offer(&import, way, &offer, fd);
	ok(room() == (strcmp(way, "ipc") ? 0 : bytes / 2), "%s: its importer is charged, or it is the grant's", way);
	if (dies)
		kill(maker, SIGKILL);
	else if (write(pair[0], &c, 1) != 1)
		return 3;
	ok(read(pair[0], &c, 1) == !dies && comes_to(bytes / 2), "%s: its maker has let go; it stays charged", way);
	ok(hip.hipMalloc(&p, bytes / 2 + UNIT) == hipErrorOutOfMemory, "%s: so that there is no more than the rest",
	   way);
	need(hip.hipMalloc(&p, bytes / 2), "the rest");
	printf("full\n");
	fflush(stdout);
	if (getchar() < 0)
		return 3;
	let_go(&import);
	ok(comes_to(bytes / 2), "%s: its importer has let go, and nothing of it is charged", way);
	need(hip.hipMalloc(&q, bytes / 2), "the other half");
	close(pair[0]);
	waitpid(maker, NULL, 0);
	return done();
}

/* What a pool keeps, however it comes to its end. */
static int ended(uint64_t bytes)
{
	hipMemPoolProps props = { .allocType = 1, .location = { hipMemLocationTypeDevice, 0 } };
	hipMemPool_t pool, next, own;
	uint64_t keep = UINT64_MAX;
	hipStream_t stream;
	void *p, *q;

	need(hip.hipStreamCreate(&stream), "hipStreamCreate");
	need(hip.hipDeviceGetDefaultMemPool(&own, 0), "hipDeviceGetDefaultMemPool");
	need(hip.hipMemPoolSetAttribute(own, hipMemPoolAttrReleaseThreshold, &keep), "hipMemPoolSetAttribute");
	in_stream(own, &p, bytes / 2, stream);
	need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	ok(hip.hipMemPoolDestroy(own) != hipSuccess, "the device's own pool does not end");
	need(hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
	ok(room() == bytes - bytes / 2, "and what it keeps stays charged");
	ok(hip.hipMalloc(&p, bytes) == hipSuccess, "until it is needed");
	need(hip.hipFree(p), "hipFree");

	need(hip.hipMemPoolCreate(&pool, &props), "hipMemPoolCreate");
	in_stream(pool, &p, bytes / 2, stream);
	need(hip.hipMemPoolDestroy(pool), "hipMemPoolDestroy");
	ok(room() == bytes - bytes / 2, "memory outlives its pool, and is charged");
	need(hip.hipMemPoolCreate(&next, &props), "hipMemPoolCreate");
	need(hip.hipMemPoolSetAttribute(next, hipMemPoolAttrReleaseThreshold, &keep), "hipMemPoolSetAttribute");
	in_stream(next, &q, bytes / 4, stream);
	need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	need(hip.hipFreeAsync(q, stream), "hipFreeAsync");
	need(hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
	ok(room() == bytes - bytes / 4, "it is not kept by the next pool, whatever that one's handle is");
	ok(hip.hipMalloc(&q, bytes) == hipSuccess, "all of it can be had");
	need(hip.hipFree(q), "hipFree");

	in_stream(next, &p, bytes / 2, stream);
	in_stream(next, &q, bytes / 4, stream);
	need(hip.hipFreeAsync(q, stream), "hipFreeAsync");
	need(hip.hipDeviceReset(), "hipDeviceReset");
	ok(room() == bytes, "a reset leaves nothing of a pool charged");
	ok(hip.hipMalloc(&q, bytes) == hipSuccess, "and all can be had");
	return done();
}

static int across(uint64_t bytes)
{
	hipMemPoolProps props = { .allocType = 1, .location = { hipMemLocationTypeDevice, 1 } };
	hipMemPool_t pool;
	hipStream_t stream;
	uint64_t there;
	void *p;

	need(hip.hipSetDevice(0), "hipSetDevice");
	need(hip.hipStreamCreate(&stream), "hipStreamCreate");
	need(hip.hipMemPoolCreate(&pool, &props), "hipMemPoolCreate");
	in_stream(pool, &p, bytes, stream);
	ok(room() == bytes, "the stream's device has none of it");
	need(hip.hipSetDevice(1), "hipSetDevice");
	there = room();
	ok(!there, "the pool's has all (%llu left)", (unsigned long long)there);
	ok(hip.hipMalloc(&p, UNIT) == hipErrorOutOfMemory, "and nothing more");
	return done();
}

static int forked(uint64_t bytes)
{
	void *p;
	pid_t child;
	int status = -1;

	fflush(stdout);
	child = fork();
	if (!child) {
		bool good = hip.hipMalloc(&p, bytes / 2) == hipSuccess && room() == bytes - bytes / 2;

		_exit(good ? 0 : 1);
	}
	waitpid(child, &status, 0);
	ok(status == 0, "a child takes memory of its own");
	need(hip.hipMalloc(&p, bytes), "hipMalloc");
	ok(!room(), "and leaves none of it held");
	return done();
}

static int hold(size_t bytes)
{
	char line[16];
	void *p;

	need(hip.hipMalloc(&p, bytes), "hipMalloc");
	puts("held");
	fflush(stdout);
	return !fgets(line, sizeof line, stdin);
}

static int race(size_t step, unsigned int rounds)
{
	static void *made[LIVE];
	unsigned int most = 0;

	for (unsigned int i = 0; i < rounds; i++) {
		unsigned int n = 0;

		while (n < LIVE && hip.hipMalloc(&made[n], step) == hipSuccess)
			n++;
		most = n > most ? n : most;
		while (n)
			need(hip.hipFree(made[--n]), "hipFree");
	}
	printf("%llu %u\n", (unsigned long long)most * step, rounds);
	return 0;
}

static hipFunction_t function_of(const char *name)
{
	hipModule_t module;
	hipFunction_t f;

	need(hip.hipModuleLoadData(&module, code), "hipModuleLoadData");
	need(hip.hipModuleGetFunction(&f, module, name), "hipModuleGetFunction");
	return f;
}

static int sum(unsigned int n)
{
	static const struct {
		uint32_t magic, version;
		const void *image, *unused;
	} wrapper = { 0x48495046, 1, code, NULL };
	static const char kernel; /* its address stands for the kernel, as a compiler's function does */
	int *host = calloc(n, sizeof *host);
	void **program, *device, *args[] = { &device };
	long long total = 0, again = 0;

	need(hip.hipMalloc(&device, n * sizeof *host), "hipMalloc");
	need(hip.hipModuleLaunchKernel(function_of("square"), 1, 1, 1, n, 1, 1, 0, NULL, args, NULL),
	     "hipModuleLaunchKernel");
	need(hip.hipMemcpy(host, device, n * sizeof *host, hipMemcpyDefault), "hipMemcpy");
	for (unsigned int i = 0; i < n; i++)
		total += host[i];
	need(hip.hipMemset(device, 0, n * sizeof *host), "hipMemset");
	program = hip.__hipRegisterFatBinary(&wrapper);
	hip.__hipRegisterFunction(program, &kernel, NULL, "square", 0, NULL, NULL, NULL, NULL, NULL);
	need(hip.hipLaunchKernel(&kernel, (dim3){ 1, 1, 1 }, (dim3){ n, 1, 1 }, args, 0, NULL), "hipLaunchKernel");
	need(hip.hipMemcpy(host, device, n * sizeof *host, hipMemcpyDefault), "hipMemcpy");
	for (unsigned int i = 0; i < n; i++)
		again += host[i];
	printf("%lld %lld\n", total, again);
	free(host);
	return 0;
}

static int spin(double seconds)
{
	hipFunction_t f = function_of("spin_a");
	hipStream_t stream;
	unsigned long n = 0;
	double end;

	need(hip.hipStreamCreate(&stream), "hipStreamCreate");
	puts("begins");
	fflush(stdout);
	end = now() + seconds;
	while (now() < end) {
		for (int i = 0; i < 8; i++)
			need(hip.hipModuleLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL),
			     "hipModuleLaunchKernel");
		need(hip.hipStreamSynchronize(stream), "hipStreamSynchronize");
		n += 8;
	}
	printf("%lu\n", n);
	return 0;
}

static int both(uint64_t bytes)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned int) = cuda ? (int (*)(unsigned int))dlsym(cuda, "cuInit") : NULL;
	int (*retain)(void **, int), (*set)(void *), (*alloc)(uint64_t *, size_t), (*drop)(uint64_t), (*get)(void **);
	void *context, *still, *p;
	uint64_t at;

	if (!init) {
		puts("no CUDA");
		return 3;
	}
	retain = (int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain");
	set = (int (*)(void *))dlsym(cuda, "cuCtxSetCurrent");
	get = (int (*)(void **))dlsym(cuda, "cuCtxGetCurrent");
	alloc = (int (*)(uint64_t *, size_t))dlsym(cuda, "cuMemAlloc_v2");
	drop = (int (*)(uint64_t))dlsym(cuda, "cuMemFree_v2");
	ok(!init(0) && !retain(&context, 0) && !set(context), "CUDA begins");
	ok(hip.hipMalloc(&p, UNIT) == hipSuccess && hip.hipFree(p) == hipSuccess, "and so does HIP");
	ok(!get(&still) && still == context, "CUDA's context is still current");
	ok(!alloc(&at, bytes / 2), "half of the quota by CUDA");
	ok(hip.hipMalloc(&p, bytes / 2 + bytes / 8) == hipErrorOutOfMemory, "then HIP is refused more than the rest");
	ok(room() <= bytes / 2, "and sees what is left");
	ok(hip.hipMalloc(&p, bytes / 4) == hipSuccess, "but gets what is there");
	ok(!drop(at), "CUDA gives back");
	ok(alloc(&at, bytes - bytes / 8) == 2, "CUDA is refused more than HIP has left");
	ok(hip.hipFree(p) == hipSuccess && !alloc(&at, bytes / 2), "and gets it when HIP gives back");
	return done();
}

static int order(void)
{
	hipFunction_t f = function_of("square");
	int host[64] = { 0 };
	hipEvent_t begin, end;
	hipGraphExec_t exec;
	hipStream_t stream;
	hipGraph_t graph;
	float ms = -1;
	void *device, *args[] = { &device }, *function = NULL;
	int version = 0;

	need(hip.hipMalloc(&device, sizeof host), "hipMalloc");
	need(hip.hipStreamCreate(&stream), "hipStreamCreate");
	need(hip.hipEventCreate(&begin), "hipEventCreate");
	need(hip.hipEventCreate(&end), "hipEventCreate");
	need(hip.hipEventRecord(begin, stream), "hipEventRecord");
	need(hip.hipMemsetAsync(device, 0xff, sizeof host, stream), "hipMemsetAsync");
	need(hip.hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, stream, args, NULL), "hipModuleLaunchKernel");
	need(hip.hipMemcpyAsync(host, device, sizeof host, hipMemcpyDefault, stream), "hipMemcpyAsync");
	need(hip.hipEventRecord(end, stream), "hipEventRecord");
	need(hip.hipEventSynchronize(end), "hipEventSynchronize");
	ok(host[0] == 0 && host[63] == 63 * 63, "fill, kernel and copy are done in order: %d %d", host[0], host[63]);
	ok(hip.hipEventElapsedTime(&ms, begin, end) == hipSuccess && ms >= 0, "between two events there is time");
	need(hip.hipStreamBeginCapture(stream, 0), "hipStreamBeginCapture");
	need(hip.hipMemsetAsync(device, 0, sizeof host, stream), "hipMemsetAsync");
	need(hip.hipModuleLaunchKernel(f, 1, 1, 1, 8, 1, 1, 0, stream, args, NULL), "hipModuleLaunchKernel");
	ok(!getenv("METE_SOCKET") || hip.hipMallocAsync(&function, 4096, stream) == hipErrorNotSupported,
	   "a graph that takes memory is refused under a grant");
	need(hip.hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
	need(hip.hipGraphInstantiate(&exec, graph, NULL, NULL, 0), "hipGraphInstantiate");
	for (int i = 0; i < 20; i++)
		need(hip.hipGraphLaunch(exec, stream), "hipGraphLaunch");
	need(hip.hipStreamSynchronize(stream), "hipStreamSynchronize");
	need(hip.hipMemcpy(host, device, sizeof host, hipMemcpyDefault), "hipMemcpy");
	ok(host[7] == 49 && host[63] == 0, "a graph runs: %d %d", host[7], host[63]);
	need(hip.hipGraphExecDestroy(exec), "hipGraphExecDestroy");
	need(hip.hipGraphDestroy(graph), "hipGraphDestroy");
	need(hip.hipStreamDestroy(stream), "hipStreamDestroy");
	function = NULL;
	ok(hip.hipGetProcAddress(SHAPE_PREFIX "Malloc", &function, 60200, 0, NULL) == hipSuccess && function,
	   "calls are found by name");
	need(((hipError_t(*)(void **, size_t))function)(&device, 1 << 20), "hipMalloc by name");
	ok(!getenv("METE_SOCKET") ||
		   ((hipError_t(*)(void **, size_t))function)(&function, 1ull << 40) == hipErrorOutOfMemory,
	   "and are metered");
	ok(hip.hipRuntimeGetVersion(&version) == hipSuccess && version > 0, "the library says its version");
	return done();
}

int main(int argc, char **argv)
{
	const char *library = NULL, *what;
	uint64_t a, b;

	if (argc > 2 && !strcmp(argv[1], "-l")) {
		library = argv[2];
		argv += 2;
		argc -= 2;
	}
	bind_calls(library);
	what = argc > 1 ? argv[1] : "";
	a = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	b = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
	if (!strcmp(what, "devices"))
		return devices();
	if (!strcmp(what, "quota"))
		return quota(a, b);
	if (!strcmp(what, "exact"))
		return exact(a);
	if (!strcmp(what, "pools"))
		return pools(a);
	if (!strcmp(what, "shared") && argc > 3)
		return shared(argv[2], b, argc > 4);
	if (!strcmp(what, "ended"))
		return ended(a);
	if (!strcmp(what, "across"))
		return across(a);
	if (!strcmp(what, "kept"))
		return kept(a);
	if (!strcmp(what, "fork"))
		return forked(a);
	if (!strcmp(what, "hold"))
		return hold(a);
	if (!strcmp(what, "race"))
		return race(a, (unsigned int)b);
	if (!strcmp(what, "sum"))
		return sum((unsigned int)a);
	if (!strcmp(what, "spin"))
		return spin((double)a);
	if (!strcmp(what, "both"))
		return both(a);
	if (!strcmp(what, "order"))
		return order();
	fprintf(stderr, "%s is no case\n", what);
	return 2;
}

/*
 * cases.c: HIP programs in small, each a case by name, linked with libamdhip64.so.6 as a HIP compiler links its
 * programs. The tests run them under a grant and without one, and once with the library opened by hand (`-l LIBRARY`).
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
#include "cases.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Compiled for a library of HIP's shape, there is no call of a version of AMD's. */
#ifdef SHAPE_PREFIX
#define VERSIONED(X)
#else
#define VERSIONED(X) X(hipGetDevicePropertiesR0600)
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
struct hip_table hip;
static unsigned int checks, failed;

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

void ok(bool good, const char *fmt, ...)
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

int done(void)
{
	printf("1..%u\n", checks);
	return failed != 0;
}

void need(hipError_t r, const char *what)
{
	if (r == hipSuccess)
		return;
	printf("%s: %d\n", what, r);
	exit(3);
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint64_t room(void)
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

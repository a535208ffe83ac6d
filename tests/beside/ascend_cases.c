/*
 * ascend_cases.c: Ascend programs in small, each a case by name, linked with libascendcl.so as such programs are (here:
 * with the stand-in of this folder). The tests run them under a grant and without one.
 *
 *	devices              how many there are, and the memory of each: a line each
 *	exact BYTES          all of the quota, then one unit more, by every call that takes memory; and back
 *	physical BYTES       the same for memory that is made as a handle and mapped
 *	lower BYTES          the same by libruntime.so, as operators and the graph engine take it
 *	byhand BYTES         the same by libascendcl.so opened by hand: what it calls of libruntime.so is metered
 *	wrong                frees twice, frees what is nobody's, handles that are none, a device that is none
 *	workspace BYTES      what an operator takes while it is submitted is charged
 *	reset BYTES          a device that is reset has given everything back
 *	quota BYTES STEP     takes blocks until it is refused; prints how many bytes it had, and the refusal
 *	hold BYTES           takes one block, says so, and waits for a line on its input
 *	race STEP N          N times: takes what it gets, and gives it back; prints how much at once, and N
 *	sum N                copies and fills; prints what came of them
 *	spin SECONDS WAY     kernels one after another; prints how many. WAY: acl, op, model, wait, rt, task
 *	both BYTES           CUDA and Ascend in one program: refused at the sum
 */
#include "checks.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define NO_MEMORY 207001
#define UNIT 512u
#define LIVE 70000u

/* libascendcl.so and libruntime.so, as their documentation declares them. */
struct aclrtPhysicalMemProp {
	int handleType, allocationType, memAttr;
	uint32_t id;
	int type;
	uint64_t reserve;
};
int aclInit(const char *config);
int aclFinalize(void);
int aclrtGetDeviceCount(uint32_t *count);
int aclrtSetDevice(int device);
int aclrtResetDevice(int device);
int aclrtMalloc(void **devPtr, size_t size, int policy);
int aclrtMallocAlign32(void **devPtr, size_t size, int policy);
int aclrtMallocCached(void **devPtr, size_t size, int policy);
int aclrtMallocWithCfg(void **devPtr, size_t size, int policy, void *cfg);
int aclrtMallocForTaskScheduler(void **devPtr, size_t size, int policy, void *cfg);
int aclrtMemAllocManaged(void **devPtr, uint64_t size, uint32_t flag);
int acldvppMalloc(void **devPtr, size_t size);
int acldvppFree(void *devPtr);
int rtGeneralCtrl(uintptr_t *list, uint32_t count, uint32_t number);
int aclrtFree(void *devPtr);
int aclrtFreeWithDevSync(void *devPtr);
int aclrtMallocHost(void **host, size_t size);
int aclrtFreeHost(void *host);
int aclrtGetMemInfo(int attr, size_t *free, size_t *total);
int aclrtMemPoolCreate(void *pool, const void *props);
int aclrtMallocPhysical(void **handle, size_t size, const struct aclrtPhysicalMemProp *prop, uint64_t flags);
int aclrtFreePhysical(void *handle);
int aclrtReserveMemAddress(void **at, size_t size, size_t alignment, void *wanted, uint64_t flags);
int aclrtReleaseMemAddress(void *at);
int aclrtMapMem(void *at, size_t size, size_t offset, void *handle, uint64_t flags);
int aclrtUnmapMem(void *at);
int aclrtMemGetAllocationGranularity(const void *prop, int option, size_t *granularity);
int aclrtLaunchKernel(void *func, uint32_t blocks, const void *args, size_t size, void *stream);
int aclopExecuteV2(const char *type, int inputs, void *inputDesc, void *input, int outputs, void *outputDesc,
		   void *output, void *attr, void *stream);
int aclmdlExecuteAsync(uint32_t model, const void *input, void *output, void *stream);
int aclmdlExecute(uint32_t model, const void *input, void *output);
int aclrtMemcpy(void *dst, size_t most, const void *src, size_t count, int kind);
int aclrtMemcpyAsync(void *dst, size_t most, const void *src, size_t count, int kind, void *stream);
int aclrtMemset(void *dst, size_t most, int value, size_t count);
int aclrtMemsetAsync(void *dst, size_t most, int value, size_t count, void *stream);
int aclrtCreateStream(void **stream);
int aclrtDestroyStream(void *stream);
int aclrtSynchronizeStream(void *stream);
int aclrtSynchronizeDevice(void);
int aclrtStreamWaitEvent(void *stream, void *event);
int aclrtCreateEventWithFlag(void **event, uint32_t flag);
int aclrtRecordEvent(void *event, void *stream);
int aclrtSynchronizeEvent(void *event);
int aclrtDestroyEvent(void *event);

int rtMalloc(void **devPtr, uint64_t size, uint32_t type, uint16_t moduleId);
int rtMallocCached(void **devPtr, uint64_t size, uint32_t type, uint16_t moduleId);
int rtDvppMalloc(void **devPtr, uint64_t size, uint16_t moduleId);
int rtDvppMallocWithFlag(void **devPtr, uint64_t size, uint32_t flag, uint16_t moduleId);
int rtMemAllocManaged(void **devPtr, uint64_t size, uint32_t flag, uint16_t moduleId);
int rtsMalloc(void **devPtr, uint64_t size, int policy, int advise, void *cfg);
int rtFree(void *devPtr);
int rtDvppFree(void *devPtr);
int rtMemFreeManaged(void *devPtr);
int rtsFree(void *devPtr);
int rtKernelLaunchWithHandleV2(void *handle, uint64_t key, uint32_t blocks, void *args, void *shared, void *stream,
			       const void *cfg);

static size_t left(void)
{
	size_t rest = 0, total = 0;

	need(aclrtGetMemInfo(1, &rest, &total), "aclrtGetMemInfo");
	return rest;
}

/* Calls that take memory ----------------------------------------------------------------------------------------------
 */

static int plain(void **p, size_t n)
{
	return aclrtMalloc(p, n, 0);
}

static int align32(void **p, size_t n)
{
	return aclrtMallocAlign32(p, n, 0);
}

static int cached(void **p, size_t n)
{
	return aclrtMallocCached(p, n, 0);
}

static int with_cfg(void **p, size_t n)
{
	return aclrtMallocWithCfg(p, n, 0, NULL);
}

static int for_scheduler(void **p, size_t n)
{
	return aclrtMallocForTaskScheduler(p, n, 0, NULL);
}

static int managed(void **p, size_t n)
{
	return aclrtMemAllocManaged(p, n, 0);
}

static int dvpp(void **p, size_t n)
{
	return acldvppMalloc(p, n);
}

static int rt_plain(void **p, size_t n)
{
	return rtMalloc(p, n, 0, 0);
}

static int rt_cached(void **p, size_t n)
{
	return rtMallocCached(p, n, 0, 0);
}

static int rt_dvpp(void **p, size_t n)
{
	return rtDvppMalloc(p, n, 0);
}

static int rt_dvpp_flag(void **p, size_t n)
{
	return rtDvppMallocWithFlag(p, n, 0, 0);
}

static int rt_managed(void **p, size_t n)
{
	return rtMemAllocManaged(p, n, 0, 0);
}

static int rts(void **p, size_t n)
{
	return rtsMalloc(p, n, 0, 0, NULL);
}

struct way {
	const char *name;
	int (*take)(void **p, size_t n);
	int (*give)(void *p);
};

static const struct way upper_ways[] = { { "aclrtMalloc", plain, aclrtFree },
					 { "aclrtMallocAlign32", align32, aclrtFreeWithDevSync },
					 { "aclrtMallocCached", cached, aclrtFree },
					 { "aclrtMallocWithCfg", with_cfg, aclrtFree },
					 { "aclrtMallocForTaskScheduler", for_scheduler, aclrtFree },
					 { "aclrtMemAllocManaged", managed, aclrtFree },
					 { "acldvppMalloc", dvpp, acldvppFree },
					 { NULL, NULL, NULL } };
static const struct way lower_ways[] = { { "rtMalloc", rt_plain, rtFree },
					 { "rtMallocCached", rt_cached, rtFree },
					 { "rtDvppMalloc", rt_dvpp, rtDvppFree },
					 { "rtDvppMallocWithFlag", rt_dvpp_flag, rtDvppFree },
					 { "rtMemAllocManaged", rt_managed, rtMemFreeManaged },
					 { "rtsMalloc", rts, rtsFree },
					 { NULL, NULL, NULL } };

/* `upper` was taken by the one level and is given back by the other. */
static void exact_by(const struct way *w, size_t quota)
{
	void *p = NULL, *q = NULL;
	int r;

	ok(left() == quota, "%s: before, the whole share is free", w->name);
	r = w->take(&p, quota);
	ok(!r, "%s: all of the quota (%d)", w->name, r);
	ok(left() == 0, "%s: nothing is left", w->name);
	r = w->take(&q, 1);
	ok(r == NO_MEMORY, "%s: one byte more is refused with 207001 (%d)", w->name, r);
	ok(!w->give(p) && left() == quota, "%s: given back, all of it is there", w->name);
	r = w->take(&p, quota - UNIT);
	ok(!r && left() == UNIT, "%s: all but one unit", w->name);
	r = w->take(&q, UNIT + 1);
	ok(r == NO_MEMORY, "%s: one byte more than is left is refused (%d)", w->name, r);
	r = w->take(&q, UNIT);
	ok(!r && left() == 0, "%s: what is left is granted", w->name);
	ok(!w->give(q) && !w->give(p) && left() == quota, "%s: and all of it comes back", w->name);
}

static int exact(const struct way *ways, size_t quota)
{
	size_t rest = 0, total = 0;
	void *host, *pool[4];

	need(aclrtGetMemInfo(1, &rest, &total), "aclrtGetMemInfo");
	ok(total == quota, "aclrtGetMemInfo shows the share");
	for (; ways->name; ways++)
		exact_by(ways, quota);
	ok(!aclrtMallocHost(&host, 2 * quota) && left() == quota && !aclrtFreeHost(host),
	   "memory of the host is not charged");
	ok(aclrtMemPoolCreate(pool, NULL) == 207000, "a pool is refused as a feature that is not there");
	return done();
}

static int physical(size_t quota)
{
	struct aclrtPhysicalMemProp prop = { .type = 1 }, host = { .type = 0 };
	void *handle, *more, *at;
	size_t grain = 0;
	int r;

	need(aclrtMemGetAllocationGranularity(&prop, 0, &grain), "granularity");
	need(aclrtReserveMemAddress(&at, grain, 0, NULL, 0), "aclrtReserveMemAddress");
	ok(left() == quota, "addresses alone are not charged");
	r = aclrtMallocPhysical(&handle, quota, &prop, 0);
	ok(!r && left() == 0, "a handle of all of the quota (%d)", r);
	r = aclrtMallocPhysical(&more, grain, &prop, 0);
	ok(r == NO_MEMORY, "one more is refused (%d)", r);
	ok(!aclrtFreePhysical(handle) && left() == quota, "and given back");
	need(aclrtMallocPhysical(&handle, grain, &prop, 0), "aclrtMallocPhysical");
	need(aclrtMapMem(at, grain, 0, handle, 0), "aclrtMapMem");
	ok(left() == quota - grain, "mapped, it is charged once");
	need(aclrtFreePhysical(handle), "aclrtFreePhysical");
	ok(left() == quota - grain, "freed while it is mapped, it stays charged");
	need(aclrtUnmapMem(at), "aclrtUnmapMem");
	ok(left() == quota, "the mapping was the last");
	need(aclrtReleaseMemAddress(at), "aclrtReleaseMemAddress");
	ok(aclrtMallocPhysical(&handle, grain, &host, 0) != NO_MEMORY && left() == quota,
	   "that of the host is not charged");
	prop.id = 9;
	ok(aclrtMallocPhysical(&handle, grain, &prop, 0) == NO_MEMORY && left() == quota,
	   "on a device that is none: refused");
	return done();
}

/* A library that is opened by hand: what is called of it is not ours, what it calls is. */
static int by_hand(size_t quota)
{
	int (*take)(void **p, size_t n, int policy), (*give)(void *p);
	void *library = dlopen("libascendcl.so", RTLD_NOW | RTLD_LOCAL), *p, *q;
	Dl_info info;
	int r;

	if (!library) {
		puts(dlerror());
		return 3;
	}
	*(void **)&take = dlsym(library, "aclrtMallocAlign32");
	*(void **)&give = dlsym(library, "aclrtFree");
	ok(dladdr(*(void **)&take, &info) && strstr(info.dli_fname, "libascendcl.so"),
	   "dlsym() gives the library's own call");
	r = take(&p, quota, 0);
	ok(!r && left() == 0, "by hand: all of the quota (%d)", r);
	r = take(&q, 32, 0);
	ok(r == NO_MEMORY, "by hand: more is refused (%d)", r);
	ok(!give(p) && left() == quota, "by hand: and given back");
	return done();
}

static int wrong(void)
{
	size_t before = left();
	char local;
	void *p;

	need(aclrtMalloc(&p, 1 << 20, 0), "aclrtMalloc");
	ok(!aclrtFree(p) && left() == before, "freed once");
	ok(aclrtFree(p) && left() == before, "freed twice: the library's own refusal, and nothing given back twice");
	ok(aclrtFree(&local) && left() == before, "an address that is nobody's");
	ok(aclrtFreePhysical(&local) && left() == before, "a handle that is none");
	ok(aclrtUnmapMem(&local) && left() == before, "a mapping that is none");
	ok(aclrtMalloc(&p, 0, 0) != NO_MEMORY || left() == before, "a size of 0");
	ok(aclrtMalloc(&p, SIZE_MAX - 4096, 0) == NO_MEMORY && left() == before, "a size beyond any memory");
	ok(aclrtSetDevice(99) == 107001, "a device that is none: the library's own refusal");
	return done();
}

static int workspace(size_t quota)
{
	need(aclopExecuteV2("Add", 0, NULL, NULL, 0, NULL, NULL, NULL, NULL), "aclopExecuteV2");
	need(aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
	ok(left() == quota - (1 << 20), "the operator's workspace is charged");
	return done();
}

static int reset(size_t quota)
{
	void *p;

	need(aclrtMalloc(&p, quota, 0), "aclrtMalloc");
	ok(left() == 0, "all is taken");
	need(aclrtResetDevice(0), "aclrtResetDevice");
	need(aclrtSetDevice(0), "aclrtSetDevice");
	ok(left() == quota, "after the reset all is there again");
	return done();
}

/* Programs ------------------------------------------------------------------------------------------------------------
 */

static int quota(size_t bytes, size_t step)
{
	static void *live[LIVE];
	size_t n = 0, had = 0;
	int r = 0;

	for (; n < LIVE && had < bytes && !(r = aclrtMalloc(&live[n], step, 0)); n++)
		had += step;
	while (n)
		need(aclrtFree(live[--n]), "aclrtFree");
	printf("%zu %d\n", had, r);
	return 0;
}

static int hold(size_t bytes)
{
	char line[8];
	void *p;

	need(aclrtMalloc(&p, bytes, 0), "aclrtMalloc");
	puts("held");
	fflush(stdout);
	return !fgets(line, sizeof line, stdin);
}

static int race(size_t step, size_t rounds)
{
	static void *live[LIVE];
	size_t most = 0, turns = 0;

	for (; turns < rounds; turns++) {
		size_t n = 0;
		int r;

		while (n < LIVE && !(r = aclrtMalloc(&live[n], step, 0)))
			n++;
		if (r != NO_MEMORY)
			need(r, "aclrtMalloc");
		most = n > most ? n : most;
		while (n)
			need(aclrtFree(live[--n]), "aclrtFree");
	}
	printf("%zu %zu\n", most, turns);
	return 0;
}

static int sum(size_t n)
{
	uint8_t *host = malloc(2 * n);
	void *a, *b, *stream, *event;
	unsigned long total = 0;

	for (size_t i = 0; i < n; i++)
		host[i] = (uint8_t)i;
	need(aclrtCreateStream(&stream), "aclrtCreateStream");
	need(aclrtCreateEventWithFlag(&event, 1), "aclrtCreateEventWithFlag");
	need(aclrtMalloc(&a, 2 * n, 0), "aclrtMalloc");
	need(aclrtMalloc(&b, 2 * n, 0), "aclrtMalloc");
	need(aclrtMemset(a, 2 * n, 3, 2 * n), "aclrtMemset");
	need(aclrtMemcpyAsync(a, 2 * n, host, n, 1, stream), "aclrtMemcpyAsync");
	need(aclrtRecordEvent(event, stream), "aclrtRecordEvent");
	need(aclrtStreamWaitEvent(NULL, event), "aclrtStreamWaitEvent");
	need(aclrtMemcpyAsync(b, 2 * n, a, 2 * n, 3, NULL), "aclrtMemcpyAsync");
	need(aclrtSynchronizeStream(NULL), "aclrtSynchronizeStream");
	need(aclrtMemcpy(host, 2 * n, b, 2 * n, 2), "aclrtMemcpy");
	for (size_t i = 0; i < 2 * n; i++)
		total += host[i];
	need(aclrtDestroyEvent(event), "aclrtDestroyEvent");
	need(aclrtDestroyStream(stream), "aclrtDestroyStream");
	free(host);
	printf("%lu\n", total);
	return 0;
}

static int launch(const char *way, void *stream)
{
	static char kernel;

	if (!strcmp(way, "op"))
		return aclopExecuteV2("Add", 0, NULL, NULL, 0, NULL, NULL, NULL, stream);
	if (!strcmp(way, "model"))
		return aclmdlExecuteAsync(1, NULL, NULL, stream);
	if (!strcmp(way, "wait"))
		return aclmdlExecute(1, NULL, NULL);
	if (!strcmp(way, "rt"))
		return rtKernelLaunchWithHandleV2(&kernel, 1, 8, NULL, NULL, stream, NULL);
	if (!strcmp(way, "task"))
		return rtGeneralCtrl((uintptr_t[3]){ (uintptr_t)&kernel, (uintptr_t)stream, 0 }, 3, 2);
	return aclrtLaunchKernel(&kernel, 8, NULL, 0, stream);
}

static int spin(double seconds, const char *way)
{
	time_t end = time(NULL) + (time_t)seconds;
	unsigned long n = 0;
	void *stream;

	need(aclrtCreateStream(&stream), "aclrtCreateStream");
	puts("begins");
	fflush(stdout);
	for (; time(NULL) < end; n += 8) {
		for (int i = 0; i < 8; i++)
			need(launch(way, stream), "launch");
		need(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
	}
	printf("%lu\n", n);
	return 0;
}

static int both(size_t quota_bytes)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), *context, *p, *mine;
	int (*init)(unsigned int), (*retain)(void **, int), (*current)(void *), (*alloc)(void **, size_t);
	int r;

	if (!cuda) {
		puts(dlerror());
		return 3;
	}
	*(void **)&init = dlsym(cuda, "cuInit");
	*(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
	*(void **)&current = dlsym(cuda, "cuCtxSetCurrent");
	*(void **)&alloc = dlsym(cuda, "cuMemAlloc_v2");
	need(init(0), "cuInit");
	need(retain(&context, 0), "cuDevicePrimaryCtxRetain");
	need(current(context), "cuCtxSetCurrent");
	r = alloc(&p, quota_bytes / 2);
	ok(!r, "CUDA takes half (%d)", r);
	ok(left() <= quota_bytes / 2, "Ascend sees that half is gone");
	r = aclrtMalloc(&mine, quota_bytes / 2 + UNIT, 0);
	ok(r == NO_MEMORY, "more than the other half is refused (%d)", r);
	r = aclrtMalloc(&mine, quota_bytes / 4, 0);
	ok(!r, "a quarter is granted (%d)", r);
	r = alloc(&p, quota_bytes / 4 + UNIT);
	ok(r == 2, "CUDA is refused more than the rest (%d)", r);
	return done();
}

static int devices(void)
{
	uint32_t count = 0;
	size_t rest, total;

	need(aclrtGetDeviceCount(&count), "aclrtGetDeviceCount");
	printf("%u\n", count);
	for (uint32_t i = 0; i < count; i++) {
		need(aclrtSetDevice((int)i), "aclrtSetDevice");
		need(aclrtGetMemInfo(1, &rest, &total), "aclrtGetMemInfo");
		printf("%zu\n", total);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	size_t a = argc > 2 ? strtoull(argv[2], NULL, 0) : 0, b = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;

	need(aclInit(NULL), "aclInit");
	need(aclrtSetDevice(0), "aclrtSetDevice");
	if (!strcmp(what, "devices"))
		return devices();
	if (!strcmp(what, "exact"))
		return exact(upper_ways, a);
	if (!strcmp(what, "lower"))
		return exact(lower_ways, a);
	if (!strcmp(what, "physical"))
		return physical(a);
	if (!strcmp(what, "byhand"))
		return by_hand(a);
	if (!strcmp(what, "wrong"))
		return wrong();
	if (!strcmp(what, "workspace"))
		return workspace(a);
	if (!strcmp(what, "reset"))
		return reset(a);
	if (!strcmp(what, "quota"))
		return quota(a, b);
	if (!strcmp(what, "hold"))
		return hold(a);
	if (!strcmp(what, "race"))
		return race(a, b);
	if (!strcmp(what, "sum"))
		return sum(a);
	if (!strcmp(what, "spin"))
		return spin((double)a, argc > 3 ? argv[3] : "acl");
	if (!strcmp(what, "both"))
		return both(a);
	return 2;
}

/*
 * cambricon_cases.c: Cambricon programs in small, each a case by name, linked with libcnrt.so and libcndrv.so as such
 * programs are (here: with the stand-ins of this folder). The tests run them under a grant and without one.
 *
 *	devices              how many there are, and the memory of each: a line each
 *	exact BYTES          all of the quota, then one unit more, by every call of CNRT that takes memory; and back
 *	lower BYTES          the same by CNDrv
 *	physical BYTES       the same for memory that is made as a handle and mapped
 *	byhand BYTES         the same by libcnrt.so opened by hand: what it calls of libcndrv.so is metered
 *	wrong                frees twice, frees what is nobody's, handles that are none, a device that is none
 *	reset BYTES          a device that is reset has given everything back
 *	kept BYTES           but not what a context of the program's own has
 *	unplaced BYTES       the first allocation of a thread that has named no device
 *	quota BYTES STEP     takes blocks until it is refused; prints how many bytes it had, and the refusal
 *	hold BYTES           takes one block, says so, and waits for a line on its input
 *	race STEP N          N times: takes what it gets, and gives it back; prints how much at once, and N
 *	sum N                copies and fills; prints what came of them
 *	spin SECONDS WAY     kernels one after another; prints how many. WAY: cnrt, cn, topo, default
 *	both BYTES           CUDA and Cambricon in one program: refused at the sum
 */
#include "checks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define NO_MEMORY 100100
#define UNIT 512u
#define LIVE 70000u

/* libcnrt.so and libcndrv.so, as their documentation declares them. */
struct dim {
	unsigned int x, y, z;
};
struct CNmemAllocationProp {
	int type, requestedHandleTypes, location_type, location_id;
	unsigned char allocFlags[2];
};
struct CNinvokeConfig {
	unsigned int dimx, dimy, dimz;
	int c;
	unsigned int reserved;
	void *hqueue, *attrs;
	unsigned int numAttrs;
};
int cnrtGetDeviceCount(unsigned int *count);
int cnrtSetDevice(int ordinal);
int cnrtDeviceReset(void);
int cnrtMalloc(void **p, size_t bytes);
int cnrtMallocConstant(void **p, size_t bytes);
int cnrtMallocFrameBuffer(void **p, size_t bytes);
int cnrtFree(void *p);
int cnrtMemGetInfo(size_t *free, size_t *total);
int cnrtInvokeKernel(const void *kernel, struct dim dim, int kind, void **args, size_t reserved, void *queue);
int cnrtMemcpy(void *dst, void *src, size_t bytes, int direction);
int cnrtMemcpyAsync_V3(void *dst, void *src, size_t bytes, void *queue, int direction);
int cnrtMemset(void *p, int value, size_t bytes);
int cnrtQueueCreate(void **queue);
int cnrtQueueDestroy(void *queue);
int cnrtQueueSync(void *queue);
int cnrtQueueWaitNotifier(void *notifier, void *queue, unsigned int flag);
int cnrtNotifierCreate(void **notifier);
int cnrtNotifierDestroy(void *notifier);
int cnrtPlaceNotifier(void *notifier, void *queue);

int cnCtxCreate(void **context, unsigned int flags, int device);
int cnCtxSetCurrent(void *context);
int cnCtxDestroy(void *context);
int cnMalloc(uint64_t *address, uint64_t bytes);
int cnMallocNode(uint64_t *address, uint64_t bytes, int node);
int cnZmalloc(uint64_t *address, uint64_t bytes);
int cnMallocConstant(uint64_t *address, uint64_t bytes);
int cnMallocPeerAble(uint64_t *address, uint64_t bytes);
int cnMallocFrameBuffer(uint64_t *address, uint64_t bytes, int node);
int cnFree(uint64_t address);
int cnMallocHost(void **address, uint64_t bytes);
int cnFreeHost(void *address);
int cnMemAllocAsync(uint64_t *address, size_t bytes, void *queue);
int cnMemCreate(uint64_t *handle, uint64_t size, const struct CNmemAllocationProp *prop, uint64_t flags);
int cnMemRelease(uint64_t handle);
int cnMemAddressReserve(uint64_t *address, uint64_t size, uint64_t alignment, uint64_t start, uint64_t flags);
int cnMemAddressFree(uint64_t address, uint64_t size);
int cnMemMap(uint64_t address, uint64_t size, uint64_t offset, uint64_t handle, uint64_t flags);
int cnMemUnmap(uint64_t address, uint64_t size);
int cnMemGetAllocationGranularity(uint64_t *granularity, const void *prop, int option);
int cnInvokeKernel(void *kernel, unsigned int x, unsigned int y, unsigned int z, int kind, unsigned int reserved,
		   void *queue, void **params, void **extra);
int cnInvokeKernelEx(const struct CNinvokeConfig *c, void *kernel, void **params, void **extra);
int cnTaskTopoEntityInvoke(void *entity, void *queue);
int cnQueueSync(void *queue);

static size_t left(void)
{
	size_t rest = 0, total = 0;

	need(cnrtMemGetInfo(&rest, &total), "cnrtMemGetInfo");
	return rest;
}

/* Calls that take memory ----------------------------------------------------------------------------------------------
 */

static int by_address(int (*take)(uint64_t *address, uint64_t bytes), void **p, size_t n)
{
	uint64_t address = 0;
	int r = take(&address, n);

	*p = (void *)(uintptr_t)address;
	return r;
}

static int by_node(int (*take)(uint64_t *address, uint64_t bytes, int node), void **p, size_t n)
{
	uint64_t address = 0;
	int r = take(&address, n, 0);

	*p = (void *)(uintptr_t)address;
	return r;
}

static int cn_plain(void **p, size_t n)
{
	return by_address(cnMalloc, p, n);
}

static int cn_node(void **p, size_t n)
{
	return by_node(cnMallocNode, p, n);
}

static int cn_zeroed(void **p, size_t n)
{
	return by_address(cnZmalloc, p, n);
}

static int cn_constant(void **p, size_t n)
{
	return by_address(cnMallocConstant, p, n);
}

static int cn_peer(void **p, size_t n)
{
	return by_address(cnMallocPeerAble, p, n);
}

static int cn_frames(void **p, size_t n)
{
	return by_node(cnMallocFrameBuffer, p, n);
}

static int cn_give(void *p)
{
	return cnFree((uintptr_t)p);
}

struct way {
	const char *name;
	int (*take)(void **p, size_t n);
	int (*give)(void *p);
};

static const struct way upper_ways[] = { { "cnrtMalloc", cnrtMalloc, cnrtFree },
					 { "cnrtMallocConstant", cnrtMallocConstant, cnrtFree },
					 { "cnrtMalloc and cnFree", cnrtMalloc, cn_give },
					 { NULL, NULL, NULL } };
static const struct way lower_ways[] = { { "cnMalloc", cn_plain, cn_give },
					 { "cnMallocNode", cn_node, cn_give },
					 { "cnZmalloc", cn_zeroed, cn_give },
					 { "cnMallocConstant", cn_constant, cn_give },
					 { "cnMallocPeerAble", cn_peer, cn_give },
					 { "cnMallocFrameBuffer", cn_frames, cn_give },
					 { NULL, NULL, NULL } };

static void exact_by(const struct way *w, size_t quota)
{
	void *p = NULL, *q = NULL;
	int r;

	ok(left() == quota, "%s: before, the whole share is free", w->name);
	r = w->take(&p, quota);
	ok(!r, "%s: all of the quota (%d)", w->name, r);
	ok(left() == 0, "%s: nothing is left", w->name);
	r = w->take(&q, 1);
	ok(r == NO_MEMORY, "%s: one byte more is refused with 100100 (%d)", w->name, r);
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
	uint64_t address;
	void *host;

	need(cnrtMemGetInfo(&rest, &total), "cnrtMemGetInfo");
	ok(total == quota, "cnrtMemGetInfo shows the share");
	for (; ways->name; ways++)
		exact_by(ways, quota);
	ok(!cnMallocHost(&host, 2 * quota) && left() == quota && !cnFreeHost(host),
	   "memory of the host is not charged");
	ok(cnMemAllocAsync(&address, UNIT, NULL) == 100050,
	   "memory of a pool is refused as a feature that is not there");
	return done();
}

static int physical(size_t quota)
{
	struct CNmemAllocationProp prop = { .location_type = 1 };
	uint64_t handle, more, at, grain = 0;
	int r;

	need(cnMemGetAllocationGranularity(&grain, &prop, 0), "granularity");
	need(cnMemAddressReserve(&at, grain, 0, 0, 0), "cnMemAddressReserve");
	ok(left() == quota, "addresses alone are not charged");
	r = cnMemCreate(&handle, quota, &prop, 0);
	ok(!r && left() == 0, "a handle of all of the quota (%d)", r);
	r = cnMemCreate(&more, grain, &prop, 0);
	ok(r == NO_MEMORY, "one more is refused (%d)", r);
	ok(!cnMemRelease(handle) && left() == quota, "and given back");
	need(cnMemCreate(&handle, grain, &prop, 0), "cnMemCreate");
	need(cnMemMap(at, grain, 0, handle, 0), "cnMemMap");
	ok(left() == quota - grain, "mapped, it is charged once");
	need(cnMemRelease(handle), "cnMemRelease");
	ok(left() == quota - grain, "released while it is mapped, it stays charged");
	need(cnMemUnmap(at, grain), "cnMemUnmap");
	ok(left() == quota, "the mapping was the last");
	need(cnMemAddressFree(at, grain), "cnMemAddressFree");
	prop.location_id = 9;
	ok(cnMemCreate(&handle, grain, &prop, 0) == NO_MEMORY && left() == quota, "on a device that is none: refused");
	return done();
}

/* A library that is opened by hand: what is called of it is not ours, what it calls is. */
static int by_hand(size_t quota)
{
	int (*take)(void **p, size_t n), (*give)(void *p);
	void *library = dlopen("libcnrt.so", RTLD_NOW | RTLD_LOCAL), *p, *q;
	Dl_info info;
	int r;

	if (!library) {
		puts(dlerror());
		return 3;
	}
	*(void **)&take = dlsym(library, "cnrtMalloc");
	*(void **)&give = dlsym(library, "cnrtFree");
	ok(dladdr(*(void **)&take, &info) && strstr(info.dli_fname, "libcnrt.so"),
	   "dlsym() gives the library's own call");
	r = take(&p, quota);
	ok(!r && left() == 0, "by hand: all of the quota (%d)", r);
	r = take(&q, 1);
	ok(r == NO_MEMORY, "by hand: more is refused (%d)", r);
	ok(!give(p) && left() == quota, "by hand: and given back");
	return done();
}

static int wrong(void)
{
	size_t before = left();
	char local;
	void *p;

	need(cnrtMalloc(&p, 1 << 20), "cnrtMalloc");
	ok(!cnrtFree(p) && left() == before, "freed once");
	ok(cnrtFree(p) && left() == before, "freed twice: the library's own refusal, and nothing given back twice");
	ok(cnrtFree(&local) && left() == before, "an address that is nobody's");
	ok(cnMemRelease((uintptr_t)&local) && left() == before, "a handle that is none");
	ok(cnMemUnmap((uintptr_t)&local, 4096) && left() == before, "a mapping that is none");
	ok(cnrtMalloc(&p, 0) != NO_MEMORY && left() == before, "a size of 0: the library's own answer");
	ok(cnrtMalloc(&p, SIZE_MAX - 4096) == NO_MEMORY && left() == before, "a size beyond any memory");
	ok(cnrtSetDevice(99) == 100005, "a device that is none: the library's own refusal");
	return done();
}

static int reset(size_t quota)
{
	void *p;

	need(cnrtMalloc(&p, quota), "cnrtMalloc");
	ok(left() == 0, "all is taken");
	need(cnrtDeviceReset(), "cnrtDeviceReset");
	need(cnrtSetDevice(0), "cnrtSetDevice");
	ok(left() == quota, "after the reset all is there again");
	return done();
}

static int kept(size_t quota)
{
	void *context, *p, *q = NULL;

	need(cnCtxCreate(&context, 0, 0), "cnCtxCreate");
	need(cnrtMalloc(&p, quota / 2), "cnrtMalloc");
	need(cnrtDeviceReset(), "cnrtDeviceReset");
	need(cnCtxSetCurrent(context), "cnCtxSetCurrent");
	ok(left() == quota - quota / 2, "a reset gives nothing back that another context has");
	ok(cnrtMalloc(&q, quota) == NO_MEMORY, "and so the program gets no more than its quota");
	need(cnrtFree(p), "cnrtFree");
	ok(left() == quota, "freed, it is there again");
	need(cnCtxDestroy(context), "cnCtxDestroy");
	need(cnrtSetDevice(0), "cnrtSetDevice");
	return done();
}

struct taking {
	int (*take)(void **p, size_t bytes);
	size_t bytes;
	void *p;
	int result;
};

static void *take_first(void *data)
{
	struct taking *t = data;

	t->result = t->take(&t->p, t->bytes);
	return NULL;
}

/* Each in a thread of its own, which has named no device. */
static int unplaced(size_t quota)
{
	static int (*const calls[])(void **p, size_t bytes) = { cnrtMalloc, cnrtMallocFrameBuffer };

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		struct taking t[] = { { calls[i], quota, NULL, 0 }, { calls[i], UNIT, NULL, 0 } };
		pthread_t thread;

		for (size_t k = 0; k < 2; k++)
			if (pthread_create(&thread, NULL, take_first, &t[k]) || pthread_join(thread, NULL))
				return 3;
		ok(!t[0].result && t[0].p, "a thread without a device gets what there is (%d)", t[0].result);
		ok(t[1].result == NO_MEMORY, "and the next nothing (%d)", t[1].result);
		need(cnrtFree(t[0].p), "cnrtFree");
		ok(left() == quota, "freed, it is there again");
	}
	return done();
}

/* Programs ------------------------------------------------------------------------------------------------------------
 */

static int quota(size_t bytes, size_t step)
{
	static void *live[LIVE];
	size_t n = 0, had = 0;
	int r = 0;

	for (; n < LIVE && had < bytes && !(r = cnrtMalloc(&live[n], step)); n++)
		had += step;
	while (n)
		need(cnrtFree(live[--n]), "cnrtFree");
	printf("%zu %d\n", had, r);
	return 0;
}

static int hold(size_t bytes)
{
	char line[8];
	void *p;

	need(cnrtMalloc(&p, bytes), "cnrtMalloc");
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

		while (n < LIVE && !(r = cnrtMalloc(&live[n], step)))
			n++;
		if (r != NO_MEMORY)
			need(r, "cnrtMalloc");
		most = n > most ? n : most;
		while (n)
			need(cnrtFree(live[--n]), "cnrtFree");
	}
	printf("%zu %zu\n", most, turns);
	return 0;
}

static int sum(size_t n)
{
	uint8_t *host = malloc(2 * n);
	void *a, *b, *queue, *notifier;
	unsigned long total = 0;

	for (size_t i = 0; i < n; i++)
		host[i] = (uint8_t)i;
	need(cnrtQueueCreate(&queue), "cnrtQueueCreate");
	need(cnrtNotifierCreate(&notifier), "cnrtNotifierCreate");
	need(cnrtMalloc(&a, 2 * n), "cnrtMalloc");
	need(cnrtMalloc(&b, 2 * n), "cnrtMalloc");
	need(cnrtMemset(a, 3, 2 * n), "cnrtMemset");
	need(cnrtMemcpyAsync_V3(a, host, n, queue, 1), "cnrtMemcpyAsync_V3");
	need(cnrtPlaceNotifier(notifier, queue), "cnrtPlaceNotifier");
	need(cnrtQueueWaitNotifier(notifier, NULL, 0), "cnrtQueueWaitNotifier");
	need(cnrtMemcpyAsync_V3(b, a, 2 * n, NULL, 3), "cnrtMemcpyAsync_V3");
	need(cnrtQueueSync(NULL), "cnrtQueueSync");
	need(cnrtMemcpy(host, b, 2 * n, 2), "cnrtMemcpy");
	for (size_t i = 0; i < 2 * n; i++)
		total += host[i];
	need(cnrtNotifierDestroy(notifier), "cnrtNotifierDestroy");
	need(cnrtQueueDestroy(queue), "cnrtQueueDestroy");
	free(host);
	printf("%lu\n", total);
	return 0;
}

/* "default": each kernel on another of the default queues, which have names. */
static int launch(const char *way, void *queue, int turn)
{
	static char kernel;
	struct CNinvokeConfig config = { .dimx = 4, .dimy = 1, .dimz = 1, .hqueue = queue };
	struct dim dim = { 4, 1, 1 };

	if (!strcmp(way, "cn"))
		return turn & 1 ? cnInvokeKernelEx(&config, &kernel, NULL, NULL)
				: cnInvokeKernel(&kernel, 4, 1, 1, 1, 0, queue, NULL, NULL);
	if (!strcmp(way, "topo"))
		return cnTaskTopoEntityInvoke(&kernel, queue);
	if (!strcmp(way, "default"))
		queue = (void *)(uintptr_t)(turn % 3);
	return cnrtInvokeKernel(&kernel, dim, 1, NULL, 0, queue);
}

static int spin(double seconds, const char *way)
{
	time_t end = time(NULL) + (time_t)seconds;
	unsigned long n = 0;
	void *queue;

	need(cnrtQueueCreate(&queue), "cnrtQueueCreate");
	puts("begins");
	fflush(stdout);
	for (; time(NULL) < end; n += 8) {
		for (int i = 0; i < 8; i++)
			need(launch(way, queue, i), "launch");
		for (uintptr_t i = 0; i < 3 && !strcmp(way, "default"); i++)
			need(cnQueueSync((void *)i), "cnQueueSync");
		need(cnrtQueueSync(queue), "cnrtQueueSync");
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
	ok(left() <= quota_bytes / 2, "Cambricon sees that half is gone");
	r = cnrtMalloc(&mine, quota_bytes / 2 + UNIT);
	ok(r == NO_MEMORY, "more than the other half is refused (%d)", r);
	r = cnrtMalloc(&mine, quota_bytes / 4);
	ok(!r, "a quarter is granted (%d)", r);
	r = alloc(&p, quota_bytes / 4 + UNIT);
	ok(r == 2, "CUDA is refused more than the rest (%d)", r);
	return done();
}

static int devices(void)
{
	unsigned int count = 0;
	size_t rest, total;

	need(cnrtGetDeviceCount(&count), "cnrtGetDeviceCount");
	printf("%u\n", count);
	for (unsigned int i = 0; i < count; i++) {
		need(cnrtSetDevice((int)i), "cnrtSetDevice");
		need(cnrtMemGetInfo(&rest, &total), "cnrtMemGetInfo");
		printf("%zu\n", total);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	size_t a = argc > 2 ? strtoull(argv[2], NULL, 0) : 0, b = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;

	need(cnrtSetDevice(0), "cnrtSetDevice");
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
	if (!strcmp(what, "reset"))
		return reset(a);
	if (!strcmp(what, "kept"))
		return kept(a);
	if (!strcmp(what, "unplaced"))
		return unplaced(a);
	if (!strcmp(what, "quota"))
		return quota(a, b);
	if (!strcmp(what, "hold"))
		return hold(a);
	if (!strcmp(what, "race"))
		return race(a, b);
	if (!strcmp(what, "sum"))
		return sum(a);
	if (!strcmp(what, "spin"))
		return spin((double)a, argc > 3 ? argv[3] : "cnrt");
	if (!strcmp(what, "both"))
		return both(a);
	return 2;
}

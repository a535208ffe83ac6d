/*
 * cases.c: programs of Level Zero in small, each a case by name. They reach it by its loader, libze_loader.so.1, as all
 * do (`-l LOADER`: another). The tests run them under a grant and without one.
 *
 *	devices              what the driver says of its devices: a line each
 *	quota BYTES STEP     takes blocks until it is refused; prints how many bytes it had, and the refusal
 *	exact BYTES          all of the quota, then one unit more, by every call that takes memory; and back
 *	later BYTES          memory that is freed when the work has ended, and with a context
 *	shared BYTES [WAY]   memory of another process is charged once. WAY "dies": the other one is killed; "frees": it
 *	                     frees what it had opened
 *	fork BYTES           a child has no devices, and takes nothing of its parent
 *	hold BYTES           takes one block, says so, and waits for a line on its input
 *	race STEP N          N times: takes what it gets, and gives it back; prints how much at once, and N
 *	sum N                a kernel in a queue and in an immediate list; its results printed
 *	order                copies, fills, kernels, events, fences, lists in lists: done in order under whatever share
 *	spin SECONDS WAY     kernels one after another (queue, immediate, many); prints how many
 *	storm SECONDS BYTES  threads whose contexts, queues, lists and memory come and go, with work in them
 *	both BYTES           CUDA and Level Zero in one program: refused at the sum
 *	bad                  what no program should do
 *	cost LIVE            nanoseconds of an allocation with its release, of an execution of a list, and of a kernel
 *	                     in an immediate list, least and median of batches; beside LIVE others
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

#define LIVE 70000u

struct levelzero_table ze;
ze_driver_handle_t driver;
ze_device_handle_t device;
ze_context_handle_t context;
static unsigned int checks, failed;

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

void need(ze_result_t r, const char *what)
{
	if (r == ZE_RESULT_SUCCESS)
		return;
	printf("%s: 0x%x\n", what, (unsigned int)r);
	fflush(stdout);
	exit(3);
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void bind_calls(const char *loader)
{
	void *handle = dlopen(loader, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		printf("%s\n", dlerror());
		exit(3);
	}
	for (unsigned int i = 0; i < LEVELZERO_CALLS; i++)
		((void **)&ze)[i] = dlsym(handle, levelzero_names[i]);
}

/* 0: there is a device; else what is printed is why not. */
ze_result_t begin(void)
{
	static const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	uint32_t one = 1;
	ze_result_t r;

	setenv("ZES_ENABLE_SYSMAN", "1", 1);
	r = ze.zeInit(0);
	if (r == ZE_RESULT_SUCCESS)
		r = ze.zeDriverGet(&one, &driver);
	one = 1;
	if (r == ZE_RESULT_SUCCESS)
		r = ze.zeDeviceGet(driver, &one, &device);
	if (r == ZE_RESULT_SUCCESS && !one)
		r = ZE_RESULT_ERROR_UNINITIALIZED;
	return r == ZE_RESULT_SUCCESS ? ze.zeContextCreate(driver, &desc, &context) : r;
}

/* What sysman says of the device's memory. */
uint64_t room(void)
{
	zes_mem_state_t state = { .stype = 0 };
	zes_mem_handle_t module = NULL;
	uint32_t one = 1;

	need(ze.zesDeviceEnumMemoryModules(device, &one, &module), "zesDeviceEnumMemoryModules");
	need(ze.zesMemoryGetState(module, &state), "zesMemoryGetState");
	return state.free;
}

static int devices(void)
{
	ze_device_handle_t list[16];
	uint32_t count = 16;
	ze_result_t r = ze.zeInit(0);

	if (r == ZE_RESULT_SUCCESS)
		r = begin();
	if (r == ZE_RESULT_SUCCESS)
		r = ze.zeDeviceGet(driver, &count, list);
	printf("%x %u\n", (unsigned int)r, r == ZE_RESULT_SUCCESS ? count : 0);
	for (uint32_t i = 0; r == ZE_RESULT_SUCCESS && i < count; i++) {
		ze_device_properties_t p = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
		ze_device_memory_ext_properties_t ext = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_EXT_PROPERTIES };
		ze_device_memory_properties_t m = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES,
						    .pNext = &ext };
		zes_mem_properties_t q = { .stype = 0 };
		zes_mem_state_t state = { .stype = 0 };
		zes_mem_handle_t module = NULL;
		uint32_t one = 1;

		need(ze.zeDeviceGetProperties(list[i], &p), "zeDeviceGetProperties");
		need(ze.zeDeviceGetMemoryProperties(list[i], &one, &m), "zeDeviceGetMemoryProperties");
		need(ze.zesDeviceEnumMemoryModules(list[i], &one, &module), "zesDeviceEnumMemoryModules");
		need(ze.zesMemoryGetProperties(module, &q), "zesMemoryGetProperties");
		need(ze.zesMemoryGetState(module, &state), "zesMemoryGetState");
		printf("%llu %llu %llu %llu %llu %llu %s\n", (unsigned long long)p.maxMemAllocSize,
		       (unsigned long long)m.totalSize, (unsigned long long)ext.physicalSize,
		       (unsigned long long)q.physicalSize, (unsigned long long)state.size,
		       (unsigned long long)state.free, p.name);
	}
	return 0;
}

ze_result_t take_device(void **p, size_t bytes)
{
	return ze.zeMemAllocDevice(context, &on_device, bytes, 0, device, p);
}

ze_result_t take_shared(void **p, size_t bytes)
{
	return ze.zeMemAllocShared(context, &on_device, &on_host, bytes, 0, device, p);
}

static ze_result_t take_shared_of_any(void **p, size_t bytes)
{
	return ze.zeMemAllocShared(context, &on_device, &on_host, bytes, 0, NULL, p);
}

static ze_result_t take_physical(void **p, size_t bytes)
{
	ze_physical_mem_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, .size = bytes };

	return ze.zePhysicalMemCreate(context, device, &desc, (ze_physical_mem_handle_t *)p);
}

/* 16 bytes an element, in two dimensions or three. */
static ze_result_t take_image(void **p, uint32_t type, uint64_t width, uint32_t height, uint32_t depth)
{
	const ze_image_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
				       .type = type,
				       .format = { .layout = 8 },
				       .width = width,
				       .height = height,
				       .depth = depth,
				       .arraylevels = 7 }; /* which these types do not have */

	return ze.zeImageCreate(context, device, &desc, (ze_image_handle_t *)p);
}

static ze_result_t take_image_2d(void **p, size_t bytes)
{
	return take_image(p, 2, 256, (uint32_t)(bytes / 4096), 9);
}

static ze_result_t take_image_3d(void **p, size_t bytes)
{
	return take_image(p, 4, 64, 64, (uint32_t)(bytes / 65536));
}

ze_result_t drop_plain(void *p)
{
	return ze.zeMemFree(context, p);
}

static ze_result_t drop_ext(void *p)
{
	const ze_memory_free_ext_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, .freePolicy = 1 };

	return ze.zeMemFreeExt(context, &desc, p);
}

static ze_result_t drop_physical(void *p)
{
	return ze.zePhysicalMemDestroy(context, p);
}

static ze_result_t drop_image(void *p)
{
	return ze.zeImageDestroy(p);
}

static const struct way {
	const char *name;
	ze_result_t (*take)(void **p, size_t bytes);
	ze_result_t (*drop)(void *p);
} ways[] = {
	{ "zeMemAllocDevice", take_device, drop_plain },
	{ "zeMemAllocDevice and zeMemFreeExt", take_device, drop_ext },
	{ "zeMemAllocShared", take_shared, drop_plain },
	{ "zeMemAllocShared of no device", take_shared_of_any, drop_plain },
	{ "zePhysicalMemCreate", take_physical, drop_physical },
	{ "zeImageCreate in two dimensions", take_image_2d, drop_image },
	{ "zeImageCreate in three", take_image_3d, drop_image },
};

static int quota(uint64_t bytes, size_t step)
{
	static void *made[LIVE];
	uint64_t total = 0;
	unsigned int n = 0;
	ze_result_t r = begin();

	while (r == ZE_RESULT_SUCCESS && n < LIVE && total <= bytes &&
	       (r = take_device(&made[n], step)) == ZE_RESULT_SUCCESS) {
		total += step;
		n++;
	}
	printf("%llu %x\n", (unsigned long long)total, (unsigned int)r);
	while (n)
		need(drop_plain(made[--n]), "zeMemFree");
	return 0;
}

static int exact(uint64_t bytes)
{
	void *host;

	need(begin(), "zeInit");
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		void *all = NULL, *half = NULL, *one = NULL;
		const char *name = ways[i].name;
		ze_result_t r;

		ok(room() == bytes, "%s: all is free before", name);
		r = ways[i].take(&all, bytes + (1 << 21));
		ok(r == OOM, "%s: more than the quota is refused: %x", name, (unsigned int)r);
		r = ways[i].take(&half, bytes / 2);
		ok(r == ZE_RESULT_SUCCESS && room() == bytes - bytes / 2, "%s: half of it is charged: %x, %llu left",
		   name, (unsigned int)r, (unsigned long long)room());
		if (r == ZE_RESULT_SUCCESS)
			need(ways[i].drop(half), name);
		r = ways[i].take(&all, bytes);
		ok(r == ZE_RESULT_SUCCESS && !room(), "%s: all of it: %x, %llu left", name, (unsigned int)r,
		   (unsigned long long)room());
		ok(take_device(&one, 1) == OOM, "%s: then not a byte", name);
		if (r == ZE_RESULT_SUCCESS)
			ok(ways[i].drop(all) == ZE_RESULT_SUCCESS && room() == bytes, "%s: and back", name);
	}
	ok(ze.zeMemAllocHost(context, &on_host, 1 << 20, 0, &host) == ZE_RESULT_SUCCESS && room() == bytes,
	   "the host's memory is not charged");
	need(drop_plain(host), "zeMemFree");
	ok(room() == bytes, "nor given back");
	return done();
}

static int later(uint64_t bytes)
{
	const ze_memory_free_ext_desc_t defer = { .stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, .freePolicy = 2 };
	static const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_context_handle_t other = NULL;
	ze_command_list_handle_t list;
	ze_event_handle_t event;
	void *p, *q;

	need(begin(), "zeInit");
	list = immediate_new(0);
	event = event_new();
	need(take_device(&p, bytes / 2), "zeMemAllocDevice");
	need(ze.zeMemFreeExt(context, &defer, p), "zeMemFreeExt");
	ok(room() == bytes, "what is freed later is back at once where nothing works");
	need(take_device(&p, bytes / 2), "zeMemAllocDevice");
	hold_up(list, event);
	need(ze.zeMemFreeExt(context, &defer, p), "zeMemFreeExt");
	ok(room() == bytes - bytes / 2, "and stays charged while the device works");
	ok(take_device(&q, bytes) == OOM, "so that what does not fit beside it is refused");
	need(ze.zeEventHostSignal(event), "zeEventHostSignal");
	need(ze.zeEventHostReset(event_new()), "zeEventHostReset");
	for (int i = 0; i < 500 && room() != bytes; i++)
		usleep(2000);
	ok(room() == bytes, "when the work has ended it is back");
	for (int i = 0; i < 200; i++) {
		need(take_device(&p, bytes), "zeMemAllocDevice");
		need(ze.zeMemFreeExt(context, &defer, p), "zeMemFreeExt");
	}
	ok(take_device(&p, bytes) == ZE_RESULT_SUCCESS, "and again and again");
	need(drop_plain(p), "zeMemFree");
	need(ze.zeContextCreate(driver, &desc, &other), "zeContextCreate");
	need(ze.zeMemAllocDevice(other, &on_device, bytes / 4, 0, device, &p), "zeMemAllocDevice");
	need(ze.zeContextDestroy(other), "zeContextDestroy");
	ok(room() == bytes - bytes / 4, "what a driver keeps of a context that is destroyed stays charged");
	need(drop_plain(p), "zeMemFree");
	need(ze.zeContextCreate(driver, &desc, &other), "zeContextCreate");
	for (int i = 0; i < 200 && room() != bytes; i++) /* asked again when something is freed, or would be refused */
		if (take_device(&q, bytes) == ZE_RESULT_SUCCESS)
			need(drop_plain(q), "zeMemFree");
	ok(room() == bytes, "until it is freed");
	return done();
}

static int forked(uint64_t bytes)
{
	int status;
	pid_t child;
	void *p;

	need(begin(), "zeInit");
	need(take_device(&p, bytes / 2), "zeMemAllocDevice");
	fflush(stdout);
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status), "a child ends as it should");
	ok(room() == bytes - bytes / 2, "and its parent has what it had");
	need(drop_plain(p), "zeMemFree");
	ok(room() == bytes, "and gives it back");
	return done();
}

static int hold(uint64_t bytes)
{
	void *p;

	need(begin(), "zeInit");
	need(take_device(&p, bytes), "zeMemAllocDevice");
	puts("held");
	fflush(stdout);
	return getchar() == EOF;
}

static int race(size_t step, unsigned int turns)
{
	static void *made[LIVE];
	unsigned int most = 0, n, t;

	need(begin(), "zeInit");
	for (t = 0; t < turns; t++) {
		for (n = 0; n < LIVE; n++) {
			ze_result_t r = take_device(&made[n], step);

			if (r == OOM)
				break;
			need(r, "zeMemAllocDevice");
		}
		most = n > most ? n : most;
		while (n)
			need(drop_plain(made[--n]), "zeMemFree");
	}
	printf("%u %u\n", most, t);
	return 0;
}

static int both(uint64_t bytes)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned int), (*retain)(void **, int), (*enter)(void *), (*take)(uint64_t *, size_t),
		(*give)(uint64_t);
	uint64_t before, address = 0, extra = 0;
	void *c = NULL, *p = NULL;

	*(void **)&init = dlsym(cuda, "cuInit");
	*(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
	*(void **)&enter = dlsym(cuda, "cuCtxSetCurrent");
	*(void **)&take = dlsym(cuda, "cuMemAlloc_v2");
	*(void **)&give = dlsym(cuda, "cuMemFree_v2");
	need(begin(), "zeInit");
	ok(!init(0) && !retain(&c, 0) && !enter(c), "CUDA begins in the same program");
	before = room();
	ok(before > bytes / 2 && before <= bytes, "what CUDA's context takes, Level Zero sees: %llu",
	   (unsigned long long)before);
	ok(!take(&address, before / 2) && room() == before - before / 2, "and what CUDA allocates");
	ok(take_device(&p, before) == OOM, "Level Zero is refused at the sum");
	ok(take_device(&p, before - before / 2) == ZE_RESULT_SUCCESS && !room(), "and gets what is left");
	ok(take(&extra, 1) == 2, "then CUDA is refused");
	need(drop_plain(p), "zeMemFree");
	ok(!give(address) && room() == before, "and both give back");
	return done();
}

static int bad(void)
{
	ze_result_t (*take)(ze_context_handle_t, ze_device_handle_t, size_t, void **) = NULL;
	uint32_t version = 0;
	uint64_t all;
	int (*harmless)(void) = NULL;
	ze_driver_properties_t p = { .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES };
	ze_driver_ddi_handles_ext_properties_t ddi = { .stype = ZE_STRUCTURE_TYPE_DRIVER_DDI_HANDLES_EXT_PROPERTIES };
	void *q = NULL;

	need(begin(), "zeInit");
	all = room();
	need(take_device(&q, 4096), "zeMemAllocDevice");
	need(drop_plain(q), "zeMemFree");
	ok(drop_plain(q) != ZE_RESULT_SUCCESS && room() == all, "what is freed twice is given back once");
	ok(drop_plain(&q) != ZE_RESULT_SUCCESS && room() == all,
	   "what is no memory of the device's gives nothing back");
	ok(take_device(&q, 0) != ZE_RESULT_SUCCESS && room() == all, "nothing is not to be had");
	ok(take_device(&q, SIZE_MAX) == OOM && room() == all, "nor all that can be named");
	ok(take_image(&q, 4, UINT64_MAX / 2, UINT32_MAX, UINT32_MAX) == OOM && room() == all,
	   "nor an image of any size");
	ok(ze.zeMemAllocDevice(context, &on_device, 4096, 0, NULL, &q) != ZE_RESULT_SUCCESS && room() == all,
	   "memory of no device");
	ok(ze.zeDriverGetExtensionFunctionAddress(driver, "zexMemAllocUnseen", (void **)&take) != ZE_RESULT_SUCCESS,
	   "a call that mete does not know of, and that takes memory, is not there");
	ok(ze.zeDriverGetExtensionFunctionAddress(driver, "zeIntelGetDriverVersionString", (void **)&harmless) ==
			   ZE_RESULT_SUCCESS &&
		   harmless() == 7,
	   "one that it knows to be harmless is");
	ok(ze.zeDriverGetExtensionFunctionAddress(driver, "zeMemAllocDevice", (void **)&q) == ZE_RESULT_SUCCESS,
	   "calls of the tables are there by name");
	if (q) {
		ze_result_t (*by_name)(ze_context_handle_t, const ze_device_mem_alloc_desc_t *, size_t, size_t,
				       ze_device_handle_t, void **);

		*(void **)&by_name = q;
		ok(by_name(context, &on_device, all + 4096, 0, device, &q) == OOM, "and metered as well");
	}
	p.pNext = &ddi;
	ok(ze.zeDriverGetProperties(driver, &p) == ZE_RESULT_SUCCESS && !ddi.flags,
	   "the driver's handles lead the loader to no other tables");
	ok(ze.zeDriverGetApiVersion(driver, &version) == ZE_RESULT_SUCCESS && version >> 16 == 1 &&
		   (version & 0xffff) <= 13,
	   "the version is one that is known: %x", version);
	return done();
}

#define BATCHES 300
#define BATCH 200

static int less(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* The least and the median of the batches, in nanoseconds. */
static void tell(double *took)
{
	qsort(took, BATCHES, sizeof *took, less);
	printf("%.1f %.1f ", took[0] * 1e9 / BATCH, took[BATCHES / 2] * 1e9 / BATCH);
}

static int cost(unsigned int live)
{
	static void *made[LIVE];
	static double took[3][BATCHES];
	ze_command_list_handle_t list, now_list;
	ze_command_queue_handle_t q;
	ze_event_handle_t event;
	ze_kernel_handle_t k;
	double begun;
	void *p;

	need(begin(), "zeInit");
	k = kernel_new("quick");
	q = queue_new(0, 0);
	list = list_new();
	now_list = immediate_new(0);
	event = event_new();
	need(ze.zeCommandListAppendBarrier(list, NULL, 0, NULL), "zeCommandListAppendBarrier");
	need(ze.zeCommandListClose(list), "zeCommandListClose");
	for (unsigned int i = 0; i < live && i < LIVE; i++)
		need(take_device(&made[i], 512), "zeMemAllocDevice");
	for (unsigned int b = 0; b < BATCHES; b++) {
		begun = now();
		for (unsigned int i = 0; i < BATCH; i++) {
			need(take_device(&p, 4096), "zeMemAllocDevice");
			need(drop_plain(p), "zeMemFree");
		}
		took[0][b] = now() - begun;
		begun = now();
		for (unsigned int i = 0; i < BATCH; i++)
			need(ze.zeCommandQueueExecuteCommandLists(q, 1, &list, NULL), "execute");
		took[1][b] = now() - begun;
		need(ze.zeCommandQueueSynchronize(q, FOREVER), "zeCommandQueueSynchronize");
		begun = now();
		for (unsigned int i = 0; i < BATCH; i++)
			need(ze.zeCommandListAppendLaunchKernel(now_list, k, &one_group, NULL, 0, NULL), "kernel");
		took[2][b] = now() - begun;
		need(ze.zeEventHostSynchronize(event, FOREVER), "zeEventHostSynchronize");
	}
	for (int i = 0; i < 3; i++)
		tell(took[i]);
	puts("");
	return 0;
}

int main(int argc, char **argv)
{
	const char *loader = "libze_loader.so.1", *name;
	char *end = NULL;
	uint64_t first;

	if (argc > 2 && !strcmp(argv[1], "-l")) {
		loader = argv[2];
		argc -= 2;
		argv += 2;
	}
	name = argc > 1 ? argv[1] : "";
	first = argc > 2 ? strtoull(argv[2], &end, 10) : 0;
	bind_calls(loader);
	if (!strcmp(name, "devices"))
		return devices();
	if (!strcmp(name, "quota") && argc > 3)
		return quota(first, strtoull(argv[3], NULL, 10));
	if (!strcmp(name, "exact"))
		return exact(first);
	if (!strcmp(name, "later"))
		return later(first);
	if (!strcmp(name, "shared"))
		return shared(first, argc > 3 ? argv[3] : "");
	if (!strcmp(name, "fork"))
		return forked(first);
	if (!strcmp(name, "hold"))
		return hold(first);
	if (!strcmp(name, "race") && argc > 3)
		return race(first, (unsigned int)strtoul(argv[3], NULL, 10));
	if (!strcmp(name, "sum"))
		return sum((unsigned int)first);
	if (!strcmp(name, "order"))
		return order();
	if (!strcmp(name, "spin") && argc > 3)
		return spin((double)first, argv[3]);
	if (!strcmp(name, "storm") && argc > 3)
		return storm((double)first, strtoull(argv[3], NULL, 10));
	if (!strcmp(name, "both"))
		return both(first);
	if (!strcmp(name, "bad"))
		return bad();
	if (!strcmp(name, "cost"))
		return cost((unsigned int)first);
	return 2;
}

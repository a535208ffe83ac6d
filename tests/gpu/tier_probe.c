/*
 * tier_probe.c: a small program on a GPU for the first experiments with tier T3; tests/gpu/tiers runs it.
 *
 *   tier_probe calls             which calls NVIDIA's library makes at the resource manager, and what was understood
 *   tier_probe slices            the round trip of the slice of every channel group
 *   tier_probe switch TIMES      a histogram of switching the channels of a running kernel off and on
 *   tier_probe run MS SECONDS    kernels of this length, one behind the other; prints how many ended
 *
 * The first three have the parts of tier T3's library built in (all but its threads), in front of the C library's
 * ioctl(). A kernel's length is work, not time: one that stands still takes longer.
 */
#include "base/clock.h"
#include "cuda_table.h"
#include "shim/rm/control.h"
#include "rm/interface.h"
#include "shim/rm/proof.h"
#include "shim/rm/watch.h"
#include "shim/rm/worker.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KINDS 256

static struct cuda_table cu;
static CUfunction spin;
static CUstream stream;
static double per_ms; /* turns of the loop in a millisecond */

static struct {
	uint32_t nr, size, count, failed;
} kinds[KINDS];

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
			  ".visible .entry spin(.param .u64 turns, .param .u64 out)\n{\n"
			  ".reg .u64 %n, %p, %i;\n.reg .u32 %x;\n.reg .pred %more, %never;\n"
			  "ld.param.u64 %n, [turns];\nld.param.u64 %p, [out];\nmov.u64 %i, 0;\nmov.u32 %x, 1;\n"
			  "again:\nmad.lo.u32 %x, %x, 1664525, 1013904223;\nadd.u64 %i, %i, 1;\n"
			  "setp.lt.u64 %more, %i, %n;\n@%more bra again;\n"
			  "setp.eq.u32 %never, %x, 0;\n@%never st.global.u32 [%p], %x;\nret;\n}\n";

/* watch.c's, under another name (meson.build). */
int watch_ioctl(int fd, unsigned long request, ...);
int ioctl(int fd, unsigned long request, ...);

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	void *argument;
	va_list ap;
	int r;

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	r = watch_ioctl(fd, request, argument);
	for (int i = 0; _IOC_TYPE(request) == RM_MAGIC && i < KINDS; i++) {
		if (kinds[i].count && (kinds[i].nr != _IOC_NR(request) || kinds[i].size != _IOC_SIZE(request)))
			continue;
		kinds[i].nr = _IOC_NR(request);
		kinds[i].size = _IOC_SIZE(request);
		kinds[i].count++;
		kinds[i].failed += r < 0;
		break;
	}
	return r;
}

void worker_wanted(void)
{
}

static void check(CUresult r, const char *call)
{
	if (r == CUDA_SUCCESS)
		return;
	fprintf(stderr, "tier_probe: %s answers %d\n", call, (int)r);
	exit(1);
}

#define TRY(call) check(cu.call, #call)

static void launch(double ms)
{
	uint64_t turns = ms * per_ms < 1 ? 1 : (uint64_t)(ms * per_ms), out = 0;
	void *parameters[] = { &turns, &out };

	TRY(cuLaunchKernel(spin, 256, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
}

static double spin_ms(CUevent begin, CUevent end)
{
	float ms = 0;

	TRY(cuEventRecord(begin, stream));
	launch(1);
	TRY(cuEventRecord(end, stream));
	TRY(cuEventSynchronize(end));
	TRY(cuEventElapsedTime(&ms, begin, end));
	return (double)ms;
}

/* How fast the loop is when nobody else is there: the best of several short runs. */
static void calibrate(void)
{
	double best = 1e9, ms;
	CUevent begin, end;

	TRY(cuEventCreate(&begin, 0));
	TRY(cuEventCreate(&end, 0));
	for (per_ms = 100; spin_ms(begin, end) < 0.5; per_ms *= 2)
		;
	for (int i = 0; i < 5; i++)
		if ((ms = spin_ms(begin, end)) < best)
			best = ms;
	per_ms /= best;
}

static void gpu_open(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	CUcontext context;
	CUmodule module;
	CUdevice device;

	if (!library) {
		fprintf(stderr, "tier_probe: %s\n", dlerror());
		exit(1);
	}
	for (int i = 0; i < CUDA_CALL_COUNT; i++)
		((void **)&cu)[i] = dlsym(library, cuda_call_name[i]);
	TRY(cuInit(0));
	TRY(cuDeviceGet(&device, 0));
	TRY(cuDevicePrimaryCtxRetain(&context, device));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&spin, module, "spin"));
	TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	calibrate();
}

static void take_seen(bool show)
{
	static const char *const words[] = { "alloc", "free", "sets the slice", "binds", "schedules", "strange" };
	struct seen s;

	while (seen_get(&s)) {
		if (show)
			printf("%-14s client %08x parent %08x object %08x class %04x value %llx\n", words[s.kind],
			       s.client, s.parent, s.object, s.class, (unsigned long long)s.value);
		table_take(&s);
	}
}

static int calls(void)
{
	gpu_open();
	take_seen(true);
	printf("branch %u%s%s\n", watch_branch(), table_strange() ? ", in a layout that is not known" : "",
	       seen_lost() ? ", entries lost" : "");
	for (int i = 0; i < KINDS && kinds[i].count; i++)
		printf("escape %3u of %4u bytes: %u calls, %u failed\n", kinds[i].nr, kinds[i].size, kinds[i].count,
		       kinds[i].failed);
	printf("GPFIFO_SCHEDULE takes %u bytes\n", table_schedule_bytes());
	return table_strange() || !table_next(RM_CLASS_GROUP, NULL);
}

static int slices(void)
{
	char why[120];
	int bad = 0;

	gpu_open();
	take_seen(false);
	for (struct object *g = NULL; (g = table_next(RM_CLASS_GROUP, g));) {
		uint64_t us = 0;
		int r = control_get_slice(g, &us);

		printf("group %08x engine %u: slice %llu us (answer %d); ", g->handle, g->engine,
		       (unsigned long long)us, r);
		r = proof_slice(g, why, sizeof why);
		printf("%s\n", r ? why : "another was accepted, read back, and restored");
		bad += r != 0;
	}
	return bad || !table_next(RM_CLASS_GROUP, NULL);
}

static void histogram(const char *what, const uint64_t *ns, int n)
{
	static const uint64_t edges_us[] = { 20, 50, 100, 200, 300, 500, 1000, 2000, 5000, 10000, 100000, UINT64_MAX };
	uint64_t from = 0;

	printf("%s\n", what);
	for (size_t e = 0; e < sizeof edges_us / sizeof *edges_us; from = edges_us[e++]) {
		int in = 0;

		for (int i = 0; i < n; i++)
			in += ns[i] / 1000 >= from && ns[i] / 1000 < edges_us[e];
		if (in)
			printf("  from %llu us: %d\n", (unsigned long long)from, in);
	}
}

static int switching(int times)
{
	uint64_t *off = calloc((size_t)times, sizeof *off), *on = calloc((size_t)times, sizeof *on);
	struct object *g = NULL;
	int n = 0, r = 0;

	gpu_open();
	take_seen(false);
	while ((g = table_next(RM_CLASS_GROUP, g)) &&
	       (g->engine < RM_ENGINE_GRAPHICS_FIRST || g->engine > RM_ENGINE_GRAPHICS_LAST || !table_channel(g, NULL)))
		;
	if (!g || !off || !on) {
		printf("no compute group with channels was seen\n");
		return 1;
	}
	for (; n < times && !r; n++) {
		uint64_t began, kernel = clock_now_ns();

		launch(20);
		usleep(2000);
		began = clock_now_ns();
		r = control_switch(g, true);
		off[n] = clock_now_ns() - began;
		usleep(5000);
		if (!r && cu.cuStreamQuery(stream) == CUDA_SUCCESS)
			printf("kernel %d ended while its channels were off\n", n);
		began = clock_now_ns();
		r = control_switch(g, false) ?: r;
		on[n] = clock_now_ns() - began;
		TRY(cuStreamSynchronize(stream));
		if (!n)
			printf("a kernel of 20 ms took %.1f ms with 5 ms off\n",
			       (double)(clock_now_ns() - kernel) / 1e6);
	}
	if (r)
		printf("refused: %d (0x%x)\n", r, (unsigned int)r);
	histogram("off", off, n);
	histogram("on", on, n);
	free(off);
	free(on);
	return r != 0;
}

static int run(double ms, double seconds)
{
	uint64_t until, ended = 0;

	gpu_open();
	until = clock_now_ns() + (uint64_t)(seconds * 1e9);
	while (clock_now_ns() < until) {
		int depth = ms < 1 ? 16 : 2;

		for (int i = 0; i < depth; i++)
			launch(ms);
		TRY(cuStreamSynchronize(stream));
		ended += (uint64_t)depth;
	}
	printf("kernels %llu\n", (unsigned long long)ended);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	bool parts = !strcmp(what, "calls") || !strcmp(what, "slices") || !strcmp(what, "switch");

	watch_init(parts);
	if (!strcmp(what, "calls"))
		return calls();
	if (!strcmp(what, "slices"))
		return slices();
	if (!strcmp(what, "switch") && argc == 3 && atoi(argv[2]) > 0)
		return switching(atoi(argv[2]));
	if (!strcmp(what, "run") && argc == 4)
		return run(atof(argv[2]), atof(argv[3]));
	fprintf(stderr, "tier_probe: calls, slices, switch TIMES, or run MS SECONDS\n");
	return 2;
}

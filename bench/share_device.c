/* share_device.c: see share_device.h. */
#include "share_device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 32

static const char ptx_head[] = ".version 6.0\n.target sm_60\n.address_size 64\n";

/*
 * Every block goes its rounds; reading the clock is what a round costs. What was read must be used, by all threads, or
 * the driver's compiler leaves the loop out: its sum ends the kernel with a fault if it is a number that it never is.
 * The first thread of the first block keeps the record, where there is room for records. No rounds: the length is
 * declared.
 */
static const char ptx_body[] = "(.param .u64 rounds, .param .u64 counter, .param .u64 marks, .param .u64 length)\n"
			       "{\n"
			       "	.reg .pred %more, %no;\n"
			       "	.reg .b32 %x, %t, %i;\n"
			       "	.reg .b64 %n, %c, %m, %l, %b, %e, %w, %clock, %sum;\n"
			       "	ld.param.u64 %n, [rounds];\n"
			       "	setp.eq.u64 %no, %n, 0;\n"
			       "	@%no bra out;\n"
			       "	ld.param.u64 %c, [counter];\n"
			       "	ld.param.u64 %m, [marks];\n"
			       "	ld.param.u64 %l, [length];\n"
			       "	mov.u64 %b, %globaltimer;\n"
			       "	mov.u64 %sum, 0;\n"
			       "round:\n"
			       "	mov.u64 %clock, %clock64;\n"
			       "	add.u64 %sum, %sum, %clock;\n"
			       "	sub.u64 %n, %n, 1;\n"
			       "	setp.ne.u64 %more, %n, 0;\n"
			       "	@%more bra round;\n"
			       "	mov.u64 %e, %globaltimer;\n"
			       "	setp.eq.u64 %more, %sum, 1;\n"
			       "	@%more trap;\n"
			       "	mov.u32 %x, %ctaid.x;\n"
			       "	mov.u32 %t, %tid.x;\n"
			       "	or.b32 %t, %t, %x;\n"
			       "	setp.ne.u32 %no, %t, 0;\n"
			       "	@%no bra out;\n"
			       "	setp.eq.u64 %no, %c, 0;\n"
			       "	@%no bra out;\n"
			       "	cvta.to.global.u64 %c, %c;\n"
			       "	cvta.to.global.u64 %m, %m;\n"
			       "	atom.global.add.u32 %i, [%c], 1;\n"
			       "	and.b32 %i, %i, 524287;\n"
			       "	mul.wide.u32 %w, %i, 32;\n"
			       "	add.u64 %m, %m, %w;\n"
			       "	st.volatile.global.u64 [%m+8], %e;\n"
			       "	st.volatile.global.u64 [%m+16], %l;\n"
			       "	st.volatile.global.u64 [%m], %b;\n"
			       "out:\n"
			       "	ret;\n"
			       "}\n";
_Static_assert(REPORT_RECORDS - 1 == 524287 && sizeof(struct report_mark) == 32, "the kernel knows both");

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void must(CUresult r, const char *what)
{
	const char *name = NULL;

	if (!r)
		return;
	if (cuGetErrorName(r, &name) || !name)
		name = "an unknown error";
	fprintf(stderr, "share_load: %s: %s\n", what, name);
	exit(1);
}

static void load_kernels(struct device *d)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		exit(1);
	fputs(ptx_head, f);
	for (unsigned i = 0; i < d->lengths; i++)
		fprintf(f, ".visible .entry spin_%lluus%s", (unsigned long long)d->length_ns[i] / 1000, ptx_body);
	fclose(f);
	MUST(cuModuleLoadData(&d->module, text));
	free(text);
	for (unsigned i = 0; i < d->lengths; i++) {
		char name[40];

		snprintf(name, sizeof(name), "spin_%lluus", (unsigned long long)d->length_ns[i] / 1000);
		MUST(cuModuleGetFunction(&d->function[i], d->module, name));
	}
}

/* Where the kernels write their marks, and how the GPU's timer stands to ours: a mark's end has just been. */
static void open_marks(struct device *d, struct report *report)
{
	struct device_kernel k;

	MUST(cuMemAlloc(&d->counter, 8));
	MUST(cuMemsetD8(d->counter, 0, 8));
	MUST(cuMemHostRegister(report->mark, sizeof(report->mark), CU_MEMHOSTREGISTER_DEVICEMAP));
	MUST(cuMemHostGetDevicePointer(&d->marks, report->mark, 0));
	device_kernel(d, 0, &k);
	k.rounds = 1;
	for (int i = 0; i < 5; i++) {
		int64_t offset;

		device_launch(&k, NULL);
		MUST(cuCtxSynchronize());
		offset = (int64_t)(now_ns() - report->mark[i].end_ns);
		if (!i || offset < report->timer_offset_ns)
			report->timer_offset_ns = offset;
	}
	MUST(cuMemsetD8(d->counter, 0, 8));
	memset(report->mark, 0, 5 * sizeof(report->mark[0]));
	MUST(cuCtxSynchronize());
}

/* A block for each multiprocessor where rounds are gone, so that a grid is one wave; else as many as it holds. */
static unsigned blocks_of(const struct device *d, enum device_grid grid)
{
	int processors = 1, each = 1;

	if (d->rounds_per_us <= 0 && grid == GRID_ONE)
		return 1;
	MUST(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d->device));
	if (d->rounds_per_us <= 0)
		MUST(cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, d->function[0], THREADS, 0));
	return (unsigned)processors * (unsigned)each;
}

void device_open(struct device *d, const uint64_t *length_ns, unsigned lengths, double rounds_per_us,
		 enum device_grid grid, struct report *report)
{

	*d = (struct device){ .rounds_per_us = rounds_per_us, .lengths = lengths, .blocks = 1 };
	memcpy(d->length_ns, length_ns, lengths * sizeof(*length_ns));
	MUST(cuInit(0));
	MUST(cuDeviceGet(&d->device, 0));
	/* A thread that waits leaves the core to the others: there are more processes than cores. */
	MUST(cuDevicePrimaryCtxSetFlags(d->device, CU_CTX_SCHED_BLOCKING_SYNC));
	MUST(cuDevicePrimaryCtxRetain(&d->context, d->device));
	MUST(cuCtxSetCurrent(d->context));
	load_kernels(d);
	d->blocks = blocks_of(d, grid);
	if (rounds_per_us > 0 && report)
		open_marks(d, report);
	MUST(cuEventCreate(&d->base, CU_EVENT_BLOCKING_SYNC));
	d->base_ns = 0;
	/* The event is no later than the host's look at it; the closest of a few tries is what we go by. */
	for (int i = 0; i < 5; i++) {
		uint64_t before = now_ns(), after;

		MUST(cuEventRecord(d->base, NULL));
		MUST(cuEventSynchronize(d->base));
		after = now_ns();
		d->base_ns = before / 2 + after / 2;
		if (after - before < 200000)
			break;
	}
}

void device_kernel(const struct device *d, unsigned which, struct device_kernel *ret)
{
	const double us = (double)d->length_ns[which] / 1000;

	*ret = (struct device_kernel){
		.function = d->function[which],
		.blocks = d->blocks,
		.rounds = (uint64_t)(us * d->rounds_per_us),
		.counter = d->counter,
		.marks = d->marks,
		.length_ns = d->length_ns[which],
	};
}

/* Pointers to its fields: set when it lies where it stays. */
static void **params(struct device_kernel *k)
{
	k->params[0] = &k->rounds;
	k->params[1] = &k->counter;
	k->params[2] = &k->marks;
	k->params[3] = &k->length_ns;
	return k->params;
}

void device_launch(struct device_kernel *k, CUstream stream)
{
	MUST(cuLaunchKernel(k->function, k->blocks, 1, 1, THREADS, 1, 1, 0, stream, params(k), NULL));
}

CUgraphExec device_graph(struct device_kernel *k, unsigned nodes)
{
	CUDA_KERNEL_NODE_PARAMS node = {
		.func = k->function,
		.gridDimX = k->blocks,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = THREADS,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = params(k),
	};
	CUgraph graph;
	CUgraphNode last = NULL;
	CUgraphExec exec;

	MUST(cuGraphCreate(&graph, 0));
	for (unsigned i = 0; i < nodes; i++) {
		CUgraphNode made;

		MUST(cuGraphAddKernelNode(&made, graph, &last, i ? 1 : 0, &node));
		last = made;
	}
	MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
	MUST(cuGraphDestroy(graph));
	return exec;
}

uint64_t device_time(const struct device *d, CUevent event)
{
	float ms = 0;

	MUST(cuEventElapsedTime(&ms, d->base, event));
	return d->base_ns + (uint64_t)((double)ms * 1e6);
}

/* Microseconds between two events around a launch. */
static double launch_us(struct device_kernel *k, uint64_t rounds, CUevent begin, CUevent end)
{
	float ms = 0;

	k->rounds = rounds;
	MUST(cuEventRecord(begin, NULL));
	device_launch(k, NULL);
	MUST(cuEventRecord(end, NULL));
	MUST(cuEventSynchronize(end));
	MUST(cuEventElapsedTime(&ms, begin, end));
	return (double)ms * 1000;
}

double device_calibrate(void)
{
	static const uint64_t length = 1000000;
	const uint64_t rounds = 200000;
	double once = 0, twice = 0;
	struct device d;
	struct device_kernel k;
	CUevent begin, end;

	device_open(&d, &length, 1, 1, GRID_FULL, NULL);
	device_kernel(&d, 0, &k);
	MUST(cuEventCreate(&begin, 0));
	MUST(cuEventCreate(&end, 0));
	/* The clock of an idle GPU is slow to rise. */
	for (uint64_t from = now_ns(); now_ns() - from < 1000000000u;) {
		once = launch_us(&k, rounds, begin, end);
		twice = launch_us(&k, 2 * rounds, begin, end);
	}
	if (twice < 1.5 * once) {
		fprintf(stderr,
			"share_load: %" PRIu64 " rounds take %.0f us, and twice as many %.0f: a kernel's length cannot "
			"be chosen here\n",
			rounds, once, twice);
		exit(1);
	}
	return (double)rounds / (twice - once);
}

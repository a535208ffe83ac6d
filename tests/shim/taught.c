/*
 * taught.c: a program that waits for each of its kernels cannot teach the shim delays that its other kernels do not
 * have (core/waits.h), nor move the clock by which it is charged (core/lane.h). The test driver plays the device, and
 * counts what it serves. One case per run: turns.h says how.
 *
 * A thread that gets no processor for a while is charged for that, and never less than what was served: so each case
 * judges only that enough is charged, and holds however busy the machine is.
 */
#include "turns.h"

#define KERNEL_NS (100 * US)
#define LATE_NS (60 * US)
#define ROUNDS 600
#define PHASE 200
#define SLACK 32u /* of what is served, so small a part may be missing: clocks are compared */

static CUevent own_event;
static unsigned int marked; /* launches that had markers */

static uint64_t charged_ns(void)
{
	return atomic_load(&turn(WIRE_COMPUTE)->busy_ns);
}

static void take(void)
{
	uint64_t at;
	bool begins;

	while (wire_edge_get(turn(WIRE_COMPUTE), &at, &begins))
		;
}

static void setup_taught(void)
{
	kit_open("libcuda.so.1");
	kit_truth();
	context = begin(0);
	page_open();
	for (int e = 0; e < WIRE_ENGINES; e++)
		gate_set(e, WIRE_GATED | WIRE_OPEN, 4 * MS, now_ns() + 3600000 * MS);
	truth->kernel_ns = KERNEL_NS;
	is(cu.cuEventCreate(&own_event, 0), CUDA_SUCCESS);
}

/* Value: the launch had markers, as a program sees by the time that it takes. */
static bool launch_one(void)
{
	uint64_t records = truth->records;

	cu.cuLaunchKernel((CUfunction)0x1000, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	marked += truth->records != records;
	return truth->records != records;
}

static void wait_one(void)
{
	cu.cuStreamSynchronize(NULL);
	take();
}

/* The next kernel begins so much later than it is launched, because its stream is held back. */
static void hold(uint64_t ns)
{
	is(cu.cuStreamWaitValue32_v2(NULL, 0x2000, 1, 0), CUDA_SUCCESS);
	__atomic_store_n(&truth->done_by_ns, now_ns() + ns, __ATOMIC_RELAXED);
}

static void judge(uint64_t charged, uint64_t kernels, uint64_t served)
{
	wait_idle(WIRE_COMPUTE);
	charged = charged_ns() - charged;
	kernels = truth->kernels - kernels;
	printf("# %.3f ms charged for %.3f ms, %u of %u launches with markers\n", (double)charged / 1e6,
	       (double)served / 1e6, marked, (unsigned int)kernels);
	ok(charged + served / SLACK >= served);
}

/* Every third kernel is held back, and begins late; of the others the program hides what is measured. */
static void case_begins(void)
{
	uint64_t charged, kernels;

	setup_taught();
	charged = charged_ns();
	kernels = truth->kernels;
	for (int i = 0; i < ROUNDS; i++) {
		bool held = i % 3 == 0;

		if (held)
			hold(LATE_NS);
		if (launch_one() && !held) { /* what is waited for by an event teaches nothing */
			cu.cuEventRecord(own_event, NULL);
			cu.cuEventSynchronize(own_event);
			take();
		} else {
			wait_one();
		}
	}
	judge(charged, kernels, ROUNDS * KERNEL_NS);
}

/* The wait for a kernel with markers returns late, all others at once. */
static void case_ends(void)
{
	uint64_t charged, kernels;

	setup_taught();
	charged = charged_ns();
	kernels = truth->kernels;
	for (int i = 0; i < ROUNDS; i++) {
		truth->wait_late_ns = launch_one() ? KERNEL_NS / 5 : 0;
		wait_one();
	}
	judge(charged, kernels, ROUNDS * KERNEL_NS);
}

/* All waits return late for a while, then none: what was learnt is believed for a few launches at most. */
static void case_phases(void)
{
	uint64_t charged, kernels;

	setup_taught();
	charged = charged_ns();
	kernels = truth->kernels;
	for (int i = 0; i < 4 * ROUNDS; i++) {
		truth->wait_late_ns = i / PHASE % 2 ? 0 : KERNEL_NS / 5;
		launch_one();
		wait_one();
	}
	judge(charged, kernels, 4 * ROUNDS * KERNEL_NS);
}

/* Kernels are short until a launch's call takes long: then they are as long as the call. */
static void case_calls(void)
{
	uint64_t charged, kernels, served = 0;

	setup_taught();
	charged = charged_ns();
	kernels = truth->kernels;
	for (int i = 0; i < ROUNDS; i++) {
		truth->launch_late_ns = i % 4 ? 0 : 10 * KERNEL_NS;
		truth->kernel_ns = i % 4 ? KERNEL_NS : 10 * KERNEL_NS;
		launch_one();
		wait_one();
		served += truth->kernel_ns;
	}
	judge(charged, kernels, served);
}

/* Events of kernels that are held back seem late: the clock does not move for that. */
static void case_clock(void)
{
	uint64_t charged, kernels, served = 0;

	setup_taught();
	charged = charged_ns();
	kernels = truth->kernels;
	for (int i = 0; i < ROUNDS / 4; i++) {
		truth->kernel_ns = i % 9 < 8 ? KERNEL_NS : 20 * KERNEL_NS;
		if (i % 9 < 8)
			hold(20 * KERNEL_NS);
		launch_one();
		wait_one();
		served += truth->kernel_ns;
	}
	judge(charged, kernels, served);
}

/* Short kernels are waited for four at a time, and the next ones come at once: all four are charged. */
static void case_batches(void)
{
	uint64_t charged, kernels;

	setup_taught();
	truth->kernel_ns = KERNEL_NS / 5;
	charged = charged_ns();
	kernels = truth->kernels;
	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k < 4; k++)
			launch_one();
		wait_one();
	}
	judge(charged, kernels, 4 * ROUNDS * truth->kernel_ns);
}

/* An event of another stream, where nothing is in flight: it happens at once. */
static void record_apart(void)
{
	truth->apart = 1;
	cu.cuEventRecord(own_event, (CUstream)0x2000);
	truth->apart = 0;
}

static void record_behind(void)
{
	cu.cuEventRecord(own_event, NULL);
}

/* The wait lasts until the kernel has ended, and the event says something else by then. */
static void wait_by_event(void)
{
	uint64_t done = __atomic_load_n(&truth->done_by_ns, __ATOMIC_RELAXED);

	while (now_ns() < done)
		;
	cu.cuEventSynchronize(own_event);
	take();
}

/* The event is recorded behind the kernel, and once more where it happens in the middle of the kernel. */
static void case_moved(void)
{
	uint64_t charged, kernels;

	setup_taught();
	charged = charged_ns();
	kernels = truth->kernels;
	for (int i = 0; i < ROUNDS; i++) {
		launch_one();
		record_behind();
		if (i > PHASE)
			record_apart();
		wait_by_event();
	}
	judge(charged, kernels, ROUNDS * KERNEL_NS);
}

/* Of two records at the same time nobody can tell which one is the later one. */
static void case_raced(void)
{
	uint64_t charged, kernels;

	setup_taught();
	charged = charged_ns();
	kernels = truth->kernels;
	for (int i = 0; i < ROUNDS; i++) {
		launch_one();
		truth->apart = i > PHASE;
		truth->during_record = i > PHASE ? record_behind : NULL;
		/* The record inside is the first one by the driver, and the last one that the shim hears of. */
		cu.cuEventRecord(own_event, i > PHASE ? (CUstream)0x2000 : NULL);
		truth->apart = 0;
		wait_by_event();
	}
	judge(charged, kernels, ROUNDS * KERNEL_NS);
}

/* What finds no room on the page, because meted reads too seldom for kernels that are so short, is charged later. */
static void case_edges(void)
{
	uint64_t kernels, noted;

	setup_taught();
	for (int i = 0; i < 20; i++) {
		launch_one();
		wait_one();
	}
	wait_idle(WIRE_COMPUTE);
	take_edges(WIRE_COMPUTE, NULL);
	kernels = truth->kernels;
	for (int i = 0; i < 3 * (int)WIRE_EDGES; i++) {
		launch_one();
		cu.cuStreamSynchronize(NULL);
	}
	wait_idle(WIRE_COMPUTE);
	noted = take_edges(WIRE_COMPUTE, NULL);
	launch_one();
	cu.cuStreamSynchronize(NULL);
	wait_idle(WIRE_COMPUTE);
	noted += take_edges(WIRE_COMPUTE, NULL);
	kernels = truth->kernels - kernels;
	printf("# %.3f ms noted for %u kernels of 100 us\n", (double)noted / 1e6, (unsigned int)kernels);
	ok(noted + kernels * KERNEL_NS / SLACK >= kernels * KERNEL_NS);
}

static const struct kit_case cases[] = {
	{ "taught begins", case_begins },   { "taught ends", case_ends },   { "taught phases", case_phases },
	{ "taught calls", case_calls },	    { "taught clock", case_clock }, { "taught edges", case_edges },
	{ "taught batches", case_batches }, { "taught moved", case_moved }, { "taught raced", case_raced },
};

int main(int argc, char **argv)
{
	return turns_main(cases, sizeof cases / sizeof *cases, argc, argv);
}

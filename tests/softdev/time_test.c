/*
 * time_test.c: kernels take the time that the model says, and processes share a device as it says, whatever becomes of
 * them. Judged by the device's own clock; what the host adds is left room for, as it may be busy.
 */
#include "softdev/segment.h"
#include "soft.h"

#include "base/clock.h"

#include <signal.h>
#include <sys/wait.h>

#define MS 1000000u
#define TRIES 20 /* of what is late where others have the processor */

static const char text[] = ".version 7.0\n"
			   ".target sm_70\n"
			   ".address_size 64\n"
			   ".visible .entry ms1() { ret; }\n"
			   ".visible .entry ms2() { ret; }\n"
			   ".visible .entry _Z5twicePf(.param .u64 p) { ret; }\n"
			   ".visible .entry until(.param .u64 p) {\n"
			   "  .reg .u64 %r<2>;\n"
			   "  .reg .u32 %v<2>;\n"
			   "  .reg .pred %p;\n"
			   "  ld.param.u64 %r1, [p];\n"
			   "L: ld.volatile.global.u32 %v1, [%r1];\n"
			   "  setp.eq.u32 %p, %v1, 0;\n"
			   "  @%p bra L;\n"
			   "  ret;\n"
			   "}\n"
			   ".visible .entry endless() { L: bra L; }\n"
			   ".visible .entry loop(.param .u64 n) {\n"
			   "  .reg .u64 %r<2>;\n"
			   "  .reg .pred %p;\n"
			   "  ld.param.u64 %r1, [n];\n"
			   "L: sub.u64 %r1, %r1, 1;\n"
			   "  setp.ne.u64 %p, %r1, 0;\n"
			   "  @%p bra L;\n"
			   "  ret;\n"
			   "}\n";

static CUmodule module;
static struct segment_place observer;

static CUfunction function(const char *name)
{
	CUfunction f = NULL;

	if (cuModuleGetFunction(&f, module, name))
		printf("# no function %s\n", name);
	return f;
}

static CUresult launch(const char *name, unsigned blocks, unsigned threads, CUstream s)
{
	static uint64_t n = 100000;
	void *params[] = { &n };

	return cuLaunchKernel(function(name), blocks, 1, 1, threads, 1, 1, 0, s, params, NULL);
}

static void nap(unsigned ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}

/* ---- children: this program again ---- */

/* Launches kernels for ever; the first one has been executed when it says so. */
static int child_main(const char *kernel)
{
	CUcontext c;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c) || cuModuleLoadData(&module, text))
		return 1;
	if (strcmp(kernel, "endless") && (launch(kernel, 1, 32, NULL) || cuCtxSynchronize()))
		return 2;
	if (!strcmp(kernel, "endless") && launch(kernel, 1, 32, NULL))
		return 3;
	if (write(1, "r", 1) != 1)
		return 4;
	for (;;) { /* many at a time: the host may be busy */
		for (int i = 0; i < 32; i++)
			if (launch(kernel, 1, 32, NULL))
				return 5;
		if (cuCtxSynchronize())
			return 6;
	}
}

/*
 * Alone on the device, the process is stopped for 300 ms while its kernel is executed. Its exit status: tens of
 * milliseconds from the kernel's last instruction to its end.
 */
static int stalled_main(void)
{
	const pid_t self = getpid();
	uint64_t at;
	uint32_t *flag;
	void *params[] = { &flag };
	CUcontext c;
	pid_t stopper;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c) || cuModuleLoadData(&module, text) ||
	    cuMemHostAlloc((void **)&flag, 4096, CU_MEMHOSTALLOC_DEVICEMAP) ||
	    cuLaunchKernel(function("until"), 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL))
		return 250;
	nap(20);
	stopper = fork();
	if (!stopper) {
		kill(self, SIGSTOP);
		nap(300);
		kill(self, SIGCONT);
		_exit(0);
	}
	waitpid(stopper, NULL, 0);
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	at = clock_now_ns();
	if (cuCtxSynchronize())
		return 251;
	at = (clock_now_ns() - at) / (10 * MS);
	return at < 200 ? (int)at : 200;
}

static pid_t child_start(const char *kernel)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		exit(1);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(ready[1], 1);
		close(ready[0]);
		close(ready[1]);
		if (!strcmp(kernel, "endless"))
			unsetenv("METE_SOFT_DURATION");
		execl("/proc/self/exe", "time_test", "child", kernel, (char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	tap_ok(read(ready[0], &c, 1) == 1, "a child with kernel %s has begun", kernel);
	close(ready[0]);
	return pid;
}

static void child_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* What the device says of a process. */
static uint64_t served(pid_t pid)
{
	for (uint32_t i = 0; i < atomic_load(&observer.segment->places); i++)
		if (atomic_load(&observer.segment->process[i].pid) == pid)
			return segment_share_busy_ns(observer.segment, i, 0);
	return 0;
}

static struct timeline *timeline_now(void)
{
	static struct timeline t;

	if (!segment_time_read(observer.segment, 0, &t))
		return NULL;
	timeline_advance(&t, clock_now_ns());
	return &t;
}

/* ---- one process ---- */

static float elapsed_ms(CUevent a, CUevent b)
{
	float ms = -1;

	CU(cuEventSynchronize(b));
	CU(cuEventElapsedTime(&ms, a, b));
	return ms;
}

static void declared(CUevent a, CUevent b)
{
	uint64_t at;
	float ms = 0;

	/* It has gaps where the machine does something else between two launches. */
	for (int tries = 0; tries < TRIES; tries++) {
		CU(launch("ms1", 1, 32, NULL));
		CU(cuEventRecord(a, NULL));
		for (int i = 0; i < 30; i++)
			CU(launch("ms2", 1, 32, NULL));
		CU(cuEventRecord(b, NULL));
		ms = elapsed_ms(a, b);
		if (ms < 75)
			break;
	}
	tap_ok(ms > 59.99 && ms < 75, "30 kernels of 2 ms behind another one: %.4f ms", ms);
	at = clock_now_ns();
	CU(launch("_Z5twicePf", 1, 32, NULL)); /* by the name that people wrote: 8 ms */
	CU(cuStreamSynchronize(NULL));
	at = clock_now_ns() - at;
	tap_ok(at >= 8 * MS && at < 500 * MS, "a wait lasts as long as the kernel: %.3f ms", (double)at / 1e6);
	FAILS(cuEventElapsedTime(&ms, b, b), CUDA_SUCCESS);
	CU(launch("ms2", 1, 32, NULL));
	CU(cuEventRecord(b, NULL));
	FAILS(cuEventQuery(b), CUDA_ERROR_NOT_READY);
	FAILS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	for (int i = 0; i < 200 && cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY; i++)
		nap(20); /* nobody waits for it: whoever asks finds that it has ended */
	CU(cuEventQuery(b));
	CU(cuStreamQuery(NULL));
}

/* How long kernels of so many blocks take in four streams, from the first one's submission. */
static float four_ms(const CUstream s[4], unsigned blocks, CUevent done, CUevent a, CUevent b)
{
	CU(cuCtxSynchronize());
	CU(cuEventRecord(a, s[0]));
	for (int i = 0; i < 4; i++)
		CU(launch("_Z5twicePf", blocks, 32, s[i]));
	for (int i = 1; i < 4; i++) {
		CU(cuEventRecord(done, s[i]));
		CU(cuStreamWaitEvent(s[0], done, 0));
	}
	CU(cuEventRecord(b, s[0]));
	return elapsed_ms(a, b);
}

static void overlapping(CUevent a, CUevent b)
{
	CUstream s[4];
	CUevent done;
	float ms = 0;

	CU(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
	for (int i = 0; i < 4; i++)
		CU(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
	for (unsigned blocks = 1; blocks <= 2048; blocks *= 2048) {
		/* Small ones begin when they are submitted: a few tries, where others have the processor in between. */
		for (int tries = 0; tries < TRIES; tries++) {
			ms = four_ms(s, blocks, done, a, b);
			if (blocks > 1 || ms < 24)
				break;
		}
		if (blocks == 1)
			tap_ok(ms >= 7.99 && ms < 24, "small kernels of 8 ms run side by side: %.3f ms", ms);
		else
			tap_ok(ms >= 31.9 && ms < 500, "large ones share the device: %.3f ms", ms);
	}
	for (int i = 0; i < 4; i++)
		CU(cuStreamDestroy(s[i]));
	CU(cuEventDestroy(done));
}

static void in_graphs(CUevent a, CUevent b)
{
	CUgraphExec exec;
	CUgraph graph;
	CUstream s;
	float ms = 0;

	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	for (int i = 0; i < 5; i++)
		CU(launch(i % 2 ? "ms2" : "ms1", 1, 32, s));
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	for (int tries = 0; tries < TRIES; tries++) {
		CU(launch("ms1", 1, 32, s));
		CU(cuEventRecord(a, s));
		for (int i = 0; i < 6; i++)
			CU(cuGraphLaunch(exec, s));
		CU(cuEventRecord(b, s));
		ms = elapsed_ms(a, b);
		if (ms < 60)
			break;
	}
	tap_ok(ms > 41.99 && ms < 60, "6 graphs of 3 x 1 and 2 x 2 ms: %.4f ms", ms);
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	CU(cuStreamDestroy(s));
}

static _Atomic int gate;

static void wait_gate(void *unused)
{
	while (!gate)
		nap(1);
}

/* A kernel that is executed ahead waits for what another stream does after the kernel before it. */
static void waiting_ahead(void)
{
	CUstream s, other;
	CUdeviceptr flag;
	void *params[] = { &flag };
	CUevent between;
	int tries;

	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&between, CU_EVENT_DISABLE_TIMING));
	CU(cuMemAlloc(&flag, 4));
	CU(cuMemsetD32(flag, 0, 1));
	CU(cuCtxSynchronize());
	CU(cuLaunchHostFunc(s, wait_gate, NULL));
	CU(launch("_Z5twicePf", 1, 32, s));
	CU(cuEventRecord(between, s));
	CU(cuLaunchKernel(function("until"), 1, 1, 1, 32, 1, 1, 0, s, params, NULL));
	CU(cuStreamWaitEvent(other, between, 0));
	CU(cuStreamWriteValue32(other, flag, 1, 0));
	gate = 1;
	for (tries = 0; tries < 500 && atomic_load((_Atomic uint32_t *)(uintptr_t)flag) == 0; tries++)
		nap(20); /* nobody asks the driver meanwhile */
	ok(tries < 500);
	atomic_store((_Atomic uint32_t *)(uintptr_t)flag, 1); /* so that the test ends in any case */
	CU(cuCtxSynchronize());
	CU(cuMemFree(flag));
	CU(cuEventDestroy(between));
	CU(cuStreamDestroy(s));
	CU(cuStreamDestroy(other));
}

/* Eight small kernels of 8 ms between two of 1 ms: on however few threads, they run side by side. */
static void in_branches(CUevent a, CUevent b)
{
	CUgraphExec exec;
	CUgraph graph;
	CUstream s, side[8];
	CUevent fork, join;
	float ms = 30;

	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	CU(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(launch("ms1", 1, 32, s));
	CU(cuEventRecord(fork, s));
	for (int i = 0; i < 8; i++) {
		CU(cuStreamCreate(&side[i], CU_STREAM_NON_BLOCKING));
		CU(cuStreamWaitEvent(side[i], fork, 0));
		CU(launch("_Z5twicePf", 1, 32, side[i]));
		CU(cuEventRecord(join, side[i]));
		CU(cuStreamWaitEvent(s, join, 0));
	}
	CU(launch("ms1", 1, 32, s));
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	for (int tries = 0; tries < TRIES && ms >= 30; tries++) {
		CU(cuEventRecord(a, s));
		CU(cuGraphLaunch(exec, s));
		CU(cuEventRecord(b, s));
		ms = elapsed_ms(a, b);
	}
	tap_ok(ms >= 9.99 && ms < 30, "a graph with 8 branches: %.3f ms", ms);
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	for (int i = 0; i < 8; i++)
		CU(cuStreamDestroy(side[i]));
	CU(cuStreamDestroy(s));
	CU(cuEventDestroy(fork));
	CU(cuEventDestroy(join));
}

/* 1 GB/s: 10 MB each way take 10 ms, side by side; within the device as long as the CPU takes. */
static void copies(CUevent a, CUevent b)
{
	const size_t bytes = 10000000;
	CUstream s[2];
	CUdeviceptr d[2];
	void *h[2];
	float ms = 200;

	for (int i = 0; i < 2; i++) {
		CU(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
		CU(cuMemAlloc(&d[i], bytes));
		CU(cuMemAllocHost(&h[i], bytes));
		memset(h[i], i + 1, bytes);
	}
	for (int tries = 0; tries < TRIES && ms >= 200; tries++) {
		CU(cuEventRecord(a, s[0]));
		CU(cuMemcpyHtoDAsync(d[0], h[0], bytes, s[0]));
		CU(cuMemcpyDtoHAsync(h[1], d[1], bytes, s[1]));
		CU(cuEventRecord(b, s[0]));
		ms = elapsed_ms(a, b);
	}
	tap_ok(ms >= 9.9 && ms < 200, "10 MB at 1 GB/s: %.3f ms", ms);
	CU(cuCtxSynchronize());
	is(*(char *)h[1], 0);
	CU(cuMemcpyDtoH(h[1], d[0], bytes));
	is(((char *)h[1])[bytes - 1], 1);
	for (int i = 0; i < 2; i++) {
		CU(cuStreamDestroy(s[i]));
		CU(cuMemFree(d[i]));
		CU(cuMemFreeHost(h[i]));
	}
}

static int rate_main(void)
{
	CUevent a, b;
	CUcontext c;
	float ms;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c) || cuModuleLoadData(&module, text) ||
	    cuEventCreate(&a, 0) || cuEventCreate(&b, 0) || launch("ms1", 1, 32, NULL) || cuEventRecord(a, NULL) ||
	    launch("loop", 1, 32, NULL) || cuEventRecord(b, NULL) || cuEventSynchronize(b) ||
	    cuEventElapsedTime(&ms, a, b))
		return 1;
	return ms < 3 ? 2 : ms > 5000 ? 3 : 0; /* a busy machine takes longer to interpret them */
}

/* By the work: 3 instructions in each round, of one block on one of 16 multiprocessors, at 1.6 G/s of all of them. */
static void at_a_rate(void)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid) {
		waitpid(pid, &status, 0);
		tap_ok(WIFEXITED(status) && !WEXITSTATUS(status), "300000 instructions at 100 M/s take 3 ms (%d)",
		       WEXITSTATUS(status));
		return;
	}
	setenv("METE_SOFT_RATE", "1.6G", 1);
	unsetenv("METE_SOFT_DURATION");
	_exit(rate_main());
}

/* ---- several processes ---- */

/* What the device serves the process in so many milliseconds, or in longer ones where the machine does other things. */
static uint64_t gains(pid_t pid, unsigned ms, uint64_t enough_ns)
{
	uint64_t had = 0;

	for (int tries = 0; tries < TRIES && had <= enough_ns; tries++) {
		had = served(pid);
		nap(ms);
		had = served(pid) - had;
	}
	return had;
}

static void equals(void)
{
	pid_t a = child_start("ms1"), b = child_start("ms1");
	uint64_t had_a, had_b, at;
	const struct timeline *t;
	double wall, share;

	for (int tries = 0; tries < TRIES; tries++) {
		had_a = served(a);
		had_b = served(b);
		at = clock_now_ns();
		nap(600);
		had_a = served(a) - had_a;
		had_b = served(b) - had_b;
		wall = (double)(clock_now_ns() - at);
		share = (double)had_a / (double)(had_a + had_b);
		if (share > 0.35 && share < 0.65 && (double)(had_a + had_b) > 0.25 * wall)
			break; /* both were let run meanwhile */
	}
	tap_ok(share > 0.35 && share < 0.65, "two equal processes: %.3f and %.3f", share, 1 - share);
	tap_ok((double)(had_a + had_b) > 0.25 * wall && (double)(had_a + had_b) < 0.985 * wall,
	       "what they had, with the switches, is no more than there was: %.3f", (double)(had_a + had_b) / wall);
	child_kill(a);
	ok(gains(b, 200, 50 * MS) > 50 * MS); /* it has the device to itself */
	child_kill(b);
	segment_reap(&observer);
	t = timeline_now();
	ok(t && t->served_ns + t->switch_ns + timeline_idle_ns(t) == t->now_ns - t->began_ns);
}

/* A process that is stopped while a kernel of unknown length is executed does not hold the device. */
static void stopped(void)
{
	pid_t endless = child_start("endless"), other = child_start("ms1");
	uint64_t had;

	kill(endless, SIGSTOP);
	nap(50);
	had = gains(other, 300, 100 * MS);
	tap_ok(had > 100 * MS, "beside a stopped one: %.1f of 300 ms", (double)had / 1e6);
	kill(endless, SIGCONT);
	ok(gains(endless, 300, 20 * MS) > 20 * MS);
	child_kill(endless);
	child_kill(other);
}

/* A kernel that stalled, with nobody else there, has ended when it has been executed. */
static void stalled(void)
{
	int status = -1;

	for (int i = 0; i < TRIES && status; i++) {
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (!pid) {
			execl("/proc/self/exe", "time_test", "stalled", (char *)NULL);
			_exit(127);
		}
		waitpid(pid, &status, 0);
		status = WIFEXITED(status) && WEXITSTATUS(status) < 20 ? 0 : status;
	}
	tap_ok(status == 0, "a stall is not waited for again (status 0x%x)", (unsigned)status);
	segment_reap(&observer);
}

/* Death and stops at any moment: who is left goes on. */
static void any_moment(void)
{
	pid_t child[3] = { 0 };
	uint64_t longest = 0;

	for (int i = 0; i < 3; i++)
		child[i] = child_start("ms1");
	for (int round = 0; round < 40; round++) {
		int i = round % 3;
		uint64_t at = clock_now_ns();

		nanosleep(&(struct timespec){ .tv_nsec = rand() % 3000000 }, NULL);
		kill(child[i], round % 4 ? SIGSTOP : SIGKILL);
		at = clock_now_ns();
		if (launch("ms1", 1, 32, NULL) || cuCtxSynchronize())
			longest = UINT64_MAX;
		at = clock_now_ns() - at;
		longest = at > longest ? at : longest;
		if (round % 4) {
			kill(child[i], SIGCONT);
			continue;
		}
		waitpid(child[i], NULL, 0);
		child[i] = child_start("ms1");
	}
	tap_ok(longest < 2000 * (uint64_t)MS, "the longest wait for a kernel of 1 ms: %.1f ms", (double)longest / 1e6);
	for (int i = 0; i < 3; i++)
		child_kill(child[i]);
	segment_reap(&observer);
	ok(timeline_now() && timeline_now()->count <= 1);
}

static void bad_values(void)
{
	static const char *const bad[][2] = {
		{ "METE_SOFT_DURATION", "ms1" },  { "METE_SOFT_DURATION", "ms1=5" }, { "METE_SOFT_DURATION", "=5ms" },
		{ "METE_SOFT_RATE", "fast" },	  { "METE_SOFT_RATE", "-1" },	     { "METE_SOFT_COPY_RATE", "0" },
		{ "METE_SOFT_SLICE", "0" },	  { "METE_SOFT_SLICE", "2" },	     { "METE_SOFT_SWITCH", "1h" },
		{ "METE_SOFT_SHARING", "alone" }, { "METE_SOFT_TIME", "maybe" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int status = 0;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (!pid) {
			char dir[128];

			snprintf(dir, sizeof(dir), "%s/bad", soft_dir);
			setenv("METE_SOFT_DIR", dir, 1);
			setenv("METE_LOG", "/dev/null", 1);
			setenv(bad[i][0], bad[i][1], 1);
			_exit(cuInit(0) == CUDA_ERROR_INVALID_VALUE ? 0 : 1);
		}
		waitpid(pid, &status, 0);
		tap_ok(WIFEXITED(status) && !WEXITSTATUS(status), "%s=%s is refused", bad[i][0], bad[i][1]);
	}
}

int main(int argc, char **argv)
{
	CUevent a, b;
	char why[200];

	if (argc == 3)
		return child_main(argv[2]);
	if (argc == 2)
		return stalled_main();
	soft_begin("1", "64M");
	setenv("METE_SOFT_SMS", "16", 1);
	setenv("METE_SOFT_DURATION", "ms1=1ms,ms2=0.002s,twi?e=8ms", 1);
	setenv("METE_SOFT_COPY_RATE", "1G", 1);
	ok(!mkdir(soft_dir, 0700));
	bad_values();
	at_a_rate();
	soft_context();
	if (segment_attach(SEGMENT_OBSERVER, &observer, why, sizeof(why)))
		printf("# %s\n", why);
	CU(cuModuleLoadData(&module, text));
	CU(cuEventCreate(&a, CU_EVENT_DEFAULT));
	CU(cuEventCreate(&b, CU_EVENT_DEFAULT));
	declared(a, b);
	overlapping(a, b);
	in_graphs(a, b);
	in_branches(a, b);
	waiting_ahead();
	copies(a, b);
	equals();
	stopped();
	stalled();
	any_moment();
	segment_detach(&observer);
	return soft_end();
}

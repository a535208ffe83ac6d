/*
 * checkpoint_test.c: another process locks this one's calls, takes its memory off the device, brings it back and
 * unlocks it; states and errors are those that are documented.
 *
 * The child holds memory of several kinds and obeys: a byte on its pipe is a round, in which it changes all of it. The
 * parent is the one that checkpoints.
 */
#include "softdev/soft.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define MIB ((size_t)1 << 20)
#define WORDS (MIB / 4)
#define ORDERS_FD 98
#define ANSWERS_FD 99

static const char hang[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			   ".visible .entry hang(.param .u64 p) {\n"
			   "	.reg .u32 %r; .reg .u64 %d; .reg .pred %q;\n"
			   "	ld.param.u64 %d, [p];\n"
			   "again: ld.volatile.global.u32 %r, [%d]; setp.eq.u32 %q, %r, 0; @%q bra again; ret;\n}\n"
			   ".visible .entry add(.param .u64 p) {\n"
			   "	.reg .u64 %d;\n"
			   "	ld.param.u64 %d, [p];\n"
			   "	red.global.add.u32 [%d], 1; ret;\n}\n";

static int orders[2], answers[2];

/* ---- the child ---- */

static void must(CUresult r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "child: %s: %d\n", what, (int)r);
	_exit(1);
}

static bool holds(CUdeviceptr at, uint32_t value)
{
	static uint32_t words[WORDS];

	must(cuMemcpyDtoH(words, at, sizeof(words)), "a copy");
	for (size_t i = 0; i < WORDS; i++)
		if (words[i] != value)
			return false;
	return true;
}

/* 'r': a round; 'k': a kernel of many blocks adds to a word; 'n': work for which nobody waits; 'h': a kernel that runs
 * until 'g'; 's': memory is shared; 'x': a kernel fails; 'e': the end. */
static void child(void)
{
	CUdeviceptr plain, pooled, word_at;
	volatile uint32_t *word;
	uint32_t rounds = 0;
	CUfunction function, adds;
	CUcontext context;
	CUmodule module;
	CUstream stream;
	CUevent event;
	char order, good = 'y';
	void *args[] = { &word_at };

	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&context, 0), "a context");
	must(cuCtxSetCurrent(context), "a context");
	must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "a stream");
	must(cuMemAlloc(&plain, MIB), "memory");
	must(cuMemAllocAsync(&pooled, MIB, stream), "memory of a pool");
	must(cuMemHostAlloc((void **)&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP), "pinned memory");
	must(cuMemHostGetDevicePointer(&word_at, (void *)word, 0), "its address");
	must(cuModuleLoadData(&module, hang), "a module");
	must(cuModuleGetFunction(&function, module, "hang"), "a function");
	must(cuModuleGetFunction(&adds, module, "add"), "a function");
	must(cuEventCreate(&event, 0), "an event");
	must(cuMemsetD32(plain, 0, WORDS), "a fill");
	must(cuMemsetD32Async(pooled, 0, WORDS, stream), "a fill");
	must(cuStreamSynchronize(stream), "a wait");
	while (write(answers[1], &good, 1) == 1 && read(orders[0], &order, 1) == 1 && order != 'e') {
		good = 'y';
		if (order == 'r') {
			good = holds(plain, rounds) && holds(pooled, rounds + (rounds > 0)) ? 'y' : 'n';
			rounds++;
			must(cuMemsetD32(plain, rounds, WORDS), "a fill");
			must(cuMemsetD32Async(pooled, rounds + 1, WORDS, stream), "a fill");
			must(cuStreamSynchronize(stream), "a wait");
		} else if (order == 'k') {
			uint32_t before, after;
			void *plain_args[] = { &plain };

			must(cuMemcpyDtoH(&before, plain, 4), "a copy");
			must(cuLaunchKernel(adds, 4096, 1, 1, 1, 1, 1, 0, stream, plain_args, NULL), "a launch");
			must(cuStreamSynchronize(stream), "a wait");
			must(cuMemcpyDtoH(&after, plain, 4), "a copy");
			must(cuMemsetD32(plain, before, 1), "a fill");
			good = after == before + 4096 ? 'y' : 'n';
		} else if (order == 'n') {
			__atomic_store_n(word, 1, __ATOMIC_RELAXED);
			must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL), "a launch");
			must(cuEventRecord(event, stream), "an event");
		} else if (order == 'h') {
			__atomic_store_n(word, 0, __ATOMIC_RELAXED);
			must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL), "a launch");
		} else if (order == 'g') {
			__atomic_store_n(word, 1, __ATOMIC_RELAXED);
		} else if (order == 's') {
			CUipcMemHandle handle;

			must(cuIpcGetMemHandle(&handle, plain), "an export");
		} else if (order == 'x') {
			CUdeviceptr nowhere = 8;
			void *bad[] = { &nowhere };

			must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, bad, NULL), "a launch");
			cuStreamSynchronize(stream);
		}
	}
	_exit(0);
}

/* A process that has ended leaves its place in the segment to the next one. */
static void predecessor(void)
{
	CUcontext context;

	for (int d = 0; d < 2; d++) {
		must(cuInit(0), "cuInit");
		must(cuDevicePrimaryCtxRetain(&context, d), "a context");
	}
	exit(0);
}

static void predecessor_run(void)
{
	pid_t pid = fork();

	if (!pid) {
		execl("/proc/self/exe", "checkpoint_test", "predecessor", "", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static pid_t child_start(void)
{
	pid_t pid;

	if (pipe(orders) || pipe(answers))
		exit(1);
	pid = fork();
	if (pid) {
		close(orders[0]);
		close(answers[1]);
		return pid;
	}
	/* A child of a process that has called cuInit cannot: it is this program once more. */
	dup2(orders[0], ORDERS_FD);
	dup2(answers[1], ANSWERS_FD);
	close(orders[1]);
	close(answers[0]);
	setenv("METE_SOFT_CHECKPOINT", "1", 1);
	setenv("CUDA_VISIBLE_DEVICES", "0", 1);
	setenv("METE_SOFT_DURATION", "hang=20ms", 1); /* work is run before its time is over */
	execl("/proc/self/exe", "checkpoint_test", "child", NULL);
	_exit(1);
}

/* ---- the parent ---- */

static void child_end(pid_t pid)
{
	waitpid(pid, NULL, 0);
	close(orders[1]);
	close(answers[0]);
}

static char answer(void)
{
	char c = 0;

	return read(answers[0], &c, 1) == 1 ? c : 0;
}

static void order(char c)
{
	ok(write(orders[1], &c, 1) == 1);
}

static bool answers_within(int ms)
{
	fd_set set;
	struct timeval t = { 0, ms * 1000 };

	FD_ZERO(&set);
	FD_SET(answers[0], &set);
	return select(answers[0] + 1, &set, NULL, NULL, &t) == 1;
}

static CUprocessState state_of(pid_t pid)
{
	CUprocessState state = (CUprocessState)99;

	CU(cuCheckpointProcessGetState(pid, &state));
	return state;
}

static size_t device_free(void)
{
	size_t free = 0, total;

	cuMemGetInfo(&free, &total);
	return free;
}

static void bad_input(pid_t pid)
{
	CUcheckpointLockArgs lock = { .reserved0 = 1 };
	CUcheckpointGpuPair pair = { 0 };
	CUcheckpointRestoreArgs pairs = { .gpuPairs = &pair, .gpuPairsCount = 1 };
	CUcheckpointRestoreArgs none = { .gpuPairsCount = 1 };

	FAILS(cuCheckpointProcessLock(pid, &lock), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuCheckpointProcessLock(1, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuCheckpointProcessLock(-1, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuCheckpointProcessGetState(pid, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuCheckpointProcessGetRestoreThreadId(pid, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuCheckpointProcessCheckpoint(pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
	FAILS(cuCheckpointProcessRestore(pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
	FAILS(cuCheckpointProcessUnlock(pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
	FAILS(cuCheckpointProcessRestore(pid, &none), CUDA_ERROR_INVALID_VALUE);
	is(state_of(pid), CU_PROCESS_STATE_RUNNING);
	CU(cuCheckpointProcessLock(pid, NULL));
	CU(cuCheckpointProcessCheckpoint(pid, NULL));
	FAILS(cuCheckpointProcessRestore(pid, &pairs), CUDA_ERROR_INVALID_VALUE);
	is(state_of(pid), CU_PROCESS_STATE_CHECKPOINTED);
	CU(cuCheckpointProcessRestore(pid, NULL));
	CU(cuCheckpointProcessUnlock(pid, NULL));
}

static void comes_and_goes(pid_t pid, size_t all)
{
	CUcheckpointGpuPair pair;
	CUcheckpointRestoreArgs pairs = { .gpuPairs = &pair, .gpuPairsCount = 1 };
	int thread = 0;

	CU(cuDeviceGetUuid(&pair.oldUuid, 0));
	pair.newUuid = pair.oldUuid;
	for (int i = 0; i < 3; i++) {
		order('r');
		is(answer(), 'y');
		CU(cuCheckpointProcessLock(pid, NULL));
		is(state_of(pid), CU_PROCESS_STATE_LOCKED);
		FAILS(cuCheckpointProcessLock(pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
		order('r');
		ok(!answers_within(100));
		ok(device_free() <= all - 2 * MIB);
		CU(cuCheckpointProcessCheckpoint(pid, NULL));
		is(state_of(pid), CU_PROCESS_STATE_CHECKPOINTED);
		is(device_free(), all);
		FAILS(cuCheckpointProcessUnlock(pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
		CU(cuCheckpointProcessGetRestoreThreadId(pid, &thread));
		ok(thread > 0 && thread != pid);
		CU(cuCheckpointProcessRestore(pid, i ? &pairs : NULL));
		is(state_of(pid), CU_PROCESS_STATE_LOCKED);
		ok(!answers_within(50));
		CU(cuCheckpointProcessUnlock(pid, NULL));
		is(answer(), 'y');
		is(state_of(pid), CU_PROCESS_STATE_RUNNING);
	}
}

static size_t device_free_of(CUdevice device)
{
	CUcontext context;
	size_t free;

	CU(cuDevicePrimaryCtxRetain(&context, device));
	CU(cuCtxPushCurrent(context));
	free = device_free();
	CU(cuCtxPopCurrent(NULL));
	CU(cuDevicePrimaryCtxRelease(device));
	return free;
}

/* It returns to another device than the one that it left, and is there from then on. */
static void goes_over(pid_t pid, size_t all)
{
	CUcheckpointGpuPair pair[2] = { 0 };
	CUcheckpointRestoreArgs pairs = { .gpuPairs = pair, .gpuPairsCount = 1 };
	CUuuid uuid[2];

	CU(cuDeviceGetUuid(&uuid[0], 0));
	CU(cuDeviceGetUuid(&uuid[1], 1));
	for (int to = 1; to >= 0; to--) {
		CU(cuCheckpointProcessLock(pid, NULL));
		CU(cuCheckpointProcessCheckpoint(pid, NULL));
		pair[0] = (CUcheckpointGpuPair){ .oldUuid = uuid[to], .newUuid = uuid[to] };
		FAILS(cuCheckpointProcessRestore(pid, &pairs), CUDA_ERROR_INVALID_VALUE);
		is(state_of(pid), CU_PROCESS_STATE_CHECKPOINTED);
		pair[0].oldUuid = uuid[!to];
		CU(cuCheckpointProcessRestore(pid, &pairs));
		CU(cuCheckpointProcessUnlock(pid, NULL));
		is(device_free_of((CUdevice)!to), all);
		ok(device_free_of((CUdevice)to) <= all - 2 * MIB);
		order('r');
		is(answer(), 'y');
		order('k');
		is(answer(), 'y');
	}
}

/* What METE_SOFT_CHECKPOINT_FAULTS says: the call answers it, and nothing has happened. */
static void faults(pid_t pid)
{
	char path[] = "/tmp/mete-checkpoint-faults-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	int thread;

	setenv("METE_SOFT_CHECKPOINT_FAULTS", path, 1);
	fputs("Lock 801\nCheckpoint 999\nRestore 304\nUnlock 1\nGetRestoreThreadId 801\n", file);
	fflush(file);
	FAILS(cuCheckpointProcessLock(pid, NULL), CUDA_ERROR_NOT_SUPPORTED);
	FAILS(cuCheckpointProcessCheckpoint(pid, NULL), CUDA_ERROR_UNKNOWN);
	FAILS(cuCheckpointProcessRestore(pid, NULL), CUDA_ERROR_OPERATING_SYSTEM);
	FAILS(cuCheckpointProcessUnlock(pid, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuCheckpointProcessGetRestoreThreadId(pid, &thread), CUDA_ERROR_NOT_SUPPORTED);
	is(state_of(pid), CU_PROCESS_STATE_RUNNING);
	fputs("GetState 3\n", file);
	fclose(file);
	FAILS(cuCheckpointProcessGetState(pid, &(CUprocessState){ 0 }), CUDA_ERROR_NOT_INITIALIZED);
	unsetenv("METE_SOFT_CHECKPOINT_FAULTS");
	remove(path);
	is(state_of(pid), CU_PROCESS_STATE_RUNNING);
}

/* Work that does not end in time: the lock is not had, and the process goes on. */
static void endless(pid_t pid)
{
	CUcheckpointLockArgs lock = { .timeoutMs = 100 };

	order('h');
	is(answer(), 'y');
	FAILS(cuCheckpointProcessLock(pid, &lock), CUDA_ERROR_NOT_READY);
	is(state_of(pid), CU_PROCESS_STATE_RUNNING);
	order('g');
	is(answer(), 'y');
	lock.timeoutMs = 10000;
	CU(cuCheckpointProcessLock(pid, &lock));
	CU(cuCheckpointProcessUnlock(pid, NULL));
	order('r');
	is(answer(), 'y');
}

/* Work that has ended holds up no lock, though nobody has looked. */
static void unwatched(pid_t pid)
{
	CUcheckpointLockArgs lock = { .timeoutMs = 5000 };

	for (int i = 0; i < 5; i++) {
		order('n');
		is(answer(), 'y');
		CU(cuCheckpointProcessLock(pid, &lock));
		CU(cuCheckpointProcessUnlock(pid, NULL));
	}
}

/* Others have taken the room: it stays away, and returns when there is some. */
static void full(pid_t pid)
{
	CUdeviceptr at;

	CU(cuCheckpointProcessLock(pid, NULL));
	CU(cuCheckpointProcessCheckpoint(pid, NULL));
	CU(cuMemAlloc(&at, device_free() - MIB));
	FAILS(cuCheckpointProcessRestore(pid, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	is(state_of(pid), CU_PROCESS_STATE_CHECKPOINTED);
	CU(cuMemFree(at));
	CU(cuCheckpointProcessRestore(pid, NULL));
	CU(cuCheckpointProcessUnlock(pid, NULL));
	order('r');
	is(answer(), 'y');
}

static void shared_and_failed(pid_t pid, size_t all)
{
	order('s');
	is(answer(), 'y');
	CU(cuCheckpointProcessLock(pid, NULL));
	FAILS(cuCheckpointProcessCheckpoint(pid, NULL), CUDA_ERROR_NOT_SUPPORTED);
	is(state_of(pid), CU_PROCESS_STATE_LOCKED);
	CU(cuCheckpointProcessUnlock(pid, NULL));
	order('e');
	child_end(pid);
	FAILS(cuCheckpointProcessLock(pid, NULL), CUDA_ERROR_INVALID_VALUE);
	is(device_free(), all);
}

/* Killed while it is away, or what is in the middle of it. */
static void killed(void)
{
	size_t before = device_free();
	pid_t pid = child_start();

	is(answer(), 'y');
	CU(cuCheckpointProcessLock(pid, NULL));
	CU(cuCheckpointProcessCheckpoint(pid, NULL));
	kill(pid, SIGKILL);
	child_end(pid);
	FAILS(cuCheckpointProcessRestore(pid, NULL), CUDA_ERROR_INVALID_VALUE);
	is(device_free(), before);
}

/* What the process that had its place before has left there does not end its kernels on the other device. */
static void succeeds_another(void)
{
	size_t before = device_free();
	pid_t pid;

	predecessor_run();
	pid = child_start();
	is(answer(), 'y');
	goes_over(pid, before);
	order('e');
	child_end(pid);
}

static void failed(void)
{
	pid_t pid = child_start();

	is(answer(), 'y');
	order('x');
	is(answer(), 'y');
	CU(cuCheckpointProcessLock(pid, NULL));
	ok(cuCheckpointProcessCheckpoint(pid, NULL) != CUDA_SUCCESS);
	is(state_of(pid), CU_PROCESS_STATE_FAILED);
	FAILS(cuCheckpointProcessUnlock(pid, NULL), CUDA_ERROR_ILLEGAL_STATE);
	kill(pid, SIGKILL);
	child_end(pid);
}

int main(int argc, char **argv)
{
	CUcontext context;
	size_t all;
	pid_t pid;

	if (argc > 2)
		predecessor();
	if (argc > 1) {
		orders[0] = ORDERS_FD;
		answers[1] = ANSWERS_FD;
		child();
	}

	soft_begin("2", "64M");
	setenv("METE_SOFT_CONTEXT_MEMORY", "0", 1);
	pid = child_start();
	is(answer(), 'y');
	FAILS(cuCheckpointProcessLock(pid, NULL), CUDA_ERROR_NOT_INITIALIZED);
	CU(cuInit(0));
	CU(cuDevicePrimaryCtxRetain(&context, 0));
	CU(cuCtxSetCurrent(context));
	CU(cuCheckpointProcessLock(pid, NULL));
	CU(cuCheckpointProcessCheckpoint(pid, NULL));
	all = device_free();
	CU(cuCheckpointProcessRestore(pid, NULL));
	CU(cuCheckpointProcessUnlock(pid, NULL));
	bad_input(pid);
	comes_and_goes(pid, all);
	goes_over(pid, all);
	faults(pid);
	endless(pid);
	unwatched(pid);
	full(pid);
	shared_and_failed(pid, all);
	killed();
	succeeds_another();
	failed();
	CU(cuDevicePrimaryCtxRelease(0));
	return soft_end();
}

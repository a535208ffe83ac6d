/*
 * stepper.c: kills a program after exactly N machine instructions of one driver call.
 *
 *   stepper CALL N   CALL: alloc, alloc-more, free, async, trim, create, release, attach
 *
 * The child prepares, stops itself, makes the call and stops itself again; in between it is stepped one instruction at
 * a time. After N of them it is killed. Prints "killed N" or, when the call ended before, "done COUNT"; so N = 0 kills
 * before the call, and a large N counts its instructions. `alloc` is served from credit, `alloc-more` has to ask meted.
 */
#include <cuda.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1ull << 20)

static CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
static CUmemGenericAllocationHandle handle;
static CUmemoryPool pool;
static CUdeviceptr p, q;

static CUresult prepare(const char *call)
{
	CUcontext context;
	CUdevice dev;
	CUresult r;

	if (!strcmp(call, "attach"))
		return CUDA_SUCCESS;
	if ((r = cuInit(0)) || (r = cuDeviceGet(&dev, 0)) || (r = cuDevicePrimaryCtxRetain(&context, dev)) ||
	    (r = cuCtxSetCurrent(context)) || (r = cuDeviceGetDefaultMemPool(&pool, dev)))
		return r;
	/* Something is held already, and every path has been taken once, so that no symbol has to be bound. */
	if ((r = cuMemAlloc(&p, 1 * MIB)) || (r = cuMemFree(p)) || (r = cuMemAlloc(&p, 3 * MIB)) ||
	    (r = cuMemAllocAsync(&q, 1 * MIB, NULL)) || (r = cuMemFreeAsync(q, NULL)) || (r = cuStreamSynchronize(NULL)) ||
	    (r = cuMemPoolTrimTo(pool, 0)) || (r = cuMemCreate(&handle, 2 * MIB, &prop, 0)))
		return r;
	if (strcmp(call, "release"))
		r = cuMemRelease(handle);
	if (!r && !strcmp(call, "trim"))
		if (!(r = cuMemAllocAsync(&q, 1 * MIB, NULL)))
			r = cuMemFreeAsync(q, NULL);
	return r;
}

static CUresult make(const char *call)
{
	if (!strcmp(call, "alloc"))
		return cuMemAlloc(&q, 4096);
	if (!strcmp(call, "alloc-more"))
		return cuMemAlloc(&q, 40 * MIB);
	if (!strcmp(call, "free"))
		return cuMemFree(p);
	if (!strcmp(call, "async"))
		return cuMemAllocAsync(&q, 1 * MIB, NULL);
	if (!strcmp(call, "trim"))
		return cuMemPoolTrimTo(pool, 0);
	if (!strcmp(call, "create"))
		return cuMemCreate(&handle, 2 * MIB, &prop, 0);
	if (!strcmp(call, "release"))
		return cuMemRelease(handle);
	if (!strcmp(call, "attach"))
		return cuInit(0);
	return CUDA_ERROR_INVALID_VALUE;
}

static int child(const char *call)
{
	CUresult r;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		return 3;
	r = prepare(call);
	if (r) {
		fprintf(stderr, "stepper: cannot prepare for %s: error %d\n", call, (int)r);
		return 4;
	}
	raise(SIGSTOP);
	r = make(call);
	raise(SIGSTOP);
	return r ? 5 : 0;
}

int main(int argc, char **argv)
{
	unsigned long long steps = 0, most;
	int status, signal;
	pid_t pid;

	if (argc != 3) {
		fprintf(stderr, "usage: stepper CALL N\n");
		return 2;
	}
	most = strtoull(argv[2], NULL, 10);
	pid = fork();
	if (pid == 0)
		_exit(child(argv[1]));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
		fprintf(stderr, "stepper: the child did not get ready (status %#x)\n", (unsigned int)status);
		return 1;
	}
	/* The end of raise() itself is stepped as well, some dozen instructions. */
	while (steps < most) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid)
			break;
		if (!WIFSTOPPED(status)) {
			fprintf(stderr, "stepper: the child ended with status %#x\n", (unsigned int)status);
			return 1;
		}
		signal = WSTOPSIG(status);
		if (signal == SIGSTOP) {
			printf("done %llu\n", steps);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return 0;
		}
		if (signal != SIGTRAP) {
			fprintf(stderr, "stepper: the child got signal %d\n", signal);
			kill(pid, SIGKILL);
			return 1;
		}
		steps++;
	}
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	printf("killed %llu\n", steps);
	return 0;
}

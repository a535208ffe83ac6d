/*
 * stepper.c: kills a program after exactly N machine instructions of one driver call, or meted while it serves the
 * call.
 *
 *   stepper CALL N       CALL: alloc, alloc-more, free, async, trim, create, release, attach
 *   stepper CALL N PID   PID: of meted; it is stepped and killed, and the call must succeed all the same
 *
 * The child prepares, stops itself, makes the call and stops itself again; in between it is stepped one instruction at
 * a time. After N of them it is killed. Prints "killed N" or, when the call ended before, "done COUNT"; so N = 0 kills
 * before the call, and a large N counts its instructions. `alloc` is served from credit; for `alloc-more`
 * meted has to be asked, and to recall what another process holds unused.
 * `attach` is stepped from system call to system call (N counts their entries and exits): its instructions are a
 * million, nearly all of them the dynamic linker's.
 */
#include <cuda.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
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
	    (r = cuMemAllocAsync(&q, 1 * MIB, NULL)) || (r = cuMemFreeAsync(q, NULL)) ||
	    (r = cuStreamSynchronize(NULL)) || (r = cuMemPoolTrimTo(pool, 0)) ||
	    (r = cuMemCreate(&handle, 2 * MIB, &prop, 0)))
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

/*
 * Another process of the tenant, which has had most of the quota and given it back: the credit is now its own, and
 * whoever asks meted for more makes it recall this. Value: its pid, when it is ready; -1 on failure.
 */
static pid_t rich_start(const char *call)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (strcmp(call, "alloc-more"))
		return 0;
	if (pipe(ready))
		return -1;
	pid = fork();
	if (pid == 0) {
		if (prepare("free") || cuMemAlloc(&q, 72 * MIB) || cuMemFree(q) || write(ready[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (pid > 0 && read(ready[0], &byte, 1) != 1)
		pid = -1;
	close(ready[0]);
	if (pid < 0)
		fprintf(stderr, "stepper: the second process of the tenant did not get ready\n");
	return pid;
}

static void rich_end(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	while (waitpid(pid, &(int){ 0 }, 0) < 0 && errno == EINTR)
		;
}

/* The client of a meted that is stepped: tells that it is ready, waits for the word, makes the call, ends holding it.
 */
static int client(const char *call, int ready, int go)
{
	char byte = 0;
	CUresult r = prepare(call);

	if (r || write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1)
		return 4;
	r = make(call);
	if (r)
		fprintf(stderr, "stepper: %s answers error %d\n", call, (int)r);
	return r ? 5 : 0;
}

/* Steps meted while the client makes its call. Value: the exit status. */
static int step_daemon(const char *call, unsigned long long most, pid_t daemon)
{
	unsigned long long steps = 0;
	int ready[2], go[2], status;
	bool ended = false;
	char byte = 0;
	pid_t pid, rich;

	if (pipe(ready) || pipe(go))
		return 1;
	pid = fork();
	if (pid == 0)
		_exit(client(call, ready[1], go[0]));
	close(ready[1]);
	if (pid < 0 || read(ready[0], &byte, 1) != 1) {
		fprintf(stderr, "stepper: the client did not get ready\n");
		return 1;
	}
	rich = rich_start(call);
	if (rich < 0)
		return 1;
	if (ptrace(PTRACE_SEIZE, daemon, NULL, NULL) || ptrace(PTRACE_INTERRUPT, daemon, NULL, NULL) ||
	    waitpid(daemon, &status, __WALL) != daemon || write(go[1], &byte, 1) != 1) {
		fprintf(stderr, "stepper: meted %d cannot be stepped: %s\n", (int)daemon, strerror(errno));
		kill(pid, SIGKILL);
		rich_end(rich);
		return 77;
	}
	/* In its wait for events meted makes no steps; the client's request wakes it. */
	while (steps < most && !ended) {
		if (ptrace(PTRACE_SINGLESTEP, daemon, NULL, NULL) || waitpid(daemon, &status, __WALL) != daemon ||
		    !WIFSTOPPED(status)) {
			fprintf(stderr, "stepper: meted ended by itself, status %#x\n", (unsigned int)status);
			kill(pid, SIGKILL);
			rich_end(rich);
			return 1;
		}
		steps++;
		if (steps % 64 == 0)
			ended = waitpid(pid, &status, WNOHANG) == pid;
	}
	kill(daemon, SIGKILL);
	while (waitpid(daemon, &(int){ 0 }, __WALL) < 0 && errno == EINTR)
		;
	if (!ended && waitpid(pid, &status, 0) != pid)
		return 1;
	rich_end(rich);
	printf("%s %llu\n", ended ? "done" : "killed", steps);
	if (status)
		fprintf(stderr, "stepper: the client ended with status %#x after meted was killed\n",
			(unsigned int)status);
	return status != 0;
}

int main(int argc, char **argv)
{
	unsigned long long steps = 0, most;
	int status = 0, signal;
	pid_t pid, rich;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: stepper CALL N [PID]\n");
		return 2;
	}
	most = strtoull(argv[2], NULL, 10);
	if (argc == 4)
		return step_daemon(argv[1], most, (pid_t)atoi(argv[3]));
	pid = fork();
	if (pid == 0)
		_exit(child(argv[1]));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
		fprintf(stderr, "stepper: the child did not get ready (status %#x)\n", (unsigned int)status);
		return 1;
	}
	rich = rich_start(argv[1]);
	if (rich < 0)
		return 1;
	/* The end of raise() itself is stepped as well, some dozen instructions. */
	while (steps < most) {
		if (ptrace(strcmp(argv[1], "attach") ? PTRACE_SINGLESTEP : PTRACE_SYSCALL, pid, NULL, NULL) ||
		    waitpid(pid, &status, 0) != pid)
			break;
		if (!WIFSTOPPED(status)) {
			fprintf(stderr, "stepper: the child ended with status %#x\n", (unsigned int)status);
			rich_end(rich);
			return 1;
		}
		signal = WSTOPSIG(status);
		if (signal == SIGSTOP) {
			printf("done %llu\n", steps);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			rich_end(rich);
			return 0;
		}
		if (signal != SIGTRAP) {
			fprintf(stderr, "stepper: the child got signal %d\n", signal);
			kill(pid, SIGKILL);
			rich_end(rich);
			return 1;
		}
		steps++;
	}
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	rich_end(rich);
	printf("killed %llu\n", steps);
	return 0;
}

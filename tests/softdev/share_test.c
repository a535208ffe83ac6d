/* share_test.c: one device, many processes: races for the last bytes, deaths at any instruction, fork and exec. */
#include "softdev/soft.h"

#include "softdev/segment.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define MIB ((size_t)1 << 20)
#define RACERS 8

static void nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static int attach(void)
{
	CUcontext c;

	return cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c);
}

/* What the segment says is used, and what its places and objects add up to. */
static void account(uint64_t *ret_used, uint64_t *ret_sum)
{
	const struct segment *s = segment_peek();

	*ret_used = s ? s->device[0].used_units : ~0ull;
	*ret_sum = 0;
	for (uint32_t i = 0; s && i < s->places; i++)
		*ret_sum += s->process[i].share[0].held_units;
	for (uint32_t i = 0; s && i < SEGMENT_MAX_OBJECTS; i++)
		*ret_sum += s->object[i].id ? s->object[i].units : 0;
	segment_unpeek(s);
}

/* Takes 512 bytes at a time until there is no more; leaves the number taken in *count. */
static void racer(int go, volatile uint64_t *count)
{
	CUdeviceptr a;
	char byte;

	if (attach())
		_exit(1);
	if (read(go, &byte, 1) < 0)
		_exit(1);
	while (!cuMemAlloc(&a, 512))
		++*count;
	pause();
	_exit(0);
}

/* 8 processes race for a megabyte: together they get every unit of it, and not one more. */
static void race(void)
{
	volatile uint64_t *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[RACERS];
	uint64_t all = 0, used, sum;
	int go[2];

	if (pipe(go))
		exit(1);
	setenv("METE_SOFT_MEMORY", "8M", 1);
	for (int i = 0; i < RACERS; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			close(go[1]);
			racer(go[0], count + i);
		}
	}
	nap(100000000);
	close(go[1]);
	close(go[0]);
	for (int i = 0; i < 2000 && all < 8 * MIB / 512; i++) {
		all = 0;
		for (int j = 0; j < RACERS; j++)
			all += count[j];
		nap(5000000);
	}
	nap(50000000);
	account(&used, &sum);
	is(all, 8 * MIB / 512);
	is(used, 8 * MIB / 512);
	is(sum, used);
	for (int i = 0; i < RACERS; i++)
		kill(pid[i], SIGKILL);
	for (int i = 0; i < RACERS; i++)
		waitpid(pid[i], NULL, 0);
	munmap((void *)(uintptr_t)count, 4096);
}

static void loop(void)
{
	CUmemAllocationProp props = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				      .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } };
	CUmemGenericAllocationHandle h;
	CUdeviceptr a, b;

	if (attach())
		_exit(1);
	for (;;) {
		if (!cuMemAlloc(&a, 5000)) {
			if (!cuMemAllocAsync(&b, 3000, NULL))
				cuMemFreeAsync(b, NULL);
			cuMemFree(a);
		}
		if (!cuMemCreate(&h, 2 * MIB, &props, 0))
			cuMemRelease(h);
	}
}

/* Processes die while they allocate: whatever they held comes back, to the byte. */
static void kills(void)
{
	CUdeviceptr a;
	pid_t pid[3] = { 0 };
	int wrong = 0, rounds = getenv("METE_TEST_LONG") ? 1000 : 100;
	size_t all;

	is(attach(), 0);
	all = soft_free();
	CU(cuMemAlloc(&a, 1 * MIB));
	srand(1);
	for (int i = 0; i < rounds; i++) {
		int j = i % 3;

		if (pid[j]) {
			kill(pid[j], SIGKILL);
			waitpid(pid[j], NULL, 0);
		}
		pid[j] = fork();
		if (!pid[j]) {
			execl("/proc/self/exe", "share_test", "loop", NULL);
			_exit(127);
		}
		nap(1000 * (1000 + rand() % 8000));
		wrong += !!(soft_free() % 512) || soft_free() > all - MIB;
	}
	for (int j = 0; j < 3; j++) {
		kill(pid[j], SIGKILL);
		waitpid(pid[j], NULL, 0);
	}
	is(wrong, 0);
	is(soft_free(), all - MIB);
	CU(cuMemFree(a));
	is(soft_free(), all);
}

/* Memory returns with the process, before anybody can wait for it; and with exec, which keeps the process. */
static void returns(void)
{
	size_t all = soft_free();
	pid_t pid;
	int ready[2], status;
	char byte;

	for (int by_exec = 0; by_exec < 2; by_exec++) {
		if (pipe(ready))
			exit(1);
		pid = fork();
		if (!pid) {
			dup2(ready[1], 9);
			execl("/proc/self/exe", "share_test", by_exec ? "hold-exec" : "hold", NULL);
			_exit(127);
		}
		close(ready[1]);
		is(read(ready[0], &byte, 1), 1);
		is(all - soft_free(), 3 * MIB);
		if (by_exec) {
			is(read(ready[0], &byte, 1), 1); /* from the program that it has become */
			is(soft_free(), all);
		}
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		is(soft_free(), all);
		close(ready[0]);
	}
}

static void hold(int by_exec)
{
	CUdeviceptr a;

	if (attach() || cuMemAlloc(&a, 3 * MIB) || write(9, "x", 1) < 0)
		_exit(1);
	if (by_exec) {
		nap(200000000);
		execl("/bin/sh", "sh", "-c", "printf y >&9; exec sleep 100", NULL);
	}
	pause();
	_exit(0);
}

/* A child of a process that has initialised gets nothing, as documented, and changes nothing. */
static void forks(void)
{
	size_t all = soft_free();
	CUdeviceptr a;
	int status;
	pid_t pid;

	CU(cuMemAlloc(&a, MIB));
	pid = fork();
	if (!pid)
		_exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED && cuMemFree(a) == CUDA_ERROR_NOT_INITIALIZED ? 42 : 1);
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	is(soft_free(), all - MIB);
	CU(cuMemFree(a));
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "loop"))
		loop();
	if (argc > 1)
		hold(!strcmp(argv[1], "hold-exec"));
	soft_begin("1", "64M");
	race();
	setenv("METE_SOFT_MEMORY", "64M", 1); /* nobody is left: the segment takes the new configuration */
	kills();
	returns();
	forks();
	return soft_end();
}

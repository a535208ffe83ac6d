/*
 * race_test.c: eight processes of one tenant take and give memory at once.
 *
 * Each adds to a common sum what it was given and subtracts it before it gives it back; so the sum is never above the
 * truth, and it must never be above the quota. Then all eight fill up together, with shrinking sizes: when every one is
 * refused the last unit, the sum must be the quota exactly; credit that one process holds must not be lost to another.
 */
#include "kit.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#define PROCESSES 8
#define PIECES 64
#define CHAOS_SECONDS 2.0

struct arena {
	atomic_ullong sum, most, room;
	atomic_uint violations, errors, refused, given;
	atomic_uint arrived[8];
	atomic_int ended;
};

static struct arena *arena;

struct piece {
	CUdeviceptr p;
	CUmemGenericAllocationHandle handle;
	size_t taken;
	enum { PLAIN, MANAGED, PHYSICAL, STREAM, KINDS } kind;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* All processes meet; the n-th meeting has its own counter. A process that died is noticed by the parent. */
static void meet(int n)
{
	atomic_fetch_add(&arena->arrived[n], 1);
	while (atomic_load(&arena->arrived[n]) < PROCESSES && !atomic_load(&arena->ended))
		usleep(200);
}

static void add(size_t taken)
{
	unsigned long long sum = atomic_fetch_add(&arena->sum, taken) + taken, most = atomic_load(&arena->most);

	if (sum > atomic_load(&arena->room))
		atomic_fetch_add(&arena->violations, 1);
	while (sum > most && !atomic_compare_exchange_weak(&arena->most, &most, sum))
		;
}

static CUresult take(struct piece *t, size_t bytes)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	/* A GPU packs what is smaller than its pages, so that pieces take less than they do alone. */
	if (!kit.soft)
		bytes = kit_taken(bytes);
	switch (t->kind) {
	case PLAIN:
		r = cuMemAlloc(&t->p, bytes);
		break;
	case MANAGED:
		if (kit.worker) /* there is none away from the driver's process */
			r = cuMemAlloc(&t->p, bytes);
		else
			r = cuMemAllocManaged(&t->p, bytes, CU_MEM_ATTACH_GLOBAL);
		break;
	case PHYSICAL:
		bytes = (bytes + VMM_GRANULE - 1) / VMM_GRANULE * VMM_GRANULE;
		r = cuMemCreate(&t->handle, bytes, &prop, 0);
		break;
	case STREAM:
		r = cuMemAllocAsync(&t->p, bytes, NULL);
		break;
	case KINDS:
		break;
	}
	t->taken = r ? 0 : kit_taken(bytes);
	return r;
}

static CUresult give(struct piece *t)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	switch (t->kind) {
	case PLAIN:
	case MANAGED:
		r = cuMemFree(t->p);
		break;
	case PHYSICAL:
		r = cuMemRelease(t->handle);
		break;
	case STREAM:
		r = cuMemFreeAsync(t->p, NULL);
		break;
	case KINDS:
		break;
	}
	t->taken = 0;
	return r;
}

/* Random takes and gives; `room` is the tenant's. */
static void chaos(unsigned int random, size_t room)
{
	static struct piece piece[PIECES];
	double end = now() + CHAOS_SECONDS;

	while (now() < end) {
		struct piece *t = &piece[(random >> 8) % PIECES];
		CUresult r;

		random = random * 1664525u + 1013904223u;
		if (t->taken) {
			atomic_fetch_sub(&arena->sum, t->taken);
			if (give(t))
				atomic_fetch_add(&arena->errors, 1);
			continue;
		}
		t->kind = random >> 28 < 10 ? PLAIN : (random >> 20) % KINDS;
		if (!kit.soft && t->kind == STREAM)
			t->kind = PLAIN; /* a real pool reserves more than it was asked for */
		r = take(t, 1 + (random >> 4) % (room / 16));
		if (r == CUDA_SUCCESS) {
			add(t->taken);
			atomic_fetch_add(&arena->given, 1);
		} else if (r == CUDA_ERROR_OUT_OF_MEMORY) {
			atomic_fetch_add(&arena->refused, 1);
		} else {
			printf("# kind %d: %s\n", (int)t->kind, kit_error(r));
			atomic_fetch_add(&arena->errors, 1);
		}
	}
	for (int i = 0; i < PIECES; i++) {
		if (!piece[i].taken)
			continue;
		atomic_fetch_sub(&arena->sum, piece[i].taken);
		if (give(&piece[i]))
			atomic_fetch_add(&arena->errors, 1);
	}
}

static void pool_empty(void)
{
	CUmemoryPool pool;

	if (cuStreamSynchronize(NULL) || cuDeviceGetDefaultMemPool(&pool, kit.dev) || cuMemPoolTrimTo(pool, 0))
		atomic_fetch_add(&arena->errors, 1);
}

struct chain {
	CUdeviceptr p;
	struct chain *next;
};

/* Takes until nothing is left; value: what was taken, to be freed by the caller. */
static struct chain *fill(size_t room)
{
	struct chain *first = NULL, *c;
	size_t bytes = room / 8 / kit.granule * kit.granule;
	CUdeviceptr p;
	CUresult r;

	while (bytes) {
		r = cuMemAlloc(&p, bytes);
		if (r == CUDA_ERROR_OUT_OF_MEMORY) {
			bytes = bytes / 2 / kit.granule * kit.granule;
			continue;
		}
		c = r ? NULL : malloc(sizeof *c);
		if (!c) {
			atomic_fetch_add(&arena->errors, 1);
			return first;
		}
		*c = (struct chain){ p, first };
		first = c;
		add(bytes);
	}
	return first;
}

static int process(unsigned int number)
{
	size_t free_bytes, total;
	CUcontext context;
	struct chain *c;
	CUdeviceptr p;

	if (cuInit(0) || cuDeviceGet(&kit.dev, 0) || cuDevicePrimaryCtxRetain(&context, kit.dev) ||
	    cuCtxSetCurrent(context))
		return 1;
	kit.soft = kit_is_soft(kit.dev);
	kit.granule = kit.soft ? 512 : 2 * MIB;
	kit.worker = kit_over_worker();
	meet(0);
	if (cuMemGetInfo(&free_bytes, &total))
		return 1;
	atomic_store(&arena->room, free_bytes / kit.granule * kit.granule);
	meet(1);
	chaos(number * 97 + 13, free_bytes);
	pool_empty();
	meet(2);
	if (cuMemGetInfo(&free_bytes, &total) || free_bytes / kit.granule * kit.granule != atomic_load(&arena->room)) {
		printf("# after the chaos %zu bytes are free, %llu were before\n", free_bytes,
		       atomic_load(&arena->room));
		atomic_fetch_add(&arena->errors, 1);
	}
	meet(3);
	c = fill(free_bytes);
	meet(4);
	/* Everybody was refused the last unit: now nobody gets one more byte, and nobody sees any free. */
	if (kit.soft &&
	    (cuMemAlloc(&p, 1) != CUDA_ERROR_OUT_OF_MEMORY || cuMemGetInfo(&free_bytes, &total) || free_bytes))
		atomic_fetch_add(&arena->errors, 1);
	meet(5);
	while (c) {
		struct chain *next = c->next;

		if (cuMemFree(c->p))
			atomic_fetch_add(&arena->errors, 1);
		free(c);
		c = next;
	}
	/* Over a worker a free has happened when the next call that waits has returned. */
	if (cuCtxSynchronize())
		atomic_fetch_add(&arena->errors, 1);
	meet(6);
	if (cuMemGetInfo(&free_bytes, &total) || free_bytes / kit.granule * kit.granule != atomic_load(&arena->room))
		atomic_fetch_add(&arena->errors, 1);
	meet(7);
	return 0;
}

int main(void)
{
	unsigned long long sum_when_full = 0;
	pid_t pid[PROCESSES];
	int bad = 0, left = PROCESSES, status;

	tap_begin();
	arena = mmap(NULL, sizeof *arena, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED)
		return 1;
	for (unsigned int i = 0; i < PROCESSES; i++) {
		fflush(stdout);
		pid[i] = fork();
		if (pid[i] == 0) {
			status = process(i);
			fflush(stdout);
			_exit(status);
		}
	}
	while (left) {
		pid_t dead = waitpid(-1, &status, WNOHANG);

		if (dead > 0) {
			left--;
			if (status) {
				printf("# process %d ended with status %#x\n", (int)dead, (unsigned int)status);
				bad++;
				atomic_store(&arena->ended, 1);
			}
		}
		/* Nobody frees between the meetings 4 and 5. */
		if (atomic_load(&arena->arrived[4]) == PROCESSES && !sum_when_full)
			sum_when_full = atomic_load(&arena->sum);
		usleep(500);
	}
	is(bad, 0);
	is(arena->errors, 0);
	is(arena->violations, 0);
	tap_ok(arena->given > 100, "%u pieces were given, %u refused; most held at once %llu of %llu bytes",
	       arena->given, arena->refused, (unsigned long long)arena->most, (unsigned long long)arena->room);
	is(sum_when_full, arena->room);
	is(arena->most, arena->room);
	return tap_end();
}

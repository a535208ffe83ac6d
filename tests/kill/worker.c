/*
 * worker.c: a program that takes and gives device memory without end, to be killed at any moment.
 *
 *   worker STATE SEED PIECE   STATE: a file that is shared with who kills; PIECE: the largest size of one allocation
 *
 * When the other side sets `pause`, the worker ends the call that it is in, writes what it holds by its own book, and
 * waits.
 */
#include <cuda.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECES 24
#define VMM_GRANULE (2ull << 20)

struct state {
	atomic_uint pause;  /* written by the killer */
	atomic_uint paused; /* by the worker: equal to `pause` when it stands still */
	atomic_ullong held_bytes;
	atomic_ullong calls;
	atomic_uint error; /* a CUresult that is neither success nor out of memory */
};

enum kind { PLAIN, MANAGED, STREAM, PHYSICAL, PITCHED, KINDS };

struct piece {
	enum kind kind;
	CUdeviceptr p;
	CUmemGenericAllocationHandle handle;
	unsigned long long taken;
};

static struct state *state;
static struct piece piece[PIECES];

static unsigned long long units(unsigned long long bytes)
{
	return (bytes + 511) / 512 * 512;
}

static CUresult take(struct piece *t, unsigned long long bytes)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
	size_t pitch = 0;
	CUresult r = CUDA_SUCCESS;

	switch (t->kind) {
	case PLAIN:
		r = cuMemAlloc(&t->p, bytes);
		break;
	case MANAGED:
		r = cuMemAllocManaged(&t->p, bytes, CU_MEM_ATTACH_GLOBAL);
		break;
	case STREAM:
		r = cuMemAllocAsync(&t->p, bytes, NULL);
		break;
	case PHYSICAL:
		bytes = (bytes + VMM_GRANULE - 1) / VMM_GRANULE * VMM_GRANULE;
		r = cuMemCreate(&t->handle, bytes, &prop, 0);
		break;
	case PITCHED:
		r = cuMemAllocPitch(&t->p, &pitch, 700, bytes / 1024 + 1, 4);
		bytes = pitch * (bytes / 1024 + 1);
		break;
	case KINDS:
		break;
	}
	t->taken = r ? 0 : units(bytes);
	return r;
}

static CUresult give(struct piece *t)
{
	CUresult r;

	if (t->kind == STREAM)
		r = cuMemFreeAsync(t->p, NULL);
	else if (t->kind == PHYSICAL)
		r = cuMemRelease(t->handle);
	else
		r = cuMemFree(t->p);
	t->taken = 0;
	return r;
}

/* What this process holds: its pieces, and for those of the pool what the pool has reserved. */
static unsigned long long book(CUmemoryPool pool)
{
	cuuint64_t reserved = 0;
	unsigned long long sum = 0;

	if (cuStreamSynchronize(NULL) || cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved))
		atomic_store(&state->error, CUDA_ERROR_UNKNOWN);
	for (int i = 0; i < PIECES; i++)
		if (piece[i].kind != STREAM)
			sum += piece[i].taken;
	return sum + reserved;
}

static void note(CUresult r)
{
	if (r && r != CUDA_ERROR_OUT_OF_MEMORY)
		atomic_store(&state->error, r);
}

int main(int argc, char **argv)
{
	unsigned int random, asked;
	unsigned long long most;
	CUmemoryPool pool;
	CUcontext context;
	CUdevice dev;
	CUresult r;
	int fd;

	if (argc != 4)
		return 2;
	random = (unsigned int)strtoul(argv[2], NULL, 10);
	most = strtoull(argv[3], NULL, 10);
	fd = open(argv[1], O_RDWR);
	state = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (state == MAP_FAILED || !most)
		return 2;
	close(fd);
	/* meted may just have been killed; the first call then says so, and a later one finds the next meted. */
	for (int i = 0; (r = cuInit(0)) && i < 100; i++)
		usleep(50000);
	if (r || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&context, dev) || cuCtxSetCurrent(context) ||
	    cuDeviceGetDefaultMemPool(&pool, dev)) {
		atomic_store(&state->error, CUDA_ERROR_NOT_INITIALIZED);
		return 1;
	}
	for (;;) {
		struct piece *t = &piece[(random >> 8) % PIECES];

		random = random * 1664525u + 1013904223u;
		if (t->taken) {
			note(give(t));
		} else {
			t->kind = (random >> 10) % KINDS;
			note(take(t, 1 + (random >> 5) % most));
		}
		if (random % 64 == 0)
			note(cuMemPoolTrimTo(pool, 0));
		atomic_fetch_add(&state->calls, 1);
		asked = atomic_load(&state->pause);
		if (asked == atomic_load(&state->paused))
			continue;
		atomic_store(&state->held_bytes, book(pool));
		atomic_store(&state->paused, asked);
		/* Odd: stand still until it is even again. */
		while (asked % 2 && atomic_load(&state->pause) == asked)
			usleep(500);
	}
}

/*
 * loader.c: a program that launches kernels and takes and gives memory without end, for storms over meted; works behind
 * a wall as well.
 *
 *   loader STATE SEED PIECE   as worker.c; STATE has also the longest time that a launch with its wait has taken
 */
#include <cuda.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PIECES 8

static const char image[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
			    ".visible .entry turn(.param .u32 n)\n{\n"
			    " .reg .u32 %r<3>;\n .reg .pred %p<2>;\n"
			    " ld.param.u32 %r1, [n];\n mov.u32 %r2, 0;\n"
			    "again:\n add.u32 %r2, %r2, 1;\n setp.lt.u32 %p1, %r2, %r1;\n @%p1 bra again;\n ret;\n}\n";

struct state {
	atomic_uint pause, paused;
	atomic_ullong held_bytes, calls;
	atomic_uint error, launches;
	atomic_ullong longest_ns; /* since it was last set to 0 */
};

static struct state *state;
static CUdeviceptr piece[PIECES];
static unsigned long long taken[PIECES];

static void note(CUresult r)
{
	if (r && r != CUDA_ERROR_OUT_OF_MEMORY)
		atomic_store(&state->error, r);
}

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static void launch(CUfunction f, unsigned int n)
{
	unsigned long long before = now_ns(), took;
	void *params[] = { &n };

	note(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	note(cuCtxSynchronize());
	took = now_ns() - before;
	if (took > atomic_load(&state->longest_ns))
		atomic_store(&state->longest_ns, took);
	atomic_fetch_add(&state->launches, 1);
}

static void exchange(unsigned int i, unsigned long long bytes)
{
	CUresult r;

	if (taken[i]) {
		note(cuMemFree(piece[i]));
		taken[i] = 0;
		return;
	}
	r = cuMemAlloc(&piece[i], bytes);
	note(r);
	if (!r)
		taken[i] = (bytes + 511) / 512 * 512;
}

static void stand_still(unsigned int asked)
{
	unsigned long long sum = 0;

	for (int i = 0; i < PIECES; i++)
		sum += taken[i];
	atomic_store(&state->held_bytes, sum);
	atomic_store(&state->paused, asked);
	while (asked % 2 && atomic_load(&state->pause) == asked)
		usleep(500);
}

static int begin(CUfunction *ret)
{
	CUcontext context;
	CUmodule module;
	CUdevice dev;
	CUresult r;

	for (int i = 0; (r = cuInit(0)) && i < 100; i++)
		usleep(50000);
	return r || cuDeviceGet(&dev, 0) || cuDevicePrimaryCtxRetain(&context, dev) || cuCtxSetCurrent(context) ||
	       cuModuleLoadData(&module, image) || cuModuleGetFunction(ret, module, "turn");
}

int main(int argc, char **argv)
{
	unsigned int random, asked;
	unsigned long long most;
	CUfunction f;
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
	if (begin(&f)) {
		atomic_store(&state->error, CUDA_ERROR_NOT_INITIALIZED);
		return 1;
	}
	for (;;) {
		random = random * 1664525u + 1013904223u;
		launch(f, 200 + (random >> 20) % 2000);
		exchange((random >> 8) % PIECES, 1 + (random >> 5) % most);
		atomic_fetch_add(&state->calls, 1);
		asked = atomic_load(&state->pause);
		if (asked != atomic_load(&state->paused))
			stand_still(asked);
	}
}

/*
 * nccl_ranks.c: one rank of a small training by gradients, for nccl_test.py: RANK RANKS ID_FILE STEPS
 * [die|orphan|differ STEP|survive RANK]; `orphan` leaves a process behind that was made by fork(); `differ` sums fewer
 * numbers than the others; `survive` goes on without a rank once the communicator has an error: it prints the ranks
 * that are left, and their sum of 1 << rank.
 *
 * A line through points: each rank has every RANKS-th of the points, and the gradients are summed by NCCL. RANKS 0: one
 * process does it all, and sums the gradients of two ranks itself. Prints the bits of the parameters; or "error N" with
 * the communicator's error, and how long it took since the last step.
 */
#include "nccl_id.h"

#include <cuda.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PARAMETERS 512
#define POINTS 64

static struct nccl_table t;
static float parameters[PARAMETERS];

static double now(void)
{
	struct timespec s;

	clock_gettime(CLOCK_MONOTONIC, &s);
	return (double)s.tv_sec + (double)s.tv_nsec / 1e9;
}

static float number_of(uint32_t i)
{
	i = (i ^ 61) ^ (i >> 16);
	i *= 9;
	i = (i ^ i >> 4) * 0x27d4eb2d;
	return (float)(i >> 8) / 8388608.0f - 1;
}

static void gradients(int rank, float *ret)
{
	memset(ret, 0, PARAMETERS * sizeof(*ret));
	for (uint32_t p = (uint32_t)rank; p < POINTS; p += 2) {
		float error = -number_of(1000000 + p);

		for (uint32_t i = 0; i < PARAMETERS; i++)
			error += parameters[i] * number_of(p * PARAMETERS + i);
		for (uint32_t i = 0; i < PARAMETERS; i++)
			ret[i] += error * number_of(p * PARAMETERS + i);
	}
}

static void step(const float *sum)
{
	for (int i = 0; i < PARAMETERS; i++)
		parameters[i] -= 0.002f * sum[i];
}

static void show(void)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	const uint8_t *bytes = (const uint8_t *)parameters;

	for (size_t i = 0; i < sizeof(parameters); i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	printf("parameters %016llx\n", (unsigned long long)hash);
}

static int alone(int steps)
{
	static float g[2][PARAMETERS];

	for (int s = 0; s < steps; s++) {
		gradients(0, g[0]);
		gradients(1, g[1]);
		for (int i = 0; i < PARAMETERS; i++)
			g[0][i] += g[1][i];
		step(g[0]);
	}
	show();
	return 0;
}

static int failed(ncclComm_t comm, ncclResult_t r, double since)
{
	printf("error %d %.1f %s\n", (int)r, now() - since, t.ncclGetLastError(comm));
	if (comm)
		t.ncclCommAbort(comm);
	return 1;
}

/* A communicator without the rank that is gone, and a sum over it. */
static int survive(ncclComm_t comm, int gone, int rank, CUdeviceptr at, CUstream stream)
{
	float mine = (float)(1 << rank), sum = 0;
	ncclComm_t left = NULL;
	int count = 0;
	double begin = now();
	ncclResult_t r = t.ncclCommShrink(comm, &gone, 1, &left, NULL, 1);

	if (r)
		return failed(comm, r, begin);
	if (cuMemcpyHtoDAsync(at, &mine, sizeof(mine), stream))
		return 2;
	r = t.ncclAllReduce((void *)(uintptr_t)at, (void *)(uintptr_t)at, 1, ncclFloat32, ncclSum, left, stream);
	if (r || cuMemcpyDtoHAsync(&sum, at, sizeof(sum), stream) || cuStreamSynchronize(stream) ||
	    t.ncclCommCount(left, &count))
		return 2;
	printf("left %d sum %d\n", count, (int)sum);
	t.ncclCommAbort(comm);
	return t.ncclCommDestroy(left) ? 2 : 0;
}

int main(int argc, char **argv)
{
	static float g[PARAMETERS];
	int rank = atoi(argv[1]), ranks = atoi(argv[2]), steps = atoi(argv[4]);
	bool survives = argc > 6 && !strcmp(argv[5], "survive");
	bool differs = argc > 6 && !strcmp(argv[5], "differ"), forks = argc > 6 && !strcmp(argv[5], "orphan");
	int number = argc > 6 ? atoi(argv[6]) : -1, dies = survives || differs ? -1 : number;
	ncclResult_t r, state = ncclSuccess;
	ncclComm_t comm = NULL;
	ncclUniqueId id;
	CUcontext context;
	CUstream stream;
	CUdeviceptr at;
	double begin;

	if (!ranks)
		return alone(steps);
	for (int i = 0; i < NCCL_CALL_COUNT; i++)
		((void **)&t)[i] = dlsym(dlopen("libnccl.so.2", RTLD_NOW), nccl_call_name[i]);
	if (!t.ncclGetVersion || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
	    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) || cuMemAlloc(&at, sizeof(g)))
		return 2;
	nccl_id_get(&t, rank, argv[3], &id);
	begin = now();
	r = t.ncclCommInitRank(&comm, ranks, id, rank);
	if (r)
		return failed(NULL, r, begin);
	for (int s = 0; s < steps; s++) {
		if (s == dies && forks && !fork()) {
			for (int fd = 0; fd < 3; fd++)
				close(fd);
			sleep(30);
			_exit(0);
		}
		if (s == dies)
			kill(getpid(), SIGKILL);
		gradients(rank, g);
		begin = now();
		if (cuMemcpyHtoDAsync(at, g, sizeof(g), stream))
			return 2;
		r = t.ncclAllReduce((void *)(uintptr_t)at, (void *)(uintptr_t)at, PARAMETERS - (differs && s == number),
				    ncclFloat32, ncclSum, comm, stream);
		if (r)
			return failed(comm, r, begin);
		if (cuMemcpyDtoHAsync(g, at, sizeof(g), stream) || cuStreamSynchronize(stream) ||
		    t.ncclCommGetAsyncError(comm, &state))
			return 2;
		if (state)
			return survives ? survive(comm, number, rank, at, stream) : failed(comm, state, begin);
		step(g);
	}
	show();
	return t.ncclCommFinalize(comm) || t.ncclCommDestroy(comm) ? 2 : 0;
}

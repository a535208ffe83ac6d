/*
 * nccl_death.c: one rank of a communicator that loses a rank, for nccl_death_test.py: RANK RANKS ID_FILE COLLECTIVE
 * before|middle|after VICTIM ROOT
 *
 * All ranks call the collective once and check what it gave. Then VICTIM kills itself before it calls the collective
 * again, while it is under way, or after its own part is over; it prints "dies TIME". The others print "error N TIME
 * same|next right|none MEMORY FREE": the communicator's error, when they had it, whether it came with this collective
 * or with the next one, whether the collective had a right result, the bytes that are still taken after
 * ncclCommAbort(), and those that were free on the device before.
 */
#include "nccl_id.h"

#include <cuda.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST (3u << 20) /* elements of a buffer: more than one piece of an exchange */
#define PATIENCE_S 15
#define UNDER_WAY 6 /* collectives that are queued when the victim dies in the middle */

struct rank {
	struct nccl_table t;
	ncclComm_t comm;
	CUstream stream;
	CUdeviceptr from, to;
	int rank, ranks, root;
};

struct collective {
	const char *name;
	ncclResult_t (*call)(struct rank *r, void *from, void *to);
	float (*expected)(const struct rank *r, uint32_t i);
	uint32_t (*count)(const struct rank *r); /* elements that it gives this rank */
};

static float *host;

static double now(void)
{
	struct timespec s;

	clock_gettime(CLOCK_MONOTONIC, &s);
	return (double)s.tv_sec + (double)s.tv_nsec / 1e9;
}

static float element(int rank, uint32_t i)
{
	return (float)((uint32_t)(rank + 1) * (i % 1000));
}

static uint32_t share(const struct rank *r)
{
	return MOST / (uint32_t)r->ranks;
}

/* ---- what each collective gives ---- */

static uint32_t all_of(const struct rank *r)
{
	(void)r;
	return MOST;
}

static uint32_t all_of_root(const struct rank *r)
{
	return r->rank == r->root ? MOST : 0;
}

static float sum(const struct rank *r, uint32_t i)
{
	return (float)((uint32_t)(r->ranks * (r->ranks + 1) / 2) * (i % 1000));
}

static float part_of_sum(const struct rank *r, uint32_t i)
{
	return sum(r, (uint32_t)r->rank * share(r) + i);
}

static float of_root(const struct rank *r, uint32_t i)
{
	return element(r->root, i);
}

static float part_of_root(const struct rank *r, uint32_t i)
{
	return element(r->root, (uint32_t)r->rank * share(r) + i);
}

static float of_each(const struct rank *r, uint32_t i)
{
	return element((int)(i / share(r)), i % share(r));
}

static float part_of_each(const struct rank *r, uint32_t i)
{
	return element((int)(i / share(r)), (uint32_t)r->rank * share(r) + i % share(r));
}

static float of_neighbour(const struct rank *r, uint32_t i)
{
	return element((r->rank + r->ranks - 1) % r->ranks, i);
}

/* ---- the collectives ---- */

static ncclResult_t all_reduce(struct rank *r, void *from, void *to)
{
	return r->t.ncclAllReduce(from, to, MOST, ncclFloat32, ncclSum, r->comm, r->stream);
}

static ncclResult_t broadcast(struct rank *r, void *from, void *to)
{
	return r->t.ncclBroadcast(from, to, MOST, ncclFloat32, r->root, r->comm, r->stream);
}

/* In place: the root's numbers are brought to where all have them. */
static ncclResult_t bcast(struct rank *r, void *from, void *to)
{
	if (r->rank == r->root && cuMemcpyDtoDAsync((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from,
						    MOST * sizeof(float), r->stream))
		return ncclSystemError;
	return r->t.ncclBcast(to, MOST, ncclFloat32, r->root, r->comm, r->stream);
}

static ncclResult_t reduce(struct rank *r, void *from, void *to)
{
	return r->t.ncclReduce(from, to, MOST, ncclFloat32, ncclSum, r->root, r->comm, r->stream);
}

static ncclResult_t all_gather(struct rank *r, void *from, void *to)
{
	return r->t.ncclAllGather(from, to, share(r), ncclFloat32, r->comm, r->stream);
}

static ncclResult_t reduce_scatter(struct rank *r, void *from, void *to)
{
	return r->t.ncclReduceScatter(from, to, share(r), ncclFloat32, ncclSum, r->comm, r->stream);
}

static ncclResult_t all_to_all(struct rank *r, void *from, void *to)
{
	return r->t.ncclAlltoAll(from, to, share(r), ncclFloat32, r->comm, r->stream);
}

static ncclResult_t gather(struct rank *r, void *from, void *to)
{
	return r->t.ncclGather(from, to, share(r), ncclFloat32, r->root, r->comm, r->stream);
}

static ncclResult_t scatter(struct rank *r, void *from, void *to)
{
	return r->t.ncclScatter(from, to, share(r), ncclFloat32, r->root, r->comm, r->stream);
}

/* Around: each rank sends to the next one. */
static ncclResult_t send_receive(struct rank *r, void *from, void *to)
{
	ncclResult_t s = r->t.ncclGroupStart(), e;

	s = s ? s : r->t.ncclSend(from, MOST, ncclFloat32, (r->rank + 1) % r->ranks, r->comm, r->stream);
	s = s ? s : r->t.ncclRecv(to, MOST, ncclFloat32, (r->rank + r->ranks - 1) % r->ranks, r->comm, r->stream);
	e = r->t.ncclGroupEnd();
	return s ? s : e;
}

static const struct collective collectives[] = {
	{ "AllReduce", all_reduce, sum, all_of },
	{ "Broadcast", broadcast, of_root, all_of },
	{ "Bcast", bcast, of_root, all_of },
	{ "Reduce", reduce, sum, all_of_root },
	{ "AllGather", all_gather, of_each, all_of },
	{ "ReduceScatter", reduce_scatter, part_of_sum, share },
	{ "AlltoAll", all_to_all, part_of_each, all_of },
	{ "Gather", gather, of_each, all_of_root },
	{ "Scatter", scatter, part_of_root, share },
	{ "SendRecv", send_receive, of_neighbour, all_of },
};

static const struct collective *collective_find(const char *name)
{
	for (size_t i = 0; i < sizeof(collectives) / sizeof(*collectives); i++)
		if (!strcmp(collectives[i].name, name))
			return &collectives[i];
	return NULL;
}

static ncclResult_t call(struct rank *r, const struct collective *c)
{
	return c->call(r, (void *)(uintptr_t)r->from, (void *)(uintptr_t)r->to);
}

static bool is_right(struct rank *r, const struct collective *c)
{
	uint32_t count = c->count(r);

	if (!count)
		return true;
	if (cuMemcpyDtoH(host, r->to, count * sizeof(float)))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (host[i] != c->expected(r, i))
			return false;
	return true;
}

/* ---- a rank ---- */

static _Noreturn void die(void)
{
	printf("dies %.3f\n", now());
	fflush(stdout);
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

static void die_in_the_middle(struct rank *r, const struct collective *c)
{
	double begin = now(), took;

	if (call(r, c) || cuStreamSynchronize(r->stream))
		exit(4);
	took = now() - begin;
	for (int i = 1; i < UNDER_WAY; i++)
		if (call(r, c))
			exit(4);
	usleep((useconds_t)(took * 1e6 * 1.5));
	printf("%s\n", cuStreamQuery(r->stream) == CUDA_ERROR_NOT_READY ? "busy" : "idle");
	die();
}

/* Until the communicator has an error, or nobody should wait any longer. */
static ncclResult_t error_wait(struct rank *r)
{
	double end = now() + PATIENCE_S;
	ncclResult_t state = ncclSuccess;

	while (!r->t.ncclCommGetAsyncError(r->comm, &state) && !state && now() < end)
		usleep(1000);
	return state;
}

static int outlive(struct rank *r, const struct collective *c, int times, size_t free_bytes)
{
	ncclResult_t e = ncclSuccess, state = ncclSuccess;
	bool same, right;
	size_t left, total;
	double at;

	for (int i = 0; !e && i < times; i++)
		e = call(r, c);
	if (cuStreamSynchronize(r->stream) || r->t.ncclCommGetAsyncError(r->comm, &state))
		return 5;
	right = !e && !state;
	if (right && !is_right(r, c)) {
		printf("wrong numbers without an error\n");
		return 6;
	}
	same = e || state || (state = error_wait(r)) != ncclSuccess;
	if (!same) {
		e = call(r, collective_find("AllReduce"));
		if (cuStreamSynchronize(r->stream))
			return 5;
		state = error_wait(r);
	}
	at = now();
	e = state ? state : e;
	if (r->t.ncclCommAbort(r->comm) || cuMemGetInfo(&left, &total))
		return 7;
	printf("error %d %.3f %s %s %lld %zu\n", (int)e, at, same ? "same" : "next", right ? "right" : "none",
	       (long long)free_bytes - (long long)left, free_bytes);
	return 0;
}

int main(int argc, char **argv)
{
	static struct rank r;
	const struct collective *c = argc > 7 ? collective_find(argv[4]) : NULL;
	size_t free_bytes, total;
	bool middle, after;
	ncclUniqueId id;
	CUcontext context;

	if (!c)
		return 2;
	r.rank = atoi(argv[1]), r.ranks = atoi(argv[2]), r.root = atoi(argv[7]);
	middle = !strcmp(argv[5], "middle"), after = !strcmp(argv[5], "after");
	host = malloc(MOST * sizeof(float));
	for (int i = 0; i < NCCL_CALL_COUNT; i++)
		((void **)&r.t)[i] = dlsym(dlopen("libnccl.so.2", RTLD_NOW), nccl_call_name[i]);
	if (!host || !r.t.ncclGetVersion || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) ||
	    cuCtxSetCurrent(context) || cuStreamCreate(&r.stream, CU_STREAM_NON_BLOCKING) ||
	    cuMemAlloc(&r.from, MOST * sizeof(float)) || cuMemAlloc(&r.to, MOST * sizeof(float)) ||
	    cuMemGetInfo(&free_bytes, &total))
		return 2;
	for (uint32_t i = 0; i < MOST; i++)
		host[i] = element(r.rank, i);
	if (cuMemcpyHtoD(r.from, host, MOST * sizeof(float)))
		return 2;
	nccl_id_get(&r.t, r.rank, argv[3], &id);
	if (r.t.ncclCommInitRank(&r.comm, r.ranks, id, r.rank) || call(&r, c) || cuStreamSynchronize(r.stream) ||
	    !is_right(&r, c) || cuMemsetD8Async(r.to, 0xff, MOST * sizeof(float), r.stream))
		return 3;
	if (r.rank != atoi(argv[6]))
		return outlive(&r, c, middle ? UNDER_WAY : 1, free_bytes);
	if (middle)
		die_in_the_middle(&r, c);
	if (after && (call(&r, c) || cuStreamSynchronize(r.stream) || !is_right(&r, c)))
		return 4;
	die();
}

/*
 * nccl_waits_test.c: what NCCL's calls wait for behind a wall and over the network: two devices of one process
 * exchange, by calls alone, in groups, of each kind; see waits.h.
 */
#include "waits.h"

#include "nccl_table.h"

#include <dlfcn.h>
#include <string.h>

#define CALLS 10
#define COUNT 1000
#define GOOD(call) is(call, ncclSuccess)

ncclResult_t ncclGetVersion(int *); /* so that the library is linked */

static struct nccl_table t;
static struct rank {
	CUcontext context;
	CUstream stream;
	CUdeviceptr from, to;
} ranks[2];
static ncclComm_t comms[2];

/* All that was enqueued has ended: one wait for each device. */
static void settle(void)
{
	for (int r = 0; r < 2; r++) {
		CU(cuCtxSetCurrent(ranks[r].context));
		CU(cuStreamSynchronize(ranks[r].stream));
	}
}

static void all_reduce(int r)
{
	GOOD(t.ncclAllReduce(at(ranks[r].from), at(ranks[r].to), COUNT, ncclFloat32, ncclSum, comms[r],
			     (cudaStream_t)ranks[r].stream));
}

static void reduce_scatter(int r)
{
	GOOD(t.ncclReduceScatter(at(ranks[r].from), at(ranks[r].to), COUNT / 2, ncclFloat32, ncclSum, comms[r],
				 (cudaStream_t)ranks[r].stream));
}

static void all_gather(int r)
{
	GOOD(t.ncclAllGather(at(ranks[r].from), at(ranks[r].to), COUNT / 2, ncclFloat32, comms[r],
			     (cudaStream_t)ranks[r].stream));
}

static void broadcast(int r)
{
	GOOD(t.ncclBroadcast(at(ranks[r].from), at(ranks[r].to), COUNT, ncclFloat32, 1, comms[r],
			     (cudaStream_t)ranks[r].stream));
}

static void swap(int r)
{
	GOOD(t.ncclSend(at(ranks[r].from), COUNT, ncclFloat32, 1 - r, comms[r], (cudaStream_t)ranks[r].stream));
	GOOD(t.ncclRecv(at(ranks[r].to), COUNT, ncclFloat32, 1 - r, comms[r], (cudaStream_t)ranks[r].stream));
}

static const struct kind {
	const char *name;
	void (*call)(int r);
	float first[2], last[2]; /* that each rank has in the end, where rank r sends r + 1 */
} kinds[] = {
	{ "AllReduce", all_reduce, { 3, 3 }, { 3, 3 } }, { "ReduceScatter", reduce_scatter, { 3, 3 }, { 0, 0 } },
	{ "AllGather", all_gather, { 1, 1 }, { 2, 2 } }, { "Broadcast", broadcast, { 2, 2 }, { 2, 2 } },
	{ "Send and Recv", swap, { 2, 1 }, { 2, 1 } },
};

static void numbers_write(void)
{
	static float numbers[COUNT];

	for (int r = 0; r < 2; r++) {
		for (int i = 0; i < COUNT; i++)
			numbers[i] = (float)(r + 1);
		CU(cuCtxSetCurrent(ranks[r].context));
		CU(cuMemcpyHtoD(ranks[r].from, numbers, sizeof(numbers)));
		CU(cuMemsetD8(ranks[r].to, 0, sizeof(numbers)));
		CU(cuCtxSynchronize());
	}
}

static void numbers_check(const struct kind *k)
{
	static float numbers[COUNT];

	for (int r = 0; r < 2; r++) {
		CU(cuCtxSetCurrent(ranks[r].context));
		CU(cuMemcpyDtoH(numbers, ranks[r].to, sizeof(numbers)));
		tap_ok(numbers[0] == k->first[r] && numbers[COUNT - 1] == k->last[r], "%s: rank %d has %g .. %g",
		       k->name, r, (double)numbers[0], (double)numbers[COUNT - 1]);
	}
}

static void exchange(const struct kind *k)
{
	uint64_t before;

	numbers_write();
	before = waits();
	waits_of(false);
	for (int i = 0; i < CALLS; i++) {
		GOOD(t.ncclGroupStart());
		for (int r = 0; r < 2; r++)
			k->call(r);
		GOOD(t.ncclGroupEnd());
	}
	settle();
	WAITS(2, k->name);
	numbers_check(k);
}

int main(void)
{
	waits_begin();
	for (int i = 0; i < NCCL_CALL_COUNT; i++)
		((void **)&t)[i] = dlsym(RTLD_DEFAULT, nccl_call_name[i]);
	for (int r = 0; r < 2; r++) {
		CU(cuDevicePrimaryCtxRetain(&ranks[r].context, r));
		CU(cuCtxSetCurrent(ranks[r].context));
		CU(cuStreamCreate(&ranks[r].stream, CU_STREAM_NON_BLOCKING));
		ranks[r].from = memory(COUNT * 4);
		ranks[r].to = memory(COUNT * 4);
	}
	GOOD(t.ncclCommInitAll(comms, 2, NULL));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		exchange(&kinds[i]);
	for (int r = 0; r < 2; r++)
		GOOD(t.ncclCommDestroy(comms[r]));
	return waits_end();
}

/*
 * nccl_calls_test.c: mete's NCCL with several devices of one process: every collective, type and reduction against sums
 * of this program, sends and receives in groups, splits, scalars, graphs, wrong arguments.
 */
#include "softdev/soft.h"

#include "nccl_table.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RANKS 4
#define MOST 3000 /* elements of a rank */
#define GOOD(call) is(call, ncclSuccess)

ncclResult_t ncclGetVersion(int *); /* so that the library is linked */

static struct nccl_table t;
static ncclComm_t comms[RANKS];
static CUcontext contexts[RANKS];
static CUstream streams[RANKS];
static CUdeviceptr from[RANKS], to[RANKS];

static const unsigned int bytes_of[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };

static void *at(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

/* A small whole number, which every type has: of rank r, element i. */
static int some(int r, size_t i)
{
	return 1 + (int)((i * 7 + (size_t)r * 3) % 4);
}

static void element_put(void *to_, ncclDataType_t type, size_t i, double v)
{
	static const uint16_t halves[] = { 0, 0x3c00, 0x4000, 0x4200, 0x4400 };
	static const uint8_t e4m3[] = { 0, 0x38, 0x40, 0x44, 0x48 }, e5m2[] = { 0, 0x3c, 0x40, 0x42, 0x44 };
	float f = (float)v;
	uint32_t bits;

	memcpy(&bits, &f, 4);
	switch (type) {
	case ncclInt8:
	case ncclUint8:
		((uint8_t *)to_)[i] = (uint8_t)v;
		break;
	case ncclInt32:
	case ncclUint32:
		((uint32_t *)to_)[i] = (uint32_t)v;
		break;
	case ncclInt64:
	case ncclUint64:
		((uint64_t *)to_)[i] = (uint64_t)v;
		break;
	case ncclFloat16:
		((uint16_t *)to_)[i] = halves[(int)v];
		break;
	case ncclBfloat16:
		((uint16_t *)to_)[i] = (uint16_t)(bits >> 16);
		break;
	case ncclFloat32:
		((float *)to_)[i] = f;
		break;
	case ncclFloat64:
		((double *)to_)[i] = v;
		break;
	case ncclFloat8e4m3:
		((uint8_t *)to_)[i] = e4m3[(int)v];
		break;
	default:
		((uint8_t *)to_)[i] = e5m2[(int)v];
		break;
	}
}

static double narrow(unsigned int v, int exponent, int mantissa)
{
	int e = (int)(v >> mantissa) & ((1 << exponent) - 1), bias = (1 << (exponent - 1)) - 1;
	double m = v & ((1u << mantissa) - 1);

	return e ? ldexp(m + (1 << mantissa), e - bias - mantissa) : ldexp(m, 1 - bias - mantissa);
}

static double element_get(const void *at_, ncclDataType_t type, size_t i)
{
	uint32_t bits;
	float f;

	switch (type) {
	case ncclInt8:
	case ncclUint8:
		return ((const uint8_t *)at_)[i];
	case ncclInt32:
	case ncclUint32:
		return ((const uint32_t *)at_)[i];
	case ncclInt64:
	case ncclUint64:
		return (double)((const uint64_t *)at_)[i];
	case ncclFloat16:
		return narrow(((const uint16_t *)at_)[i], 5, 10);
	case ncclBfloat16:
		bits = (uint32_t)((const uint16_t *)at_)[i] << 16;
		memcpy(&f, &bits, 4);
		return (double)f;
	case ncclFloat32:
		return (double)((const float *)at_)[i];
	case ncclFloat64:
		return ((const double *)at_)[i];
	case ncclFloat8e4m3:
		return narrow(((const uint8_t *)at_)[i], 4, 3);
	default:
		return narrow(((const uint8_t *)at_)[i], 5, 2);
	}
}

static bool whole(ncclDataType_t type)
{
	return type <= ncclUint64;
}

static void fill(ncclDataType_t type, size_t count)
{
	static uint8_t room[MOST * RANKS * 8];

	for (int r = 0; r < RANKS; r++) {
		for (size_t i = 0; i < count; i++)
			element_put(room, type, i, some(r, i));
		CU(cuCtxSetCurrent(contexts[r]));
		CU(cuMemcpyHtoD(from[r], room, count * bytes_of[type]));
		CU(cuMemsetD8(to[r], 0xee, MOST * RANKS * 8));
		CU(cuCtxSynchronize()); /* the ranks' streams do not wait for the null stream */
	}
}

static void get(int r, void *room, size_t bytes)
{
	CU(cuCtxSetCurrent(contexts[r]));
	CU(cuStreamSynchronize(streams[r]));
	CU(cuMemcpyDtoH(room, to[r], bytes));
}

/* As number.c has it, in whole numbers that all types have. `scale` 0: none. */
static double expected(ncclRedOp_t op, ncclDataType_t type, size_t i, double scale)
{
	double v = some(0, i) * (scale > 0 ? scale : 1);

	for (int r = 1; r < RANKS; r++) {
		double next = some(r, i) * (scale > 0 ? scale : 1);

		v = op == ncclProd  ? v * next
		    : op == ncclMax ? fmax(v, next)
		    : op == ncclMin ? fmin(v, next)
				    : v + next;
	}
	if (op == ncclAvg)
		v = whole(type) ? floor(v / RANKS) : v / RANKS;
	return v;
}

/* The step between neighbours of a type near v, in halves: what rounding may do. */
static double near_of(ncclDataType_t type, double v)
{
	return type == ncclFloat8e4m3 ? v / 16 : type == ncclFloat8e5m2 ? v / 8 : type == ncclBfloat16 ? v / 256 : 1e-9;
}

static bool all_as(const void *room, ncclDataType_t type, size_t first, size_t count, ncclRedOp_t op, double scale)
{
	for (size_t i = 0; i < count; i++) {
		double v = expected(op, type, first + i, scale), got = element_get(room, type, i);

		if (fabs(got - v) > near_of(type, v)) {
			printf("# element %zu is %g, expected %g\n", first + i, got, v);
			return false;
		}
	}
	return true;
}

static void test_reductions(void)
{
	static uint8_t room[MOST * 8];

	for (ncclDataType_t type = 0; type < ncclNumTypes; type++)
		for (ncclRedOp_t op = ncclSum; op <= ncclAvg; op++) {
			size_t count = op == ncclMax ? 3 : 1001; /* fewer than ranks as well */
			bool good = true;

			fill(type, count);
			GOOD(t.ncclGroupStart());
			for (int r = 0; r < RANKS; r++)
				GOOD(t.ncclAllReduce(at(from[r]), at(to[r]), count, type, op, comms[r], streams[r]));
			GOOD(t.ncclGroupEnd());
			for (int r = 0; r < RANKS; r++) {
				get(r, room, count * bytes_of[type]);
				good = good && all_as(room, type, 0, count, op, 0);
			}
			tap_ok(good, "type %d, reduction %d", type, op);
		}
}

/* The same without a group, in place, larger than a piece. */
static void test_large(void)
{
	size_t count = 5 << 20;
	float *room = malloc(count * 4);
	CUdeviceptr p[RANKS];
	bool good = true;

	for (int r = 0; r < RANKS; r++) {
		for (size_t i = 0; i < count; i++)
			room[i] = (float)some(r, i);
		CU(cuCtxSetCurrent(contexts[r]));
		CU(cuMemAlloc(&p[r], count * 4));
		CU(cuMemcpyHtoD(p[r], room, count * 4));
	}
	for (int r = 0; r < RANKS; r++)
		GOOD(t.ncclAllReduce(at(p[r]), at(p[r]), count, ncclFloat32, ncclSum, comms[r], streams[r]));
	for (int r = 0; r < RANKS; r++) {
		CU(cuCtxSetCurrent(contexts[r]));
		CU(cuStreamSynchronize(streams[r]));
		CU(cuMemcpyDtoH(room, p[r], count * 4));
		for (size_t i = 0; i < count && good; i++)
			good = room[i] == (float)expected(ncclSum, ncclFloat32, i, 0);
		CU(cuMemFree(p[r]));
	}
	tap_ok(good, "20 MiB in place");
	free(room);
}

/*
 * Calls behind each other that send more together than a communicator keeps for them: the first rank's all wait for the
 * other ranks. Each multiplies what the one before has left by the number of ranks.
 */
static void test_many_under_way(void)
{
	enum { CALLS = 12 };
	const size_t count = 400001, more = 7;
	float *room = malloc((count + CALLS * more) * 4);
	CUdeviceptr p[RANKS];
	bool good = true;

	for (int r = 0; r < RANKS; r++) {
		for (size_t i = 0; i < count + CALLS * more; i++)
			room[i] = (float)some(r, i);
		CU(cuCtxSetCurrent(contexts[r]));
		CU(cuMemAlloc(&p[r], (count + CALLS * more) * 4));
		CU(cuMemcpyHtoD(p[r], room, (count + CALLS * more) * 4));
	}
	for (int r = 0; r < RANKS; r++)
		for (size_t k = 0; k < CALLS; k++)
			GOOD(t.ncclAllReduce(at(p[r]), at(p[r]), count + k * more, ncclFloat32, ncclSum, comms[r],
					     streams[r]));
	for (int r = 0; r < RANKS; r++) {
		CU(cuCtxSetCurrent(contexts[r]));
		CU(cuStreamSynchronize(streams[r]));
		CU(cuMemcpyDtoH(room, p[r], (count + CALLS * more) * 4));
		for (size_t i = 0; i < count + (CALLS - 1) * more && good; i++) {
			size_t calls = i < count ? CALLS : CALLS - 1 - (i - count) / more;

			good = room[i] == (float)expected(ncclSum, ncclFloat32, i, 0) * ldexpf(1, 2 * ((int)calls - 1));
		}
		CU(cuMemFree(p[r]));
	}
	tap_ok(good, "%d calls of 1.6 MB behind each other", CALLS);
	free(room);
}

struct late {
	size_t count;
	ncclResult_t result;
};

static void *last_rank(void *data)
{
	struct late *late = data;

	usleep(200000);
	late->result = t.ncclAllReduce(at(from[RANKS - 1]), at(to[RANKS - 1]), late->count, ncclFloat32, ncclSum,
				       comms[RANKS - 1], streams[RANKS - 1]);
	return NULL;
}

/* What is sent is freed behind the call, and the last rank comes later: a free waits, or happens in the stream's order.
 */
static void test_freed(bool ordered)
{
	static float room[MOST];
	struct late late = { .count = 700 };
	const size_t count = late.count;
	pthread_t thread;
	CUdeviceptr p;

	fill(ncclFloat32, count);
	for (size_t i = 0; i < count; i++)
		room[i] = (float)some(0, i);
	CU(cuCtxSetCurrent(contexts[0]));
	CU(ordered ? cuMemAllocAsync(&p, count * 4, streams[0]) : cuMemAlloc(&p, count * 4));
	CU(cuStreamSynchronize(streams[0]));
	CU(cuMemcpyHtoD(p, room, count * 4));
	GOOD(t.ncclAllReduce(at(p), at(to[0]), count, ncclFloat32, ncclSum, comms[0], streams[0]));
	for (int r = 1; r < RANKS - 1; r++)
		GOOD(t.ncclAllReduce(at(from[r]), at(to[r]), count, ncclFloat32, ncclSum, comms[r], streams[r]));
	ok(!pthread_create(&thread, NULL, last_rank, &late));
	CU(cuCtxSetCurrent(contexts[0]));
	CU(ordered ? cuMemFreeAsync(p, streams[0]) : cuMemFree(p));
	ok(!pthread_join(thread, NULL));
	GOOD(late.result);
	for (int r = 0; r < RANKS; r++) {
		get(r, room, count * 4);
		tap_ok(all_as(room, ncclFloat32, 0, count, ncclSum, 0), "rank %d, memory is freed %s behind the call",
		       r, ordered ? "in the stream's order" : "at once");
	}
	CU(cuCtxSetCurrent(contexts[0]));
	CU(cuStreamSynchronize(streams[0]));
	is(cuMemcpyDtoH(room, p, 4), CUDA_ERROR_INVALID_VALUE);
}

static void test_others(void)
{
	static float room[MOST * RANKS];
	size_t count = 500;
	bool good[7] = { true, true, true, true, true, true, true };

	for (int kind = 0; kind < 7; kind++) {
		fill(ncclFloat32, count * RANKS);
		GOOD(t.ncclGroupStart());
		for (int r = 0; r < RANKS; r++) {
			const void *s = at(from[r]);
			void *d = at(to[r]);

			GOOD(kind == 0	 ? t.ncclReduce(s, d, count, ncclFloat32, ncclSum, 2, comms[r], streams[r])
			     : kind == 1 ? t.ncclBroadcast(s, d, count, ncclFloat32, 1, comms[r], streams[r])
			     : kind == 2 ? t.ncclAllGather(s, d, count, ncclFloat32, comms[r], streams[r])
			     : kind == 3 ? t.ncclReduceScatter(s, d, count, ncclFloat32, ncclSum, comms[r], streams[r])
			     : kind == 4 ? t.ncclAlltoAll(s, d, count, ncclFloat32, comms[r], streams[r])
			     : kind == 5 ? t.ncclGather(s, d, count, ncclFloat32, 3, comms[r], streams[r])
					 : t.ncclScatter(s, d, count, ncclFloat32, 1, comms[r], streams[r]));
		}
		GOOD(t.ncclGroupEnd());
		for (int r = 0; r < RANKS; r++) {
			get(r, room, sizeof(room));
			for (size_t i = 0; i < count; i++) {
				size_t mine = (size_t)r * count + i;
				float sum = (float)expected(ncclSum, ncclFloat32, i, 0);

				good[kind] = good[kind] &&
					     (kind == 0	  ? r != 2 || room[i] == sum
					      : kind == 1 ? room[i] == (float)some(1, i)
					      : kind == 3 ? room[i] == (float)expected(ncclSum, ncclFloat32, mine, 0)
					      : kind == 6 ? room[i] == (float)some(1, mine)
							  : true);
				for (int o = 0; o < RANKS && (kind == 2 || kind == 4 || (kind == 5 && r == 3)); o++)
					good[kind] = good[kind] && room[(size_t)o * count + i] ==
									   (float)some(o, kind == 4 ? mine : i);
			}
		}
		tap_ok(good[kind], "collective %d", kind);
	}
}

/* A ring, and all to all, by sends and receives; one to itself. */
static void test_peers(void)
{
	static float room[MOST * RANKS];
	size_t count = 700;
	bool good = true;

	fill(ncclFloat32, count * RANKS);
	GOOD(t.ncclGroupStart());
	for (int r = 0; r < RANKS; r++)
		for (int o = 0; o < RANKS; o++) {
			GOOD(t.ncclSend(at(from[r] + (CUdeviceptr)o * count * 4), count, ncclFloat32, o, comms[r],
					streams[r]));
			GOOD(t.ncclRecv(at(to[r] + (CUdeviceptr)o * count * 4), count, ncclFloat32, o, comms[r],
					streams[r]));
		}
	GOOD(t.ncclGroupEnd());
	for (int r = 0; r < RANKS; r++) {
		get(r, room, count * RANKS * 4);
		for (int o = 0; o < RANKS; o++)
			for (size_t i = 0; i < count; i++)
				good = good && room[(size_t)o * count + i] == (float)some(o, (size_t)r * count + i);
	}
	tap_ok(good, "all to all by sends and receives");
	fill(ncclFloat32, count);
	GOOD(t.ncclSend(at(from[0]), count, ncclFloat32, 1, comms[0], streams[0]));
	GOOD(t.ncclRecv(at(to[1]), count, ncclFloat32, 0, comms[1], streams[1]));
	get(1, room, count * 4);
	tap_ok(room[5] == (float)some(0, 5), "a send without a group");
}

static void test_scalars(void)
{
	static float room[MOST];
	float two = 2;
	ncclRedOp_t ops[RANKS];
	CUdeviceptr p;
	bool good = true;

	for (int where = 0; where < 2; where++) {
		fill(ncclFloat32, 100);
		for (int r = 0; r < RANKS; r++) {
			CU(cuCtxSetCurrent(contexts[r]));
			CU(cuMemAlloc(&p, 4)); /* with the context's end */
			CU(cuMemcpyHtoD(p, &two, 4));
			GOOD(t.ncclRedOpCreatePreMulSum(&ops[r], where ? at(p) : &two, ncclFloat32,
							where ? ncclScalarDevice : ncclScalarHostImmediate, comms[r]));
			is(t.ncclAllReduce(at(from[r]), at(to[r]), 100, ncclFloat64, ops[r], comms[r], streams[r]),
			   ncclInvalidArgument);
			GOOD(t.ncclAllReduce(at(from[r]), at(to[r]), 100, ncclFloat32, ops[r], comms[r], streams[r]));
			GOOD(t.ncclRedOpDestroy(ops[r], comms[r]));
			is(t.ncclRedOpDestroy(ops[r], comms[r]), ncclInvalidArgument);
		}
		for (int r = 0; r < RANKS; r++) {
			get(r, room, 400);
			good = good && all_as(room, ncclFloat32, 0, 100, ncclSum, 2);
		}
	}
	tap_ok(good, "sums of products with a scalar");
}

static void *split_thread(void *given)
{
	int r = *(int *)given;
	ncclComm_t *made = calloc(1, sizeof(*made));

	cuCtxSetCurrent(contexts[r]);
	if (t.ncclCommSplit(comms[r], r == 3 ? -1 : r % 2, -r, made, NULL))
		*made = (ncclComm_t)1;
	return made;
}

/* Ranks 0 and 2, in the other order, are one; 1 alone; 3 none. */
static void test_split(void)
{
	ncclComm_t made[RANKS];
	pthread_t threads[RANKS];
	int numbers[RANKS] = { 0, 1, 2, 3 }, rank = -1, count = -1, device = -1;
	static float room[100];
	void *result;

	for (int r = 0; r < RANKS; r++)
		pthread_create(&threads[r], NULL, split_thread, &numbers[r]);
	for (int r = 0; r < RANKS; r++) {
		pthread_join(threads[r], &result);
		made[r] = *(ncclComm_t *)result;
		free(result);
	}
	ok(!made[3]);
	GOOD(t.ncclCommUserRank(made[2], &rank));
	GOOD(t.ncclCommCount(made[2], &count));
	GOOD(t.ncclCommCuDevice(made[2], &device));
	is(rank, 0);
	is(count, 2);
	is(device, 2);
	GOOD(t.ncclCommCount(made[1], &count));
	is(count, 1);
	fill(ncclFloat32, 100);
	for (int r = 0; r < 3; r++)
		GOOD(t.ncclAllReduce(at(from[r]), at(to[r]), 100, ncclFloat32, ncclSum, made[r], streams[r]));
	get(0, room, 400);
	tap_ok(room[9] == (float)(some(0, 9) + some(2, 9)), "the sum of a half");
	get(1, room, 400);
	tap_ok(room[9] == (float)some(1, 9), "the sum of one");
	for (int r = 0; r < 3; r++)
		GOOD(t.ncclCommDestroy(made[r]));
}

/* A captured call, launched twice: 4 times the sum. */
static void test_graph(void)
{
	static float room[100];
	CUgraph graph[RANKS];
	CUgraphExec exec[RANKS];

	fill(ncclFloat32, 100);
	for (int r = 0; r < RANKS; r++) {
		CU(cuCtxSetCurrent(contexts[r]));
		CU(cuStreamBeginCapture(streams[r], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
		GOOD(t.ncclAllReduce(at(from[r]), at(from[r]), 100, ncclFloat32, ncclSum, comms[r], streams[r]));
		CU(cuStreamEndCapture(streams[r], &graph[r]));
		CU(cuGraphInstantiate(&exec[r], graph[r], 0));
	}
	for (int k = 0; k < 2; k++)
		for (int r = 0; r < RANKS; r++) {
			CU(cuCtxSetCurrent(contexts[r]));
			CU(cuGraphLaunch(exec[r], streams[r]));
		}
	for (int r = 0; r < RANKS; r++) {
		CU(cuCtxSetCurrent(contexts[r]));
		CU(cuStreamSynchronize(streams[r]));
		CU(cuMemcpyDtoH(room, from[r], 400));
		tap_ok(room[7] == RANKS * (float)expected(ncclSum, ncclFloat32, 7, 0), "a captured sum, twice: %g",
		       (double)room[7]);
		CU(cuGraphExecDestroy(exec[r]));
		CU(cuGraphDestroy(graph[r]));
	}
}

/* As many captured calls as a communicator's 4 KiB have words for. */
static void test_captured_most(void)
{
	ncclUniqueId id;
	ncclComm_t c = NULL;
	CUgraph graph;
	int most = 0;

	CU(cuCtxSetCurrent(contexts[0]));
	GOOD(t.ncclGetUniqueId(&id));
	GOOD(t.ncclCommInitRank(&c, 1, id, 0));
	CU(cuStreamBeginCapture(streams[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	while (most < 2000 && !t.ncclAllReduce(at(from[0]), at(from[0]), 1, ncclFloat32, ncclSum, c, streams[0]))
		most++;
	CU(cuStreamEndCapture(streams[0], &graph));
	CU(cuGraphDestroy(graph));
	tap_ok(most == 1023, "1023 calls can be captured: %d", most);
	GOOD(t.ncclCommAbort(c));
}

struct splitting {
	ncclComm_t comm;
	_Atomic pid_t thread;
	ncclResult_t result;
};

static void *split_alone(void *given)
{
	struct splitting *s = given;
	ncclComm_t got;

	s->thread = gettid();
	s->result = t.ncclCommSplit(s->comm, 0, 0, &got, NULL);
	return NULL;
}

static bool thread_sleeps(pid_t thread)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S';
}

/* A split in which the other rank takes no part ends with an error when the communicator is aborted. */
static void test_abort_split(void)
{
	struct splitting s = { 0 };
	ncclComm_t pair[2];
	pthread_t thread;

	GOOD(t.ncclCommInitAll(pair, 2, NULL));
	s.comm = pair[0];
	pthread_create(&thread, NULL, split_alone, &s);
	for (int seen = 0; seen < 20; usleep(1000))
		seen = s.thread && thread_sleeps(s.thread) ? seen + 1 : 0;
	GOOD(t.ncclCommAbort(pair[0]));
	pthread_join(thread, NULL);
	tap_ok(s.result != ncclSuccess, "a split whose communicator is aborted: %d", (int)s.result);
	GOOD(t.ncclCommAbort(pair[1]));
}

/* What is only simulated is not done. */
static void test_simulated(void)
{
	ncclSimInfo_t info = { 0 };
	float room[8] = { 0 };

	fill(ncclFloat32, 8);
	CU(cuCtxSetCurrent(contexts[0]));
	CU(cuMemsetD8(to[0], 0, sizeof(room)));
	CU(cuCtxSynchronize());
	GOOD(t.ncclGroupStart());
	GOOD(t.ncclSend(at(from[0]), 8, ncclFloat32, 0, comms[0], streams[0]));
	GOOD(t.ncclRecv(at(to[0]), 8, ncclFloat32, 0, comms[0], streams[0]));
	GOOD(t.ncclGroupSimulateEnd(&info));
	get(0, room, sizeof(room));
	tap_ok(room[0] == 0 && room[7] == 0, "a group that is only simulated: %g", (double)room[0]);
}

/* One rank of a communicator that is made smaller, in a thread of its own. */
struct shrinking {
	pthread_t thread;
	ncclComm_t parent, made;
	int without, flags;
	bool revokes;
	ncclResult_t result;
};

static void *shrink(void *given)
{
	struct shrinking *s = given;

	if (s->revokes)
		s->result = t.ncclCommRevoke(s->parent, 0);
	if (!s->result)
		s->result = t.ncclCommShrink(s->parent, &s->without, 1, &s->made, NULL, s->flags);
	return NULL;
}

static void shrink_all(struct shrinking *s, const ncclComm_t *parents, int without, int flags, bool revokes)
{
	for (int k = 0; k < RANKS; k++) {
		s[k] = (struct shrinking){
			.parent = parents[k], .without = without, .flags = flags, .revokes = revokes
		};
		if (k != without)
			pthread_create(&s[k].thread, NULL, shrink, &s[k]);
	}
	for (int k = 0; k < RANKS; k++)
		if (k != without) {
			pthread_join(s[k].thread, NULL);
			is(s[k].result, ncclSuccess);
		}
}

/* What is left of it computes: each rank's sum of the ranks that stay. */
static void sum_all(const struct shrinking *s, int without)
{
	int32_t mine, sum, rank, wanted = 0, next = 0;

	GOOD(t.ncclGroupStart());
	for (int k = 0; k < RANKS; k++) {
		mine = 1 << k;
		if (k == without)
			continue;
		wanted += mine;
		CU(cuCtxSetCurrent(contexts[k]));
		CU(cuMemcpyHtoD(from[k], &mine, sizeof(mine)));
		GOOD(t.ncclAllReduce(at(from[k]), at(to[k]), 1, ncclInt32, ncclSum, s[k].made, streams[k]));
	}
	GOOD(t.ncclGroupEnd());
	for (int k = 0; k < RANKS; k++) {
		if (k == without)
			continue;
		CU(cuCtxSetCurrent(contexts[k]));
		CU(cuStreamSynchronize(streams[k]));
		CU(cuMemcpyDtoH(&sum, to[k], sizeof(sum)));
		GOOD(t.ncclCommUserRank(s[k].made, &rank));
		tap_ok(sum == wanted && rank == next++, "without %d: rank %d is %d and has the sum %d", without, k,
		       rank, sum);
	}
	for (int k = 0; k < RANKS; k++)
		if (k != without)
			GOOD(t.ncclCommDestroy(s[k].made));
}

/*
 * Ranks leave a communicator that is well, one whose operation never ends because a rank does not take part in it, and
 * one that is revoked.
 */
static void test_shrink(void)
{
	static struct shrinking s[RANKS];
	ncclComm_t parent[RANKS], none;
	int devices[RANKS], list[] = { 1, 1 };
	ncclResult_t state;

	for (int k = 0; k < RANKS; k++)
		devices[k] = k;
	GOOD(t.ncclCommInitAll(parent, RANKS, devices));
	is(t.ncclCommShrink(parent[0], NULL, 0, &none, NULL, 0), ncclInvalidArgument);
	is(t.ncclCommShrink(parent[0], list, 2, &none, NULL, 0), ncclInvalidArgument);
	is(t.ncclCommShrink(parent[1], list, 1, &none, NULL, 0), ncclInvalidArgument);
	is(t.ncclCommShrink(parent[0], list, 1, &none, NULL, 2), ncclInvalidArgument);
	is(t.ncclCommRevoke(parent[0], 1), ncclInvalidArgument);
	shrink_all(s, parent, 0, 0, false);
	sum_all(s, 0);
	/* the parent is as it was */
	for (int k = 0; k < RANKS; k++)
		s[k].made = parent[k];
	for (int way = 0; way < 2; way++) {
		int without = way ? 1 : RANKS - 1;

		for (int k = 0; k < RANKS; k++) {
			CU(cuCtxSetCurrent(contexts[k]));
			if (k != without)
				GOOD(t.ncclAllReduce(at(from[k]), at(to[k]), 4096, ncclInt32, ncclSum, parent[k],
						     streams[k]));
		}
		shrink_all(s, parent, without, way ? 0 : 1, way);
		sum_all(s, without);
		for (int k = 0; k < RANKS; k++) {
			if (k == without)
				continue;
			GOOD(t.ncclCommGetAsyncError(parent[k], &state));
			is(state, ncclSuccess);
			is(t.ncclAllReduce(at(from[k]), at(to[k]), 1, ncclInt32, ncclSum, parent[k], streams[k]),
			   ncclInvalidUsage);
		}
		for (int k = 0; k < RANKS; k++)
			GOOD(t.ncclCommAbort(parent[k]));
		if (!way)
			GOOD(t.ncclCommInitAll(parent, RANKS, devices));
	}
}

static void CUDA_CB sleep_a_while(void *given)
{
	const struct timespec pause = { 0, 100000000 };

	nanosleep(&pause, NULL);
	(void)given;
}

static size_t device_free(void)
{
	size_t available, total;

	CU(cuCtxSetCurrent(contexts[0]));
	CU(cuMemGetInfo(&available, &total));
	return available;
}

/* A stream comes to a call only after the communicator has ended: what the communicator held is given back then. */
static void test_ended_early(void)
{
	ncclComm_t c[RANKS], one;
	int devices[RANKS] = { 0, 1, 2, 3 };
	size_t before = device_free();

	for (int round = 0; round < 3; round++) {
		GOOD(t.ncclCommInitAll(c, RANKS, devices));
		for (int k = 0; k < RANKS - 1; k++) {
			CU(cuCtxSetCurrent(contexts[k]));
			CU(cuLaunchHostFunc(streams[k], sleep_a_while, NULL));
			GOOD(t.ncclAllReduce(at(from[k]), at(to[k]), 4096, ncclInt32, ncclSum, c[k], streams[k]));
		}
		for (int k = 0; k < RANKS; k++)
			GOOD(t.ncclCommAbort(c[k]));
		for (int k = 0; k < RANKS; k++)
			CU(cuStreamSynchronize(streams[k]));
		/* whoever makes the next communicator gives back what the earlier ones held */
		GOOD(t.ncclCommInitAll(&one, 1, devices));
		GOOD(t.ncclCommDestroy(one));
	}
	is(device_free(), before);
}

/* Ranks that call different things find it out, and nothing hangs. */
static void test_wrong(void)
{
	ncclResult_t state = ncclSuccess;
	ncclConfig_t config = { .size = sizeof(config), .magic = 1 };
	ncclUniqueId id = { { 0 } };
	ncclComm_t c = NULL, pair[2];
	void *handle;
	int version, devices[] = { 0, 0 };

	GOOD(ncclGetVersion(&version));
	is(version, 22809);
	is(t.ncclGetVersion(NULL), ncclInvalidArgument);
	is(t.ncclCommInitRank(&c, 2, id, 0), ncclInvalidArgument);
	is(t.ncclCommInitRank(&c, 2, id, 2), ncclInvalidArgument);
	is(t.ncclCommInitRankConfig(&c, 1, id, 0, &config), ncclInvalidArgument);
	is(t.ncclCommInitAll(pair, 2, devices), ncclInvalidUsage);
	is(t.ncclGroupEnd(), ncclInvalidUsage);
	is(t.ncclAllReduce(at(from[0]), at(to[0]), 4, 99, ncclSum, comms[0], NULL), ncclInvalidArgument);
	is(t.ncclAllReduce(at(from[0]), at(to[0]), 4, ncclInt32, 77, comms[0], NULL), ncclInvalidArgument);
	is(t.ncclAllReduce(NULL, at(to[0]), 4, ncclInt32, ncclSum, comms[0], NULL), ncclInvalidArgument);
	is(t.ncclAllReduce(at(from[0]), at(to[0]), 4, ncclInt32, ncclSum, NULL, NULL), ncclInvalidArgument);
	is(t.ncclBroadcast(at(from[0]), at(to[0]), 4, ncclInt32, RANKS, comms[0], NULL), ncclInvalidArgument);
	GOOD(t.ncclAllReduce(NULL, NULL, 0, ncclInt32, ncclSum, comms[0], NULL));
	GOOD(t.ncclCommRegister(comms[0], at(from[0]), 64, &handle));
	GOOD(t.ncclCommDeregister(comms[0], handle));
	tap_ok(!strcmp(t.ncclGetErrorString(ncclInvalidUsage), "invalid usage"), "texts");
	for (int k = 0; k < 2; k++)
		devices[k] = k;
	GOOD(t.ncclCommInitAll(pair, 2, devices));
	GOOD(t.ncclAllReduce(at(from[0]), at(to[0]), 8, ncclInt32, ncclSum, pair[0], streams[0]));
	GOOD(t.ncclAllReduce(at(from[1]), at(to[1]), 8, ncclFloat32, ncclSum, pair[1], streams[1]));
	for (int k = 0; k < 2; k++) {
		CU(cuCtxSetCurrent(contexts[k]));
		CU(cuStreamSynchronize(streams[k]));
	}
	for (int k = 0; k < 2; k++) {
		GOOD(t.ncclCommGetAsyncError(pair[k], &state));
		tap_ok(state == ncclInvalidUsage, "different types: an error of both (%d)", state);
		ok(*t.ncclGetLastError(pair[k]));
	}
	ok(*t.ncclGetLastError(NULL));
	for (int k = 0; k < 2; k++)
		GOOD(t.ncclCommAbort(pair[k]));
	is(t.ncclCommDestroy((ncclComm_t)devices), ncclInvalidArgument);
}

int main(void)
{
	for (int i = 0; i < NCCL_CALL_COUNT; i++)
		((void **)&t)[i] = dlsym(RTLD_DEFAULT, nccl_call_name[i]);
	ok(dlsym(RTLD_DEFAULT, "pncclAllReduce") != NULL);
	soft_begin("4", "128M");
	CU(cuInit(0));
	for (int r = 0; r < RANKS; r++) {
		CU(cuDevicePrimaryCtxRetain(&contexts[r], r));
		CU(cuCtxSetCurrent(contexts[r]));
		CU(cuStreamCreate(&streams[r], CU_STREAM_NON_BLOCKING));
		CU(cuMemAlloc(&from[r], MOST * RANKS * 8));
		CU(cuMemAlloc(&to[r], MOST * RANKS * 8));
	}
	GOOD(t.ncclCommInitAll(comms, RANKS, NULL));
	test_reductions();
	test_large();
	test_many_under_way();
	test_freed(false);
	test_freed(true);
	test_others();
	test_peers();
	test_scalars();
	test_split();
	test_graph();
	test_captured_most();
	test_simulated();
	test_abort_split();
	test_shrink();
	test_ended_early();
	test_wrong();
	for (int r = 0; r < RANKS; r++)
		GOOD(t.ncclCommFinalize(comms[r]));
	is(t.ncclCommFinalize(comms[0]), ncclInvalidUsage);
	for (int r = 0; r < RANKS; r++)
		GOOD(t.ncclCommDestroy(comms[r]));
	return soft_end();
}

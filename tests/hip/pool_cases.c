/* pool_cases.c: memory that is mapped, and memory of pools. */
#include "cases.h"

#include <stdio.h>

/* A handle is held by its mappings as well. */
static void mapped(uint64_t bytes)
{
	hipMemAllocationProp prop = { .type = 1, .location = { hipMemLocationTypeDevice, 0 } };
	hipMemAccessDesc access = { { hipMemLocationTypeDevice, 0 }, 3 };
	hipMemGenericAllocationHandle_t handle;
	size_t granule = 0, size;
	uint64_t before = room();
	void *at;

	need(hip.hipMemGetAllocationGranularity(&granule, &prop, 0), "hipMemGetAllocationGranularity");
	size = (bytes / 4 + granule - 1) / granule * granule;
	need(hip.hipMemAddressReserve(&at, size, 0, NULL, 0), "hipMemAddressReserve");
	need(hip.hipMemCreate(&handle, size, &prop, 0), "hipMemCreate");
	need(hip.hipMemMap(at, size, 0, handle, 0), "hipMemMap");
	need(hip.hipMemSetAccess(at, size, &access, 1), "hipMemSetAccess");
	need(hip.hipMemset(at, 1, size), "hipMemset");
	need(hip.hipMemRelease(handle), "hipMemRelease");
	ok(room() == before - size, "mapped memory stays charged when its handle is released");
	need(hip.hipMemUnmap(at, size), "hipMemUnmap");
	ok(room() == before, "and goes back with the mapping");
	need(hip.hipMemAddressFree(at, size), "hipMemAddressFree");
}

int pools(uint64_t bytes)
{
	hipMemPoolProps props = { .allocType = 1, .location = { hipMemLocationTypeDevice, 0 } };
	hipStream_t stream;
	hipMemPool_t pool;
	uint64_t keep = UINT64_MAX;
	void *p, *q;

	mapped(bytes);
	need(hip.hipStreamCreate(&stream), "hipStreamCreate");
	need(hip.hipMallocAsync(&p, bytes / 2, stream), "hipMallocAsync");
	ok(room() == bytes - bytes / 2, "stream-ordered memory is charged when it is asked for");
	ok(hip.hipMallocAsync(&q, bytes / 2 + UNIT, stream) == hipErrorOutOfMemory, "and refused beyond the quota");
	need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	need(hip.hipMallocAsync(&p, bytes / 4, stream), "hipMallocAsync");
	ok(room() == bytes / 2 || room() == bytes / 4,
	   "what the stream freed stays charged, as far as the pool has it");
	need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	need(hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
	ok(room() == bytes, "a wait for the device gives back what pools keep");
	for (int i = 0; i < 200; i++) {
		need(hip.hipMallocAsync(&p, bytes, stream), "hipMallocAsync");
		need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	}
	ok(hip.hipMalloc(&q, bytes) == hipSuccess, "and before a request is refused, they give it back at once");
	need(hip.hipFree(q), "hipFree");
	need(hip.hipMemPoolCreate(&pool, &props), "hipMemPoolCreate");
	need(hip.hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &keep), "hipMemPoolSetAttribute");
	need(hip.hipMallocFromPoolAsync(&p, bytes / 2, pool, stream), "hipMallocFromPoolAsync");
	need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	need(hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
	ok(room() == bytes - bytes / 2, "a pool that was told to keep memory keeps it, and so does the account");
	ok(hip.hipMalloc(&q, bytes) == hipSuccess, "until it is needed");
	need(hip.hipFree(q), "hipFree");
	need(hip.hipMallocFromPoolAsync(&p, bytes / 2, pool, stream), "hipMallocFromPoolAsync");
	need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	need(hip.hipMemPoolDestroy(pool), "hipMemPoolDestroy");
	ok(hip.hipMalloc(&q, bytes) == hipSuccess, "and from a pool that is destroyed");
	need(hip.hipFree(q), "hipFree");
	need(hip.hipMalloc(&q, bytes / 2), "hipMalloc");
	need(hip.hipFreeAsync(q, stream), "hipFreeAsync");
	need(hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
	ok(room() == bytes, "plain memory that is freed in a stream goes back as well");
	return done();
}

static void in_stream(hipMemPool_t pool, void **p, uint64_t bytes, hipStream_t stream)
{
	need(hip.hipMallocFromPoolAsync(p, bytes, pool, stream), "hipMallocFromPoolAsync");
}

/*
 * Whatever a pool keeps stays charged until it has gone: in pieces, none of which serves a larger request; of a pool
 * that is destroyed, whose handle is the next one's; and when the stream is another one. Prints the bytes that are left
 * of the quota each time, and waits to be told to go on: whoever reads it looks at the device.
 */
int kept(uint64_t bytes)
{
	hipMemPoolProps props = { .allocType = 1, .location = { hipMemLocationTypeDevice, 0 } };
	hipMemPool_t pool;
	hipStream_t stream;
	uint64_t keep = UINT64_MAX;
	void *piece[16], *p;

	for (int turn = 0; turn < 3; turn++) {
		need(hip.hipMemPoolCreate(&pool, &props), "hipMemPoolCreate");
		need(hip.hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &keep), "hipMemPoolSetAttribute");
		need(hip.hipStreamCreate(&stream), "hipStreamCreate");
		for (int i = 0; i < 16; i++)
			in_stream(pool, &piece[i], bytes / 32, stream);
		for (int i = 0; i < 16; i++)
			need(hip.hipFreeAsync(piece[i], stream), "hipFreeAsync");
		in_stream(pool, &p, bytes / 2, stream);
		printf("%llu\n", (unsigned long long)room());
		fflush(stdout);
		if (getchar() < 0)
			return 1;
		need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
		need(hip.hipMemPoolDestroy(pool), "hipMemPoolDestroy");
		need(hip.hipStreamDestroy(stream), "hipStreamDestroy");
	}
	return 0;
}

/* What a pool keeps, however it comes to its end. */
int ended(uint64_t bytes)
{
	hipMemPoolProps props = { .allocType = 1, .location = { hipMemLocationTypeDevice, 0 } };
	hipMemPool_t pool, next, own;
	uint64_t keep = UINT64_MAX;
	hipStream_t stream;
	void *p, *q;

	need(hip.hipStreamCreate(&stream), "hipStreamCreate");
	need(hip.hipDeviceGetDefaultMemPool(&own, 0), "hipDeviceGetDefaultMemPool");
	need(hip.hipMemPoolSetAttribute(own, hipMemPoolAttrReleaseThreshold, &keep), "hipMemPoolSetAttribute");
	in_stream(own, &p, bytes / 2, stream);
	need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	ok(hip.hipMemPoolDestroy(own) != hipSuccess, "the device's own pool does not end");
	need(hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
	ok(room() == bytes - bytes / 2, "and what it keeps stays charged");
	ok(hip.hipMalloc(&p, bytes) == hipSuccess, "until it is needed");
	need(hip.hipFree(p), "hipFree");

	need(hip.hipMemPoolCreate(&pool, &props), "hipMemPoolCreate");
	in_stream(pool, &p, bytes / 2, stream);
	need(hip.hipMemPoolDestroy(pool), "hipMemPoolDestroy");
	ok(room() == bytes - bytes / 2, "memory outlives its pool, and is charged");
	need(hip.hipMemPoolCreate(&next, &props), "hipMemPoolCreate");
	need(hip.hipMemPoolSetAttribute(next, hipMemPoolAttrReleaseThreshold, &keep), "hipMemPoolSetAttribute");
	in_stream(next, &q, bytes / 4, stream);
	need(hip.hipFreeAsync(p, stream), "hipFreeAsync");
	need(hip.hipFreeAsync(q, stream), "hipFreeAsync");
	need(hip.hipDeviceSynchronize(), "hipDeviceSynchronize");
	ok(room() == bytes - bytes / 4, "it is not kept by the next pool, whatever that one's handle is");
	ok(hip.hipMalloc(&q, bytes) == hipSuccess, "all of it can be had");
	need(hip.hipFree(q), "hipFree");

	in_stream(next, &p, bytes / 2, stream);
	in_stream(next, &q, bytes / 4, stream);
	need(hip.hipFreeAsync(q, stream), "hipFreeAsync");
	need(hip.hipDeviceReset(), "hipDeviceReset");
	ok(room() == bytes, "a reset leaves nothing of a pool charged");
	ok(hip.hipMalloc(&q, bytes) == hipSuccess, "and all can be had");
	return done();
}

int across(uint64_t bytes)
{
	hipMemPoolProps props = { .allocType = 1, .location = { hipMemLocationTypeDevice, 1 } };
	hipMemPool_t pool;
	hipStream_t stream;
	uint64_t there;
	void *p;

	need(hip.hipSetDevice(0), "hipSetDevice");
	need(hip.hipStreamCreate(&stream), "hipStreamCreate");
	need(hip.hipMemPoolCreate(&pool, &props), "hipMemPoolCreate");
	in_stream(pool, &p, bytes, stream);
	ok(room() == bytes, "the stream's device has none of it");
	need(hip.hipSetDevice(1), "hipSetDevice");
	there = room();
	ok(!there, "the pool's has all (%llu left)", (unsigned long long)there);
	ok(hip.hipMalloc(&p, UNIT) == hipErrorOutOfMemory, "and nothing more");
	return done();
}

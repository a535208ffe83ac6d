/* Memory in the order of a stream: allocation and release between kernels, pools of one's own, their attributes. */
#include "program.h"

enum { N = 10000 };

#ifdef __CUDACC__

KERNEL write(unsigned *p, unsigned n, unsigned value)
{
	if (THREAD < n)
		p[THREAD] = value + THREAD;
}

KERNEL collect(const unsigned *p, unsigned n, unsigned *sum)
{
	if (THREAD < n)
		atomicAdd(sum, p[THREAD]);
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	cudaMemPool_t pool, own;
	struct cudaMemPoolProps props;
	cudaStream_t stream;
	unsigned *p = NULL, *sum = DEVICE_ALLOC(unsigned, 1), total[1], wanted = 0, k, i;
	uint64_t value = 0, all = UINT64_MAX;
	void *q = NULL;

	if (!attribute(cudaDevAttrMemoryPoolsSupported))
		SKIP("the device has no memory pools");
	CALL(cudaStreamCreate(&stream));
	for (k = 0; k < 20; k++) {
		CALL(cudaMallocAsync((void **)&p, N * sizeof(*p), stream));
		CALL(LAUNCH_ON(write, N / 256 + 1, 256, 0, stream, p, N, k));
		CALL(LAUNCH_ON(collect, N / 256 + 1, 256, 0, stream, p, N, sum));
		CALL(cudaFreeAsync(p, stream));
		for (i = 0; i < N; i++)
			wanted += k + i;
	}
	CALL(cudaStreamSynchronize(stream));
	BRING(total, sum);
	CHECK(total[0] == wanted);
	CALL(cudaDeviceGetDefaultMemPool(&pool, 0));
	CALL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value));
	CHECK(value == 0);
	CALL(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &value));
	CHECK(value >= N * sizeof(*p));
	memset(&props, 0, sizeof(props));
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	CALL(cudaMemPoolCreate(&own, &props));
	CALL(cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &all));
	CALL(cudaMallocFromPoolAsync(&q, 1 << 20, own, stream));
	CALL(cudaMemsetAsync(q, 1, 1 << 20, stream));
	CALL(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &value));
	CHECK(value >= 1 << 20);
	CALL(cudaFreeAsync(q, stream));
	CALL(cudaStreamSynchronize(stream));
	CALL(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReservedMemCurrent, &value));
	CHECK(value >= 1 << 20); /* kept, below the threshold */
	CALL(cudaMemPoolTrimTo(own, 0));
	CALL(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReservedMemCurrent, &value));
	CHECK(value == 0);
	CALL(cudaMemPoolDestroy(own));
	CALL(cudaStreamDestroy(stream));
	return program_end();
}

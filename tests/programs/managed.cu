/* Managed memory: both sides write the same words, variables too; advice, prefetching, attributes. */
#include "program.h"

enum { N = 100000 };

#ifdef __CUDACC__

MANAGED int total = 5;
MANAGED int words[4];

KERNEL work(int *p, int n)
{
	int i = THREAD;

	if (i < n)
		p[i] = p[i] * 2 + 1;
	if (i < 4)
		words[i] += i + total;
	if (i == 0)
		atomicAdd(&total, 10);
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	int *p = NULL, i;
	struct cudaPointerAttributes a;
	struct cudaMemLocation here;

	if (!attribute(cudaDevAttrManagedMemory))
		SKIP("the device has no managed memory");
	CALL(cudaMallocManaged((void **)&p, N * sizeof(*p), cudaMemAttachGlobal));
	for (i = 0; i < N; i++)
		p[i] = i;
	CALL(cudaPointerGetAttributes(&a, p));
	CHECK(a.type == cudaMemoryTypeManaged);
	CHECK(total == 5);
	words[2] = 100;
	if (attribute(cudaDevAttrConcurrentManagedAccess)) {
		memset(&here, 0, sizeof(here));
		here.type = cudaMemLocationTypeDevice;
		CALL(cudaMemAdvise(p, N * sizeof(*p), cudaMemAdviseSetPreferredLocation, here));
		CALL(cudaMemPrefetchAsync(p, N * sizeof(*p), here, 0, 0));
	}
	LAUNCH(work, N / 256 + 1, 256, p, N);
	SYNC();
	for (i = 0; i < N; i++)
		CHECK(p[i] == i * 2 + 1);
	CHECK(total == 15);
	CHECK(words[1] == 1 + 5 && words[2] == 100 + 2 + 5);
	p[7] = -1;
	total = 1;
	LAUNCH(work, N / 256 + 1, 256, p, N);
	SYNC();
	CHECK(p[7] == -1 && p[8] == 35 && total == 11 && words[3] == 3 + 5 + 3 + 1);
	CALL(cudaFree(p));
	return program_end();
}

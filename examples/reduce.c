/* reduce.c: a sum by warp shuffles, shared memory and one atomic per block, checked against the sum on the host. */
#include "example.h"
#include "reduce_ptx.h"

int main(int argc, char **argv)
{
	struct example e = { .name = "reduce",
			     .sizes = "[ELEMENTS]",
			     .size = { 1 << 20 },
			     .what = "Adds ELEMENTS integers (default 1M) with warp shuffles." };
	unsigned long long want = 0, got = 0, rounds = 0;
	CUdeviceptr in, total;
	CUfunction kernel;
	uint32_t *host;
	unsigned int n;
	bool good = true;
	double begin;

	example_options(&e, argc, argv);
	if (e.size[0] == 0 || e.size[0] > 1u << 30) {
		fprintf(stderr, "reduce: ELEMENTS must lie between 1 and 1G\n");
		return 2;
	}
	n = (unsigned int)e.size[0];
	host = malloc(n * sizeof *host);
	if (!host) {
		printf("reduce: no memory for %u elements on the host\nFAIL\n", n);
		return 1;
	}
	for (size_t i = 0; i < n; i++) {
		host[i] = (uint32_t)(i * 2654435761u) >> 24; /* a block's sum stays below 2^32 */
		want += host[i];
	}
	example_begin(&e);
	kernel = example_kernel(reduce_ptx, "reduce");
	must(cuMemAlloc(&in, n * sizeof *host));
	must(cuMemAlloc(&total, sizeof got));
	must(cuMemcpyHtoD(in, host, n * sizeof *host));

	begin = example_now();
	do {
		void *args[] = { &total, &in, &n };
		unsigned int blocks = n / 1024 + 1 < 256 ? n / 1024 + 1 : 256;

		must(cuMemsetD8(total, 0, sizeof got));
		must(cuLaunchKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
		must(cuMemcpyDtoH(&got, total, sizeof got));
		rounds++;
		good = got == want;
	} while (good && example_now() - begin < e.seconds);

	printf("reduce: the sum of %u elements is %llu (expected %llu), %llu rounds\n", n, got, want, rounds);
	example_sleep(e.hold);
	must(cuMemFree(in));
	must(cuMemFree(total));
	free(host);
	return example_end(&e, good);
}

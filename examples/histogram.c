/* histogram.c: counts byte values with atomics in shared and in global memory, checked against counts on the host. */
#include "example.h"
#include "histogram_ptx.h"

int main(int argc, char **argv)
{
	struct example e = { .name = "histogram",
			     .sizes = "[BYTES]",
			     .size = { 4 << 20 },
			     .what = "Counts how often each byte value occurs among BYTES bytes (default 4M)." };
	uint32_t want[256] = { 0 }, got[256];
	unsigned long long rounds = 0;
	uint32_t random = 12345;
	CUdeviceptr in, count;
	CUfunction kernel;
	unsigned char *host;
	unsigned int n;
	bool good = true;
	double begin;

	example_options(&e, argc, argv);
	if (e.size[0] == 0 || e.size[0] > 1u << 30) {
		fprintf(stderr, "histogram: BYTES must lie between 1 and 1G\n");
		return 2;
	}
	n = (unsigned int)e.size[0];
	host = malloc(n);
	if (!host) {
		printf("histogram: no memory for %u bytes on the host\nFAIL\n", n);
		return 1;
	}
	for (size_t i = 0; i < n; i++) {
		random = random * 1664525u + 1013904223u;
		/* Few values are frequent, so that threads of a warp meet in one counter. */
		host[i] = (unsigned char)((random >> 24) & (random >> 16));
		want[host[i]]++;
	}
	example_begin(&e);
	kernel = example_kernel(histogram_ptx, "histogram");
	must(cuMemAlloc(&in, n));
	must(cuMemAlloc(&count, sizeof got));
	must(cuMemcpyHtoD(in, host, n));

	begin = example_now();
	do {
		void *args[] = { &count, &in, &n };

		must(cuMemsetD32(count, 0, 256));
		must(cuLaunchKernel(kernel, 64, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
		must(cuMemcpyDtoH(got, count, sizeof got));
		rounds++;
		for (int i = 0; i < 256 && good; i++) {
			good = got[i] == want[i];
			if (!good)
				printf("histogram: value %d occurs %u times, expected %u\n", i, got[i], want[i]);
		}
	} while (good && example_now() - begin < e.seconds);

	printf("histogram: %u bytes counted %llu times\n", n, rounds);
	example_sleep(e.hold);
	must(cuMemFree(in));
	must(cuMemFree(count));
	free(host);
	return example_end(&e, good);
}

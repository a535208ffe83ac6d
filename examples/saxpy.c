/* saxpy.c: y = a * x + y on the device, checked element by element. */
#include "example.h"
#include "saxpy_ptx.h"

/* Small integers, so that floats are exact and a second pass of a program has a known answer. */
static float x_at(size_t i)
{
	return (float)(i % 1000);
}

static bool check(const float *y, size_t n, unsigned int rounds, float a)
{
	for (size_t i = 0; i < n; i++) {
		float want = (float)(i % 7) + (float)rounds * a * x_at(i);

		if (y[i] != want) {
			printf("saxpy: element %zu is %g, expected %g\n", i, (double)y[i], (double)want);
			return false;
		}
	}
	return true;
}

static float *vector(size_t n)
{
	float *v = malloc(n * sizeof *v);

	if (!v) {
		printf("saxpy: no memory for %zu elements on the host\nFAIL\n", n);
		exit(1);
	}
	return v;
}

int main(int argc, char **argv)
{
	struct example e = { .name = "saxpy",
			     .sizes = "[ELEMENTS]",
			     .size = { 1 << 20 },
			     .what = "Computes y = a * x + y for vectors of ELEMENTS floats (default 1M)." };
	float a = 2.0f, *host;
	unsigned int n, rounds = 0, in_pass;
	unsigned long long total = 0;
	CUdeviceptr x, y;
	CUfunction kernel;
	bool good = true;
	double begin;

	example_options(&e, argc, argv);
	if (e.size[0] == 0 || e.size[0] > 1u << 30) {
		fprintf(stderr, "saxpy: ELEMENTS must lie between 1 and 1G\n");
		return 2;
	}
	n = (unsigned int)e.size[0];
	host = vector(n);
	example_begin(&e);
	kernel = example_kernel(saxpy_ptx, "saxpy");
	must(cuMemAlloc(&x, n * sizeof *host));
	must(cuMemAlloc(&y, n * sizeof *host));
	for (size_t i = 0; i < n; i++)
		host[i] = x_at(i);
	must(cuMemcpyHtoD(x, host, n * sizeof *host));

	begin = example_now();
	do {
		for (size_t i = 0; i < n; i++)
			host[i] = (float)(i % 7);
		must(cuMemcpyHtoD(y, host, n * sizeof *host));
		in_pass = 4; /* 4 rounds keep every value below 2^24 */
		for (rounds = 0; rounds < in_pass; rounds++) {
			void *args[] = { &y, &x, &a, &n };
			unsigned int blocks = n / 256 + 1 < 1024 ? n / 256 + 1 : 1024;

			must(cuLaunchKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
		}
		must(cuMemcpyDtoH(host, y, n * sizeof *host));
		good = check(host, n, rounds, a);
		total += rounds;
	} while (good && example_now() - begin < e.seconds);

	printf("saxpy: %llu rounds over %u elements, %.1f MiB on the device\n", total, n, 2.0 * n * 4 / 1048576.0);
	example_sleep(e.hold);
	must(cuMemFree(x));
	must(cuMemFree(y));
	free(host);
	return example_end(&e, good);
}

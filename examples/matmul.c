/* matmul.c: a product of square matrices in shared-memory tiles, checked against sums computed on the host. */
#include "example.h"
#include "matmul_ptx.h"

#define TILE 16

/* Small integers keep every partial sum exact in a float, so the comparison is for equality. */
static float a_at(size_t row, size_t col)
{
	return (float)((row * 3 + col) % 8);
}

static float b_at(size_t row, size_t col)
{
	return (float)((row + col * 5) % 8) - 3.0f;
}

/* All elements of a small product; of a large one, a scatter that touches every row and every tile column. */
static bool check(const float *c, size_t n)
{
	size_t step = n <= 256 ? 1 : n / 61 + 1;

	for (size_t row = 0; row < n; row++) {
		for (size_t col = row % step; col < n; col += step) {
			float want = 0;

			for (size_t k = 0; k < n; k++)
				want += a_at(row, k) * b_at(k, col);
			if (c[row * n + col] != want) {
				printf("matmul: element %zu,%zu is %g, expected %g\n", row, col,
				       (double)c[row * n + col], (double)want);
				return false;
			}
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	struct example e = { .name = "matmul",
			     .sizes = "[SIDE]",
			     .size = { 256 },
			     .what = "Multiplies two SIDE x SIDE matrices of floats (default 256) in tiles." };
	unsigned long long rounds = 0;
	CUdeviceptr a, b, c;
	CUfunction kernel;
	float *ha, *hb;
	unsigned int n;
	size_t bytes;
	bool good = true;
	double begin;

	example_options(&e, argc, argv);
	if (e.size[0] == 0 || e.size[0] > 16384) {
		fprintf(stderr, "matmul: SIDE must lie between 1 and 16384\n");
		return 2;
	}
	n = (unsigned int)e.size[0];
	bytes = (size_t)n * n * sizeof(float);
	ha = malloc(bytes);
	hb = malloc(bytes);
	if (!ha || !hb) {
		printf("matmul: no memory for the matrices on the host\nFAIL\n");
		return 1;
	}
	for (size_t row = 0; row < n; row++) {
		for (size_t col = 0; col < n; col++) {
			ha[row * n + col] = a_at(row, col);
			hb[row * n + col] = b_at(row, col);
		}
	}
	example_begin(&e);
	kernel = example_kernel(matmul_ptx, "matmul");
	must(cuMemAlloc(&a, bytes));
	must(cuMemAlloc(&b, bytes));
	must(cuMemAlloc(&c, bytes));
	must(cuMemcpyHtoD(a, ha, bytes));
	must(cuMemcpyHtoD(b, hb, bytes));

	begin = example_now();
	do {
		void *args[] = { &c, &a, &b, &n };
		unsigned int tiles = (n + TILE - 1) / TILE;

		must(cuMemsetD8(c, 0xff, bytes));
		must(cuLaunchKernel(kernel, tiles, tiles, 1, TILE, TILE, 1, 0, NULL, args, NULL));
		must(cuCtxSynchronize());
		if (rounds++ == 0) {
			must(cuMemcpyDtoH(ha, c, bytes));
			good = check(ha, n);
		}
	} while (good && example_now() - begin < e.seconds);

	/* The last product must be the first one, bit for bit. */
	must(cuMemcpyDtoH(hb, c, bytes));
	if (good && memcmp(ha, hb, bytes)) {
		printf("matmul: product %llu differs from the first\n", rounds);
		good = false;
	}
	printf("matmul: %llu products of %u x %u, %.1f MiB on the device\n", rounds, n, n, 3.0 * bytes / 1048576.0);
	example_sleep(e.hold);
	must(cuMemFree(a));
	must(cuMemFree(b));
	must(cuMemFree(c));
	free(ha);
	free(hb);
	return example_end(&e, good);
}

/*
 * fft.c: complex float transforms by cuFFT on the software device against KissFFT called directly, by turns, each on
 * one thread: least processor time of a batch.
 *
 *   METE_SOFT_THREADS=1 fft [ROUNDS]    (default 5)
 *
 * KissFFT is libkissfft-float.so.131, of the package libkissfft-float131, or what METE_KISSFFT names.
 */
#include "cufft_table.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

cufftResult cufftPlan1d(cufftHandle *plan, int nx, cufftType type, int batch);
cufftResult cufftDestroy(cufftHandle plan);
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *idata, cufftComplex *odata, int direction);

static const int sizes[][2] = { { 64, 16384 }, { 256, 4096 }, { 1000, 1000 }, { 1024, 1024 }, { 4096, 256 },
				{ 65536, 16 }, { 59049, 4 },  { 1001, 256 },  { 1 << 20, 1 } };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void least(double *least, double begun)
{
	double took = now() - begun;

	*least = took < *least ? took : *least;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 5;
	const char *named = getenv("METE_KISSFFT");
	void *library = dlopen(named ? named : "libkissfft-float.so.131", RTLD_NOW);
	void *(*alloc)(int, int, void *, size_t *) =
		library ? (void *(*)(int, int, void *, size_t *))dlsym(library, "kiss_fft_alloc") : NULL;
	void (*run)(void *, const void *, void *) =
		library ? (void (*)(void *, const void *, void *))dlsym(library, "kiss_fft") : NULL;
	CUcontext context;

	if (!alloc || !run || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) {
		fprintf(stderr, "fft: no KissFFT, or no device\n");
		return 1;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int n = sizes[i][0], batch = sizes[i][1];
		size_t count = (size_t)n * (size_t)batch;
		float *in = malloc(count * 8), *out = malloc(count * 8);
		double ours = 1e9, theirs = 1e9, begun;
		void *kiss = alloc(n, 0, NULL, NULL);
		CUdeviceptr from, to;
		cufftHandle plan;

		for (size_t k = 0; k < 2 * count; k++)
			in[k] = (float)(k % 17) / 17;
		if (cuMemAlloc(&from, count * 8) || cuMemAlloc(&to, count * 8) || cuMemcpyHtoD(from, in, count * 8) ||
		    cufftPlan1d(&plan, n, CUFFT_C2C, batch))
			return 1;
		for (int r = 0; r < rounds; r++) {
			begun = now();
			if (cufftExecC2C(plan, (cufftComplex *)(uintptr_t)from, (cufftComplex *)(uintptr_t)to, -1) ||
			    cuCtxSynchronize())
				return 1;
			least(&ours, begun);
			begun = now();
			for (int b = 0; b < batch; b++)
				run(kiss, in + 2 * (size_t)b * (size_t)n, out + 2 * (size_t)b * (size_t)n);
			least(&theirs, begun);
		}
		printf("%7d x %5d: cuFFT %7.2f ms, KissFFT %7.2f ms, ratio of speeds %.2f\n", n, batch, ours * 1e3,
		       theirs * 1e3, theirs / ours);
		cufftDestroy(plan);
		cuMemFree(from);
		cuMemFree(to);
		free(kiss);
		free(in);
		free(out);
	}
	return 0;
}

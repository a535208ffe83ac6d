/*
 * blas_gemm.c: float products by cuBLAS on the software device against OpenBLAS called directly with as many threads,
 * by turns in processes of their own.
 *
 *   blas_gemm [SIZE] [ROUNDS]    (default 1024, 7)
 *
 * METE_OPENBLAS names OpenBLAS, as for the library. Prints the best GFLOP/s of each and their ratio.
 */
#include "cublas_forward.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REPEATS 4

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double gflops(int n, double seconds)
{
	return 2.0 * n * n * n * REPEATS / seconds * 1e-9;
}

static double direct(int n)
{
	const char *name = getenv("METE_OPENBLAS");
	void *library = dlopen(name && *name ? name : "libopenblas.so.0", RTLD_NOW);
	void (*gemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
	float *a = calloc((size_t)n * (size_t)n, 4), *b = calloc((size_t)n * (size_t)n, 4),
	      *c = calloc((size_t)n * (size_t)n, 4);
	double begin;

	if (!library || !a || !b || !c)
		return 0;
	*(void **)&gemm = dlsym(library, "cblas_sgemm");
	gemm(102, 111, 111, n, n, n, 1, a, n, b, n, 0, c, n);
	begin = now();
	for (int i = 0; i < REPEATS; i++)
		gemm(102, 111, 111, n, n, n, 1, a, n, b, n, 0, c, n);
	return gflops(n, now() - begin);
}

static double by_cublas(int n)
{
	size_t bytes = (size_t)n * (size_t)n * 4;
	const float one = 1, zero = 0;
	CUdeviceptr a, b, c;
	cublasHandle_t h;
	double begin;

	if (cublasCreate_v2(&h) || cuMemAlloc(&a, bytes) || cuMemAlloc(&b, bytes) || cuMemAlloc(&c, bytes))
		return 0;
	cuMemsetD32(a, 0, bytes / 4);
	cuMemsetD32(b, 0, bytes / 4);
#define AT(p) ((void *)(uintptr_t)(p))
#define GEMM() cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, AT(a), n, AT(b), n, &zero, AT(c), n)
	GEMM();
	cuCtxSynchronize();
	begin = now();
	for (int i = 0; i < REPEATS; i++)
		GEMM();
	cuCtxSynchronize();
	return gflops(n, now() - begin);
}

static double in_child(double (*f)(int), int n)
{
	double got = 0;
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return 0;
	pid = fork();
	if (!pid) {
		got = f(n);
		if (write(ends[1], &got, sizeof(got)) != sizeof(got))
			_exit(1);
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], &got, sizeof(got)) != sizeof(got))
		got = 0;
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return got;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1024, rounds = argc > 2 ? atoi(argv[2]) : 7;
	double best[2] = { 0 };

	for (int i = 0; i < rounds; i++) {
		double got[2] = { in_child(direct, n), in_child(by_cublas, n) };

		for (int k = 0; k < 2; k++)
			best[k] = got[k] > best[k] ? got[k] : best[k];
	}
	printf("float %d x %d x %d: OpenBLAS %.1f GFLOP/s, cuBLAS on the software device %.1f GFLOP/s, ratio %.2f\n", n,
	       n, n, best[0], best[1], best[0] > 0 ? best[1] / best[0] : 0);
	return best[0] > 0 && best[1] > 0 ? 0 : 1;
}

/*
 * cufft_calls_test.c: cuFFT of the software device against sums of products in double precision: every kind, rank,
 * layout, in place and out of place; long lines, primes; graphs, quota, wrong arguments.
 */
#include "softdev/soft.h"

#include "cufft_table.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GOOD(call) is(call, CUFFT_SUCCESS)
#define FORWARD -1
#define BACKWARD 1

cufftResult cufftCreate(cufftHandle *);
cufftResult cufftDestroy(cufftHandle);
cufftResult cufftPlan1d(cufftHandle *, int, cufftType, int);
cufftResult cufftPlan2d(cufftHandle *, int, int, cufftType);
cufftResult cufftPlanMany(cufftHandle *, int, int *, int *, int, int, int *, int, int, cufftType, int);
cufftResult cufftMakePlan1d(cufftHandle, int, cufftType, int, size_t *);
cufftResult cufftSetAutoAllocation(cufftHandle, int);
cufftResult cufftSetWorkArea(cufftHandle, void *);
cufftResult cufftSetStream(cufftHandle, cudaStream_t);
cufftResult cufftGetSize(cufftHandle, size_t *);
cufftResult cufftGetVersion(int *);
cufftResult cufftXtExec(cufftHandle, void *, void *, int);
cufftResult cufftExecC2C(cufftHandle, cufftComplex *, cufftComplex *, int);
cufftResult cufftExecR2C(cufftHandle, cufftReal *, cufftComplex *);
cufftResult cufftXtMemcpy(cufftHandle, void *, void *, cufftXtCopyType);

typedef double complex any;

struct job {
	cufftType type;
	int rank, n[3], batch;
	bool in_place;
	int stride_in, stride_out, more; /* 0: the layout without one; more: what each row has beside its numbers */
	int direction;
};

static const struct job jobs[] = {
	{ CUFFT_C2C, 1, { 1 }, 3, false, 0, 0, 0, FORWARD },
	{ CUFFT_C2C, 1, { 8 }, 1, false, 0, 0, 0, FORWARD },
	{ CUFFT_C2C, 1, { 60 }, 7, true, 0, 0, 0, BACKWARD },
	{ CUFFT_C2C, 1, { 1155 }, 3, false, 0, 0, 0, FORWARD },
	{ CUFFT_C2C, 1, { 997 }, 2, true, 0, 0, 0, BACKWARD },
	{ CUFFT_Z2Z, 1, { 31 * 37 }, 5, false, 0, 0, 0, FORWARD },
	{ CUFFT_Z2Z, 1, { 4096 }, 1, true, 0, 0, 0, BACKWARD },
	{ CUFFT_Z2Z, 1, { 2310 }, 2, false, 0, 0, 0, FORWARD },
	{ CUFFT_C2C, 1, { 100 }, 9, false, 9, 9, 0, FORWARD },
	{ CUFFT_Z2Z, 1, { 24 }, 6, false, 3, 2, 5, BACKWARD },
	{ CUFFT_C2C, 2, { 12, 35 }, 3, false, 0, 0, 0, FORWARD },
	{ CUFFT_Z2Z, 2, { 16, 9 }, 2, true, 2, 2, 3, BACKWARD },
	{ CUFFT_Z2Z, 3, { 5, 6, 7 }, 2, false, 0, 0, 0, FORWARD },
	{ CUFFT_C2C, 3, { 8, 3, 10 }, 1, false, 2, 1, 2, BACKWARD },
	{ CUFFT_R2C, 1, { 30 }, 5, false, 0, 0, 0, FORWARD },
	{ CUFFT_R2C, 1, { 31 }, 34, true, 0, 0, 0, FORWARD },
	{ CUFFT_D2Z, 1, { 3000 }, 1, false, 0, 0, 0, FORWARD },
	{ CUFFT_D2Z, 2, { 6, 11 }, 2, false, 2, 3, 1, FORWARD },
	{ CUFFT_R2C, 2, { 6, 10 }, 2, true, 0, 0, 0, FORWARD },
	{ CUFFT_D2Z, 3, { 4, 5, 6 }, 1, true, 0, 0, 0, FORWARD },
	{ CUFFT_C2R, 1, { 30 }, 5, false, 0, 0, 0, BACKWARD },
	{ CUFFT_Z2D, 1, { 31 }, 19, true, 0, 0, 0, BACKWARD },
	{ CUFFT_C2R, 1, { 3000 }, 1, false, 0, 0, 0, BACKWARD },
	{ CUFFT_Z2D, 2, { 6, 11 }, 2, false, 2, 3, 1, BACKWARD },
	{ CUFFT_C2R, 3, { 4, 5, 6 }, 2, true, 0, 0, 0, BACKWARD },
};

static bool is_wide(cufftType t)
{
	return t == CUFFT_Z2Z || t == CUFFT_D2Z || t == CUFFT_Z2D;
}

static bool is_forth(cufftType t)
{
	return t == CUFFT_R2C || t == CUFFT_D2Z;
}

static bool is_back(cufftType t)
{
	return t == CUFFT_C2R || t == CUFFT_Z2D;
}

/* One side's places. */
struct side {
	bool real;
	int embed[3], stride, apart;
	size_t numbers;
};

static struct side side_of(const struct job *j, bool out)
{
	int stride = out ? j->stride_out : j->stride_in, last = j->n[j->rank - 1];
	struct side s = { .real = out ? is_back(j->type) : is_forth(j->type),
			  .stride = stride ? stride : 1,
			  .apart = 1 };
	bool half = out ? is_forth(j->type) : is_back(j->type);

	for (int i = 0; i < j->rank; i++)
		s.embed[i] = j->n[i];
	s.embed[j->rank - 1] = half ? last / 2 + 1 : s.real && j->in_place ? 2 * (last / 2 + 1) : last;
	if (stride)
		for (int i = 0; i < j->rank; i++)
			s.embed[i] += j->more;
	for (int i = 0; i < j->rank; i++)
		s.apart *= s.embed[i];
	s.apart *= s.stride;
	/* batches beside one another, as columns */
	s.apart = stride && stride == j->batch && j->rank == 1 && !j->more ? 1 : s.apart;
	s.numbers = (size_t)s.apart * (size_t)j->batch +
		    (size_t)s.stride * (size_t)s.embed[0] * (j->rank == 1 ? 1 : 0) + 64;
	return s;
}

static size_t place(const struct job *j, const struct side *s, const int x[3], int batch)
{
	size_t at = 0;

	for (int i = 0; i < j->rank; i++)
		at = at * (size_t)s->embed[i] + (size_t)x[i];
	return at * (size_t)s->stride + (size_t)batch * (size_t)s->apart;
}

static any get(const void *p, size_t at, bool wide, bool real)
{
	const double *d = p;
	const float *f = p;

	if (real)
		return wide ? d[at] : (double)f[at];
	return wide ? d[2 * at] + I * d[2 * at + 1] : (double)f[2 * at] + I * (double)f[2 * at + 1];
}

static void put(void *p, size_t at, bool wide, bool real, any v)
{
	double *d = p;
	float *f = p;

	for (int k = 0; k < (real ? 1 : 2); k++) {
		double part = k ? cimag(v) : creal(v);

		at = k ? at : real ? at : 2 * at;
		if (wide)
			d[at + (size_t)k] = part;
		else
			f[at + (size_t)k] = (float)part;
	}
}

/* Sums of products, a dimension after the other. */
static void reference(const struct job *j, any *v)
{
	int total = 1, apart = 1;
	any *line = malloc(8192 * sizeof(any)), *roots = malloc(8192 * sizeof(any));

	for (int i = 0; i < j->rank; i++)
		total *= j->n[i];
	for (int d = j->rank - 1; d >= 0; apart *= j->n[d], d--) {
		int n = j->n[d];

		for (int k = 0; k < n; k++)
			roots[k] = cexp(j->direction * 2 * M_PI * I * k / n);
		for (int from = 0; from < total; from++) {
			if (from / apart % n)
				continue;
			for (int k = 0; k < n; k++) {
				line[k] = 0;
				for (int i = 0; i < n; i++)
					line[k] += v[from + i * apart] * roots[(int64_t)i * k % n];
			}
			for (int k = 0; k < n; k++)
				v[from + k * apart] = line[k];
		}
	}
	free(line);
	free(roots);
}

static double random_number(void)
{
	static uint64_t seed = 88172645463325252ull;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(int64_t)seed / 9.3e18;
}

static void unravel(const struct job *j, int at, int x[3])
{
	for (int i = j->rank - 1; i >= 0; at /= j->n[i], i--)
		x[i] = at % j->n[i];
}

/* The numbers of a transform whose result is real. */
static void make_symmetric(const struct job *j, any *v, int total)
{
	any *copy = malloc((size_t)total * sizeof(any));

	memcpy(copy, v, (size_t)total * sizeof(any));
	for (int at = 0; at < total; at++) {
		int x[3] = { 0 }, other = 0;

		unravel(j, at, x);
		for (int i = 0; i < j->rank; i++)
			other = other * j->n[i] + (x[i] ? j->n[i] - x[i] : 0);
		v[at] = (copy[at] + conj(copy[other])) / 2;
	}
	free(copy);
}

static void job_test(const struct job *j)
{
	struct side in = side_of(j, false), out = side_of(j, true);
	bool wide = is_wide(j->type);
	size_t number = wide ? 16 : 8, bytes_in = in.numbers * number, bytes_out = out.numbers * number;
	size_t bytes = bytes_in > bytes_out ? bytes_in : bytes_out;
	int total = 1, n[3];
	CUdeviceptr a = 0, b = 0;
	void *host = calloc(1, bytes);
	double worst = 0, size = 0;
	cufftHandle plan = 0;
	any *v;

	for (int i = 0; i < j->rank; i++)
		total *= n[i] = j->n[i];
	v = malloc((size_t)total * (size_t)j->batch * sizeof(*v));
	for (int k = 0; k < j->batch; k++) {
		any *mine = v + (size_t)k * (size_t)total;

		for (int at = 0; at < total; at++)
			mine[at] = random_number() + (is_forth(j->type) ? 0 : I * random_number());
		if (is_back(j->type))
			make_symmetric(j, mine, total);
		for (int at = 0; at < total; at++) {
			int x[3] = { 0 };

			unravel(j, at, x);
			if (is_back(j->type) && x[j->rank - 1] > n[j->rank - 1] / 2)
				continue;
			put(host, place(j, &in, x, k), wide, in.real, mine[at]);
		}
		reference(j, mine);
	}
	CU(cuMemAlloc(&a, bytes));
	CU(cuMemAlloc(&b, bytes));
	CU(cuMemcpyHtoD(a, host, bytes));
	if (j->stride_in)
		GOOD(cufftPlanMany(&plan, j->rank, n, in.embed, in.stride, in.apart, out.embed, out.stride, out.apart,
				   j->type, j->batch));
	else
		GOOD(cufftPlanMany(&plan, j->rank, n, NULL, 1, 0, NULL, 1, 0, j->type, j->batch));
	GOOD(cufftXtExec(plan, (void *)(uintptr_t)a, (void *)(uintptr_t)(j->in_place ? a : b), j->direction));
	CU(cuMemcpyDtoH(host, j->in_place ? a : b, bytes));
	for (int k = 0; k < j->batch; k++)
		for (int at = 0; at < total; at++) {
			any want = v[(size_t)k * (size_t)total + (size_t)at];
			int x[3] = { 0 };

			unravel(j, at, x);
			if (is_forth(j->type) && x[j->rank - 1] > n[j->rank - 1] / 2)
				continue;
			worst = fmax(worst, cabs(get(host, place(j, &out, x, k), wide, out.real) - want));
			size = fmax(size, cabs(want));
		}
	tap_ok(worst <= (wide ? 2e-14 : 2e-6) * size, "type %d, rank %d, %d x %d x %d, batch %d%s: off by %g of %g",
	       j->type, j->rank, n[0], j->rank > 1 ? n[1] : 1, j->rank > 2 ? n[2] : 1, j->batch,
	       j->in_place ? ", in place" : "", worst, size);
	GOOD(cufftDestroy(plan));
	CU(cuMemFree(a));
	CU(cuMemFree(b));
	free(host);
	free(v);
}

/* Long lines: a number that is 1 somewhere gives a wave, and back again what there was. */
static void test_long(int n, cufftType type)
{
	size_t bytes = (size_t)n * (is_wide(type) ? 16 : 8);
	CUdeviceptr a, b;
	void *host = calloc(1, bytes), *again = malloc(bytes);
	cufftHandle plan = 0;
	double worst = 0;
	int one = n / 3 + 1;

	put(host, (size_t)one, is_wide(type), false, 1);
	CU(cuMemAlloc(&a, bytes));
	CU(cuMemAlloc(&b, bytes));
	CU(cuMemcpyHtoD(a, host, bytes));
	GOOD(cufftPlan1d(&plan, n, type, 1));
	GOOD(cufftXtExec(plan, (void *)(uintptr_t)a, (void *)(uintptr_t)b, FORWARD));
	CU(cuMemcpyDtoH(again, b, bytes));
	for (int k = 0; k < n; k++)
		worst = fmax(worst, cabs(get(again, (size_t)k, is_wide(type), false) -
					 cexp(-2 * M_PI * I * (double)((int64_t)k * one % n) / n)));
	tap_ok(worst < (is_wide(type) ? 1e-12 : 1e-5), "%d numbers: off by %g", n, worst);
	GOOD(cufftXtExec(plan, (void *)(uintptr_t)b, (void *)(uintptr_t)b, BACKWARD));
	CU(cuMemcpyDtoH(again, b, bytes));
	worst = 0;
	for (int k = 0; k < n; k++)
		worst = fmax(worst, cabs(get(again, (size_t)k, is_wide(type), false) / n - (k == one)));
	tap_ok(worst < (is_wide(type) ? 1e-12 : 1e-5), "and back: off by %g", worst);
	GOOD(cufftDestroy(plan));
	CU(cuMemFree(a));
	CU(cuMemFree(b));
	free(host);
	free(again);
}

static void test_graph(void)
{
	float host[64] = { [2] = 1 }, again[64];
	cufftHandle plan = 0;
	CUgraphExec exec;
	CUgraph graph;
	CUstream stream;
	CUdeviceptr p;

	CU(cuMemAlloc(&p, sizeof(host)));
	CU(cuMemcpyHtoD(p, host, sizeof(host)));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	GOOD(cufftPlan1d(&plan, 32, CUFFT_C2C, 1));
	GOOD(cufftSetStream(plan, (cudaStream_t)stream));
	CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	GOOD(cufftExecC2C(plan, (cufftComplex *)(uintptr_t)p, (cufftComplex *)(uintptr_t)p, FORWARD));
	CU(cuStreamEndCapture(stream, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	/* twice forwards: backwards in order, times the number */
	CU(cuGraphLaunch(exec, stream));
	CU(cuGraphLaunch(exec, stream));
	CU(cuStreamSynchronize(stream));
	CU(cuMemcpyDtoH(again, p, sizeof(again)));
	tap_ok(fabs(again[62] - 32.0) < 1e-4 && fabs(again[2]) < 1e-4, "a captured transform, launched twice: %g",
	       (double)again[62]);
	GOOD(cufftDestroy(plan));
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	CU(cuStreamDestroy(stream));
	CU(cuMemFree(p));
}

static void test_charge(void)
{
	size_t before = soft_free(), bytes = 0;
	cufftHandle plan = 0;
	CUdeviceptr most, work;

	GOOD(cufftPlan1d(&plan, 65536, CUFFT_C2C, 4));
	is(before - soft_free(), 65536 * 4 * 8);
	GOOD(cufftDestroy(plan));
	is(soft_free(), before);
	CU(cuMemAlloc(&most, soft_free() - (1 << 20)));
	plan = 0;
	is(cufftPlan1d(&plan, 65536, CUFFT_C2C, 4), CUFFT_ALLOC_FAILED);
	CU(cuMemFree(most));
	GOOD(cufftCreate(&plan));
	GOOD(cufftSetAutoAllocation(plan, 0));
	GOOD(cufftMakePlan1d(plan, 65536, CUFFT_C2C, 1, &bytes));
	is(bytes, 65536 * 8);
	is(soft_free(), before);
	CU(cuMemAlloc(&work, 2 * bytes));
	is(cufftExecC2C(plan, (cufftComplex *)(uintptr_t)work, (cufftComplex *)(uintptr_t)work, FORWARD),
	   CUFFT_NO_WORKSPACE);
	GOOD(cufftSetWorkArea(plan, (void *)(uintptr_t)(work + bytes)));
	GOOD(cufftExecC2C(plan, (cufftComplex *)(uintptr_t)work, (cufftComplex *)(uintptr_t)work, FORWARD));
	CU(cuCtxSynchronize());
	GOOD(cufftDestroy(plan));
	CU(cuMemFree(work));
	is(soft_free(), before);
}

static void test_wrong(void)
{
	cufftHandle plan = 0;
	float data[64];
	int n = 8, version = 0;

	is(cufftPlan1d(&plan, 0, CUFFT_C2C, 1), CUFFT_INVALID_SIZE);
	is(cufftPlan1d(&plan, -5, CUFFT_C2C, 1), CUFFT_INVALID_SIZE);
	is(cufftPlan1d(&plan, 8, CUFFT_C2C, 0), CUFFT_INVALID_SIZE);
	is(cufftPlan1d(&plan, 8, (cufftType)7, 1), CUFFT_INVALID_TYPE);
	is(cufftPlan1d(NULL, 8, CUFFT_C2C, 1), CUFFT_INVALID_VALUE);
	is(cufftPlanMany(&plan, 4, &n, NULL, 1, 0, NULL, 1, 0, CUFFT_C2C, 1), CUFFT_INVALID_VALUE);
	is(cufftPlanMany(&plan, 1, &n, &n, 0, 8, &n, 1, 8, CUFFT_C2C, 1), CUFFT_INVALID_VALUE);
	is(cufftDestroy(12345), CUFFT_INVALID_PLAN);
	GOOD(cufftPlan1d(&plan, 8, CUFFT_C2C, 1));
	if (!soft_theirs()) { /* NVIDIA's 12.0 answers SUCCESS to all of these */
		is(cufftDestroy(-1), CUFFT_INVALID_PLAN);
		is(cufftExecC2C(plan, NULL, (cufftComplex *)data, FORWARD), CUFFT_INVALID_VALUE);
		is(cufftExecR2C(plan, data, (cufftComplex *)data), CUFFT_INVALID_PLAN);
		is(cufftXtMemcpy(plan, data, data, CUFFT_COPY_HOST_TO_DEVICE), CUFFT_NOT_SUPPORTED);
	}
	is(cufftExecC2C(plan, (cufftComplex *)data, (cufftComplex *)data, 0), CUFFT_INVALID_VALUE);
	GOOD(cufftGetVersion(&version));
	is(version / 1000, 12);
	/* an address that is none of the device's */
	GOOD(cufftExecC2C(plan, (cufftComplex *)(uintptr_t)64, (cufftComplex *)(uintptr_t)64, FORWARD));
	FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	cufftDestroy(plan);
}

int main(void)
{
	soft_begin("1", "512M");
	soft_context();
	for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++)
		job_test(&jobs[i]);
	test_long(1 << 18, CUFFT_C2C);
	test_long(1 << 17, CUFFT_Z2Z);
	test_long(99991, CUFFT_Z2Z);
	test_long(3 * 5 * 7 * 1024, CUFFT_C2C);
	test_graph();
	if (!soft_theirs()) /* others allocate on the same device, and sizes of work areas are the library's own */
		test_charge();
	test_wrong();
	return soft_end();
}

/*
 * cusolver_calls_test.c: cuSOLVER's dense routines on the software device: factors give the matrix again, solutions
 * solve, vectors are orthonormal, for each type; batches, the 64-bit interface, graphs, wrong arguments.
 */
#include "softdev/soft.h"

#include "cusolver_table.h"

#include <complex.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GOOD(call) is(call, CUSOLVER_STATUS_SUCCESS)
#define MOST 40

typedef double complex any;

static struct cusolver_table t;
static cusolverDnHandle_t handle;
#define ROOM (16 << 20) /* bytes of the device's that are a workspace */

static CUdeviceptr room, info;
static int type; /* 0 to 3 */

cusolverStatus_t cusolverGetVersion(int *version);

typedef cusolverStatus_t (*any_call)(cusolverDnHandle_t, ...);

/* The call of the type that is tested. */
#define OF_TYPE(name, ...)                                                                                             \
	(type == 0   ? ((any_call)(void *)t.cusolverDnS##name)(__VA_ARGS__)                                            \
	 : type == 1 ? ((any_call)(void *)t.cusolverDnD##name)(__VA_ARGS__)                                            \
	 : type == 2 ? ((any_call)(void *)t.cusolverDnC##name)(__VA_ARGS__)                                            \
		     : ((any_call)(void *)t.cusolverDnZ##name)(__VA_ARGS__))
#define OF_TWIN(sy, he, ...)                                                                                           \
	(type == 0   ? ((any_call)(void *)t.cusolverDnS##sy)(__VA_ARGS__)                                              \
	 : type == 1 ? ((any_call)(void *)t.cusolverDnD##sy)(__VA_ARGS__)                                              \
	 : type == 2 ? ((any_call)(void *)t.cusolverDnC##he)(__VA_ARGS__)                                              \
		     : ((any_call)(void *)t.cusolverDnZ##he)(__VA_ARGS__))

static const int data_type[] = { CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F };
static const size_t each[] = { 4, 8, 8, 16 };

static double near_enough(void)
{
	return type & 1 ? 1e-11 : 2e-4;
}

static double random_number(void)
{
	static uint64_t seed = 88172645463325252ull;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(int64_t)seed / 9.3e18;
}

static void *at(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

static CUdeviceptr put(const any *v, int count)
{
	uint8_t *raw = malloc((size_t)count * 16 + 16);
	CUdeviceptr p = 0;

	for (int i = 0; i < count; i++)
		for (int part = 0; part < (type >= 2 ? 2 : 1); part++) {
			double x = part ? cimag(v[i]) : creal(v[i]);
			float f = (float)x;
			size_t place = (size_t)i * each[type] + (size_t)part * each[type & 1];

			memcpy(raw + place, type & 1 ? (void *)&x : (void *)&f, each[type & 1]);
		}
	if (cuMemAlloc(&p, (size_t)count * each[type] + 16) || cuMemcpyHtoD(p, raw, (size_t)count * each[type]))
		tap_ok(0, "memory");
	free(raw);
	return p;
}

/* `real`: numbers of the type's real part. */
static void get(any *v, CUdeviceptr p, int count, bool real)
{
	uint8_t *raw = malloc((size_t)count * 16 + 16);
	size_t one = each[type & 1], number = real ? one : each[type];

	if (cuMemcpyDtoH(raw, p, (size_t)count * number))
		tap_ok(0, "reading");
	for (int i = 0; i < count; i++) {
		double x[2] = { 0 };

		for (int part = 0; part < (number > one ? 2 : 1); part++) {
			float f;

			memcpy(&f, raw + (size_t)i * number + (size_t)part * one, 4);
			memcpy(&x[part], raw + (size_t)i * number + (size_t)part * one, one == 8 ? 8 : 0);
			x[part] = one == 8 ? x[part] : (double)f;
		}
		v[i] = x[0] + I * x[1];
	}
	free(raw);
}

static any some(void)
{
	double x = random_number();

	return type >= 2 ? x + I * random_number() : x;
}

static void fill(any *v, int count)
{
	for (int i = 0; i < count; i++)
		v[i] = some();
}

/* c = a b, with conjugate transposes as said. */
static void times(any *c, const any *a, bool ta, const any *b, bool tb, int m, int n, int k, int lda, int ldb)
{
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			c[i + j * m] = 0;
			for (int l = 0; l < k; l++)
				c[i + j * m] += (ta ? conj(a[l + i * lda]) : a[i + l * lda]) *
						(tb ? conj(b[j + l * ldb]) : b[l + j * ldb]);
		}
}

static double apart(const any *a, const any *b, int count)
{
	double worst = 0;

	for (int i = 0; i < count; i++)
		worst = fmax(worst, cabs(a[i] - b[i]));
	return worst;
}

#define NEAR(a, b, count, what)                                                                                        \
	tap_ok(apart(a, b, count) < near_enough(), "type %d: %s: off by %g", type, what, apart(a, b, count))

static int info_is(void)
{
	int v = -1;

	cuMemcpyDtoH(&v, info, 4);
	return v;
}

static void positive(any *a, int n)
{
	any b[MOST * MOST];

	fill(b, n * n);
	times(a, b, false, b, true, n, n, n, n, n);
	for (int i = 0; i < n; i++)
		a[i + i * n] += n;
}

static void test_cholesky(int n)
{
	any a[MOST * MOST], l[MOST * MOST], again[MOST * MOST], b[MOST * 3], x[MOST * 3];
	CUdeviceptr p, q;
	int lwork = 0;

	positive(a, n);
	fill(b, n * 3);
	p = put(a, n * n);
	q = put(b, n * 3);
	GOOD(OF_TYPE(potrf_bufferSize, handle, CUBLAS_FILL_MODE_LOWER, n, at(p), n, &lwork));
	tap_ok(lwork > 0, "a workspace of %d", lwork);
	GOOD(OF_TYPE(potrf, handle, CUBLAS_FILL_MODE_LOWER, n, at(p), n, at(room), lwork, at(info)));
	GOOD(OF_TYPE(potrs, handle, CUBLAS_FILL_MODE_LOWER, n, 3, at(p), n, at(q), n, at(info)));
	get(l, p, n * n, false);
	get(x, q, n * 3, false);
	is(info_is(), 0);
	for (int j = 0; j < n; j++)
		for (int i = 0; i < j; i++)
			l[i + j * n] = 0;
	times(again, l, false, l, true, n, n, n, n, n);
	NEAR(again, a, n * n, "potrf");
	times(again, a, false, x, false, n, 3, n, n, n);
	NEAR(again, b, n * 3, "potrs");
	a[n / 2 * (n + 1)] = -5;
	CU(cuMemFree(p));
	p = put(a, n * n);
	GOOD(OF_TYPE(potrf, handle, CUBLAS_FILL_MODE_LOWER, n, at(p), n, at(room), lwork, at(info)));
	CU(cuCtxSynchronize());
	is(info_is(), n / 2 + 1);
	CU(cuMemFree(p));
	CU(cuMemFree(q));
}

/*
 * A pivot that is no number ends the factorisation, as in reference LAPACK: its column is told, by every interface.
 * LAPACK's getrf tells pivots that are 0 alone. NVIDIA's 12.0 tells it of lower triangles that are not in batches.
 */
static void test_cholesky_of_none(int n, int column)
{
	static const cublasFillMode_t fills[] = { CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER };
	any a[MOST * MOST];
	int told[2] = { 0 };
	CUdeviceptr p[2], array, infos;

	positive(a, n);
	a[column * (n + 1)] = NAN;
	CU(cuMemAlloc(&array, MOST * sizeof(int))); /* and pivots */
	CU(cuMemAlloc(&infos, sizeof(told)));
	for (int k = 0; k < 2; k++) {
		p[0] = put(a, n * n);
		p[1] = put(a, n * n);
		GOOD(OF_TYPE(potrf, handle, fills[k], n, at(p[0]), n, at(room), MOST * 32, at(info)));
		CU(cuCtxSynchronize());
		is(info_is(), soft_theirs() && k ? 0 : column + 1);
		GOOD(t.cusolverDnXpotrf(handle, NULL, fills[k], n, data_type[type], at(p[1]), n, data_type[type],
					at(room), ROOM, NULL, 0, at(info)));
		CU(cuCtxSynchronize());
		is(info_is(), soft_theirs() && k ? 0 : column + 1);
		CU(cuMemFree(p[0]));
		CU(cuMemFree(p[1]));
		p[0] = put(a, n * n);
		a[column * (n + 1)] = 4 * n;
		p[1] = put(a, n * n);
		a[column * (n + 1)] = NAN;
		CU(cuMemcpyHtoD(array, p, sizeof(p)));
		GOOD(OF_TYPE(potrfBatched, handle, fills[k], n, at(array), n, at(infos), 2));
		CU(cuMemcpyDtoH(told, infos, sizeof(told)));
		is(told[0], soft_theirs() ? 0 : column + 1);
		is(told[1], 0);
		CU(cuMemFree(p[0]));
		CU(cuMemFree(p[1]));
	}
	p[0] = put(a, n * n);
	GOOD(OF_TYPE(getrf, handle, n, n, at(p[0]), n, at(room), at(array), at(info)));
	CU(cuCtxSynchronize());
	is(info_is(), soft_theirs() && n == 1); /* which tells it of one number */
	CU(cuMemFree(p[0]));
	CU(cuMemFree(array));
	CU(cuMemFree(infos));
}

static void test_lu(int n, bool pivots, bool wide)
{
	any a[MOST * MOST], again[MOST * 3], b[MOST * 3], x[MOST * 3];
	CUdeviceptr p, q, ipiv;
	size_t device = 0, host = 0;

	fill(a, n * n);
	for (int i = 0; !pivots && i < n; i++)
		a[i + i * n] += n;
	fill(b, n * 3);
	p = put(a, n * n);
	q = put(b, n * 3);
	CU(cuMemAlloc(&ipiv, MOST * 8));
	if (wide) {
		GOOD(t.cusolverDnXgetrf_bufferSize(handle, NULL, n, n, data_type[type], at(p), n, data_type[type],
						   &device, &host));
		GOOD(t.cusolverDnXgetrf(handle, NULL, n, n, data_type[type], at(p), n, pivots ? at(ipiv) : NULL,
					data_type[type], at(room), device, NULL, host, at(info)));
		GOOD(t.cusolverDnXgetrs(handle, NULL, CUBLAS_OP_N, n, 3, data_type[type], at(p), n,
					pivots ? at(ipiv) : NULL, data_type[type], at(q), n, at(info)));
	} else {
		GOOD(OF_TYPE(getrf, handle, n, n, at(p), n, at(room), pivots ? at(ipiv) : NULL, at(info)));
		GOOD(OF_TYPE(getrs, handle, CUBLAS_OP_N, n, 3, at(p), n, pivots ? at(ipiv) : NULL, at(q), n, at(info)));
	}
	get(x, q, n * 3, false);
	is(info_is(), 0);
	times(again, a, false, x, false, n, 3, n, n, n);
	NEAR(again, b, n * 3, pivots ? wide ? "getrf, 64 bits" : "getrf" : "getrf without pivots");
	CU(cuMemFree(p));
	CU(cuMemFree(q));
	CU(cuMemFree(ipiv));
}

/* Symmetric matrices that are not positive, also complex ones; the triangle beside is not read. */
static void test_symmetric(int n, cublasFillMode_t uplo)
{
	any a[MOST * MOST], again[MOST * 3], b[MOST * 3], x[MOST * 3];
	int32_t narrow[MOST];
	int64_t wide[MOST];
	CUdeviceptr p, q, ipiv;
	size_t device = 0, host = 0;
	int lwork = 0, pairs = 0;

	fill(a, n * n);
	for (int j = 0; j < n; j++)
		for (int i = 0; i <= j; i++)
			a[i + j * n] = i == j ? 0.1 * a[i + j * n] : a[j + i * n]; /* blocks of two are needed */
	fill(b, n * 3);
	p = put(a, n * n);
	q = put(b, n * 3);
	for (int j = 0; j < n; j++) /* what must not be read */
		for (int i = 0; i < n; i++)
			if (uplo == CUBLAS_FILL_MODE_UPPER ? i > j : i < j)
				CU(cuMemsetD8(p + (CUdeviceptr)(i + j * n) * each[type], 0xff, each[type]));
	CU(cuMemAlloc(&ipiv, sizeof(wide)));
	GOOD(OF_TYPE(sytrf_bufferSize, handle, n, at(p), n, &lwork));
	GOOD(OF_TYPE(sytrf, handle, uplo, n, at(p), n, at(ipiv), at(room), lwork, at(info)));
	is(info_is(), 0);
	CU(cuMemcpyDtoH(narrow, ipiv, (size_t)n * sizeof(*narrow)));
	for (int i = 0; i < n; i++) {
		wide[i] = narrow[i];
		pairs += narrow[i] < 0;
	}
	tap_ok(pairs > 0 && pairs % 2 == 0, "pivots two by two: %d of %d", pairs, n);
	CU(cuMemcpyHtoD(ipiv, wide, sizeof(wide)));
	GOOD(t.cusolverDnXsytrs_bufferSize(handle, uplo, n, 3, data_type[type], at(p), n, at(ipiv), data_type[type],
					   at(q), n, &device, &host));
	GOOD(t.cusolverDnXsytrs(handle, uplo, n, 3, data_type[type], at(p), n, at(ipiv), data_type[type], at(q), n,
				at(room), device, NULL, host, at(info)));
	get(x, q, n * 3, false);
	is(info_is(), 0);
	times(again, a, false, x, false, n, 3, n, n, n);
	NEAR(again, b, n * 3, uplo == CUBLAS_FILL_MODE_UPPER ? "sytrf, sytrs, upper" : "sytrf, sytrs, lower");
	/* pivots that are none do not lead out of the matrix */
	for (int i = 0; i < n; i++)
		wide[i] = i % 3 ? -n - i : INT64_MAX - i;
	wide[n - 1] = wide[0] = -1;
	if (!soft_theirs()) { /* NVIDIA's 12.0 answers INTERNAL_ERROR to them */
		CU(cuMemcpyHtoD(ipiv, wide, sizeof(wide)));
		GOOD(t.cusolverDnXsytrs(handle, uplo, n, 3, data_type[type], at(p), n, at(ipiv), data_type[type], at(q),
					n, at(room), device, NULL, host, at(info)));
		CU(cuCtxSynchronize());
	}
	/* nothing to find a pivot among */
	if (!soft_theirs()) { /* whose info is 0 */
		CU(cuMemsetD8(p, 0xff, each[type] * (size_t)(n * n)));
		GOOD(OF_TYPE(sytrf, handle, uplo, n, at(p), n, at(ipiv), at(room), lwork, at(info)));
		is(info_is() > 0, 1);
	}
	is(OF_TYPE(sytrf, handle, uplo, n, at(p), n - 1, at(ipiv), at(room), lwork, at(info)),
	   CUSOLVER_STATUS_INVALID_VALUE);
	if (!soft_theirs()) /* which factors without pivots then */
		is(OF_TYPE(sytrf, handle, uplo, n, at(p), n, NULL, at(room), lwork, at(info)),
		   CUSOLVER_STATUS_NOT_SUPPORTED);
	is(t.cusolverDnXsytrs(handle, uplo, n, 3, data_type[type], at(p), n, at(ipiv), CUDA_R_16F, at(q), n, at(room),
			      device, NULL, host, at(info)),
	   CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED);
	CU(cuMemFree(p));
	CU(cuMemFree(q));
	CU(cuMemFree(ipiv));
}

static void test_qr(int m, int n)
{
	any a[MOST * MOST], q[MOST * MOST], r[MOST * MOST], again[MOST * MOST];
	CUdeviceptr p, tau, c;
	int lwork = 0;

	fill(a, m * n);
	p = put(a, m * n);
	c = put(a, m * n);
	CU(cuMemAlloc(&tau, MOST * 16));
	GOOD(OF_TYPE(geqrf_bufferSize, handle, m, n, at(p), m, &lwork));
	GOOD(OF_TYPE(geqrf, handle, m, n, at(p), m, at(tau), at(room), lwork, at(info)));
	CU(cuCtxSynchronize());
	get(r, p, m * n, false);
	for (int j = 0; j < n; j++)
		for (int i = j + 1; i < m; i++)
			r[i + j * m] = 0;
	GOOD(OF_TWIN(ormqr, unmqr, handle, CUBLAS_SIDE_LEFT, type >= 2 ? CUBLAS_OP_C : CUBLAS_OP_T, m, n, n, at(p), m,
		     at(tau), at(c), m, at(room), lwork, at(info)));
	CU(cuCtxSynchronize());
	get(again, c, m * n, false);
	NEAR(again, r, m * n, "ormqr");
	GOOD(OF_TWIN(orgqr, ungqr, handle, m, n, n, at(p), m, at(tau), at(room), lwork, at(info)));
	get(q, p, m * n, false);
	is(info_is(), 0);
	times(again, q, false, r, false, m, n, n, m, m);
	NEAR(again, a, m * n, "geqrf, orgqr");
	CU(cuMemFree(p));
	CU(cuMemFree(c));
	CU(cuMemFree(tau));
}

static void test_svd(int m, int n, bool jacobi, int econ)
{
	any a[MOST * MOST], u[MOST * MOST], v[MOST * MOST], s[MOST], again[MOST * MOST];
	int rank = m < n ? m : n, lwork = 0, ldv = jacobi ? n : econ ? rank : n;
	CUdeviceptr p, pu, pv, ps;
	gesvdjInfo_t params = NULL;

	fill(a, m * n);
	p = put(a, m * n);
	CU(cuMemAlloc(&pu, MOST * MOST * 16));
	CU(cuMemAlloc(&pv, MOST * MOST * 16));
	CU(cuMemAlloc(&ps, MOST * 8));
	GOOD(t.cusolverDnCreateGesvdjInfo(&params));
	if (jacobi) {
		GOOD(OF_TYPE(gesvdj_bufferSize, handle, CUSOLVER_EIG_MODE_VECTOR, econ, m, n, at(p), m, at(ps), at(pu),
			     m, at(pv), n, &lwork, params));
		GOOD(OF_TYPE(gesvdj, handle, CUSOLVER_EIG_MODE_VECTOR, econ, m, n, at(p), m, at(ps), at(pu), m, at(pv),
			     n, at(room), lwork, at(info), params));
	} else {
		int job = econ ? 'S' : 'A';

		GOOD(OF_TYPE(gesvd_bufferSize, handle, m, n, &lwork));
		GOOD(OF_TYPE(gesvd, handle, job, job, m, n, at(p), m, at(ps), at(pu), m, at(pv), ldv, at(room), lwork,
			     NULL, at(info)));
	}
	CU(cuCtxSynchronize());
	is(info_is(), 0);
	get(u, pu, m * (econ ? rank : m), false);
	get(v, pv, jacobi ? n * (econ ? rank : n) : ldv * n, false);
	get(s, ps, rank, true);
	for (int j = 0; j < rank; j++)
		for (int i = 0; i < m; i++)
			u[i + j * m] *= s[j];
	times(again, u, false, v, jacobi, m, n, rank, m, ldv);
	NEAR(again, a, m * n, jacobi ? "gesvdj" : "gesvd");
	GOOD(t.cusolverDnDestroyGesvdjInfo(params));
	CU(cuMemFree(p));
	CU(cuMemFree(pu));
	CU(cuMemFree(pv));
	CU(cuMemFree(ps));
}

static void test_eigen(int n, int batch)
{
	any a[2 * MOST * MOST], v[2 * MOST * MOST], w[2 * MOST], left[MOST * MOST], right[MOST * MOST];
	CUdeviceptr p, values, infos;
	syevjInfo_t params = NULL;
	int lwork = 0;

	for (int k = 0; k < batch; k++)
		positive(a + k * n * n, n);
	p = put(a, batch * n * n);
	CU(cuMemAlloc(&values, 2 * MOST * 8));
	CU(cuMemAlloc(&infos, 64));
	GOOD(t.cusolverDnCreateSyevjInfo(&params));
	if (batch == 1) {
		GOOD(OF_TWIN(syevd_bufferSize, heevd_bufferSize, handle, CUSOLVER_EIG_MODE_VECTOR,
			     CUBLAS_FILL_MODE_UPPER, n, at(p), n, at(values), &lwork));
		tap_ok((size_t)lwork * each[type] <= ROOM, "a workspace of %d", lwork);
		GOOD(OF_TWIN(syevd, heevd, handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, n, at(p), n,
			     at(values), at(room), lwork, at(infos)));
	} else {
		GOOD(OF_TWIN(syevjBatched_bufferSize, heevjBatched_bufferSize, handle, CUSOLVER_EIG_MODE_VECTOR,
			     CUBLAS_FILL_MODE_UPPER, n, at(p), n, at(values), &lwork, params, batch));
		GOOD(OF_TWIN(syevjBatched, heevjBatched, handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, n,
			     at(p), n, at(values), at(room), lwork, at(infos), params, batch));
	}
	CU(cuCtxSynchronize());
	get(v, p, batch * n * n, false);
	get(w, values, batch * n, true);
	for (int k = 0; k < batch; k++) {
		times(left, a + k * n * n, false, v + k * n * n, false, n, n, n, n, n);
		for (int i = 0; i < n * n; i++)
			right[i] = v[k * n * n + i] * w[k * n + i / n];
		tap_ok(apart(left, right, n * n) < near_enough() * n, "type %d: eigenvectors, batch %d: off by %g",
		       type, k, apart(left, right, n * n));
		tap_ok(creal(w[k * n]) <= creal(w[k * n + n - 1]), "values rise");
	}
	GOOD(t.cusolverDnDestroySyevjInfo(params));
	CU(cuMemFree(p));
	CU(cuMemFree(values));
	CU(cuMemFree(infos));
}

/* Vectors of a real matrix: of a pair of values, the real part in one column and the imaginary one in the next. */
static void vectors_of(any *v, const any *w, int n)
{
	for (int j = 0; type < 2 && j < n; j++) {
		if (cimag(w[j]) == 0)
			continue;
		for (int i = 0; i < n; i++) {
			any x = v[i + j * n] + I * v[i + (j + 1) * n];

			v[i + j * n] = x;
			v[i + (j + 1) * n] = conj(x);
		}
		j++;
	}
}

/* How far vectors are from A v = v w, or of the left from v^H A = w v^H; and each from the length of 1. */
static double vectors_off(const any *a, const any *v, const any *w, int n, bool left)
{
	double worst = 0;

	for (int j = 0; j < n; j++) {
		double length = 0;

		for (int i = 0; i < n; i++) {
			any sum = 0;

			for (int l = 0; l < n; l++)
				sum += left ? conj(v[l + j * n]) * a[l + i * n] : a[i + l * n] * v[l + j * n];
			worst = fmax(worst, cabs(sum - w[j] * (left ? conj(v[i + j * n]) : v[i + j * n])));
			length += creal(v[i + j * n] * conj(v[i + j * n]));
		}
		worst = fmax(worst, fabs(length - 1));
	}
	return worst;
}

/* The values, of whichever form: the real parts of all before the imaginary ones, or complex numbers. */
static void get_values(any *w, CUdeviceptr p, int n, bool apart_parts)
{
	any parts[2 * MOST];

	get(parts, p, 2 * n, true);
	for (int i = 0; i < n; i++)
		w[i] = apart_parts ? parts[i] + I * parts[n + i] : parts[2 * i] + I * parts[2 * i + 1];
}

static cusolverStatus_t geev(int n, int of_values, bool left, bool right, CUdeviceptr a, CUdeviceptr w, CUdeviceptr vl,
			     CUdeviceptr vr)
{
	cusolverEigMode_t jobl = left ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
	cusolverEigMode_t jobr = right ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
	cudaDataType d = (cudaDataType)data_type[type], dw = (cudaDataType)of_values;
	size_t device = 0, host = 0;
	void *of_host = NULL;
	cusolverStatus_t s = t.cusolverDnXgeev_bufferSize(handle, NULL, jobl, jobr, n, d, at(a), n, dw, at(w), d,
							  at(vl), n, d, at(vr), n, d, &device, &host);

	tap_ok(s || device > 0, "a workspace of %zu and %zu bytes", device, host);
	if (s)
		return s;
	is(device <= ROOM, true);
	of_host = host ? malloc(host) : NULL;
	s = t.cusolverDnXgeev(handle, NULL, jobl, jobr, n, d, at(a), n, dw, at(w), d, at(vl), n, d, at(vr), n, d,
			      at(room), device, of_host, host, at(info));
	CU(cuCtxSynchronize());
	free(of_host);
	return s;
}

/* Matrices without symmetry. Values of real ones are complex, or twice as many real ones. */
static void test_general(int n, bool complex_values)
{
	any a[MOST * MOST], l[MOST * MOST], r[MOST * MOST], w[MOST], alone[MOST];
	int of_values = data_type[complex_values ? type | 2 : type];
	CUdeviceptr p, values, vl, vr;

	fill(a, n * n);
	p = put(a, n * n);
	CU(cuMemAlloc(&values, 2 * MOST * 8));
	CU(cuMemAlloc(&vl, MOST * MOST * 16));
	CU(cuMemAlloc(&vr, MOST * MOST * 16));
	GOOD(geev(n, of_values, !soft_theirs(), true, p, values, vl, vr)); /* left vectors are ours alone */
	CU(cuCtxSynchronize());
	is(info_is(), 0);
	get(l, vl, n * n, false);
	get(r, vr, n * n, false);
	get_values(w, values, n, type < 2 && !complex_values);
	vectors_of(r, w, n);
	tap_ok(vectors_off(a, r, w, n, false) < near_enough() * n, "type %d: vectors of geev: off by %g", type,
	       vectors_off(a, r, w, n, false));
	vectors_of(l, w, n);
	tap_ok(soft_theirs() || vectors_off(a, l, w, n, true) < near_enough() * n,
	       "type %d: left vectors of geev: off by %g", type, vectors_off(a, l, w, n, true));
	CU(cuMemFree(p));
	p = put(a, n * n);
	GOOD(geev(n, of_values, false, false, p, values, 0, 0));
	CU(cuCtxSynchronize());
	get_values(alone, values, n, type < 2 && !complex_values);
	for (int i = 0; i < n; i++) { /* the order may be another one */
		double nearest = INFINITY;

		for (int j = 0; j < n; j++)
			nearest = fmin(nearest, cabs(w[i] - alone[j]));
		alone[i] = nearest < near_enough() * n ? alone[i] : NAN;
	}
	tap_ok(!isnan(creal(alone[0])) && !isnan(creal(alone[n - 1])), "type %d: values alone are the same", type);
	CU(cuMemFree(p));
	CU(cuMemFree(values));
	CU(cuMemFree(vl));
	CU(cuMemFree(vr));
}

/* What is no number: nothing converges, and nobody waits for it. */
static void test_general_wrong(void)
{
	any a[9] = { 1, 2, 3, NAN, 5, 6, 7, 8, 9 }, w[3];
	CUdeviceptr p = put(a, 9), values;

	CU(cuMemAlloc(&values, 64));
	if (!soft_theirs()) { /* NVIDIA's 12.0 answers errors to both */
		GOOD(geev(3, data_type[type], false, false, p, values, 0, 0));
		CU(cuCtxSynchronize());
		tap_ok(info_is() > 0, "NaN does not converge: info %d", info_is());
		get_values(w, values, 3, type < 2);
		tap_ok(isnan(creal(w[0])) && isnan(cimag(w[2])), "the values are no numbers");
		GOOD(t.cusolverDnXgeev(handle, NULL, CUSOLVER_EIG_MODE_NOVECTOR, CUSOLVER_EIG_MODE_NOVECTOR, 0,
				       data_type[type], NULL, 1, data_type[type], NULL, data_type[type], NULL, 1,
				       data_type[type], NULL, 1, data_type[type], NULL, 0, NULL, 0, NULL));
	}
	is(geev(-1, data_type[type], false, false, p, values, 0, 0), CUSOLVER_STATUS_INVALID_VALUE);
	is(geev(3, CUDA_R_16F, false, false, p, values, 0, 0), CUSOLVER_STATUS_INVALID_VALUE);
	is(geev(3, type >= 2 ? data_type[type - 2] : data_type[type ^ 1], false, false, p, values, 0, 0),
	   CUSOLVER_STATUS_INVALID_VALUE);
	is(t.cusolverDnXgeev(handle, NULL, CUSOLVER_EIG_MODE_NOVECTOR, CUSOLVER_EIG_MODE_VECTOR, 3, data_type[type],
			     at(p), 3, data_type[type], at(values), data_type[type], NULL, 1, data_type[type], at(p), 2,
			     data_type[type], NULL, 0, NULL, 0, at(info)),
	   CUSOLVER_STATUS_INVALID_VALUE);
	CU(cuMemFree(p));
	CU(cuMemFree(values));
}

/* Batches by an array of addresses, in a graph. */
/* Two matrices with room between; they stay as they are. */
static void test_approximate(int m, int n)
{
	enum { GAP = 7 };
	any a[2 * MOST * MOST], u[2 * MOST * MOST], v[2 * MOST * MOST], s[2 * MOST], same[2 * MOST * MOST],
		again[MOST * MOST];
	int rank = m < n ? m : n, a_apart = m * n + GAP, u_apart = m * rank + GAP, v_apart = n * rank + GAP, lwork = 0;
	CUdeviceptr p, pu, pv, ps;
	double norms[2] = { 5, 5 };

	fill(a, 2 * a_apart);
	p = put(a, 2 * a_apart);
	pu = put(a, 2 * u_apart);
	pv = put(a, 2 * v_apart);
	ps = put(a, 2 * (rank + 1));
	GOOD(OF_TYPE(gesvdaStridedBatched_bufferSize, handle, CUSOLVER_EIG_MODE_VECTOR, rank, m, n, at(p), m, a_apart,
		     at(ps), rank + 1, at(pu), m, u_apart, at(pv), n, v_apart, &lwork, 2));
	GOOD(OF_TYPE(gesvdaStridedBatched, handle, CUSOLVER_EIG_MODE_VECTOR, rank, m, n, at(p), m, a_apart, at(ps),
		     rank + 1, at(pu), m, u_apart, at(pv), n, v_apart, at(room), lwork, at(info), norms, 2));
	get(same, p, 2 * a_apart, false);
	NEAR(same, a, 2 * a_apart, "gesvda leaves the matrices");
	get(u, pu, 2 * u_apart, false);
	get(v, pv, 2 * v_apart, false);
	get(s, ps, 2 * (rank + 1), true);
	is(norms[0] == 0 && norms[1] == 0, 1);
	is(info_is(), 0);
	for (int k = 0; k < 2; k++) {
		for (int j = 0; j < rank; j++)
			for (int i = 0; i < m; i++)
				u[k * u_apart + i + j * m] *= s[k * (rank + 1) + j];
		times(again, u + k * u_apart, false, v + k * v_apart, true, m, n, rank, m, n);
		NEAR(again, a + k * a_apart, m * n, "gesvdaStridedBatched");
	}
	if (!soft_theirs()) /* which computes fewer of them */
		is(OF_TYPE(gesvdaStridedBatched, handle, CUSOLVER_EIG_MODE_VECTOR, rank - 1, m, n, at(p), m, a_apart,
			   at(ps), rank + 1, at(pu), m, u_apart, at(pv), n, v_apart, at(room), lwork, at(info), norms,
			   2),
		   CUSOLVER_STATUS_NOT_SUPPORTED);
	is(OF_TYPE(gesvdaStridedBatched, handle, CUSOLVER_EIG_MODE_VECTOR, rank, m, n, at(p), m - 1, a_apart, at(ps),
		   rank + 1, at(pu), m, u_apart, at(pv), n, v_apart, at(room), lwork, at(info), norms, 2),
	   CUSOLVER_STATUS_INVALID_VALUE);
	CU(cuMemFree(p));
	CU(cuMemFree(pu));
	CU(cuMemFree(pv));
	CU(cuMemFree(ps));
}

static void test_batches(int n)
{
	any a[3][MOST * MOST], l[MOST * MOST], again[MOST * MOST];
	CUdeviceptr p[3], array, infos;
	CUgraphExec exec;
	CUgraph graph;
	CUstream stream;

	for (int i = 0; i < 3; i++) {
		positive(a[i], n);
		p[i] = put(a[i], n * n);
	}
	CU(cuMemAlloc(&array, sizeof(p)));
	CU(cuMemAlloc(&infos, 64));
	CU(cuMemcpyHtoD(array, p, sizeof(p)));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	GOOD(t.cusolverDnSetStream(handle, (cudaStream_t)stream));
	CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	GOOD(OF_TYPE(potrfBatched, handle, CUBLAS_FILL_MODE_LOWER, n, at(array), n, at(infos), 3));
	CU(cuStreamEndCapture(stream, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphLaunch(exec, stream));
	CU(cuStreamSynchronize(stream));
	GOOD(t.cusolverDnSetStream(handle, NULL));
	for (int k = 0; k < 3; k++) {
		get(l, p[k], n * n, false);
		for (int j = 0; j < n; j++)
			for (int i = 0; i < j; i++)
				l[i + j * n] = 0;
		times(again, l, false, l, true, n, n, n, n, n);
		NEAR(again, a[k], n * n, "potrfBatched in a graph");
		CU(cuMemFree(p[k]));
	}
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	CU(cuStreamDestroy(stream));
	CU(cuMemFree(array));
	CU(cuMemFree(infos));
}

static void test_wrong(void)
{
	char no_handle[64] __attribute__((aligned(8))) = { 0 };
	cusolverSpHandle_t sparse = NULL;
	int lwork = 0, version = 0;

	GOOD(cusolverGetVersion(&version));
	is(version / 1000, 12);
	is(t.cusolverDnSpotrf(NULL, CUBLAS_FILL_MODE_LOWER, 2, at(room), 2, at(room), 1, at(info)),
	   CUSOLVER_STATUS_NOT_INITIALIZED);
	is(t.cusolverDnSpotrf((void *)no_handle, CUBLAS_FILL_MODE_LOWER, 2, at(room), 2, at(room), 1, at(info)),
	   CUSOLVER_STATUS_NOT_INITIALIZED);
	is(t.cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, -1, at(room), 2, at(room), 1, at(info)),
	   CUSOLVER_STATUS_INVALID_VALUE);
	is(t.cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, 3, at(room), 2, at(room), 1, at(info)),
	   CUSOLVER_STATUS_INVALID_VALUE);
	is(t.cusolverDnSpotrf(handle, (cublasFillMode_t)7, 2, at(room), 2, at(room), 1, at(info)),
	   CUSOLVER_STATUS_INVALID_VALUE);
	GOOD(t.cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, 0, NULL, 1, NULL, 0, NULL));
	is(t.cusolverDnSgesvd_bufferSize(handle, -1, 2, &lwork), CUSOLVER_STATUS_INVALID_VALUE);
	is(t.cusolverDnSgesvd(handle, 'X', 'N', 2, 2, at(room), 2, at(room), NULL, 1, NULL, 1, NULL, 0, NULL, at(info)),
	   CUSOLVER_STATUS_INVALID_VALUE);
	/* as documented: with as many rows as columns, or more */
	is(t.cusolverDnSgesvd_bufferSize(handle, 2, 3, &lwork), CUSOLVER_STATUS_INVALID_VALUE);
	is(t.cusolverDnSgesvd(handle, 'N', 'N', 2, 3, at(room), 2, at(room), NULL, 2, NULL, 3, at(room), 99, NULL,
			      at(info)),
	   CUSOLVER_STATUS_INVALID_VALUE);
	/* cuSOLVER has no queries of this kind */
	is(t.cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, 2, at(room), 2, at(room), -1, at(info)),
	   CUSOLVER_STATUS_INVALID_VALUE);
	is(t.cusolverDnSgeqrf(handle, 2, 2, at(room), 2, at(room), at(room), -1, at(info)),
	   CUSOLVER_STATUS_INVALID_VALUE);
	is(t.cusolverDnSsyevd(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 2, at(room), 2, at(room),
			      at(room), -1, at(info)),
	   CUSOLVER_STATUS_INVALID_VALUE);
	is(t.cusolverDnXpotrf(handle, NULL, CUBLAS_FILL_MODE_LOWER, 2, CUDA_R_16F, at(room), 2, CUDA_R_16F, NULL, 0,
			      NULL, 0, at(info)),
	   CUSOLVER_STATUS_INVALID_VALUE);
	GOOD(t.cusolverSpCreate(&sparse));
	if (!soft_theirs()) /* which has it */
		is(t.cusolverSpXcsrissymHost(sparse, 1, 1, NULL, NULL, NULL, NULL, NULL),
		   CUSOLVER_STATUS_NOT_SUPPORTED);
	GOOD(t.cusolverSpDestroy(sparse));
	is(t.cusolverDnDestroy(NULL), CUSOLVER_STATUS_NOT_INITIALIZED);
	/* an address that is none of the device's */
	GOOD(t.cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, 2, (float *)(uintptr_t)64, 2, at(room), 1024,
				at(info)));
	FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(void)
{
	for (int i = 0; i < CUSOLVER_CALL_COUNT; i++)
		((void **)&t)[i] = dlsym(dlopen(NULL, RTLD_NOW), cusolver_call_name[i]);
	soft_begin("1", "256M");
	soft_context();
	CU(cuMemAlloc(&room, ROOM));
	CU(cuMemAlloc(&info, 64));
	GOOD(t.cusolverDnCreate(&handle));
	for (type = 0; type < 4; type++) {
		test_cholesky(33);
		test_cholesky_of_none(1, 0);
		test_cholesky_of_none(5, 3);
		test_cholesky_of_none(MOST, MOST - 1);
		test_lu(37, true, false);
		test_lu(20, false, false);
		test_lu(21, true, true);
		test_symmetric(22, CUBLAS_FILL_MODE_UPPER);
		test_symmetric(31, CUBLAS_FILL_MODE_LOWER);
		test_qr(30, 17);
		test_svd(25, 14, false, 1);
		test_svd(19, 12, false, 0);
		test_svd(12, 19, true, 0);
		test_svd(25, 14, true, 1);
		test_svd(15, 9, true, 0);
		test_eigen(29, 1);
		test_eigen(11, 2);
		test_general(23, false);
		test_general(16, true);
		test_general_wrong();
		test_approximate(19, 8);
		if (!soft_theirs()) /* which takes matrices with at least as many rows as columns */
			test_approximate(6, 11);
		test_batches(8);
	}
	type = 0;
	test_wrong();
	GOOD(t.cusolverDnDestroy(handle));
	return soft_end();
}

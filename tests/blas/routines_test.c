/* routines_test.c: routines of cuBLAS on vectors, matrices and batches of systems, of four types, against plain loops.
 */
#include "blas/blas.h"

static cublasHandle_t handle;

/* A vector, or a matrix as one, in both memories; a step may be negative. */
struct vec {
	int type, n, step;
	size_t bytes;
	void *now, *before;
	CUdeviceptr device;
	double worst;
};

static struct vec vec_new(int type, int n, int step)
{
	int64_t count = 1 + (int64_t)(n - 1) * abs(step);
	struct vec v = { .type = type, .n = n, .step = step, .bytes = (size_t)count * blas_bytes(type) };

	v.now = malloc(v.bytes);
	v.before = malloc(v.bytes);
	for (int64_t i = 0; i < count; i++)
		blas_put_random(type, v.now, i);
	memcpy(v.before, v.now, v.bytes);
	v.device = blas_device(v.now, v.bytes);
	return v;
}

static struct vec vec_copy(const struct vec *v)
{
	struct vec c = *v;

	c.now = malloc(v->bytes);
	c.before = malloc(v->bytes);
	memcpy(c.now, v->now, v->bytes);
	memcpy(c.before, v->now, v->bytes);
	c.device = 0;
	return c;
}

static void vec_free(struct vec *v)
{
	free(v->now);
	free(v->before);
	if (v->device)
		cuMemFree(v->device);
}

static int64_t vec_index(const struct vec *v, int64_t i)
{
	return v->step < 0 ? (v->n - 1 - i) * -(int64_t)v->step : i * v->step;
}

static any vec_at(const struct vec *v, int64_t i)
{
	return blas_get(v->type, v->now, vec_index(v, i));
}

static any vec_old(const struct vec *v, int64_t i)
{
	return blas_get(v->type, v->before, vec_index(v, i));
}

#define vec_in(v) blas_at((v)->device)

static void vec_set(struct vec *v, int64_t i, any value)
{
	int64_t at = vec_index(v, i);

	if (v->type == CUDA_R_32F)
		((float *)v->now)[at] = (float)creal(value);
	else if (v->type == CUDA_R_64F)
		((double *)v->now)[at] = creal(value);
	else if (v->type == CUDA_C_32F)
		((float _Complex *)v->now)[at] = (float _Complex)value;
	else
		((any *)v->now)[at] = value;
	cuMemcpyHtoD(v->device + (CUdeviceptr)at * blas_bytes(v->type), (char *)v->now + at * blas_bytes(v->type),
		     blas_bytes(v->type));
}

static void vec_read(struct vec *v)
{
	memcpy(v->before, v->now, v->bytes);
	blas_back(v->now, v->device, v->bytes);
	v->worst = 0;
}

/* The error in units of the tolerance, for values about as large as `size` times one. */
static void vec_expect_value(struct vec *v, int64_t i, any got, any wanted, double size)
{
	double off = cabs(got - wanted) / (blas_tolerance(v->type) * (cabs(wanted) + size) + 1e-300);

	if (got != got || off > v->worst) {
		v->worst = got == got ? off : INFINITY;
		if (v->worst > 1)
			printf("# at %d: %g%+gi, expected %g%+gi\n", (int)i, creal(got), cimag(got), creal(wanted),
			       cimag(wanted));
	}
}

static void vec_expect(struct vec *v, int64_t i, any wanted, double size)
{
	vec_expect_value(v, i, vec_at(v, i), wanted, size);
}

static void vec_check(const char *what, const struct vec *v)
{
	tap_ok(v->worst <= 1, "%s of type %d: off by %.3g of the tolerance", what, v->type, v->worst);
}

static any value_of(int type, const void *p)
{
	return blas_get(type, p, 0);
}

static void near_to(const char *what, int type, any got, any wanted, double size)
{
	double off = cabs(got - wanted) / (blas_tolerance(type) * size);

	tap_ok(off <= 1, "%s of type %d: off by %.3g of the tolerance", what, type, off);
}

/* Of op(matrix) by columns. */
static any op_from(const struct vec *a, cublasOperation_t op, int64_t ld, int64_t from, int64_t i, int64_t j)
{
	any v = vec_at(a, from + (op == CUBLAS_OP_N ? i + j * ld : j + i * ld));

	return op == CUBLAS_OP_C ? conj(v) : v;
}

static any op_at(const struct vec *a, cublasOperation_t op, int64_t ld, int64_t i, int64_t j)
{
	return op_from(a, op, ld, 0, i, j);
}

/* A triangle: whole, packed or a band, as the BLAS describes them. */
struct tri {
	struct vec *a;
	cublasFillMode_t uplo;
	int form, n, k, ld;
};

static int64_t tri_index(const struct tri *t, int64_t i, int64_t j)
{
	bool upper = t->uplo == CUBLAS_FILL_MODE_UPPER;

	if (t->form == 1)
		return upper ? i + j * (j + 1) / 2 : i + (2 * t->n - j - 1) * j / 2;
	if (t->form == 2)
		return upper ? t->k + i - j + j * t->ld : i - j + j * t->ld;
	return i + j * t->ld;
}

static bool tri_has(const struct tri *t, int64_t i, int64_t j)
{
	bool upper = t->uplo == CUBLAS_FILL_MODE_UPPER;
	int64_t apart = upper ? j - i : i - j;

	return apart >= 0 && (t->form != 2 || apart <= t->k);
}

static any tri_at(const struct tri *t, cublasOperation_t op, cublasDiagType_t diag, int64_t i, int64_t j)
{
	int64_t row = op == CUBLAS_OP_N ? i : j, column = op == CUBLAS_OP_N ? j : i;
	any v;

	if (!tri_has(t, row, column))
		return 0;
	if (i == j && diag == CUBLAS_DIAG_UNIT)
		return 1;
	v = vec_at(t->a, tri_index(t, row, column));
	return op == CUBLAS_OP_C ? conj(v) : v;
}

/* Complex ones are hermitian here. */
static any sym_at(const struct tri *t, bool hermitian, int64_t i, int64_t j)
{
	if (tri_has(t, i, j)) {
		any v = vec_at(t->a, tri_index(t, i, j));

		return hermitian && i == j ? creal(v) : v;
	}
	if (!tri_has(t, j, i))
		return 0;
	return hermitian ? conj(vec_at(t->a, tri_index(t, j, i))) : vec_at(t->a, tri_index(t, j, i));
}

/* Addresses of matrices of `each` elements in the device's memory. */
static CUdeviceptr vec_batches(const struct vec *v, int each)
{
	uint64_t at[16];
	int count = v->n / each;

	for (int i = 0; i < count; i++)
		at[i] = v->device + (uint64_t)i * (uint64_t)each * blas_bytes(v->type);
	return blas_device(at, (size_t)count * 8);
}

static void inverse_check(const char *what, const struct vec *a, struct vec *c, int n, int count)
{
	for (int b = 0; b < count; b++)
		for (int j = 0; j < n; j++)
			for (int i = 0; i < n; i++) {
				any sum = 0;

				for (int p = 0; p < n; p++)
					sum += vec_at(a, b * n * n + i + p * n) * vec_at(c, b * n * n + p + j * n);
				vec_expect_value(c, i, sum, i == j, 3e4);
			}
	vec_check(what, c);
}

/* ---- what is not tested for each type ---- */

static void test_ranks(void)
{
	const cuComplex alpha = { 0.75f, -0.5f };
	const any alpha_any = 0.75 - 0.5 * I;
	const float real = 0.5f;
	int n = 41;

	for (int upper = 0; upper < 2; upper++)
		for (int form = 0; form < 2; form++) {
			struct vec a = vec_new(CUDA_C_32F, form ? n * (n + 1) / 2 : n * n, 1),
				   x = vec_new(CUDA_C_32F, n, 2), y = vec_new(CUDA_C_32F, n, -1);
			struct tri t = { &a, (cublasFillMode_t)upper, form, n, 0, n };

			for (int two = 0; two < 2; two++) {
				cublasStatus_t s;

				if (form && two)
					s = cublasChpr2_v2(handle, t.uplo, n, &alpha, vec_in(&x), 2, vec_in(&y), -1,
							   vec_in(&a));
				else if (form)
					s = cublasChpr_v2(handle, t.uplo, n, &real, vec_in(&x), 2, vec_in(&a));
				else if (two)
					s = cublasCher2_v2(handle, t.uplo, n, &alpha, vec_in(&x), 2, vec_in(&y), -1,
							   vec_in(&a), n);
				else
					s = cublasCher_v2(handle, t.uplo, n, &real, vec_in(&x), 2, vec_in(&a), n);

				OK(s);
				vec_read(&a);
				for (int j = 0; j < n; j++)
					for (int i = 0; i < n; i++) {
						int64_t at = tri_index(&t, i, j);
						any v = two ? alpha_any * vec_at(&x, i) * conj(vec_at(&y, j)) +
									conj(alpha_any) * vec_at(&y, i) *
										conj(vec_at(&x, j))
							    : 0.5 * vec_at(&x, i) * conj(vec_at(&x, j));

						if (tri_has(&t, i, j))
							vec_expect(&a, at,
								   i == j ? creal(vec_old(&a, at) + v)
									  : vec_old(&a, at) + v,
								   8);
					}
				vec_check("her, hpr, her2 or hpr2", &a);
			}
			vec_free(&a);
			vec_free(&x);
			vec_free(&y);
		}
}

static void test_bands(void)
{
	int m = 30, n = 26, kl = 3, ku = 2, ld = 8;
	struct vec a = vec_new(CUDA_R_64F, ld * n, 1), x = vec_new(CUDA_R_64F, m, 1), y = vec_new(CUDA_R_64F, n, -2);
	const double alpha = 2, beta = -1;

	OK(cublasDgbmv_v2(handle, CUBLAS_OP_T, m, n, kl, ku, &alpha, vec_in(&a), ld, vec_in(&x), 1, &beta, vec_in(&y),
			  -2));
	vec_read(&y);
	for (int j = 0; j < n; j++) {
		any sum = 0;

		for (int i = 0; i < m; i++)
			if (i - j <= kl && j - i <= ku)
				sum += vec_at(&a, ku + i - j + j * ld) * vec_at(&x, i);
		vec_expect(&y, j, 2 * sum - vec_old(&y, j), m);
	}
	vec_check("gbmv", &y);
	vec_free(&a);
	vec_free(&x);
	vec_free(&y);
}

static void test_plain(void)
{
	int m = 37, n = 23;
	struct vec a = vec_new(CUDA_C_64F, m * n, 1), b = vec_new(CUDA_C_64F, m * n, 1),
		   c = vec_new(CUDA_C_64F, m * n, 1), x = vec_new(CUDA_C_64F, n, -2),
		   p = vec_new(CUDA_C_64F, n * (n + 1) / 2, 1);
	const cuDoubleComplex alpha = { 2, 1 }, beta = { -1, 0.5 };
	struct tri t = { &p, CUBLAS_FILL_MODE_LOWER, 1, n, 0, n };

	OK(cublasZgeam(handle, CUBLAS_OP_N, CUBLAS_OP_C, m, n, &alpha, vec_in(&a), m, &beta, vec_in(&b), n, vec_in(&c),
		       m));
	vec_read(&c);
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++)
			vec_expect(&c, i + j * m,
				   (2 + I) * vec_at(&a, i + j * m) + (-1 + 0.5 * I) * conj(vec_at(&b, j + i * n)), 4);
	vec_check("geam", &c);
	OK(cublasZdgmm(handle, CUBLAS_SIDE_RIGHT, m, n, vec_in(&a), m, vec_in(&x), -2, vec_in(&c), m));
	vec_read(&c);
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++)
			vec_expect(&c, i + j * m, vec_at(&a, i + j * m) * vec_at(&x, j), 2);
	vec_check("dgmm", &c);
	/* a step of 0, as documented for one factor: the number at the address, the last one of a step below 0 */
	OK(cublasZdgmm(handle, CUBLAS_SIDE_LEFT, m, n, vec_in(&a), m, vec_in(&x), 0, vec_in(&c), m));
	vec_read(&c);
	for (int k = 0; k < m * n; k++)
		vec_expect(&c, k, vec_at(&a, k) * vec_at(&x, n - 1), 2);
	vec_check("dgmm with one factor", &c);
	OK(cublasZtrttp(handle, CUBLAS_FILL_MODE_LOWER, n, vec_in(&a), m, vec_in(&p)));
	vec_read(&p);
	for (int j = 0; j < n; j++)
		for (int i = j; i < n; i++)
			vec_expect(&p, tri_index(&t, i, j), vec_at(&a, i + j * m), 0);
	vec_check("trttp", &p);
	OK(cublasZtpttr(handle, CUBLAS_FILL_MODE_LOWER, n, vec_in(&p), vec_in(&c), m));
	vec_read(&c);
	for (int j = 0; j < n; j++)
		for (int i = j; i < n; i++)
			vec_expect(&c, i + j * m, vec_at(&a, i + j * m), 0);
	vec_check("tpttr", &c);
	vec_free(&a);
	vec_free(&b);
	vec_free(&c);
	vec_free(&x);
	vec_free(&p);
}

static void test_rotations(void)
{
	struct vec x = vec_new(CUDA_R_64F, 50, 1), y = vec_new(CUDA_R_64F, 50, 3);
	double a = 3, b = -4, c = 0, s = 0, p[5], d1 = 2, d2 = 3, x1 = 1.5, y1 = -0.75, h[4];

	OK(cublasDrotg_v2(handle, &a, &b, &c, &s));
	ok(fabs(c * 3 + s * -4 - a) < 1e-12 && fabs(c * -4 - s * 3) < 1e-12 && fabs(c * c + s * s - 1) < 1e-12);
	OK(cublasDrot_v2(handle, 50, vec_in(&x), 1, vec_in(&y), 3, &c, &s));
	vec_read(&x);
	vec_read(&y);
	for (int i = 0; i < 50; i++) {
		vec_expect(&x, i, c * vec_old(&x, i) + s * vec_old(&y, i), 2);
		vec_expect(&y, i, c * vec_old(&y, i) - s * vec_old(&x, i), 2);
	}
	vec_check("rot", &x);
	vec_check("rot", &y);
	/* a modified rotation makes the second of (sqrt(d1) x1, sqrt(d2) y1) zero */
	OK(cublasDrotmg_v2(handle, &d1, &d2, &x1, &y1, p));
	h[0] = p[0] == 0 ? 1 : p[1];
	h[1] = p[0] == 1 ? -1 : p[2];
	h[2] = p[0] == 1 ? 1 : p[3];
	h[3] = p[0] == 0 ? 1 : p[4];
	ok(fabs(h[1] * 1.5 + h[3] * -0.75) < 1e-12 && fabs(h[0] * 1.5 + h[2] * -0.75 - x1) < 1e-12);
	ok(fabs(d1 * x1 * x1 - (2 * 1.5 * 1.5 + 3 * 0.75 * 0.75)) < 1e-9);
	OK(cublasDrotm_v2(handle, 50, vec_in(&x), 1, vec_in(&y), 3, p));
	vec_read(&x);
	vec_read(&y);
	for (int i = 0; i < 50; i++) {
		vec_expect(&x, i, h[0] * vec_old(&x, i) + h[2] * vec_old(&y, i), 2);
		vec_expect(&y, i, h[1] * vec_old(&x, i) + h[3] * vec_old(&y, i), 2);
	}
	vec_check("rotm", &x);
	vec_check("rotm", &y);
	vec_free(&x);
	vec_free(&y);
}

/* Vectors of halves; batches of matrices and vectors; least squares; products in groups. */
static void test_rest(void)
{
	struct vec x = vec_new(CUDA_R_16F, 60, 1), y = vec_new(CUDA_R_16F, 60, 1),
		   a = vec_new(CUDA_R_32F, 3 * 12 * 8, 1), b = vec_new(CUDA_R_32F, 3 * 12, 1),
		   v = vec_new(CUDA_R_32F, 3 * 8, 1), w = vec_new(CUDA_R_32F, 3 * 12, 1);
	const float two = 2, half = 0.5f, one = 1, zero = 0;
	uint16_t dot = 0;
	float squares = 0, wide = 0;
	CUdeviceptr at_a, at_b, info = blas_device(NULL, 12), at_v, at_w;
	int said = 5, m[2] = { 12, 12 }, n[2] = { 1, 1 }, k[2] = { 8, 8 }, ld[2] = { 12, 12 }, ldb[2] = { 8, 8 },
	    sizes[2] = { 1, 2 };
	cublasOperation_t ops[2] = { CUBLAS_OP_N, CUBLAS_OP_N };
	float alphas[2] = { 1, 2 }, betas[2] = { 0, 0 };
	any sum = 0;

	OK(cublasAxpyEx(handle, 60, &two, CUDA_R_32F, vec_in(&x), CUDA_R_16F, 1, vec_in(&y), CUDA_R_16F, 1,
			CUDA_R_32F));
	vec_read(&y);
	for (int i = 0; i < 60; i++)
		vec_expect(&y, i, 2 * vec_at(&x, i) + vec_old(&y, i), 1);
	vec_check("AxpyEx", &y);
	OK(cublasDotEx(handle, 60, vec_in(&x), CUDA_R_16F, 1, vec_in(&y), CUDA_R_16F, 1, &dot, CUDA_R_16F, CUDA_R_32F));
	is(cublasDotEx(handle, 60, vec_in(&x), CUDA_R_16F, 1, vec_in(&y), CUDA_R_16F, 1, &wide, CUDA_R_32F, CUDA_R_32F),
	   CUBLAS_STATUS_NOT_SUPPORTED);
	for (int i = 0; i < 60; i++)
		sum += vec_at(&x, i) * vec_at(&y, i);
	near_to("DotEx", CUDA_R_16F, blas_get(CUDA_R_16F, &dot, 0), sum, 60);
	/* batches: y = 0.5 A x + 2 y, with a step that is not 1 */
	OK(cublasSgemvStridedBatched(handle, CUBLAS_OP_N, 12, 8, &half, vec_in(&a), 12, 96, vec_in(&v), 1, 8, &two,
				     vec_in(&w), 1, 12, 3));
	vec_read(&w);
	for (int batch = 0; batch < 3; batch++)
		for (int i = 0; i < 12; i++) {
			sum = 0;
			for (int j = 0; j < 8; j++)
				sum += vec_at(&a, batch * 96 + i + j * 12) * vec_at(&v, batch * 8 + j);
			vec_expect(&w, batch * 12 + i, 0.5 * sum + 2 * vec_old(&w, batch * 12 + i), 8);
		}
	vec_check("gemvStridedBatched", &w);
	at_a = vec_batches(&a, 96);
	at_b = vec_batches(&b, 12);
	at_v = vec_batches(&v, 8);
	at_w = vec_batches(&w, 12);
	OK(cublasSgemvBatched(handle, CUBLAS_OP_T, 12, 8, &one, blas_at(at_a), 12, blas_at(at_b), 1, &zero,
			      blas_at(at_v), 1, 3));
	vec_read(&v);
	for (int batch = 0; batch < 3; batch++)
		for (int j = 0; j < 8; j++) {
			sum = 0;
			for (int i = 0; i < 12; i++)
				sum += vec_at(&a, batch * 96 + i + j * 12) * vec_at(&b, batch * 12 + i);
			vec_expect(&v, batch * 8 + j, sum, 12);
		}
	vec_check("gemvBatched", &v);
	OK(cublasSgemmGroupedBatched(handle, ops, ops, m, n, k, alphas, blas_at(at_a), ld, blas_at(at_v), ldb, betas,
				     blas_at(at_w), ld, 2, sizes));
	vec_read(&w);
	for (int batch = 0; batch < 3; batch++)
		for (int i = 0; i < 12; i++) {
			sum = 0;
			for (int j = 0; j < 8; j++)
				sum += vec_at(&a, batch * 96 + i + j * 12) * vec_at(&v, batch * 8 + j);
			vec_expect(&w, batch * 12 + i, (batch ? 2 : 1) * sum, 40);
		}
	vec_check("gemmGroupedBatched", &w);
	/* least squares: the rest is at right angles to the columns of A */
	OK(cublasSgelsBatched(handle, CUBLAS_OP_N, 12, 8, 1, blas_at(at_a), 12, blas_at(at_b), 12, &said, blas_at(info),
			      3));
	is(said, 0);
	vec_read(&b);
	for (int batch = 0; batch < 3; batch++)
		for (int j = 0; j < 8; j++) {
			sum = 0;
			for (int i = 0; i < 12; i++) {
				any rest = vec_old(&b, batch * 12 + i);

				for (int q = 0; q < 8; q++)
					rest -= vec_at(&a, batch * 96 + i + q * 12) * vec_at(&b, batch * 12 + q);
				sum += vec_at(&a, batch * 96 + i + j * 12) * rest;
			}
			vec_expect_value(&b, batch * 12 + j, sum, 0, 100);
		}
	vec_check("gels", &b);
	OK(cublasSnrm2_v2(handle, 0, vec_in(&b), 1, &squares));
	is(squares, 0);
	cuMemFree(at_a);
	cuMemFree(at_b);
	cuMemFree(at_v);
	cuMemFree(at_w);
	cuMemFree(info);
	vec_free(&x);
	vec_free(&y);
	vec_free(&a);
	vec_free(&b);
	vec_free(&v);
	vec_free(&w);
}

#define SPMV spmv_v2
#define SBMV sbmv_v2
#define SYMV symv_v2
#define SYMM symm_v2
#define SYRK syrk_v2
#define SYR2K syr2k_v2
#define DOT dot_v2
#define GER ger_v2
#define ASUM asum_v2
#define NRM2 nrm2_v2
#define IS_COMPLEX 0
#define MAKE(re, im) (re)
#define IL Is
#define L S
#define TYPE CUDA_R_32F
#define SCALAR float
#define REAL float
#include "blas/routines.h"
#undef IL
#undef L
#undef TYPE
#undef SCALAR
#undef REAL
#define IL Id
#define L D
#define TYPE CUDA_R_64F
#define SCALAR double
#define REAL double
#include "blas/routines.h"
#undef IL
#undef L
#undef TYPE
#undef SCALAR
#undef REAL
#undef SPMV
#undef SBMV
#undef SYMV
#undef SYMM
#undef SYRK
#undef SYR2K
#undef DOT
#undef GER
#undef ASUM
#undef NRM2
#undef IS_COMPLEX
#undef MAKE

#define SPMV hpmv_v2
#define SBMV hbmv_v2
#define SYMV hemv_v2
#define SYMM hemm_v2
#define SYRK herk_v2
#define SYR2K her2k_v2
#define DOT dotc_v2
#define GER gerc_v2
#define IS_COMPLEX 1
#define MAKE(re, im)                                                                                                   \
	{                                                                                                              \
		re, im                                                                                                 \
	}
#define cublasCasum_v2 cublasScasum_v2
#define cublasCnrm2_v2 cublasScnrm2_v2
#define cublasZasum_v2 cublasDzasum_v2
#define cublasZnrm2_v2 cublasDznrm2_v2
#define ASUM asum_v2
#define NRM2 nrm2_v2
#define IL Ic
#define L C
#define TYPE CUDA_C_32F
#define SCALAR cuComplex
#define REAL float
#include "blas/routines.h"
#undef IL
#undef L
#undef TYPE
#undef SCALAR
#undef REAL
#define IL Iz
#define L Z
#define TYPE CUDA_C_64F
#define SCALAR cuDoubleComplex
#define REAL double
#include "blas/routines.h"

#define EACH_TYPE(call)                                                                                                \
	do {                                                                                                           \
		call(S);                                                                                               \
		call(D);                                                                                               \
		call(C);                                                                                               \
		call(Z);                                                                                               \
	} while (0)

static void test_all(void)
{
	static const cublasOperation_t ops[] = { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };

#define VECTORS(l) vectors_##l()
	EACH_TYPE(VECTORS);
	for (int o = 0; o < 3; o++) {
#define MATRIX_VECTOR(l) matrix_vector_##l(ops[o], 1 + o)
		EACH_TYPE(MATRIX_VECTOR);
		for (int upper = 0; upper < 2; upper++)
			for (int unit = 0; unit < 2; unit++) {
				for (int form = 0; form < 3; form++) {
#define TRIANGLES(l) triangles_##l((cublasFillMode_t)upper, ops[o], (cublasDiagType_t)unit, form)
					EACH_TYPE(TRIANGLES);
				}
				for (int right = 0; right < 2; right++) {
#define SIDES(l) sides_##l((cublasSideMode_t)right, (cublasFillMode_t)upper, ops[o], (cublasDiagType_t)unit)
					EACH_TYPE(SIDES);
				}
			}
	}
	for (int upper = 0; upper < 2; upper++)
		for (int turned = 0; turned < 2; turned++) {
#define UPDATES(l) updates_##l((cublasFillMode_t)upper, turned)
			EACH_TYPE(UPDATES);
		}
	for (int pivots = 0; pivots < 2; pivots++) {
#define SYSTEMS(l) systems_##l(pivots ? 20 : 40, pivots)
		EACH_TYPE(SYSTEMS);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		setenv("METE_OPENBLAS", argv[1], 1);
	soft_begin("1", "1G");
	soft_context();
	OK(cublasCreate_v2(&handle));
	test_all();
	test_ranks();
	test_bands();
	test_plain();
	test_rotations();
	test_rest();
	OK(cublasDestroy_v2(handle));
	return soft_end();
}

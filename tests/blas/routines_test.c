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
	OK(cublasDestroy_v2(handle));
	return soft_end();
}

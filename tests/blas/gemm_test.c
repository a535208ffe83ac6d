/*
 * gemm_test.c: products of matrices by every call of cuBLAS that makes one, against plain loops.
 *
 * gemm_test NAME    with METE_OPENBLAS set to NAME ("none.so": without OpenBLAS)
 */
#include "blas/blas.h"

static cublasHandle_t handle;

struct shape {
	int64_t m, n, k;
	cublasOperation_t ta, tb;
};

static any element(const struct blas_array *a, cublasOperation_t op, int64_t ld, int64_t i, int64_t j, int64_t from)
{
	any v = blas_host(a, from + (op == CUBLAS_OP_N ? i + j * ld : j + i * ld));

	return op == CUBLAS_OP_C ? conj(v) : v;
}

/* The largest error of D, relative to the magnitudes added up; above 1: out of the tolerance. */
static double worst(const struct shape *s, const struct blas_array *a, int64_t lda, int64_t fa,
		    const struct blas_array *b, int64_t ldb, int64_t fb, const struct blas_array *c, const void *d,
		    int64_t ldc, int64_t fc, any alpha, any beta)
{
	double most = 0;

	for (int64_t j = 0; j < s->n; j++)
		for (int64_t i = 0; i < s->m; i++) {
			any sum = 0, old = blas_host(c, fc + i + j * ldc), got = blas_get(c->type, d, fc + i + j * ldc);
			double size = cabs(beta * old), off;

			for (int64_t p = 0; p < s->k; p++) {
				any v = element(a, s->ta, lda, i, p, fa) * element(b, s->tb, ldb, p, j, fb);

				sum += v;
				size += cabs(alpha * v);
			}
			off = cabs(got - (alpha * sum + beta * old));
			off = off == 0 ? 0 : off / (blas_tolerance(c->type) * (size + 1e-3));
			most = off > most || off != off ? off : most;
		}
	return most;
}

static const struct shape shapes[] = {
	{ 5, 7, 3, CUBLAS_OP_N, CUBLAS_OP_N },	   { 64, 33, 129, CUBLAS_OP_T, CUBLAS_OP_N },
	{ 200, 70, 31, CUBLAS_OP_N, CUBLAS_OP_T }, { 31, 130, 600, CUBLAS_OP_C, CUBLAS_OP_T },
	{ 1, 1, 1, CUBLAS_OP_N, CUBLAS_OP_C },	   { 17, 9, 0, CUBLAS_OP_N, CUBLAS_OP_N },
};

#define SHAPES (sizeof(shapes) / sizeof(*shapes))

/* Room for a scalar of any type, and its value. */
struct scalar {
	union {
		float f;
		double d;
		int32_t i;
		uint16_t h;
		float c[2];
		double z[2];
	};
	any value;
};

static struct scalar scalar_of(int type, double re, double im)
{
	struct scalar s = { .value = re };

	if (type == CUDA_R_64F)
		s.d = re;
	else if (type == CUDA_R_32I)
		s.i = (int32_t)re;
	else if (type == CUDA_R_16F)
		s.h = re == 2 ? 0x4000 : re == 1 ? 0x3c00 : re == 0 ? 0 : 0xb800; /* -0.5 */
	else if (type == CUDA_C_32F)
		s.c[0] = (float)re, s.c[1] = (float)im, s.value += im * I;
	else if (type == CUDA_C_64F)
		s.z[0] = re, s.z[1] = im, s.value += im * I;
	else
		s.f = (float)re;
	return s;
}

struct typed {
	int a, b, c, compute, scale;
	const char *name;
};

static const struct typed typed[] = {
	{ CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, "f32" },
	{ CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, "tf32" },
	{ CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, "f64" },
	{ CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F, CUDA_C_32F, "c32" },
	{ CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F, CUDA_C_64F, "c64" },
	{ CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, CUDA_R_16F, "f16" },
	{ CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, "f16 as f32" },
	{ CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, "f16 to f32" },
	{ CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, "bf16" },
	{ CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, "bf16 to f32" },
	{ CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I, "i8" },
	{ CUDA_R_8I, CUDA_R_8I, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, "i8 to f32" },
};

#define TYPED (sizeof(typed) / sizeof(*typed))

static int64_t stored(cublasOperation_t op, int64_t rows, int64_t columns, bool first)
{
	return (op == CUBLAS_OP_N) == first ? rows : columns;
}

/* cuBLAS wants bytes that are added up as whole numbers at multiples of 4. */
static int64_t ld_of(const struct typed *t, int64_t ld)
{
	return t->c == CUDA_R_32I ? (ld + 3) / 4 * 4 : ld;
}

static void test_ex(const struct typed *t, const struct shape *s, cublasPointerMode_t mode, int batches)
{
	int64_t lda = ld_of(t, stored(s->ta, s->m, s->k, true) + 3),
		ldb = ld_of(t, stored(s->tb, s->k, s->n, true) + 1), ldc = s->m + 2;
	int64_t sa = lda * stored(s->ta, s->m, s->k, false), sb = ldb * stored(s->tb, s->k, s->n, false),
		sc = ldc * s->n;
	struct blas_array a = blas_new(t->a, sa * batches), b = blas_new(t->b, sb * batches),
			  c = blas_new(t->c, sc * batches);
	struct scalar alpha = scalar_of(t->scale, 2, -1),
		      beta = scalar_of(t->scale, t->scale == CUDA_R_32I ? 3 : -0.5, 0.25);
	CUdeviceptr scalars = blas_device(&alpha, sizeof(alpha)), other = blas_device(&beta, sizeof(beta));
	void *d = malloc((size_t)(sc * batches) * blas_bytes(t->c));
	const void *at_alpha = mode ? blas_at(scalars) : (void *)&alpha,
		   *at_beta = mode ? blas_at(other) : (void *)&beta;
	/* a product in TF32 may round what it multiplies to as many bits as halves have */
	int rounded = t->compute == CUBLAS_COMPUTE_32F_FAST_TF32 && soft_theirs() ? CUDA_R_16F : t->c;
	double most = 0;
	cublasStatus_t status;

	cublasSetPointerMode_v2(handle, mode);
	if (batches == 1)
		status = cublasGemmEx(handle, s->ta, s->tb, (int)s->m, (int)s->n, (int)s->k, at_alpha,
				      blas_at(a.device), t->a, (int)lda, blas_at(b.device), t->b, (int)ldb, at_beta,
				      blas_at(c.device), t->c, (int)ldc, t->compute, CUBLAS_GEMM_DEFAULT);
	else
		status = cublasGemmStridedBatchedEx(handle, s->ta, s->tb, (int)s->m, (int)s->n, (int)s->k, at_alpha,
						    blas_at(a.device), t->a, (int)lda, sa, blas_at(b.device), t->b,
						    (int)ldb, sb, at_beta, blas_at(c.device), t->c, (int)ldc, sc,
						    batches, t->compute, CUBLAS_GEMM_DEFAULT);
	blas_back(d, c.device, (size_t)(sc * batches) * blas_bytes(t->c));
	for (int i = 0; i < batches; i++)
		most = fmax(most,
			    worst(s, &a, lda, i * sa, &b, ldb, i * sb, &c, d, ldc, i * sc, alpha.value, beta.value) *
				    blas_tolerance(t->c) / blas_tolerance(rounded));
	tap_ok(!status && most <= 1,
	       "%s %dx%dx%d %d%d, %d of them, scalars %s: status %d, off by %.3g of the tolerance", t->name, (int)s->m,
	       (int)s->n, (int)s->k, s->ta, s->tb, batches, mode ? "in the device" : "here", status, most);
	cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_HOST);
	free(d);
	blas_free(&a);
	blas_free(&b);
	blas_free(&c);
	cuMemFree(scalars);
	cuMemFree(other);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		setenv("METE_OPENBLAS", argv[1], 1);
	soft_begin("1", "1G");
	soft_context();
	OK(cublasCreate_v2(&handle));
	for (size_t t = 0; t < TYPED; t++)
		for (size_t s = 0; s < SHAPES; s++)
			test_ex(&typed[t], &shapes[s], s % 2 ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST,
				s % 3 == 2 ? 3 : 1);
	OK(cublasDestroy_v2(handle));
	return soft_end();
}

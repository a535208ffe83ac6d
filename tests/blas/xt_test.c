/*
 * xt_test.c: cublasXt against plain loops: every call with matrices in the program's memory that have rows to spare,
 * one in the device's; what is beside a result stays; a quota that is too small; wrong arguments. The same test behind
 * a wall and over the network.
 */
#include "blas/blas.h"

#include <string.h>

/* As cublasXt.h declares them; that header is NVIDIA's. */
typedef struct cublasXtContext *xt;
#define XT(name, ...) cublasStatus_t xt_##name(__VA_ARGS__) __asm__("cublasXt" #name)
XT(Create, xt *);
XT(Destroy, xt);
XT(DeviceSelect, xt, int, int[]);
XT(MaxBoards, int *);
XT(GetNumBoards, int, int[], int *);
XT(SetBlockDim, xt, int);
XT(GetBlockDim, xt, int *);
XT(SetPinningMemMode, xt, int);
XT(GetPinningMemMode, xt, int *);
XT(SetCpuRatio, xt, int, int, float);
XT(SetCpuRoutine, xt, int, int, void *);
XT(Sspmm, void);

#define PRODUCT                                                                                                        \
	xt, int, int, size_t, size_t, size_t, const void *, const void *, size_t, const void *, size_t, const void *,  \
		void *, size_t
#define RANK xt, int, int, size_t, size_t, const void *, const void *, size_t, const void *, void *, size_t
#define RANK_TWO                                                                                                       \
	xt, int, int, size_t, size_t, const void *, const void *, size_t, const void *, size_t, const void *, void *,  \
		size_t
#define SOLVE xt, int, int, int, int, size_t, size_t, const void *, const void *, size_t, void *, size_t
#define TRIANGLE                                                                                                       \
	xt, int, int, int, int, size_t, size_t, const void *, const void *, size_t, const void *, size_t, void *, size_t
#define EACH(X)                                                                                                        \
	XT(X##gemm, PRODUCT);                                                                                          \
	XT(X##syrk, RANK);                                                                                             \
	XT(X##syr2k, RANK_TWO);                                                                                        \
	XT(X##syrkx, RANK_TWO);                                                                                        \
	XT(X##symm, RANK_TWO);                                                                                         \
	XT(X##trsm, SOLVE);                                                                                            \
	XT(X##trmm, TRIANGLE)
EACH(S);
EACH(D);
EACH(C);
EACH(Z);
#define EACH_COMPLEX(X)                                                                                                \
	XT(X##herk, RANK);                                                                                             \
	XT(X##her2k, RANK_TWO);                                                                                        \
	XT(X##herkx, RANK_TWO);                                                                                        \
	XT(X##hemm, RANK_TWO)
EACH_COMPLEX(C);
EACH_COMPLEX(Z);

enum { M = 7, N = 5, K = 6, MOST = 8, LD = 9, CELLS = LD * MOST };

static const int types[] = { CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F };
static const char letters[] = "SDCZ";
static int type; /* 0 to 3 */
static xt h;

#define CALL(name, ...)                                                                                                \
	(type == 0   ? xt_S##name(__VA_ARGS__)                                                                         \
	 : type == 1 ? xt_D##name(__VA_ARGS__)                                                                         \
	 : type == 2 ? xt_C##name(__VA_ARGS__)                                                                         \
		     : xt_Z##name(__VA_ARGS__))
#define CALL_COMPLEX(name, ...) (type == 2 ? xt_C##name(__VA_ARGS__) : xt_Z##name(__VA_ARGS__))

/* A matrix as the program has it, and its numbers; columns are LD apart. */
struct matrix {
	any v[CELLS];
	_Alignas(16) uint8_t raw[CELLS * 16];
};

static void write_one(void *raw, int i, any v)
{
	double d[2] = { creal(v), cimag(v) };
	float f[2] = { (float)d[0], (float)d[1] };
	uint32_t each = blas_bytes(types[type]);

	memcpy((uint8_t *)raw + (uint32_t)i * each, type & 1 ? (void *)d : (void *)f, each);
}

static void make(struct matrix *m)
{
	for (int i = 0; i < CELLS; i++) {
		blas_put_random(types[type], m->raw, i);
		m->v[i] = blas_get(types[type], m->raw, i);
	}
}

static any op_at(const any *m, int op, int i, int j)
{
	any v = op ? m[j + i * LD] : m[i + j * LD];

	return op == CUBLAS_OP_C ? conj(v) : v;
}

/* Element of a matrix of which one triangle is there. */
static any half_at(const any *m, int upper, bool hermitian, int i, int j)
{
	bool there = upper ? i <= j : i >= j;
	any v = there ? m[i + j * LD] : m[j + i * LD];

	if (hermitian)
		v = i == j ? creal(v) : there ? v : conj(v);
	return v;
}

static any triangle_at(const any *m, int upper, int op, bool unit, int i, int j)
{
	int row = op ? j : i, column = op ? i : j;
	any v = m[row + column * LD];

	if (row == column)
		v = unit ? 1 : v;
	else if ((row < column) != upper)
		v = 0;
	return op == CUBLAS_OP_C ? conj(v) : v;
}

/* All cells: those of the result, and those that nobody may touch. */
static void same(const struct matrix *have, const any *want, const char *what, int a, int b)
{
	double worst = 0;

	for (int i = 0; i < CELLS; i++)
		worst = fmax(worst, cabs(blas_get(types[type], have->raw, i) - want[i]));
	tap_ok(worst < (type & 1 ? 1e-11 : 1e-4), "cublasXt%c%s, %d %d: differs by %g", letters[type], what, a, b,
	       worst);
}

static void test_products(const void *alpha, const void *beta, any va, any vb)
{
	struct matrix a, b, c;
	any want[CELLS];

	for (int ta = 0; ta < 3; ta++)
		for (int tb = 0; tb < 3; tb++) {
			make(&a), make(&b), make(&c);
			memcpy(want, c.v, sizeof(want));
			for (int i = 0; i < M; i++)
				for (int j = 0; j < N; j++) {
					any sum = 0;

					for (int k = 0; k < K; k++)
						sum += op_at(a.v, ta, i, k) * op_at(b.v, tb, k, j);
					want[i + j * LD] = va * sum + vb * want[i + j * LD];
				}
			OK(CALL(gemm, h, ta, tb, M, N, K, alpha, a.raw, LD, b.raw, LD, beta, c.raw, LD));
			same(&c, want, "gemm", ta, tb);
		}
}

/* One triangle of A A^T, or with B as well; hermitian: of A A^H. */
static void test_ranks(const void *beta, any va, any vb, bool hermitian)
{
	static const char *const names[] = { "syrk", "syr2k", "syrkx", "herk", "her2k", "herkx" };
	struct matrix a, b, c;
	any want[CELLS];

	for (int kind = 0; kind < 3; kind++)
		for (int form = 0; form < 4; form++) {
			int upper = form & 1, op = form & 2 ? (hermitian ? CUBLAS_OP_C : CUBLAS_OP_T) : CUBLAS_OP_N;
			const struct matrix *with = kind ? &b : &a;
			any rank_alpha = hermitian && kind != 1 ? creal(va) : va,
			    rank_beta = hermitian ? creal(vb) : vb;
			uint8_t scalar[16];
			cublasStatus_t status;

			make(&a), make(&b), make(&c);
			memcpy(want, c.v, sizeof(want));
			write_one(scalar, 0, rank_alpha);
			if (kind == 2)
				b = a; /* what ...rkx gives is symmetric then */
			for (int i = 0; i < N; i++)
				for (int j = 0; j < N; j++) {
					any sum = 0, other = 0;

					if (upper ? i > j : i < j)
						continue;
					for (int k = 0; k < K; k++) {
						any ai = op_at(a.v, op, i, k), aj = op_at(a.v, op, j, k);
						any bi = op_at(with->v, op, i, k), bj = op_at(with->v, op, j, k);

						sum += ai * (hermitian ? conj(bj) : bj);
						other += bi * (hermitian ? conj(aj) : aj);
					}
					sum = rank_alpha * sum;
					if (kind == 1)
						sum += (hermitian ? conj(rank_alpha) : rank_alpha) * other;
					if (hermitian && i == j)
						want[i + j * LD] = creal(sum) + rank_beta * creal(want[i + j * LD]);
					else
						want[i + j * LD] = sum + rank_beta * want[i + j * LD];
				}
#define ONE h, upper, op, N, K, scalar, a.raw, LD, beta, c.raw, LD
#define TWO h, upper, op, N, K, scalar, a.raw, LD, b.raw, LD, beta, c.raw, LD
			if (hermitian)
				status = kind == 0   ? CALL_COMPLEX(herk, ONE)
					 : kind == 1 ? CALL_COMPLEX(her2k, TWO)
						     : CALL_COMPLEX(herkx, TWO);
			else
				status = kind == 0 ? CALL(syrk, ONE) : kind == 1 ? CALL(syr2k, TWO) : CALL(syrkx, TWO);
			OK(status);
			same(&c, want, names[kind + 3 * hermitian], upper, op);
		}
}

static void test_sides(const void *alpha, const void *beta, any va, any vb, bool hermitian)
{
	struct matrix a, b, c;
	any want[CELLS];

	for (int form = 0; form < 4; form++) {
		int right = form & 1, upper = form >> 1;

		make(&a), make(&b), make(&c);
		memcpy(want, c.v, sizeof(want));
		for (int i = 0; i < M; i++)
			for (int j = 0; j < N; j++) {
				any sum = 0;

				for (int k = 0; k < (right ? N : M); k++)
					sum += right ? b.v[i + k * LD] * half_at(a.v, upper, hermitian, k, j)
						     : half_at(a.v, upper, hermitian, i, k) * b.v[k + j * LD];
				want[i + j * LD] = va * sum + vb * want[i + j * LD];
			}
#define BESIDE h, right, upper, M, N, alpha, a.raw, LD, b.raw, LD, beta, c.raw, LD
		OK(hermitian ? CALL_COMPLEX(hemm, BESIDE) : CALL(symm, BESIDE));
		same(&c, want, hermitian ? "hemm" : "symm", right, upper);
	}
}

/* The product with a triangle, and the solution of it, which gives the other matrix again. */
static void test_triangles(const void *alpha, any va)
{
	struct matrix a, b, c;
	any want[CELLS];

	for (int form = 0; form < 24; form++) {
		int right = form & 1, upper = form >> 1 & 1, unit = form >> 2 & 1, op = form >> 3;

		make(&a), make(&b), make(&c);
		for (int i = 0; i < MOST; i++) {
			a.v[i + i * LD] += 4;
			write_one(a.raw, i + i * LD, a.v[i + i * LD]);
			a.v[i + i * LD] = blas_get(types[type], a.raw, i + i * LD);
		}
		memcpy(want, c.v, sizeof(want));
		for (int i = 0; i < M; i++)
			for (int j = 0; j < N; j++) {
				any sum = 0;

				for (int k = 0; k < (right ? N : M); k++)
					sum += right ? b.v[i + k * LD] * triangle_at(a.v, upper, op, unit, k, j)
						     : triangle_at(a.v, upper, op, unit, i, k) * b.v[k + j * LD];
				want[i + j * LD] = va * sum;
			}
		OK(CALL(trmm, h, right, upper, op, unit, M, N, alpha, a.raw, LD, b.raw, LD, c.raw, LD));
		same(&c, want, "trmm", form, op);
		OK(CALL(trsm, h, right, upper, op, unit, M, N, alpha, a.raw, LD, c.raw, LD));
		for (int i = 0; i < M; i++)
			for (int j = 0; j < N; j++)
				want[i + j * LD] = va * va * b.v[i + j * LD];
		same(&c, want, "trsm", form, op);
	}
}

static size_t device_free(void)
{
	size_t left = 0, all;

	CU(cuMemGetInfo(&left, &all));
	return left;
}

static void test_rest(void)
{
	static const float one = 1, zero = 0;
	struct matrix a, b;
	int device = 0, none = 999, value = 0;
	size_t before = 0, rows;
	CUdeviceptr place;
	xt other = NULL;
	any want[CELLS];

	make(&a), make(&b);
	place = blas_device(a.raw, sizeof(a.raw));
	memcpy(want, b.v, sizeof(want));
	for (int j = 0; j < N; j++)
		memcpy(want + j * LD, a.v + j * LD, M * sizeof(any));
	{
		float unit[CELLS] = { 0 };

		for (int i = 0; i < MOST; i++)
			unit[i + i * LD] = 1;
		OK(xt_Sgemm(h, 0, 0, M, N, M, &one, unit, LD, blas_at(place), LD, &zero, b.raw, LD));
	}
	same(&b, want, "gemm of a matrix in the device's memory", 0, 0);
	CU(cuMemFree(place));
	if (!soft_theirs()) {
		/* a matrix that does not fit, of which nothing is read; NVIDIA's library reads it, tile by tile */
		before = device_free();
		rows = before / sizeof(float) + 1;
		is(xt_Sgemm(h, 0, 0, rows, 1, 1, &one, a.raw, rows, b.raw, LD, &zero, b.raw, rows),
		   CUBLAS_STATUS_ALLOC_FAILED);
		is(device_free(), before);
	}
	OK(xt_Sgemm(h, 0, 0, 0, N, K, &one, a.raw, LD, b.raw, LD, &zero, b.raw, LD));
	is(xt_Sgemm(h, 0, 0, M, N, K, &one, a.raw, M - 1, b.raw, LD, &zero, b.raw, LD), CUBLAS_STATUS_INVALID_VALUE);
	is(xt_Sgemm(h, 0, 0, M, N, K, &one, NULL, LD, b.raw, LD, &zero, b.raw, LD), CUBLAS_STATUS_INVALID_VALUE);
	is(xt_Sgemm(h, 0, 0, (size_t)-1, (size_t)-1, K, &one, a.raw, (size_t)-1, b.raw, LD, &zero, b.raw, (size_t)-1),
	   CUBLAS_STATUS_INVALID_VALUE);
	if (!soft_theirs())
		is(device_free(), before);
	OK(xt_Create(&other));
	is(xt_Sgemm(other, 0, 0, M, N, K, &one, a.raw, LD, b.raw, LD, &zero, b.raw, LD), CUBLAS_STATUS_NOT_INITIALIZED);
	is(xt_DeviceSelect(other, 1, &none), CUBLAS_STATUS_INVALID_VALUE);
	is(xt_DeviceSelect(other, 0, &device), CUBLAS_STATUS_INVALID_VALUE);
	OK(xt_Destroy(other));
	is(xt_Destroy(NULL), CUBLAS_STATUS_NOT_INITIALIZED);
	is(xt_Create(NULL), CUBLAS_STATUS_INVALID_VALUE);
	OK(xt_GetBlockDim(h, &value));
	tap_ok(value > 0, "a tile has %d rows", value);
	OK(xt_SetBlockDim(h, 64));
	OK(xt_GetBlockDim(h, &value));
	is(value, 64);
	is(xt_SetBlockDim(h, 0), CUBLAS_STATUS_INVALID_VALUE);
	OK(xt_SetPinningMemMode(h, 1));
	OK(xt_GetPinningMemMode(h, &value));
	is(value, 1);
	OK(xt_GetNumBoards(1, &device, &value));
	is(value, 1);
	OK(xt_MaxBoards(&value));
	OK(xt_SetCpuRatio(h, 0, 0, 0.5f));
	is(xt_SetCpuRatio(h, 0, 0, 2), CUBLAS_STATUS_INVALID_VALUE);
	OK(xt_SetCpuRoutine(h, 0, 0, NULL));
	if (!soft_theirs()) /* without arguments */
		is(xt_Sspmm(), CUBLAS_STATUS_NOT_SUPPORTED);
}

int main(void)
{
	int device = 0;

	soft_begin("1", "256M");
	soft_context();
	OK(xt_Create(&h));
	OK(xt_DeviceSelect(h, 1, &device));
	for (type = 0; type < 4; type++) {
		any va = type >= 2 ? 2 - 0.5 * I : 2, vb = type >= 2 ? -1 + 0.25 * I : -1;
		uint8_t alpha[16], beta[16];

		write_one(alpha, 0, va);
		write_one(beta, 0, vb);
		test_products(alpha, beta, va, vb);
		test_ranks(beta, va, vb, false);
		test_sides(alpha, beta, va, vb, false);
		test_triangles(alpha, va);
		if (type < 2)
			continue;
		test_ranks(beta, va, vb, true);
		test_sides(alpha, beta, va, vb, true);
	}
	type = 0;
	test_rest();
	OK(xt_Destroy(h));
	return soft_end();
}

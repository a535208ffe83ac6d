/*
 * product_run.c: tiles of a product, worked out on a thread of the device; see product.h.
 *
 * A gemm of gemm.h is at most some milliseconds long, and the device learns of the progress after each.
 */
#include "libs/blas/product.h"

#include "libs/blas/gemm.h"
#include "libs/common/scratch.h"

#include <math.h>
#include <string.h>

#define DEPTH_DIRECT 512
#define DEPTH_FLOAT 512
#define DEPTH_INTEGER 1024 /* 1024 products of 8-bit numbers add up to less than 2^24: floats hold them exactly */
#define WARP_FLOPS 64	   /* of a multiplying and adding instruction of a warp */

struct run {
	struct soft_native *native;
	const struct product *p;
	const char *a, *b, *c; /* of this batch */
	char *d;
	int64_t batch;
	int64_t i0, j0, rows, columns; /* of this tile */
	uint8_t alpha[16], beta[16];
	double alpha_number, beta_number;
	const float *scale_a, *scale_b; /* outer ones */
	float scale_ab, scale_c, scale_d, scale_aux;
	float amax, aux_amax;
	float *sum; /* of the tile */
	int32_t *whole;
	float *piece_a, *piece_b, *part;
	double gradient[1024]; /* BGRAD, by rows of the tile */
};

static const char *at_element(const char *p, unsigned int type, int64_t index)
{
	/* as numbers: without anything to add up (k is 0) an operand may have no address */
	return (const char *)(uintptr_t)((uint64_t)(uintptr_t)p + (uint64_t)index * type_bytes(type));
}

/* ---- memory ---- */

/* rows x columns from `at` on. */
static bool reach_matrix(struct run *r, uint64_t at, unsigned int type, int64_t rows, int64_t columns, int64_t ld,
			 bool write)
{
	int64_t elements;
	uint64_t bytes;

	if (!rows || !columns)
		return true;
	if (__builtin_mul_overflow(columns - 1, ld, &elements) || __builtin_add_overflow(elements, rows, &elements) ||
	    __builtin_mul_overflow((uint64_t)elements, (uint64_t)type_bytes(type), &bytes)) {
		r->native->refuse(r->native);
		return false;
	}
	return device_reach(r->native, at, bytes, type_bytes(type), write);
}

static bool matrix_address(struct run *r, enum product_matrix which, uint64_t *ret)
{
	const struct product *p = r->p;
	uint64_t at = p->at[which];

	if (!p->arrays) {
		*ret = at + (uint64_t)p->stride[which] * (uint64_t)r->batch * type_bytes(p->type[which]);
		return true;
	}
	at += (uint64_t)r->batch * sizeof(uint64_t);
	if (!r->native->reach(r->native, at, sizeof(uint64_t), false))
		return false;
	memcpy(ret, (const void *)(uintptr_t)at, sizeof(*ret));
	return true;
}

static bool is_zero(const uint8_t *value)
{
	static const uint8_t zero[16];

	return !memcmp(value, zero, sizeof(zero));
}

static bool beta_is_zero(const struct run *r)
{
	return r->beta_number == 0 && (!type_is_complex(r->p->scale_type) || is_zero(r->beta));
}

/* The operands of the batch, all of them reachable. */
static bool batch_begin(struct run *r, int64_t batch)
{
	const struct product *p = r->p;
	bool turned_a = p->op[0] != GEMM_N, turned_b = p->op[1] != GEMM_N;
	uint64_t at[PRODUCT_MATRICES];

	r->batch = batch;
	for (int i = 0; i < PRODUCT_MATRICES; i++)
		if (!matrix_address(r, (enum product_matrix)i, &at[i]))
			return false;
	if (!reach_matrix(r, at[PRODUCT_D], p->type[PRODUCT_D], p->m, p->n, p->ld[PRODUCT_D], true) ||
	    (!beta_is_zero(r) &&
	     !reach_matrix(r, at[PRODUCT_C], p->type[PRODUCT_C], p->m, p->n, p->ld[PRODUCT_C], false)) ||
	    (p->k && (!reach_matrix(r, at[PRODUCT_A], p->type[PRODUCT_A], turned_a ? p->k : p->m,
				    turned_a ? p->m : p->k, p->ld[PRODUCT_A], false) ||
		      !reach_matrix(r, at[PRODUCT_B], p->type[PRODUCT_B], turned_b ? p->n : p->k,
				    turned_b ? p->k : p->n, p->ld[PRODUCT_B], false))))
		return false;
	r->a = (const char *)(uintptr_t)at[PRODUCT_A];
	r->b = (const char *)(uintptr_t)at[PRODUCT_B];
	r->c = (const char *)(uintptr_t)at[PRODUCT_C];
	r->d = (char *)(uintptr_t)at[PRODUCT_D];
	return true;
}

static bool scalar_read(struct run *r, const struct product_scalar *s, uint8_t ret[16], double *ret_number)
{
	uint32_t bytes = type_bytes(r->p->scale_type);

	memset(ret, 0, 16);
	if (s->place == PRODUCT_HERE) {
		memcpy(ret, s->value, bytes);
	} else if (s->place == PRODUCT_AT) {
		if (!r->native->reach(r->native, s->address, bytes, false))
			return false;
		memcpy(ret, (const void *)(uintptr_t)s->address, bytes);
	} else {
		type_put(r->p->scale_type, 1, ret);
	}
	*ret_number = type_get(r->p->scale_type, ret);
	return true;
}

static bool factor_read(struct run *r, enum product_matrix which, float *one, const float **outer, int64_t count)
{
	uint64_t at = r->p->scale_at[which];
	bool wide = r->p->scale[which] == SCALE_OUTER && outer;

	if (r->p->scale[which] == SCALE_NONE)
		return true;
	if (!device_reach(r->native, at, wide ? (uint64_t)count * sizeof(float) : sizeof(float), sizeof(float), false))
		return false;
	if (wide)
		*outer = (const float *)(uintptr_t)at;
	else
		*one *= *(const float *)(uintptr_t)at;
	return true;
}

static bool scalars_read(struct run *r)
{
	const struct product *p = r->p;

	r->scale_ab = r->scale_c = r->scale_d = r->scale_aux = 1;
	if (p->aux_scale) {
		if (!device_reach(r->native, p->aux_scale, sizeof(float), sizeof(float), false))
			return false;
		r->scale_aux = *(const float *)(uintptr_t)p->aux_scale;
	}
	return scalar_read(r, &p->alpha, r->alpha, &r->alpha_number) &&
	       scalar_read(r, &p->beta, r->beta, &r->beta_number) &&
	       factor_read(r, PRODUCT_A, &r->scale_ab, &r->scale_a, p->m) &&
	       factor_read(r, PRODUCT_B, &r->scale_ab, &r->scale_b, p->n) &&
	       factor_read(r, PRODUCT_C, &r->scale_c, NULL, 1) && factor_read(r, PRODUCT_D, &r->scale_d, NULL, 1);
}

static bool went_on(struct run *r, int64_t depth)
{
	uint64_t flops = 2 * (uint64_t)r->rows * (uint64_t)r->columns * (uint64_t)depth;

	return r->native->go_on(r->native, flops / WARP_FLOPS + 1);
}

/* ---- epilogues ---- */

/* The part of the auxiliary matrix that belongs to a column of the tile: bits or numbers. NULL: it is not reached. */
static char *aux_at(struct run *r, int64_t column, bool bits, bool write)
{
	const struct product *p = r->p;
	uint64_t first = (uint64_t)(r->j0 + column) * (uint64_t)p->aux_ld + (uint64_t)r->i0;
	uint64_t at = p->aux, bytes, stride = (uint64_t)p->aux_stride * (uint64_t)r->batch;

	if (bits) {
		at += (first + stride) / 8;
		bytes = (uint64_t)(r->i0 % 8 + r->rows + 7) / 8;
	} else {
		at += (first + stride) * type_bytes(p->aux_type);
		bytes = (uint64_t)r->rows * type_bytes(p->aux_type);
	}
	return device_reach(r->native, at, bytes, bits ? 1 : type_bytes(p->aux_type), write) ? (char *)(uintptr_t)at
											     : NULL;
}

/* `count`: of all that the caller may touch, one for each row or each column of D. */
static const char *bias_at(struct run *r, int64_t count, bool write)
{
	const struct product *p = r->p;
	uint32_t each = type_bytes(p->bias_type);
	uint64_t at = p->bias + (uint64_t)p->bias_stride * (uint64_t)r->batch * each;

	return device_reach(r->native, at, (uint64_t)count * each, each, write) ? (const char *)(uintptr_t)at : NULL;
}

#define T float
#define NAMED(name) name##_float
#define TANH tanhf
#include "libs/blas/product_epilogue.h"
#define T double
#define NAMED(name) name##_double
#define TANH tanh
#include "libs/blas/product_epilogue.h"

/* The gradient of A's or B's bias: sums over k, by the first tile of its rows or columns. */
static bool operand_gradient(struct run *r)
{
	const struct product *p = r->p;
	bool of_a = p->epilogue & EPILOGUE_BGRADA;
	enum product_matrix which = of_a ? PRODUCT_A : PRODUCT_B;
	unsigned int type = p->type[which];
	bool by_rows = of_a == (p->op[of_a ? 0 : 1] == GEMM_N);
	int64_t count = of_a ? r->rows : r->columns, first = of_a ? r->i0 : r->j0, ld = p->ld[which];
	const char *from = of_a ? r->a : r->b;
	char *bias;

	if (of_a ? r->j0 : r->i0)
		return true;
	bias = (char *)(uintptr_t)bias_at(r, of_a ? p->m : p->n, true);
	if (!bias)
		return false;
	for (int64_t i = 0; i < count; i++) {
		double sum = 0;

		for (int64_t q = 0; q < p->k; q++)
			sum += type_get(type,
					at_element(from, type, by_rows ? first + i + q * ld : q + (first + i) * ld));
		type_put(p->bias_type, sum, bias + (first + i) * type_bytes(p->bias_type));
	}
	return true;
}

/* ---- in place ---- */

static enum gemm_kind kind_of(unsigned int type)
{
	return type == CUDA_R_32F ? GEMM_S : type == CUDA_R_64F ? GEMM_D : type == CUDA_C_32F ? GEMM_C : GEMM_Z;
}

static bool tile_direct(struct run *r)
{
	const struct product *p = r->p;
	unsigned int type = p->type[PRODUCT_A];
	int64_t lda = p->ld[PRODUCT_A], ldb = p->ld[PRODUCT_B], ldd = p->ld[PRODUCT_D], depth;
	char *d = r->d + (r->i0 + r->j0 * ldd) * (int64_t)type_bytes(type);
	const char *c = at_element(r->c, type, r->i0 + r->j0 * p->ld[PRODUCT_C]);
	uint8_t one[16] = { 0 };
	int64_t q = 0;

	type_put(type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type, 1, one);
	if ((c != d || p->ld[PRODUCT_C] != ldd) && !beta_is_zero(r))
		for (int64_t j = 0; j < r->columns; j++)
			memmove(d + j * ldd * type_bytes(type), at_element(c, type, j * p->ld[PRODUCT_C]),
				(size_t)r->rows * type_bytes(type));
	do {
		depth = p->k - q < DEPTH_DIRECT ? p->k - q : DEPTH_DIRECT;
		gemm(kind_of(type), (enum gemm_op)p->op[0], (enum gemm_op)p->op[1], r->rows, r->columns, depth,
		     r->alpha, at_element(r->a, type, p->op[0] == GEMM_N ? r->i0 + q * lda : q + r->i0 * lda), lda,
		     at_element(r->b, type, p->op[1] == GEMM_N ? q + r->j0 * ldb : r->j0 + q * ldb), ldb,
		     q ? one : r->beta, d, ldd);
		if (!went_on(r, depth * (type_is_complex(type) ? 4 : 1)))
			return false;
		q += depth;
	} while (q < p->k);
	if (p->epilogue == EPILOGUE_NONE)
		return true;
	for (int64_t j = 0; j < r->columns; j++)
		if (!(type == CUDA_R_32F ? epilogue_float(r, j, (float *)(void *)d + j * ldd)
					 : epilogue_double(r, j, (double *)(void *)d + j * ldd)))
			return false;
	return true;
}

/* ---- by way of floats ---- */

/* A piece of an operand as floats: as it is stored, columns side by side. */
static int64_t piece_read(const char *from, unsigned int type, int64_t ld, int64_t row, int64_t column, int64_t rows,
			  int64_t columns, float *to)
{
	for (int64_t j = 0; j < columns; j++)
		type_read(type, at_element(from, type, row + (column + j) * ld), 1, rows, to + j * rows);
	return rows;
}

static void sum_pieces(struct run *r, int64_t q, int64_t depth, float *to, bool add)
{
	const struct product *p = r->p;
	bool plain_a = p->op[0] == GEMM_N, plain_b = p->op[1] == GEMM_N;
	const float one = 1, zero = 0;
	int64_t lda, ldb;

	lda = plain_a ? piece_read(r->a, p->type[PRODUCT_A], p->ld[PRODUCT_A], r->i0, q, r->rows, depth, r->piece_a)
		      : piece_read(r->a, p->type[PRODUCT_A], p->ld[PRODUCT_A], q, r->i0, depth, r->rows, r->piece_a);
	ldb = plain_b ? piece_read(r->b, p->type[PRODUCT_B], p->ld[PRODUCT_B], q, r->j0, depth, r->columns, r->piece_b)
		      : piece_read(r->b, p->type[PRODUCT_B], p->ld[PRODUCT_B], r->j0, q, r->columns, depth, r->piece_b);
	gemm(GEMM_S, plain_a ? GEMM_N : GEMM_T, plain_b ? GEMM_N : GEMM_T, r->rows, r->columns, depth, &one, r->piece_a,
	     lda, r->piece_b, ldb, add ? &one : &zero, to, r->rows);
}

static bool sum_float(struct run *r)
{
	for (int64_t q = 0, depth; q < r->p->k; q += depth) {
		depth = r->p->k - q < DEPTH_FLOAT ? r->p->k - q : DEPTH_FLOAT;
		sum_pieces(r, q, depth, r->sum, q > 0);
		if (!went_on(r, depth))
			return false;
	}
	return true;
}

static bool sum_integer(struct run *r)
{
	int64_t count = r->rows * r->columns;

	memset(r->whole, 0, (size_t)count * sizeof(*r->whole));
	for (int64_t q = 0, depth; q < r->p->k; q += depth) {
		depth = r->p->k - q < DEPTH_INTEGER ? r->p->k - q : DEPTH_INTEGER;
		sum_pieces(r, q, depth, r->part, false);
		for (int64_t i = 0; i < count; i++)
			r->whole[i] = (int32_t)((uint32_t)r->whole[i] + (uint32_t)(int32_t)r->part[i]);
		if (!went_on(r, depth))
			return false;
	}
	return true;
}

/* Sums of integers with whole scalars: as 32-bit arithmetic has it. */
static void column_whole(struct run *r, int64_t j)
{
	const struct product *p = r->p;
	int32_t *d = (int32_t *)(void *)r->d + r->i0 + (r->j0 + j) * p->ld[PRODUCT_D];
	const int32_t *c = (const int32_t *)(const void *)r->c;
	uint32_t alpha = (uint32_t)(int32_t)r->alpha_number, beta = (uint32_t)(int32_t)r->beta_number;

	if (beta) /* else there may be no C */
		c += r->i0 + (r->j0 + j) * p->ld[PRODUCT_C];
	for (int64_t i = 0; i < r->rows; i++)
		d[i] = (int32_t)(alpha * (uint32_t)r->whole[j * r->rows + i] + (beta ? beta * (uint32_t)c[i] : 0));
}

static float alpha_of(struct run *r, int64_t row)
{
	const float *v = (const float *)(uintptr_t)r->p->alpha.address;

	return r->p->alpha.place == PRODUCT_VECTOR ? v[r->p->alpha_stride * r->batch + r->i0 + row]
						   : (float)r->alpha_number;
}

/* One column of the tile, from the sum to D. */
static bool column_float(struct run *r, int64_t j)
{
	const struct product *p = r->p;
	float *v = r->sum + j * r->rows, other[1024];
	unsigned int type_c = p->type[PRODUCT_C], type_d = p->type[PRODUCT_D];
	float by_column = r->scale_ab * (r->scale_b ? r->scale_b[r->j0 + j] : 1);

	for (int64_t i = 0; i < r->rows; i++) {
		float sum = p->way == PRODUCT_INTEGER ? (float)r->whole[j * r->rows + i] : v[i];

		v[i] = sum * (alpha_of(r, i) * by_column * (r->scale_a ? r->scale_a[r->i0 + i] : 1));
	}
	if (r->beta_number != 0) {
		float beta = (float)r->beta_number * r->scale_c;

		type_read(type_c, at_element(r->c, type_c, r->i0 + (r->j0 + j) * p->ld[PRODUCT_C]), 1, r->rows, other);
		for (int64_t i = 0; i < r->rows; i++)
			v[i] += beta * other[i];
	}
	if (p->epilogue != EPILOGUE_NONE && !epilogue_float(r, j, v))
		return false;
	for (int64_t i = 0; p->amax && i < r->rows; i++)
		r->amax = fabsf(v[i]) > r->amax ? fabsf(v[i]) : r->amax;
	for (int64_t i = 0; p->scale[PRODUCT_D] && i < r->rows; i++)
		v[i] *= r->scale_d;
	type_write(type_d, v, r->rows,
		   (char *)(uintptr_t)at_element(r->d, type_d, r->i0 + (r->j0 + j) * p->ld[PRODUCT_D]), 1);
	return true;
}

static bool tile_float(struct run *r)
{
	const struct product *p = r->p;
	bool whole = p->way == PRODUCT_INTEGER && p->scale_type == CUDA_R_32I;

	if (!p->k)
		memset(r->sum, 0, (size_t)(r->rows * r->columns) * sizeof(*r->sum));
	if (!(p->way == PRODUCT_INTEGER ? sum_integer(r) : sum_float(r)))
		return false;
	for (int64_t j = 0; j < r->columns; j++) {
		if (whole)
			column_whole(r, j);
		else if (!column_float(r, j))
			return false;
	}
	return true;
}

/* ---- all tiles of a block ---- */

static bool pieces_get(struct run *r)
{
	const struct product *p = r->p;
	size_t rows = p->tile_rows, columns = p->tile_columns,
	       depth = p->way == PRODUCT_INTEGER ? DEPTH_INTEGER : DEPTH_FLOAT;
	size_t sums = rows * columns * (p->way == PRODUCT_INTEGER ? 3 : 1);
	float *memory;

	if (p->way == PRODUCT_DIRECT)
		return true;
	memory = scratch_get((sums + (rows + columns) * depth) * sizeof(float));
	if (!memory)
		return false;
	r->sum = memory;
	r->part = memory + rows * columns;
	r->whole = (int32_t *)(void *)(memory + 2 * rows * columns);
	r->piece_a = memory + sums;
	r->piece_b = r->piece_a + rows * depth;
	return true;
}

static bool tile_run(struct run *r, uint64_t tile)
{
	const struct product *p = r->p;
	uint64_t across = ((uint64_t)p->n + p->tile_columns - 1) / p->tile_columns;
	uint64_t down = ((uint64_t)p->m + p->tile_rows - 1) / p->tile_rows;
	int64_t batch = (int64_t)(tile / (across * down));

	if (batch != r->batch && !batch_begin(r, batch))
		return false;
	tile %= across * down;
	r->i0 = (int64_t)(tile / across) * p->tile_rows;
	r->j0 = (int64_t)(tile % across) * p->tile_columns;
	r->rows = p->m - r->i0 < p->tile_rows ? p->m - r->i0 : p->tile_rows;
	r->columns = p->n - r->j0 < p->tile_columns ? p->n - r->j0 : p->tile_columns;
	if (p->epilogue & (EPILOGUE_BGRADA | EPILOGUE_BGRADB) && !operand_gradient(r))
		return false;
	return p->way == PRODUCT_DIRECT ? tile_direct(r) : tile_float(r);
}

static void amax_write(struct run *r, uint64_t at, float value)
{
	if (at && r->native->reach(r->native, at, sizeof(value), true))
		memcpy((void *)(uintptr_t)at, &value, sizeof(value));
}

void product_run(struct soft_native *n, const struct product *p)
{
	uint64_t across, down, tiles;
	struct run r = { .native = n, .p = p, .batch = -1 };

	if (!product_sound(p) || !p->m || !p->n || !n->blocks) {
		n->refuse(n);
		return;
	}
	if (!scalars_read(&r))
		return;
	if (p->alpha.place == PRODUCT_VECTOR &&
	    !device_reach(n, p->alpha.address, (uint64_t)(p->alpha_stride * (p->batch - 1) + p->m) * sizeof(float),
			  sizeof(float), false))
		return;
	if (!pieces_get(&r)) {
		n->refuse(n);
		return;
	}
	across = ((uint64_t)p->n + p->tile_columns - 1) / p->tile_columns;
	down = ((uint64_t)p->m + p->tile_rows - 1) / p->tile_rows;
	tiles = across * down * (uint64_t)p->batch;
	for (uint64_t t = n->block * tiles / n->blocks; t < (n->block + UINT64_C(1)) * tiles / n->blocks; t++)
		if (!tile_run(&r, t))
			return;
	if (!n->block) {
		amax_write(&r, p->amax, r.amax);
		amax_write(&r, p->aux_amax, r.aux_amax);
	}
}

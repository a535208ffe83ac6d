/*
 * product.c: products of matrices (cudnnBackendExecute() with a matmul).
 *
 * A block takes some rows of one result of the batch. Operands of float whose rows or columns lie side by side are used
 * where they are; others are copied into rows. Where a product of the batch has fewer rows, columns or inner elements
 * than its matrices, as of a sequence that is shorter than the longest, the rest of the result is the padding value.
 */
#include "libs/cudnn/conv.h"

#include "libs/common/scratch.h"
#include "libs/cudnn/onednn.h"
#include "libs/cudnn/softrow.h"

#include <stdatomic.h>
#include <string.h>

#define WORTH_LAYOUT (INT64_C(1) << 18) /* multiplications with one B for which oneDNN's own layout is worth it */

#define T float
#define NAMED(name) name##_f
#include "libs/cudnn/product.h"
#define T double
#define NAMED(name) name##_d
#include "libs/cudnn/product.h"

void product_f(bool turned_a, bool turned_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
	       const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
	if (!onednn_gemm(turned_a, turned_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))
		product_own_f(turned_a, turned_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void product_d(bool turned_a, bool turned_b, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
	       int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc)
{
	product_own_d(turned_a, turned_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

static bool is_worth_layout(int64_t m, int64_t n, int64_t k)
{
	return m && n && k && m > WORTH_LAYOUT / n / k;
}

uint64_t product_number(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

void product_kept_f(uint64_t number, int64_t times, bool turned_b, int64_t m, int64_t n, int64_t k, const float *a,
		    int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc)
{
	struct onednn_product shape = { .rows = m,
					.columns = n,
					.inner = k,
					.a_stride = { lda, 1 },
					.b_stride = { turned_b ? 1 : ldb, turned_b ? ldb : 1 },
					.c_stride = { ldc, 1 } };

	if (!is_worth_layout(times * m, n, k) || !onednn_product(&shape, number, a, b, c))
		product_f(false, turned_b, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
}

void product_kept_d(uint64_t number, int64_t times, bool turned_b, int64_t m, int64_t n, int64_t k, const double *a,
		    int64_t lda, const double *b, int64_t ldb, double *c, int64_t ldc)
{
	(void)number;
	(void)times;
	product_d(false, turned_b, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
}

/* A matrix as the product takes it: in its own memory or copied. */
struct matrix {
	const void *at;
	int64_t ld;
	bool turned;
};

#define ROWS_AT_ONCE 128
#define WORK_AT_ONCE (INT64_C(1) << 32) /* multiplications before the device is told, where a row has no more */
#define ROW_AXIS (DNN_DIMS - 2)
#define COLUMN_AXIS (DNN_DIMS - 1)

/* Products of a block. */
struct block {
	const struct dnn_work *w;
	bool bfloat;	 /* operands are bfloat16, and multiplied as such; results are float or bfloat16 */
	uint64_t number; /* of the second matrix */
	bool to_bfloat;	 /* the result goes to the program's memory as it is */
	struct matrix a, b;
};

static bool is_counted(const struct dnn_work *w)
{
	return w->operand[MATMUL_M].at || w->operand[MATMUL_N].at || w->operand[MATMUL_K].at;
}

static size_t type_size(const struct dnn_work *w)
{
	return w->wide ? sizeof(double) : sizeof(float);
}

static unsigned int type_of(const struct block *k)
{
	return k->w->wide ? CUDNN_DATA_DOUBLE : k->bfloat ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

static bool is_plain(const struct block *k, const struct dnn_operand *o)
{
	return o->type == type_of(k) && !o->is_value;
}

static void row_get(const struct block *k, const struct dnn_operand *o, const void *row, int64_t stride, int64_t count,
		    void *to, int64_t at)
{
	if (k->w->wide)
		dnn_read_d((double *)to + at, o->type, row, stride, count);
	else if (!k->bfloat)
		dnn_read_f((float *)to + at, o->type, row, stride, count);
	else
		for (int64_t i = 0; i < count; i++)
			((uint16_t *)to)[at + i] = ((const uint16_t *)row)[i * stride];
}

/* `down` and `across`: strides of rows and columns. */
static struct matrix matrix_get(const struct block *k, const struct dnn_operand *o, const char *at, int64_t down,
				int64_t across, int64_t rows, int64_t columns, void *room)
{
	if (is_plain(k, o) && across == 1 && (down >= columns || rows == 1))
		return (struct matrix){ at, down > columns ? down : columns, false };
	if (is_plain(k, o) && down == 1 && (across >= rows || columns == 1))
		return (struct matrix){ at, across > rows ? across : rows, true };
	for (int64_t i = 0; i < rows; i++)
		row_get(k, o, at + i * down * (int64_t)dnn_type_bytes(o->type), across, columns, room, i * columns);
	return (struct matrix){ room, columns, false };
}

/* By oneDNN with B in a layout of its own; false: it does not support it. */
static bool product_laid_out(const struct block *k, int64_t rows, int64_t columns, int64_t inner, void *c, int64_t ldc)
{
	const struct matrix *a = &k->a, *b = &k->b;
	struct onednn_product shape = { .bfloat = k->bfloat,
					.bfloat_c = k->to_bfloat,
					.rows = rows,
					.columns = columns,
					.inner = inner,
					.a_stride = { a->turned ? 1 : a->ld, a->turned ? a->ld : 1 },
					.b_stride = { b->turned ? 1 : b->ld, b->turned ? b->ld : 1 },
					.c_stride = { ldc, 1 } };

	return onednn_product(&shape, k->number, a->at, b->at, c);
}

/* `blend`: what is there counts so often. False: it cannot be computed in bfloat16. */
static bool product_run(const struct block *k, int64_t rows, int64_t columns, int64_t inner, double blend, void *c,
			int64_t ldc)
{
	const struct matrix *a = &k->a, *b = &k->b;

	if (k->w->wide)
		product_d(a->turned, b->turned, rows, columns, inner, 1, a->at, a->ld, b->at, b->ld, blend, c, ldc);
	else if (k->bfloat)
		return product_laid_out(k, rows, columns, inner, c, ldc);
	else if (blend != 0 || is_counted(k->w) || !is_worth_layout(rows, columns, inner) ||
		 !product_laid_out(k, rows, columns, inner, c, ldc))
		product_f(a->turned, b->turned, rows, columns, inner, 1, a->at, a->ld, b->at, b->ld, (float)blend, c,
			  ldc);
	return true;
}

static void result_put(const struct dnn_work *w, const struct dnn_operand *o, int64_t at[DNN_DIMS], int64_t rows,
		       int64_t columns, const void *room)
{
	int64_t first = at[ROW_AXIS];

	for (int64_t i = 0; i < rows; i++) {
		at[ROW_AXIS] = first + i;
		if (w->wide)
			dnn_write_d((const double *)room + i * columns, o->type, operand_at(o, at),
				    o->stride[COLUMN_AXIS], columns);
		else
			dnn_write_f((const float *)room + i * columns, o->type, operand_at(o, at),
				    o->stride[COLUMN_AXIS], columns);
	}
	at[ROW_AXIS] = first;
}

/* Adds what is there. */
static void result_blend(const struct dnn_work *w, const struct dnn_operand *o, int64_t at[DNN_DIMS], int64_t rows,
			 int64_t columns, void *room)
{
	int64_t first = at[ROW_AXIS];
	double old;

	for (int64_t i = 0; i < rows; i++)
		for (int64_t k = 0; k < columns; k++) {
			at[ROW_AXIS] = first + i;
			at[COLUMN_AXIS] = k;
			dnn_read_d(&old, o->type, operand_at(o, at), 1, 1);
			if (w->wide)
				((double *)room)[i * columns + k] += w->scalar[MATMUL_BLEND] * old;
			else
				((float *)room)[i * columns + k] += (float)(w->scalar[MATMUL_BLEND] * old);
		}
	at[ROW_AXIS] = first;
	at[COLUMN_AXIS] = 0;
}

/* A count of this product of the batch; whatever the program's memory says, it is within the matrices. */
static int64_t count_of(const struct dnn_operand *o, const int64_t at[DNN_DIMS], int64_t most)
{
	int64_t place[DNN_DIMS], count;
	int32_t narrow;

	if (!o->at)
		return most;
	memcpy(place, at, sizeof(place));
	place[ROW_AXIS] = place[COLUMN_AXIS] = 0;
	if (o->type == CUDNN_DATA_INT64) {
		memcpy(&count, operand_at(o, place), sizeof(count));
	} else {
		memcpy(&narrow, operand_at(o, place), sizeof(narrow));
		count = narrow;
	}
	return count < 0 ? 0 : count < most ? count : most;
}

static bool counts_sound(struct soft_native *n, const struct dnn_work *w)
{
	int64_t dim[DNN_DIMS];

	memcpy(dim, w->dim, sizeof(dim));
	dim[ROW_AXIS] = dim[COLUMN_AXIS] = 1;
	for (int i = MATMUL_M; i <= MATMUL_K; i++) {
		const struct dnn_operand *o = &w->operand[i];

		if (o->is_value || (o->at && o->type != CUDNN_DATA_INT32 && o->type != CUDNN_DATA_INT64))
			return n->refuse(n), false;
		if (!operand_reach(n, o, dim, false))
			return false;
	}
	return true;
}

static void fill(const struct dnn_work *w, void *room, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		if (w->wide)
			((double *)room)[i] = w->scalar[MATMUL_PADDING];
		else
			((float *)room)[i] = (float)w->scalar[MATMUL_PADDING];
}

static bool matmul_sound(struct soft_native *n, const struct dnn_work *w, int64_t inner)
{
	int64_t dim[DNN_DIMS];

	if (inner < 0 || inner > DNN_SIZE_MOST || w->operand[MATMUL_A].is_value || w->operand[MATMUL_B].is_value)
		return n->refuse(n), false;
	for (int i = 0; i < 3; i++) {
		int64_t extent = 1;
		const struct dnn_operand *o = &w->operand[i];

		memcpy(dim, w->dim, sizeof(dim));
		if (i == MATMUL_A)
			dim[COLUMN_AXIS] = inner;
		if (i == MATMUL_B)
			dim[ROW_AXIS] = inner;
		if (!o->at || !operand_reach(n, o, dim, i == MATMUL_C))
			return o->at ? false : (n->refuse(n), false);
		/* A matrix may be copied: it must not be larger than what it is a copy of. */
		for (int axis = ROW_AXIS; axis <= COLUMN_AXIS; axis++)
			extent += dim[axis] ? (dim[axis] - 1) * o->stride[axis] : 0;
		if (dim[ROW_AXIS] && dim[COLUMN_AXIS] && dim[ROW_AXIS] > extent / dim[COLUMN_AXIS])
			return n->refuse(n), false;
	}
	return true;
}

static void result_multiply(const struct dnn_work *w, void *c, int64_t rows, int64_t columns, int64_t ldc)
{
	double factor = w->scalar[MATMUL_FACTOR];

	for (int64_t i = 0; factor != 1 && i < rows; i++)
		if (!w->wide)
			softrow_multiply((float *)c + i * ldc, columns, (float)factor);
		else
			for (int64_t j = 0; j < columns; j++)
				((double *)c)[i * ldc + j] *= factor;
}

/* Whether numbers of bfloat16 are multiplied as they are. Counts would make a shape of each product of the batch. */
static bool is_bfloat(const struct dnn_work *w)
{
	return !w->wide && !is_counted(w) && w->operand[MATMUL_A].type == CUDNN_DATA_BFLOAT16 &&
	       w->operand[MATMUL_B].type == CUDNN_DATA_BFLOAT16 && onednn_has_bfloat() && onednn_open() &&
	       is_worth_layout(w->dim[ROW_AXIS], w->dim[COLUMN_AXIS], (int64_t)w->more[0]);
}

/* Whether a product writes its results where the program has them. */
static bool is_direct(const struct block *k)
{
	const struct dnn_operand *c = &k->w->operand[MATMUL_C];
	bool bfloat = k->bfloat && c->type == CUDNN_DATA_BFLOAT16, plain = !c->is_value && c->type == CUDNN_DATA_FLOAT;

	if (bfloat && k->w->scalar[MATMUL_FACTOR] != 1)
		return false;
	if (k->bfloat ? k->w->scalar[MATMUL_BLEND] != 0 || !(bfloat || plain) : !is_plain(k, c))
		return false;
	return !is_counted(k->w) && c->stride[COLUMN_AXIS] == 1 && c->stride[ROW_AXIS] >= k->w->dim[COLUMN_AXIS];
}

int64_t product_rows(int64_t rows, int64_t columns, int64_t inner)
{
	int64_t most = ROWS_AT_ONCE;

	while (most > 1 && columns && inner && most > WORK_AT_ONCE / columns / inner)
		most /= 2;
	return rows < most ? rows : most;
}

bool matmul_run(struct soft_native *n, const struct dnn_work *w)
{
	const struct dnn_operand *oa = &w->operand[MATMUL_A], *ob = &w->operand[MATMUL_B], *oc = &w->operand[MATMUL_C];
	int64_t inner = (int64_t)w->more[0], rows = w->dim[ROW_AXIS], columns = w->dim[COLUMN_AXIS], from, to,
		batch = -1;
	int64_t most = product_rows(rows, columns, inner);
	size_t each = type_size(w);
	bool counted = is_counted(w), direct;
	int64_t n_held = columns, k_held = inner;
	struct block k = { .w = w };
	char *room;

	if (!matmul_sound(n, w, inner) || !counts_sound(n, w))
		return false;
	library_part(n, walk_count(w->dim, (uint8_t)(ALL_AXES & ~(1u << COLUMN_AXIS))), &from, &to);
	if (from >= to || !columns)
		return true;
	room = scratch_get(((size_t)(most + columns) * (size_t)inner + (size_t)most * (size_t)columns) * each + 256);
	if (!room)
		return n->refuse(n), false;
	k.bfloat = is_bfloat(w);
	direct = is_direct(&k);
	k.to_bfloat = k.bfloat && direct && oc->type == CUDNN_DATA_BFLOAT16;
	while (from < to) {
		char *room_c = room + (size_t)(most + columns) * (size_t)inner * each;
		int64_t at[DNN_DIMS] = { 0 }, count = rows - from % rows, first[DNN_DIMS];
		int64_t held, ldc;
		void *to_c;

		count = count < to - from ? count : to - from;
		count = count < most ? count : most;
		walk_element(w->dim, (uint8_t)(ALL_AXES & ~(1u << COLUMN_AXIS)), from, at);
		memcpy(first, at, sizeof(at));
		first[ROW_AXIS] = 0;
		if (batch != from / rows) {
			n_held = count_of(&w->operand[MATMUL_N], first, columns);
			k_held = count_of(&w->operand[MATMUL_K], first, inner);
			k.b = matrix_get(&k, ob, operand_at(ob, first), ob->stride[ROW_AXIS], ob->stride[COLUMN_AXIS],
					 k_held, n_held, room + (size_t)most * (size_t)inner * each);
			k.number = product_number();
		}
		held = count_of(&w->operand[MATMUL_M], first, rows) - at[ROW_AXIS];
		held = held < 0 ? 0 : held < count ? held : count;
		k.a = matrix_get(&k, oa, operand_at(oa, at), oa->stride[ROW_AXIS], oa->stride[COLUMN_AXIS], held,
				 k_held, room);
		batch = from / rows;
		if (counted)
			fill(w, room_c, count * columns);
		to_c = direct ? operand_at(oc, at) : room_c;
		ldc = direct ? oc->stride[ROW_AXIS] : columns;
		if ((!counted || (held && n_held && k_held)) &&
		    !product_run(&k, held, n_held, k_held, direct ? w->scalar[MATMUL_BLEND] : 0, to_c, ldc)) {
			k.bfloat = k.to_bfloat = false;
			direct = is_direct(&k);
			batch = -1;
			continue;
		}
		result_multiply(w, to_c, count, columns, ldc);
		if (!direct && w->scalar[MATMUL_BLEND] != 0)
			result_blend(w, oc, at, count, columns, room_c);
		if (!direct)
			result_put(w, oc, at, count, columns, room_c);
		from += count;
		if (!n->go_on(n, (uint64_t)(count * columns) * (uint64_t)(inner + 1) / 32 + 1))
			return false;
	}
	return true;
}

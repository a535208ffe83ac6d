/* run.c: kernels of cuSPARSE on the device's threads. The parameters and all indices are checked before they are used.
 */
#include "libs/cusparse/sparse.h"

#include "libs/common/scratch.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct run {
	struct soft_native *n;
	const struct sparse_work *w;
	struct sparse_matrix a; /* of this batch */
	char *b, *c;
	uint32_t each;
	int64_t pivot;	 /* the first row without one, from 0 on, or -1 */
	uint32_t looked; /* at numbers of factors, since the device was told */
	bool fault;
	bool stopped; /* the launch has been; with it `fault` ends all loops */
};

#define LOOKED_MOST 65536u

static const uint32_t bytes_of[] = { 4, 8, 8, 16 };

static int64_t index_get(uint64_t at, bool wide, int64_t i)
{
	return wide ? ((const int64_t *)(uintptr_t)at)[i] : ((const int32_t *)(uintptr_t)at)[i];
}

static void index_put(uint64_t at, bool wide, int64_t i, int64_t value)
{
	if (wide)
		((int64_t *)(uintptr_t)at)[i] = value;
	else
		((int32_t *)(uintptr_t)at)[i] = (int32_t)value;
}

/* An index from a list of the matrix; one that is not below `count` is a fault of the launch. */
static inline int64_t index_below(struct run *r, int64_t count, int64_t listed)
{
	int64_t at;

	if (!__builtin_sub_overflow(listed, r->a.base, &at) && at >= 0 && at < count)
		return at;
	r->fault = true;
	return 0;
}

/* A row's first number, which may be the one behind the last. */
static int64_t row_begin(struct run *r, int64_t row)
{
	return index_below(r, r->a.nnz + 1, index_get(r->a.rows_at, r->a.wide_rows, row));
}

static int64_t column_of(struct run *r, int64_t k)
{
	return index_below(r, r->a.columns, index_get(r->a.columns_at, r->a.wide_columns, k));
}

/*
 * The same in factors, where lists that overlap make of few numbers work without an end: the device is told now and
 * then, and may stop it.
 */
static void looked(struct run *r)
{
	if (++r->looked < LOOKED_MOST)
		return;
	r->looked = 0;
	r->stopped = r->stopped || !r->n->go_on(r->n, LOOKED_MOST / 32);
	r->fault |= r->stopped;
}

static int64_t column_met(struct run *r, int64_t k)
{
	looked(r);
	return column_of(r, k);
}

/* The same of any matrix: where row `row` begins, and the column of its number k. */
static int64_t begin_in(struct run *r, const struct sparse_matrix *m, int64_t row)
{
	int64_t at;

	if (!__builtin_sub_overflow(index_get(m->rows_at, m->wide_rows, row), m->base, &at) && at >= 0 && at <= m->nnz)
		return at;
	r->fault = true;
	return 0;
}

static int64_t column_in(struct run *r, const struct sparse_matrix *m, int64_t k)
{
	int64_t at;

	looked(r);
	if (!__builtin_sub_overflow(index_get(m->columns_at, m->wide_columns, k), m->base, &at) && at >= 0 &&
	    at < m->columns)
		return at;
	r->fault = true;
	return 0;
}

static int64_t row_of(struct run *r, int64_t k)
{
	return index_below(r, r->a.rows, index_get(r->a.rows_at, r->a.wide_rows, k));
}

static bool is_factor(const struct sparse_work *w)
{
	return w->kernel == SPARSE_ILU || w->kernel == SPARSE_IC || w->kernel == SPARSE_PIVOTS;
}

static bool is_tridiagonal(const struct sparse_work *w)
{
	return w->kernel == SPARSE_GTSV || w->kernel == SPARSE_GTSV_PLAIN;
}

static bool is_gemm(const struct sparse_work *w)
{
	return w->kernel == SPARSE_GEMM || w->kernel == SPARSE_GEMM_COUNT;
}

/* By the first word, which is a column. */
static int by_column(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

	return one < other ? -1 : one > other;
}

/* A power of two with room for twice the numbers that row i of the product may have: they are numbers of B. */
static int64_t row_room(struct run *r, int64_t i)
{
	const struct sparse_matrix *b = &r->w->more[0];
	int64_t end = begin_in(r, &r->a, i + 1), most = b->nnz < b->columns ? b->nnz : b->columns, count = 0, room = 2;

	for (int64_t k = begin_in(r, &r->a, i); k < end && count < most && !r->fault; k++) {
		int64_t row = column_in(r, &r->a, k), length = begin_in(r, b, row + 1) - begin_in(r, b, row);

		count += length > 0 ? length : 0;
	}
	count = count < most ? count : most;
	while (room < 2 * count)
		room *= 2;
	return room;
}

static void pivot_missing(struct run *r, int64_t row)
{
	if (r->pivot < 0)
		r->pivot = row;
}

/* Where in [begin, end) the number of a column is, or -1; it may not be found where columns are not sorted. */
static int64_t column_find(struct run *r, int64_t begin, int64_t end, int64_t column)
{
	while (begin < end) {
		int64_t middle = begin + (end - begin) / 2, at = column_met(r, middle);

		if (at == column)
			return middle;
		if (at < column)
			begin = middle + 1;
		else
			end = middle;
	}
	return -1;
}

#define T float
#define CONJ(v) (v)
#define NAMED(name) name##_s
#include "libs/cusparse/typed.h"
#define T double
#define CONJ(v) (v)
#define NAMED(name) name##_d
#include "libs/cusparse/typed.h"
#define T float _Complex
#define CONJ(v) conjf(v)
#define NAMED(name) name##_c
#include "libs/cusparse/typed.h"
#define T double _Complex
#define CONJ(v) conj(v)
#define NAMED(name) name##_z
#include "libs/cusparse/typed.h"

/* Rows of the result are written by one thread each, where rows of the matrix are its rows. */
static bool is_by_rows(const struct sparse_work *w)
{
	return !w->a.coordinates && !w->a.turned;
}

int64_t sparse_parts(const struct sparse_work *w)
{
	switch ((enum sparse_kernel)w->kernel) {
	case SPARSE_SPMM:
		return is_by_rows(w) ? w->c.rows : w->c.columns;
	case SPARSE_SDDMM:
		return w->a.coordinates ? w->a.nnz : w->a.rows;
	case SPARSE_GEMM:
		return w->a.rows ? w->a.rows : 1;
	case SPARSE_SPSV:
	case SPARSE_GTSV:
	case SPARSE_GTSV_PLAIN:
		return w->c.columns;
	default:
		return 1;
	}
}

/* ---- checks ---- */

static bool reach_dense(struct soft_native *n, const struct sparse_work *w, const struct sparse_dense *d, bool write)
{
	int64_t last, across;

	if (!d->rows || !d->columns)
		return true;
	if (__builtin_mul_overflow(d->rows - 1, d->down, &last) ||
	    __builtin_mul_overflow(d->columns - 1, d->across, &across) || __builtin_add_overflow(last, across, &last) ||
	    __builtin_mul_overflow(w->batch - 1, d->apart, &across) || __builtin_add_overflow(last, across, &last)) {
		n->refuse(n);
		return false;
	}
	return library_reach(n, d->at, last + 1, bytes_of[w->type], write);
}

static bool reach_matrix(struct soft_native *n, const struct sparse_work *w, const struct sparse_matrix *a, bool write)
{
	int64_t rows = a->coordinates ? a->nnz : a->rows + 1, more_rows, more;
	bool offsets =
		write && (w->kernel == SPARSE_COUNT || w->kernel == SPARSE_FROM_DENSE || w->kernel == SPARSE_GEMM);

	if (__builtin_mul_overflow(w->batch - 1, a->rows_apart, &more_rows) ||
	    __builtin_mul_overflow(w->batch - 1, a->values_apart, &more)) {
		n->refuse(n);
		return false;
	}
	if (!library_reach(n, a->rows_at, rows + more_rows, a->wide_rows ? 8 : 4, offsets))
		return false;
	if (w->kernel == SPARSE_COUNT)
		return true;
	return library_reach(n, a->columns_at, a->nnz + more, a->wide_columns ? 8 : 4, offsets) &&
	       library_reach(n, a->values_at, a->nnz + more, bytes_of[w->type], write);
}

static bool reach_diagonals(struct soft_native *n, const struct sparse_work *w)
{
	const struct sparse_matrix *a = &w->a;
	int64_t count;

	if (__builtin_mul_overflow(w->batch - 1, a->values_apart, &count) ||
	    __builtin_add_overflow(count, a->rows, &count)) {
		n->refuse(n);
		return false;
	}
	return library_reach(n, a->rows_at, count, bytes_of[w->type], false) &&
	       library_reach(n, a->columns_at, count, bytes_of[w->type], false) &&
	       library_reach(n, a->values_at, count, bytes_of[w->type], false);
}

static bool reach_gemm(struct soft_native *n, const struct sparse_work *w)
{
	const struct sparse_matrix *c = &w->more[1];
	bool fills = w->kernel == SPARSE_GEMM;

	if (!reach_matrix(n, w, &w->a, false) || !reach_matrix(n, w, &w->more[0], false) ||
	    !library_reach(n, w->b.at, w->a.rows + 1, 8, !fills))
		return false;
	return !fills || reach_matrix(n, w, c, true);
}

static bool size_sound(int64_t v)
{
	return v >= 0 && v <= SPARSE_SIZE_MOST;
}

static bool work_sound(const struct sparse_work *w)
{
	const struct sparse_dense *dense[] = { &w->b, &w->c };
	int64_t rows = w->a.turned ? w->a.columns : w->a.rows, columns = w->a.turned ? w->a.rows : w->a.columns;

	if (w->kernel >= SPARSE_KERNELS || w->type > 3 || w->batch < 1 || w->batch > SPARSE_SIZE_MOST ||
	    !size_sound(w->a.rows) || !size_sound(w->a.columns) || !size_sound(w->a.nnz) ||
	    !size_sound(w->a.rows_apart) || !size_sound(w->a.values_apart))
		return false;
	for (int i = 0; i < 2; i++)
		if (!size_sound(dense[i]->rows) || !size_sound(dense[i]->columns) || !size_sound(dense[i]->down) ||
		    !size_sound(dense[i]->across) || !size_sound(dense[i]->apart))
			return false;
	/* An index that is none is taken for 0: a place that there is where there are rows and columns. */
	if (w->a.nnz && (!w->a.rows || !w->a.columns))
		return false;
	for (int i = 0; i < 2; i++)
		if (!size_sound(w->more[i].rows) || !size_sound(w->more[i].columns) || !size_sound(w->more[i].nnz))
			return false;
	switch ((enum sparse_kernel)w->kernel) {
	case SPARSE_GEMM:
	case SPARSE_GEMM_COUNT:
		return w->batch == 1 && !w->a.coordinates && !w->more[0].coordinates && !w->more[1].coordinates &&
		       w->more[0].rows == w->a.columns && w->more[1].rows == w->a.rows &&
		       w->more[1].columns == w->more[0].columns && !w->more[0].rows_apart && !w->more[0].values_apart &&
		       !w->more[1].rows_apart && !w->more[1].values_apart;
	case SPARSE_SPMM:
		return w->c.rows == rows && w->b.rows == columns && w->c.columns == w->b.columns;
	case SPARSE_SDDMM:
		return w->b.rows == rows && w->c.columns == columns && w->b.columns == w->c.rows;
	case SPARSE_SPSV:
		return rows == columns && w->b.rows == rows && w->c.rows == rows && w->b.columns == w->c.columns &&
		       !w->a.coordinates;
	case SPARSE_GTSV:
	case SPARSE_GTSV_PLAIN:
		return rows > 0 && w->c.rows == rows && w->c.down == 1 && w->a.columns == rows && w->a.nnz == rows &&
		       !w->a.turned;
	case SPARSE_COUNT:
		return w->c.rows == rows && w->c.columns == columns && !w->a.coordinates;
	case SPARSE_ILU:
	case SPARSE_IC:
	case SPARSE_PIVOTS:
		return rows == columns && !w->a.coordinates && !w->a.turned && !w->a.conjugated && w->batch == 1;
	default:
		return w->c.rows == rows && w->c.columns == columns;
	}
}

typedef void (*run_function)(struct run *r, int64_t from, int64_t to);

static const run_function runs[SPARSE_KERNELS][4] = {
	[SPARSE_SPMM] = { spmm_s, spmm_d, spmm_c, spmm_z },
	[SPARSE_SDDMM] = { sddmm_s, sddmm_d, sddmm_c, sddmm_z },
	[SPARSE_SPSV] = { spsv_s, spsv_d, spsv_c, spsv_z },
	[SPARSE_TO_DENSE] = { to_dense_s, to_dense_d, to_dense_c, to_dense_z },
	[SPARSE_COUNT] = { count_s, count_d, count_c, count_z },
	[SPARSE_FROM_DENSE] = { from_dense_s, from_dense_d, from_dense_c, from_dense_z },
	[SPARSE_ILU] = { ilu_s, ilu_d, ilu_c, ilu_z },
	[SPARSE_IC] = { ic_s, ic_d, ic_c, ic_z },
	[SPARSE_PIVOTS] = { pivots_s, pivots_d, pivots_c, pivots_z },
	[SPARSE_GEMM_COUNT] = { gemm_count_s, gemm_count_d, gemm_count_c, gemm_count_z },
	[SPARSE_GEMM] = { gemm_s, gemm_d, gemm_c, gemm_z },
	[SPARSE_GTSV] = { gtsv_s, gtsv_d, gtsv_c, gtsv_z },
	[SPARSE_GTSV_PLAIN] = { gtsv_s, gtsv_d, gtsv_c, gtsv_z },
};

void sparse_run(struct soft_native *n)
{
	const struct sparse_work *w = n->params;
	struct run r = { .n = n, .w = w, .pivot = -1 };
	bool to_sparse, to_numbers;
	int64_t from, to;

	if (n->bytes != DEVICE_PARAM_BYTES || !n->blocks || !work_sound(w)) {
		n->refuse(n);
		return;
	}
	to_numbers = w->kernel == SPARSE_SDDMM || w->kernel == SPARSE_ILU || w->kernel == SPARSE_IC;
	to_sparse = w->kernel == SPARSE_COUNT || w->kernel == SPARSE_FROM_DENSE;
	if (!(is_tridiagonal(w) ? reach_diagonals(n, w)
	      : is_gemm(w)	? reach_gemm(n, w)
				: reach_matrix(n, w, &w->a, to_sparse || to_numbers)) ||
	    (!is_gemm(w) &&
	     (!reach_dense(n, w, &w->b, false) || !reach_dense(n, w, &w->c, !to_sparse && !to_numbers))) ||
	    (w->alpha.address && !n->reach(n, w->alpha.address, bytes_of[w->type], false)) ||
	    (w->beta.address && !n->reach(n, w->beta.address, bytes_of[w->type], false)) ||
	    (is_factor(w) && !library_reach(n, w->pivot_at, 1, 8, true)))
		return;
	r.each = bytes_of[w->type];
	library_part(n, sparse_parts(w), &from, &to);
	for (int64_t k = 0; k < w->batch && !r.fault; k++) {
		r.a = w->a;
		if (is_tridiagonal(w)) {
			r.a.rows_at += (uint64_t)k * (uint64_t)w->a.values_apart * r.each;
			r.a.columns_at += (uint64_t)k * (uint64_t)w->a.values_apart * r.each;
		} else {
			r.a.rows_at += (uint64_t)k * (uint64_t)w->a.rows_apart * (w->a.wide_rows ? 8 : 4);
			r.a.columns_at += (uint64_t)k * (uint64_t)w->a.values_apart * (w->a.wide_columns ? 8 : 4);
		}
		r.a.values_at += (uint64_t)k * (uint64_t)w->a.values_apart * r.each;
		r.b = (char *)(uintptr_t)(w->b.at + (uint64_t)k * (uint64_t)w->b.apart * r.each);
		r.c = (char *)(uintptr_t)(w->c.at + (uint64_t)k * (uint64_t)w->c.apart * r.each);
		runs[w->kernel][w->type](&r, from, to);
		if (r.stopped || !n->go_on(n, (uint64_t)(w->a.nnz / n->blocks) * (uint64_t)(w->c.columns + 1) / 16 + 1))
			return;
	}
	if (r.fault)
		n->reach(n, 0, 1, false);
	else if (is_factor(w) && from < to)
		*(int64_t *)(uintptr_t)w->pivot_at = r.pivot < 0 ? -1 : r.pivot + w->a.base;
}

/* run.c: kernels of cuSPARSE on the device's threads. The parameters and all indices are checked before they are used.
 */
#include "libs/cusparse/run.h"

#include "libs/cusparse/lists.h"

#include "libs/common/scratch.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOOKED_MOST UINT64_C(65536)
#define EMPTY_MOST (INT64_C(1) << 31) /* rows without columns, or columns without rows */

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
 * Numbers have been computed. Lists that overlap make of few numbers work without an end: the device is told now and
 * then, and may stop it.
 */
static void worked(struct run *r, int64_t numbers)
{
	uint64_t before = r->looked;

	r->looked += (uint64_t)numbers;
	if (r->looked < LOOKED_MOST)
		return;
	r->looked = 0;
	r->stopped = r->stopped || !r->n->go_on(r->n, (before + (uint64_t)numbers) / 32);
	r->fault |= r->stopped;
}

/* The same of a number of a list. */
static void looked(struct run *r)
{
	worked(r, 1);
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

/* A row's first number, also of coordinates, which are sorted by rows: the first one that is not before the row. */
static int64_t line_begin(struct run *r, int64_t row)
{
	int64_t begin = 0, end = r->a.nnz;

	if (!r->a.coordinates)
		return row_begin(r, row);
	while (begin < end) {
		int64_t middle = begin + (end - begin) / 2;

		if (row_of(r, middle) < row)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

static bool is_block(const struct sparse_work *w)
{
	return w->kernel >= SPARSE_BLOCKS && w->kernel <= SPARSE_BLOCK_PIVOTS;
}

/* They tell the first row without a pivot. */
static bool is_factor(const struct sparse_work *w)
{
	return w->kernel == SPARSE_ILU || w->kernel == SPARSE_IC || w->kernel == SPARSE_PIVOTS ||
	       w->kernel == SPARSE_BLOCK_SOLVE || w->kernel == SPARSE_BLOCK_PIVOTS;
}

static bool is_vector(const struct sparse_work *w)
{
	return w->kernel >= SPARSE_GATHER && w->kernel <= SPARSE_ROT;
}

static bool is_sum(const struct sparse_work *w)
{
	return w->kernel == SPARSE_SUM || w->kernel == SPARSE_SUM_COUNT;
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

/* A row of a sum: the numbers of both operands by rising columns, each column once. */
struct sum_row {
	int64_t k, end, l, stop;
	int64_t column;
	bool has_a, has_b; /* the number is at k or l */
};

static struct sum_row sum_begin(struct run *r, int64_t i)
{
	const struct sparse_matrix *b = &r->w->more[0];

	return (struct sum_row){ begin_in(r, &r->a, i),
				 begin_in(r, &r->a, i + 1),
				 begin_in(r, b, i),
				 begin_in(r, b, i + 1),
				 0,
				 false,
				 false };
}

/* The next number; false: there is none. The caller goes on to the one behind it by sum_take(). */
static bool sum_next(struct run *r, struct sum_row *s)
{
	int64_t a = s->k < s->end ? column_in(r, &r->a, s->k) : INT64_MAX;
	int64_t b = s->l < s->stop ? column_in(r, &r->w->more[0], s->l) : INT64_MAX;

	s->has_a = a <= b;
	s->has_b = b <= a;
	s->column = s->has_a ? a : b;
	return s->column != INT64_MAX && !r->fault;
}

static void sum_take(struct sum_row *s)
{
	s->k += s->has_a;
	s->l += s->has_b;
}

/* Offsets of the sum's rows, and, where it is told, the last of them from 0 on. */
static void sum_count(struct run *r, int64_t from, int64_t to)
{
	int64_t total = 0, base = r->w->more[1].base;

	for (int64_t i = 0; from < to && i < r->a.rows && !r->fault; i++) {
		struct sum_row row = sum_begin(r, i);

		index_put(r->w->b.at, false, i, total + base);
		for (; sum_next(r, &row); sum_take(&row))
			total++;
		r->fault |= total > INT32_MAX - 1;
	}
	if (from == to || r->fault)
		return;
	index_put(r->w->b.at, false, r->a.rows, total + base);
	if (r->w->pivot_at)
		*(int32_t *)(uintptr_t)r->w->pivot_at = (int32_t)total;
}

/* ---- triangles of blocks ---- */

/* Where the diagonal block of a row of blocks is, or -1. */
static int64_t block_diagonal(struct run *r, int64_t row)
{
	int64_t end = row_begin(r, row + 1);

	for (int64_t k = row_begin(r, row); k < end && !r->fault; k++)
		if (column_met(r, k) == row)
			return k;
	return -1;
}

static void block_pivots(struct run *r, int64_t from, int64_t to)
{
	for (int64_t i = 0; from < to && i < r->a.rows && !r->fault; i++)
		if (!r->a.unit && block_diagonal(r, i) < 0)
			pivot_missing(r, i);
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
	case SPARSE_SUM:
	case SPARSE_BLOCKS:
		return w->a.rows;
	case SPARSE_SPSV:
	case SPARSE_GTSV:
	case SPARSE_GTSV_PLAIN:
	case SPARSE_BLOCK_SOLVE:
		return w->c.columns;
	default:
		return 1;
	}
}

/* ---- checks ---- */

/*
 * No element stands for two: what is to be done for each is bounded by memory. Without rows or columns nothing bounds
 * the others.
 */
static bool is_spread(const struct sparse_dense *d, int64_t last)
{
	return (uint64_t)d->rows <= ((uint64_t)last + 1) / (uint64_t)d->columns;
}

static bool reach_dense(struct soft_native *n, const struct sparse_work *w, const struct sparse_dense *d, bool write)
{
	int64_t last, across;

	if (!d->rows || !d->columns) {
		if (d->rows > EMPTY_MOST || d->columns > EMPTY_MOST)
			return n->refuse(n), false;
		return true;
	}
	if (__builtin_mul_overflow(d->rows - 1, d->down, &last) ||
	    __builtin_mul_overflow(d->columns - 1, d->across, &across) || __builtin_add_overflow(last, across, &last) ||
	    !is_spread(d, last) || __builtin_mul_overflow(w->batch - 1, d->apart, &across) ||
	    __builtin_add_overflow(last, across, &last)) {
		n->refuse(n);
		return false;
	}
	return library_reach(n, d->at, last + 1, sparse_type_bytes(w->type), write);
}

/* What kernels write of a sparse matrix and of the dense ones; the rest they read. */
static const struct access {
	bool lists, values, b, c;
} writes[SPARSE_KERNELS] = {
	[SPARSE_SPMM] = { .c = true },
	[SPARSE_SDDMM] = { .values = true },
	[SPARSE_SPSV] = { .c = true },
	[SPARSE_TO_DENSE] = { .c = true },
	[SPARSE_COUNT] = { .lists = true },
	[SPARSE_FROM_DENSE] = { .lists = true, .values = true },
	[SPARSE_ILU] = { .values = true },
	[SPARSE_IC] = { .values = true },
	[SPARSE_GTSV] = { .c = true },
	[SPARSE_GTSV_PLAIN] = { .c = true },
	[SPARSE_GATHER] = { .values = true },
	[SPARSE_SCATTER] = { .c = true },
	[SPARSE_AXPBY] = { .c = true },
	[SPARSE_DOT] = { .b = true },
	[SPARSE_ROT] = { .values = true, .c = true },
	[SPARSE_BLOCKS] = { .c = true },
	[SPARSE_BLOCK_SOLVE] = { .c = true },
};

static bool reach_matrix(struct soft_native *n, const struct sparse_work *w, const struct sparse_matrix *a,
			 const struct access *to)
{
	int64_t rows = a->coordinates ? a->nnz : a->rows + 1, more_rows, more, numbers = a->nnz,
		block = (int64_t)w->block * w->block;

	if (__builtin_mul_overflow(w->batch - 1, a->rows_apart, &more_rows) ||
	    __builtin_mul_overflow(w->batch - 1, a->values_apart, &more) ||
	    (block && __builtin_mul_overflow(numbers, block, &numbers))) {
		n->refuse(n);
		return false;
	}
	if (!library_reach(n, a->rows_at, rows + more_rows, a->wide_rows ? 8 : 4, to->lists))
		return false;
	if (w->kernel == SPARSE_COUNT)
		return true;
	return library_reach(n, a->columns_at, a->nnz + more, a->wide_columns ? 8 : 4, to->lists) &&
	       library_reach(n, a->values_at, numbers + more, sparse_type_bytes(w->type), to->values);
}

static bool reach_vector(struct soft_native *n, const struct sparse_work *w)
{
	return library_reach(n, w->a.columns_at, w->a.nnz, w->a.wide_columns ? 8 : 4, false) &&
	       library_reach(n, w->a.values_at, w->a.nnz, sparse_type_bytes(w->type), writes[w->kernel].values);
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
	return library_reach(n, a->rows_at, count, sparse_type_bytes(w->type), false) &&
	       library_reach(n, a->columns_at, count, sparse_type_bytes(w->type), false) &&
	       library_reach(n, a->values_at, count, sparse_type_bytes(w->type), false);
}

static bool reach_gemm(struct soft_native *n, const struct sparse_work *w)
{
	const struct sparse_matrix *c = &w->more[1];
	static const struct access none, all = { .lists = true, .values = true };
	bool fills = w->kernel == SPARSE_GEMM;

	if (!reach_matrix(n, w, &w->a, &none) || !reach_matrix(n, w, &w->more[0], &none) ||
	    !library_reach(n, w->b.at, w->a.rows + 1, 8, !fills))
		return false;
	return !fills || reach_matrix(n, w, c, &all);
}

/* The offsets say how many numbers the sum has. They may change: *ret_room is what may be written. */
static bool reach_sum(struct soft_native *n, const struct sparse_work *w, int64_t *ret_room)
{
	const struct sparse_matrix *operands[] = { &w->a, &w->more[0] }, *c = &w->more[1];
	bool fills = w->kernel == SPARSE_SUM;

	for (int i = 0; i < 2; i++)
		if (!library_reach(n, operands[i]->rows_at, w->a.rows + 1, 4, false) ||
		    !library_reach(n, operands[i]->columns_at, operands[i]->nnz, 4, false) ||
		    (fills &&
		     !library_reach(n, operands[i]->values_at, operands[i]->nnz, sparse_type_bytes(w->type), false)))
			return false;
	if (!library_reach(n, w->b.at, w->a.rows + 1, 4, !fills))
		return false;
	if (!fills)
		return !w->pivot_at || library_reach(n, w->pivot_at, 1, 4, true);
	*ret_room = index_get(w->b.at, false, w->a.rows) - c->base;
	return library_reach(n, c->columns_at, *ret_room, 4, true) &&
	       library_reach(n, c->values_at, *ret_room, sparse_type_bytes(w->type), true);
}

static bool reach_sparse(struct soft_native *n, const struct sparse_work *w, int64_t *ret_room)
{
	return is_tridiagonal(w) ? reach_diagonals(n, w)
	       : is_gemm(w)	 ? reach_gemm(n, w)
	       : is_sum(w)	 ? reach_sum(n, w, ret_room)
	       : is_vector(w)	 ? reach_vector(n, w)
				 : reach_matrix(n, w, &w->a, &writes[w->kernel]);
}

/* Rows and columns of blocks are so many of numbers. */
static bool blocks_sound(const struct sparse_work *w, int64_t rows, int64_t columns)
{
	int64_t down, across;

	if (w->block > INT32_MAX || w->batch != 1 || w->a.coordinates || w->a.rows_apart || w->a.values_apart ||
	    w->a.wide_rows || w->a.wide_columns || __builtin_mul_overflow(rows, (int64_t)w->block, &down) ||
	    __builtin_mul_overflow(columns, (int64_t)w->block, &across))
		return false;
	if (w->kernel == SPARSE_BLOCKS)
		return !w->a.turned && w->c.rows == down && w->b.rows == across && w->b.columns == w->c.columns;
	return rows == columns && w->c.rows == down &&
	       (w->kernel == SPARSE_BLOCK_PIVOTS || (w->b.rows == down && w->b.columns == w->c.columns));
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
	if (!w->block == is_block(w))
		return false;
	switch ((enum sparse_kernel)w->kernel) {
	case SPARSE_SUM:
	case SPARSE_SUM_COUNT:
		return w->batch == 1 && w->a.rows < INT32_MAX && w->more[0].rows == w->a.rows &&
		       w->more[0].columns == w->a.columns && !w->a.coordinates && !w->a.wide_rows &&
		       !w->a.wide_columns && !w->more[0].coordinates && !w->more[0].wide_rows &&
		       !w->more[0].wide_columns && w->more[1].base <= 1;
	case SPARSE_BLOCKS:
	case SPARSE_BLOCK_SOLVE:
	case SPARSE_BLOCK_PIVOTS:
		return blocks_sound(w, rows, columns);
	case SPARSE_GATHER:
	case SPARSE_SCATTER:
	case SPARSE_AXPBY:
	case SPARSE_DOT:
	case SPARSE_ROT:
		return w->batch == 1 && !w->a.turned && w->c.rows == w->a.columns && w->c.columns == 1 &&
		       w->c.down == 1 && (w->kernel != SPARSE_DOT || (w->b.rows == 1 && w->b.columns == 1));
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
		return rows == columns && w->b.rows == rows && w->c.rows == rows && w->b.columns == w->c.columns;
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
	[SPARSE_SUM_COUNT] = { sum_count, sum_count, sum_count, sum_count },
	[SPARSE_SUM] = { sum_s, sum_d, sum_c, sum_z },
	[SPARSE_GATHER] = { gather_s, gather_d, gather_c, gather_z },
	[SPARSE_SCATTER] = { scatter_s, scatter_d, scatter_c, scatter_z },
	[SPARSE_AXPBY] = { axpby_s, axpby_d, axpby_c, axpby_z },
	[SPARSE_DOT] = { dot_s, dot_d, dot_c, dot_z },
	[SPARSE_ROT] = { rot_s, rot_d, rot_c, rot_z },
	[SPARSE_BLOCKS] = { blocks_s, blocks_d, blocks_c, blocks_z },
	[SPARSE_BLOCK_SOLVE] = { block_solve_s, block_solve_d, block_solve_c, block_solve_z },
	[SPARSE_BLOCK_PIVOTS] = { block_pivots, block_pivots, block_pivots, block_pivots },
	[SPARSE_GTSV] = { gtsv_s, gtsv_d, gtsv_c, gtsv_z },
	[SPARSE_GTSV_PLAIN] = { gtsv_s, gtsv_d, gtsv_c, gtsv_z },
};

void sparse_run(struct soft_native *n)
{
	const struct sparse_work *w = n->params;
	struct run r = { .n = n, .w = w, .pivot = -1 };
	int64_t from, to;

	if (n->bytes != DEVICE_PARAM_BYTES || !n->blocks || w->kernel >= SPARSE_KERNELS) {
		n->refuse(n);
		return;
	}
	if (w->kernel >= SPARSE_OFFSETS) {
		sparse_lists_run(n);
		return;
	}
	if (!work_sound(w)) {
		n->refuse(n);
		return;
	}
	if (!reach_sparse(n, w, &r.room) ||
	    (!is_gemm(w) && !is_sum(w) &&
	     (!reach_dense(n, w, &w->b, writes[w->kernel].b) || !reach_dense(n, w, &w->c, writes[w->kernel].c))) ||
	    (w->alpha.address && !n->reach(n, w->alpha.address, sparse_type_bytes(w->type), false)) ||
	    (w->beta.address && !n->reach(n, w->beta.address, sparse_type_bytes(w->type), false)) ||
	    (is_factor(w) && !library_reach(n, w->pivot_at, 1, 8, true)))
		return;
	r.each = sparse_type_bytes(w->type);
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
	else if (is_factor(w) && !from && from < to)
		*(int64_t *)(uintptr_t)w->pivot_at = r.pivot < 0 ? -1 : r.pivot + w->a.base;
}

/* typed.h: the kernels of run.c in numbers of type T, on the parts from .. to - 1. */

static T NAMED(scalar)(const struct sparse_scalar *s)
{
	T v;

	if (!s->address)
		return (T)(s->value[0] + s->value[1] * I);
	memcpy(&v, (const void *)(uintptr_t)s->address, sizeof(v));
	return v;
}

static inline T NAMED(value)(const struct run *r, int64_t k)
{
	T v = ((const T *)(uintptr_t)r->a.values_at)[k];

	return r->a.conjugated ? CONJ(v) : v;
}

static inline T *NAMED(place)(const struct sparse_dense *d, char *at, int64_t i, int64_t j)
{
	return (T *)(void *)at + i * d->down + j * d->across;
}

static inline T NAMED(element)(const struct sparse_dense *d, char *at, int64_t i, int64_t j)
{
	T v = *NAMED(place)(d, at, i, j);

	return d->conjugated ? CONJ(v) : v;
}

/* The previous value times beta; 0 ignores it, even if it is NaN. */
static inline void NAMED(keep)(T *at, T beta)
{
	*at = beta == 0 ? 0 : *at * beta;
}

/* Rows of the result. */
static void NAMED(rows_gather)(struct run *r, int64_t from, int64_t to, T alpha, T beta)
{
	const struct sparse_work *w = r->w;

	for (int64_t i = from; i < to && !r->fault; i++) {
		int64_t begin = row_begin(r, i), end = row_begin(r, i + 1);

		for (int64_t j = 0; j < w->c.columns; j++) {
			T sum = 0, *at = NAMED(place)(&w->c, r->c, i, j);

			for (int64_t k = begin; k < end; k++)
				sum += NAMED(value)(r, k) * NAMED(element)(&w->b, r->b, column_of(r, k), j);
			NAMED(keep)(at, beta);
			*at += alpha * sum;
			worked(r, end > begin ? end - begin + 1 : 1);
			if (r->stopped)
				return;
		}
	}
}

/* Columns of the result, into which every number of the matrix goes. */
static void NAMED(rows_scatter)(struct run *r, int64_t from, int64_t to, T alpha, T beta)
{
	const struct sparse_work *w = r->w;
	int64_t rows = r->a.coordinates ? 1 : r->a.rows;

	for (int64_t j = from; j < to && !r->stopped; j++) {
		for (int64_t i = 0; i < w->c.rows; i++)
			NAMED(keep)(NAMED(place)(&w->c, r->c, i, j), beta);
		worked(r, w->c.rows);
		for (int64_t row = 0; row < rows && !r->fault; row++) {
			int64_t begin = r->a.coordinates ? 0 : row_begin(r, row);
			int64_t end = r->a.coordinates ? r->a.nnz : row_begin(r, row + 1);

			for (int64_t k = begin; k < end; k++) {
				int64_t i = r->a.coordinates ? row_of(r, k) : row, l = column_of(r, k);
				int64_t to_row = r->a.turned ? l : i, of_row = r->a.turned ? i : l;

				*NAMED(place)(&w->c, r->c, to_row, j) +=
					alpha * NAMED(value)(r, k) * NAMED(element)(&w->b, r->b, of_row, j);
			}
			worked(r, end > begin ? end - begin + 1 : 1);
		}
	}
}

static void NAMED(spmm)(struct run *r, int64_t from, int64_t to)
{
	T alpha = NAMED(scalar)(&r->w->alpha), beta = NAMED(scalar)(&r->w->beta);

	if (!r->a.coordinates && !r->a.turned)
		NAMED(rows_gather)(r, from, to, alpha, beta);
	else
		NAMED(rows_scatter)(r, from, to, alpha, beta);
}

/* Numbers of the matrix: products of rows of b and columns of c, where it has numbers. */
static void NAMED(sddmm)(struct run *r, int64_t from, int64_t to)
{
	const struct sparse_work *w = r->w;
	T alpha = NAMED(scalar)(&w->alpha), beta = NAMED(scalar)(&w->beta);
	T *values = (T *)(uintptr_t)r->a.values_at;

	for (int64_t part = from; part < to && !r->fault; part++) {
		int64_t begin = r->a.coordinates ? part : row_begin(r, part);
		int64_t end = r->a.coordinates ? part + 1 : row_begin(r, part + 1);

		worked(r, 1);
		for (int64_t k = begin; k < end && !r->stopped; k++) {
			int64_t i = r->a.coordinates ? row_of(r, k) : part, j = column_of(r, k);
			int64_t row = r->a.turned ? j : i, column = r->a.turned ? i : j;
			T sum = 0;

			for (int64_t l = 0; l < w->b.columns; l++)
				sum += NAMED(element)(&w->b, r->b, row, l) * NAMED(element)(&w->c, r->c, l, column);
			NAMED(keep)(&values[k], beta);
			values[k] += alpha * sum;
			worked(r, w->b.columns);
		}
	}
}

/* One column. Of a transposed triangle each row is taken from those that follow. */
static void NAMED(solve)(struct run *r, int64_t j, T alpha)
{
	const struct sparse_work *w = r->w;
	int64_t n = r->a.rows;
	bool upwards = r->a.upper != r->a.turned;

	for (int64_t i = 0; i < n; i++)
		*NAMED(place)(&w->c, r->c, i, j) = alpha * NAMED(element)(&w->b, r->b, i, j);
	worked(r, n);
	for (int64_t step = 0; step < n && !r->fault; step++) {
		int64_t i = upwards ? n - 1 - step : step, begin = line_begin(r, i), end = line_begin(r, i + 1);
		T *at = NAMED(place)(&w->c, r->c, i, j), diagonal = 1;

		for (int64_t k = begin; k < end; k++) {
			int64_t column = column_of(r, k);

			if (column == i)
				diagonal = r->a.unit ? 1 : NAMED(value)(r, k);
			else if (!r->a.turned && (column > i) == r->a.upper)
				*at -= NAMED(value)(r, k) * *NAMED(place)(&w->c, r->c, column, j);
		}
		*at /= diagonal;
		for (int64_t k = begin; r->a.turned && k < end; k++) {
			int64_t column = column_of(r, k);

			if (column != i && (column > i) == r->a.upper)
				*NAMED(place)(&w->c, r->c, column, j) -= NAMED(value)(r, k) * *at;
		}
		worked(r, end > begin ? end - begin + 1 : 1);
	}
}

static void NAMED(spsv)(struct run *r, int64_t from, int64_t to)
{
	T alpha = NAMED(scalar)(&r->w->alpha);

	for (int64_t j = from; j < to && !r->stopped; j++)
		NAMED(solve)(r, j, alpha);
}

static void NAMED(to_dense)(struct run *r, int64_t from, int64_t to)
{
	const struct sparse_work *w = r->w;
	int64_t rows = r->a.coordinates ? 1 : r->a.rows;

	for (int64_t i = 0; from < to && i < w->c.rows && !r->stopped; i++) {
		for (int64_t j = 0; j < w->c.columns; j++)
			*NAMED(place)(&w->c, r->c, i, j) = 0;
		worked(r, w->c.columns + 1);
	}
	for (int64_t row = 0; from < to && row < rows && !r->fault; row++) {
		int64_t begin = r->a.coordinates ? 0 : row_begin(r, row);
		int64_t end = r->a.coordinates ? r->a.nnz : row_begin(r, row + 1);

		for (int64_t k = begin; k < end; k++) {
			int64_t i = r->a.coordinates ? row_of(r, k) : row, j = column_of(r, k);

			*NAMED(place)(&w->c, r->c, r->a.turned ? j : i, r->a.turned ? i : j) = NAMED(value)(r, k);
		}
		worked(r, end > begin ? end - begin + 1 : 1);
	}
}

static inline T NAMED(dense_at)(struct run *r, int64_t row, int64_t column)
{
	return *NAMED(place)(&r->w->c, r->c, r->a.turned ? column : row, r->a.turned ? row : column);
}

/* Offsets of rows, by what is not 0. */
static void NAMED(count)(struct run *r, int64_t from, int64_t to)
{
	int64_t count = 0;

	for (int64_t i = 0; from < to && i < r->a.rows; i++) {
		index_put(r->a.rows_at, r->a.wide_rows, i, count + r->a.base);
		for (int64_t j = 0; j < r->a.columns; j++)
			count += NAMED(dense_at)(r, i, j) != 0;
		worked(r, r->a.columns + 1);
		if (r->stopped)
			return;
	}
	index_put(r->a.rows_at, r->a.wide_rows, r->a.rows, count + r->a.base);
}

static void NAMED(from_dense)(struct run *r, int64_t from, int64_t to)
{
	int64_t count = 0;

	for (int64_t i = 0; from < to && i < r->a.rows && !r->stopped; i++) {
		for (int64_t j = 0; j < r->a.columns; j++) {
			T v = NAMED(dense_at)(r, i, j);

			if (v == 0)
				continue;
			if (count == r->a.nnz) { /* the matrix has changed since it was counted */
				r->fault = true;
				return;
			}
			if (r->a.coordinates)
				index_put(r->a.rows_at, r->a.wide_rows, count, i + r->a.base);
			index_put(r->a.columns_at, r->a.wide_columns, count, j + r->a.base);
			((T *)(uintptr_t)r->a.values_at)[count++] = v;
		}
		worked(r, r->a.columns + 1);
	}
}

/* ---- factors without fill-in: columns within a row are sorted ---- */

static inline T *NAMED(number)(const struct run *r, int64_t k)
{
	return (T *)(uintptr_t)r->a.values_at + k;
}

/* The pivot of a row; 0 if there is none, and the row is recorded. */
static T NAMED(pivot)(struct run *r, int64_t row)
{
	int64_t k = column_find(r, row_begin(r, row), row_begin(r, row + 1), row);
	T v = k < 0 ? 0 : *NAMED(number)(r, k);

	if (v == 0)
		pivot_missing(r, row);
	return v;
}

static void NAMED(pivots)(struct run *r, int64_t from, int64_t to)
{
	for (int64_t i = 0; from < to && i < r->a.rows && !r->fault; i++)
		if (column_find(r, row_begin(r, i), row_begin(r, i + 1), i) < 0)
			pivot_missing(r, i);
}

/* Takes l times row `above`, right of its diagonal, from the numbers at [k, end) of the row below. */
static void NAMED(row_less)(struct run *r, int64_t k, int64_t end, int64_t above, T l)
{
	int64_t stop = row_begin(r, above + 1);

	for (int64_t p = row_begin(r, above); p < stop && !r->fault; p++) {
		int64_t column = column_met(r, p);

		if (column <= above)
			continue;
		while (k < end && !r->fault && column_met(r, k) < column)
			k++;
		if (k < end && column_met(r, k) == column)
			*NAMED(number)(r, k) -= l * *NAMED(number)(r, p);
	}
}

static void NAMED(ilu)(struct run *r, int64_t from, int64_t to)
{
	for (int64_t i = 0; from < to && i < r->a.rows && !r->fault; i++) {
		int64_t begin = row_begin(r, i), end = row_begin(r, i + 1);

		for (int64_t k = begin; k < end && !r->fault && column_met(r, k) < i; k++) {
			int64_t above = column_met(r, k);
			T pivot = NAMED(pivot)(r, above), *at = NAMED(number)(r, k);

			if (pivot == 0)
				continue;
			*at /= pivot;
			NAMED(row_less)(r, k + 1, end, above, *at);
		}
		NAMED(pivot)(r, i);
	}
}

/* The sum of products of rows i and j in the columns left of j. */
static T NAMED(rows_product)(struct run *r, int64_t i, int64_t j)
{
	int64_t k = row_begin(r, i), stop = row_begin(r, i + 1), end = row_begin(r, j + 1);
	T sum = 0;

	for (int64_t p = row_begin(r, j); p < end && column_met(r, p) < j && !r->fault; p++) {
		while (k < stop && !r->fault && column_met(r, k) < column_met(r, p))
			k++;
		if (k < stop && column_met(r, k) == column_met(r, p))
			sum += *NAMED(number)(r, k) * CONJ(*NAMED(number)(r, p));
	}
	return sum;
}

static void NAMED(ic)(struct run *r, int64_t from, int64_t to)
{
	for (int64_t i = 0; from < to && i < r->a.rows && !r->fault; i++) {
		int64_t begin = row_begin(r, i), end = row_begin(r, i + 1);
		int64_t diagonal = column_find(r, begin, end, i);

		for (int64_t k = begin; k < end && !r->fault && column_met(r, k) < i; k++) {
			T pivot = NAMED(pivot)(r, column_met(r, k)), *at = NAMED(number)(r, k);

			if (pivot != 0)
				*at = (*at - NAMED(rows_product)(r, i, column_met(r, k))) / pivot;
		}
		if (diagonal >= 0) {
			T *at = NAMED(number)(r, diagonal);
			double left = creal((double complex)(*at - NAMED(rows_product)(r, i, i)));

			if (left > 0)
				*at = (T)sqrt(left);
			else
				pivot_missing(r, i);
		}
		NAMED(pivot)(r, i);
	}
}

/* ---- the product of two sparse matrices: a row is gathered in a table by columns ---- */

struct NAMED(slot) {
	int64_t column; /* -1: free */
	T value;
};

/* A full table was sized before a row of B has grown: a fault. Occupied entries count as work. */
static void NAMED(row_add)(struct run *r, struct NAMED(slot) * table, int64_t room, int64_t column, T value)
{
	uint64_t at = (uint64_t)column * UINT64_C(0x9e3779b97f4a7c15) >> 20;

	for (int64_t tries = 0; tries < room && !r->stopped; tries++, at++) {
		struct NAMED(slot) *slot = &table[at & (uint64_t)(room - 1)];

		if (slot->column < 0 || slot->column == column) {
			slot->column = column;
			slot->value += value;
			return;
		}
		looked(r);
	}
	r->fault = true;
}

/* Row i of the product, sorted by columns, in the thread's memory; NULL: the launch has ended. */
static struct NAMED(slot) * NAMED(row_of_product)(struct run *r, int64_t i, int64_t *ret_count)
{
	const struct sparse_matrix *b = &r->w->more[0];
	int64_t room = row_room(r, i), end = begin_in(r, &r->a, i + 1), count = 0;
	struct NAMED(slot) *table = r->fault ? NULL : scratch_get((size_t)room * sizeof(*table));

	if (!table) {
		if (!r->fault)
			r->n->refuse(r->n);
		r->stopped = true;
		return NULL;
	}
	for (int64_t s = 0; s < room; s++)
		table[s] = (struct NAMED(slot)){ .column = -1 };
	for (int64_t k = begin_in(r, &r->a, i); k < end && !r->fault; k++) {
		int64_t row = column_in(r, &r->a, k), stop = begin_in(r, b, row + 1);

		for (int64_t l = begin_in(r, b, row); l < stop && !r->fault; l++)
			NAMED(row_add)
		(r, table, room, column_in(r, b, l), NAMED(value)(r, k) * ((const T *)(uintptr_t)b->values_at)[l]);
	}
	for (int64_t s = 0; s < room; s++)
		if (table[s].column >= 0)
			table[count++] = table[s];
	qsort(table, (size_t)count, sizeof(*table), by_column);
	*ret_count = count;
	return table;
}

static void NAMED(gemm_count)(struct run *r, int64_t from, int64_t to)
{
	int64_t total = 0, count = 0;

	for (int64_t i = 0; from < to && i < r->a.rows && !r->fault; i++) {
		index_put(r->w->b.at, true, i, total);
		if (!NAMED(row_of_product)(r, i, &count))
			return;
		total += count;
	}
	if (from < to)
		index_put(r->w->b.at, true, r->a.rows, total);
}

static void NAMED(gemm)(struct run *r, int64_t from, int64_t to)
{
	const struct sparse_matrix *c = &r->w->more[1];
	T alpha = NAMED(scalar)(&r->w->alpha), beta = NAMED(scalar)(&r->w->beta),
	  *values = (T *)(uintptr_t)c->values_at;
	int64_t count = 0;

	if (!r->a.rows && from < to)
		index_put(c->rows_at, c->wide_rows, 0, c->base);
	for (int64_t i = from; i < to && i < r->a.rows && !r->fault; i++) {
		int64_t at = index_get(r->w->b.at, true, i);
		struct NAMED(slot) *row = NAMED(row_of_product)(r, i, &count);

		if (!row)
			return;
		if (at < 0 || at > c->nnz || count > c->nnz - at) { /* an operand has changed since it was counted */
			r->fault = true;
			return;
		}
		index_put(c->rows_at, c->wide_rows, i, at + c->base);
		if (i + 1 == r->a.rows)
			index_put(c->rows_at, c->wide_rows, i + 1, at + count + c->base);
		for (int64_t k = 0; k < count; k++) {
			index_put(c->columns_at, c->wide_columns, at + k, row[k].column + c->base);
			NAMED(keep)(&values[at + k], beta);
			values[at + k] += alpha * row[k].value;
		}
	}
}

/* ---- tridiagonal systems ---- */

struct NAMED(diagonals) {
	T *below, *diagonal, *above, *second; /* second: above `above`, where rows have changed places */
};

/* Takes row i out of the one below it; where that one's number is larger, they change places before. */
static void NAMED(eliminate)(struct NAMED(diagonals) * s, T *x, int64_t i, int64_t rows, bool pivots)
{
	T f, kept;

	s->second[i] = 0;
	if (!pivots || cabs((double complex)s->diagonal[i]) >= cabs((double complex)s->below[i + 1])) {
		f = s->below[i + 1] / s->diagonal[i];
		s->diagonal[i + 1] -= f * s->above[i];
		x[i + 1] -= f * x[i];
		return;
	}
	f = s->diagonal[i] / s->below[i + 1];
	s->diagonal[i] = s->below[i + 1];
	kept = s->diagonal[i + 1];
	s->diagonal[i + 1] = s->above[i] - f * kept;
	s->above[i] = kept;
	if (i + 2 < rows) {
		s->second[i] = s->above[i + 1];
		s->above[i + 1] *= -f;
	}
	kept = x[i];
	x[i] = x[i + 1];
	x[i + 1] = kept - f * x[i];
}

static void NAMED(gtsv_column)(struct run *r, struct NAMED(diagonals) * s, T *x)
{
	int64_t rows = r->a.rows;

	memcpy(s->below, (const void *)(uintptr_t)r->a.rows_at, (size_t)rows * sizeof(T));
	memcpy(s->diagonal, (const void *)(uintptr_t)r->a.columns_at, (size_t)rows * sizeof(T));
	memcpy(s->above, (const void *)(uintptr_t)r->a.values_at, (size_t)rows * sizeof(T));
	for (int64_t i = 0; i + 1 < rows; i++)
		NAMED(eliminate)(s, x, i, rows, r->w->kernel == SPARSE_GTSV);
	for (int64_t i = rows - 1; i >= 0; i--) {
		T v = x[i];

		if (i + 1 < rows)
			v -= s->above[i] * x[i + 1];
		if (i + 2 < rows)
			v -= s->second[i] * x[i + 2];
		x[i] = v / s->diagonal[i];
	}
}

static void NAMED(gtsv)(struct run *r, int64_t from, int64_t to)
{
	size_t rows = (size_t)r->a.rows;
	struct NAMED(diagonals) s;
	T *room;

	if (from >= to)
		return;
	room = scratch_get(4 * rows * sizeof(T));
	if (!room) {
		r->n->refuse(r->n);
		return;
	}
	s = (struct NAMED(diagonals)){ room, room + rows, room + 2 * rows, room + 3 * rows };
	for (int64_t j = from; j < to && !r->stopped; j++) {
		NAMED(gtsv_column)(r, &s, NAMED(place)(&r->w->c, r->c, 0, j));
		r->stopped = !r->n->go_on(r->n, rows);
	}
}

#include "libs/cusparse/typed_blocks.h"
#include "libs/cusparse/typed_vectors.h"

/* ---- the sum of two sparse matrices ---- */

static void NAMED(sum)(struct run *r, int64_t from, int64_t to)
{
	const struct sparse_matrix *b = &r->w->more[0], *c = &r->w->more[1];
	T alpha = NAMED(scalar)(&r->w->alpha), beta = NAMED(scalar)(&r->w->beta);

	for (int64_t i = from; i < to && !r->fault; i++) {
		struct sum_row row = sum_begin(r, i);
		int64_t at = index_get(r->w->b.at, false, i) - (int64_t)c->base;

		for (; sum_next(r, &row); sum_take(&row), at++) {
			T v = 0;

			if (at < 0 || at >= r->room) { /* an operand has changed since it was counted */
				r->fault = true;
				return;
			}
			if (row.has_a)
				v += alpha * NAMED(value)(r, row.k);
			if (row.has_b)
				v += beta * ((const T *)(uintptr_t)b->values_at)[row.l];
			index_put(c->columns_at, false, at, row.column + c->base);
			((T *)(uintptr_t)c->values_at)[at] = v;
		}
	}
}

#undef T
#undef CONJ
#undef NAMED

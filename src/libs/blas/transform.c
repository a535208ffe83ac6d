/*
 * transform.c: see transform.h. Elements go by way of doubles, one after the other.
 *
 * COL32 as cuBLASLt documents it: columns in tiles of 32, a tile's rows one after the other, ld elements from a tile to
 * the next.
 */
#include "libs/blas/transform.h"

#include <string.h>

#define MOST (INT64_C(1) << 40)

static int64_t index_of(const struct transform_matrix *m, int64_t i, int64_t j)
{
	int64_t row = m->turned ? j : i, column = m->turned ? i : j;

	switch (m->order) {
	case ORDER_ROWS:
		return row * m->ld + column;
	case ORDER_COL32:
		return column / 32 * m->ld + row * 32 + column % 32;
	default:
		return row + column * m->ld;
	}
}

/* The number of the element in its last row and column can be told, so those of all others can. */
static bool extent_sound(const struct transform *t, const struct transform_matrix *m)
{
	int64_t rows = m->turned ? t->columns : t->rows, columns = m->turned ? t->rows : t->columns, far, near;

	if (m->order == ORDER_ROWS)
		return !__builtin_mul_overflow(rows, m->ld, &far) && far < INT64_MAX / 32 - columns;
	/* tiles begin `ld` apart, and have 32 numbers of each row */
	near = m->order == ORDER_COL32 ? 32 * (rows + 1) : rows;
	return !__builtin_mul_overflow(columns, m->ld, &far) && far < INT64_MAX / 32 - near;
}

static bool matrix_sound(const struct transform_matrix *m)
{
	return m->order <= ORDER_COL32 && m->turned <= 1 && type_bytes(m->type) && !type_is_complex(m->type) &&
	       m->ld > 0 && m->ld < MOST && m->stride > -MOST && m->stride < MOST;
}

/* The matrix of a batch, reachable to its last element. NULL: the launch has its fault. */
static char *matrix_at(struct soft_native *n, const struct transform *t, const struct transform_matrix *m,
		       int64_t batch, bool write)
{
	int64_t i = t->rows - 1, j = t->columns - 1, last;
	uint64_t at = m->at + (uint64_t)m->stride * (uint64_t)batch * type_bytes(m->type);

	/* the last row of the last full tile may lie behind the last element */
	last = index_of(m, i, j);
	if (m->order == ORDER_COL32 && (m->turned ? i : j) >= 32) {
		int64_t before = m->turned ? index_of(m, i / 32 * 32 - 1, j) : index_of(m, i, j / 32 * 32 - 1);

		last = before > last ? before : last;
	}
	return device_reach(n, at, (uint64_t)(last + 1) * type_bytes(m->type), type_bytes(m->type), write)
		       ? (char *)(uintptr_t)at
		       : NULL;
}

static bool scalar_of(struct soft_native *n, const struct transform *t, const uint8_t here[8], uint64_t at, double *ret)
{
	if (at && !device_reach(n, at, type_bytes(t->scale_type), type_bytes(t->scale_type), false))
		return false;
	*ret = type_get(t->scale_type, at ? (const void *)(uintptr_t)at : here);
	return true;
}

void transform_run(struct soft_native *n, const struct transform *t)
{
	double alpha, beta = 0;

	if (t->rows <= 0 || t->columns <= 0 || t->rows > MOST || t->columns > MOST || !matrix_sound(&t->a) ||
	    !matrix_sound(&t->c) || (t->b.at && (!matrix_sound(&t->b) || !extent_sound(t, &t->b))) ||
	    !extent_sound(t, &t->a) || !extent_sound(t, &t->c) ||
	    (t->scale_type != CUDA_R_32F && t->scale_type != CUDA_R_64F && t->scale_type != CUDA_R_16F &&
	     t->scale_type != CUDA_R_32I)) {
		n->refuse(n);
		return;
	}
	if (!scalar_of(n, t, t->alpha, t->alpha_at, &alpha) || !scalar_of(n, t, t->beta, t->beta_at, &beta))
		return;
	for (int64_t batch = n->block; batch < t->batches; batch += n->blocks) {
		const char *a = matrix_at(n, t, &t->a, batch, false);
		const char *b = a && t->b.at && beta != 0 ? matrix_at(n, t, &t->b, batch, false) : a;
		char *c = b ? matrix_at(n, t, &t->c, batch, true) : NULL;

		for (int64_t j = 0; c && j < t->columns; j++) {
			for (int64_t i = 0; i < t->rows; i++) {
				double v =
					alpha * type_get(t->a.type, a + index_of(&t->a, i, j) * type_bytes(t->a.type));

				if (t->b.at && beta != 0)
					v += beta *
					     type_get(t->b.type, b + index_of(&t->b, i, j) * type_bytes(t->b.type));
				type_put(t->c.type, v, c + index_of(&t->c, i, j) * type_bytes(t->c.type));
			}
			if (!n->go_on(n, (uint64_t)t->rows / 8 + 1))
				return;
		}
		if (!c)
			return;
	}
}

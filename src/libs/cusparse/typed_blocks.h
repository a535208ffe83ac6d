/* typed_blocks.h: kernels of matrices of blocks in numbers of type T; included by typed.h. */

/* Number (i, j) of block k. */
static inline T NAMED(in_block)(const struct run *r, int64_t k, int64_t i, int64_t j)
{
	int64_t block = r->w->block;
	T v = ((const T *)(uintptr_t)
		       r->a.values_at)[k * block * block + (r->a.by_columns ? j * block + i : i * block + j)];

	return r->a.conjugated ? CONJ(v) : v;
}

/* Number i of row `row` of blocks, in column j of the result. */
static T NAMED(block_sum)(struct run *r, int64_t row, int64_t i, int64_t j)
{
	int64_t block = r->w->block, end = row_begin(r, row + 1);
	T sum = 0;

	for (int64_t k = row_begin(r, row); k < end && !r->fault; k++) {
		int64_t column = column_met(r, k);

		for (int64_t l = 0; l < block; l++)
			sum += NAMED(in_block)(r, k, i, l) * NAMED(element)(&r->w->b, r->b, column * block + l, j);
		worked(r, block);
	}
	worked(r, 1);
	return sum;
}

static void NAMED(blocks)(struct run *r, int64_t from, int64_t to)
{
	const struct sparse_work *w = r->w;
	T alpha = NAMED(scalar)(&w->alpha), beta = NAMED(scalar)(&w->beta);
	int64_t block = w->block;

	for (int64_t row = from; row < to && !r->fault; row++)
		for (int64_t i = 0; i < block && !r->fault; i++)
			for (int64_t j = 0; j < w->c.columns && !r->fault; j++) {
				T *at = NAMED(place)(&w->c, r->c, row * block + i, j);

				NAMED(keep)(at, beta);
				*at += alpha * NAMED(block_sum)(r, row, i, j);
			}
}

/* Takes block k, not on the diagonal, times the solution so far: from its row, or, turned, from its column. */
static void NAMED(block_less)(struct run *r, int64_t k, int64_t row, int64_t column, int64_t j)
{
	int64_t block = r->w->block;

	worked(r, block * block);
	for (int64_t i = 0; i < block; i++)
		for (int64_t l = 0; l < block; l++) {
			T *x = NAMED(place)(&r->w->c, r->c, row * block + i, j);
			T *y = NAMED(place)(&r->w->c, r->c, column * block + l, j);

			if (r->a.turned)
				*y -= NAMED(in_block)(r, k, i, l) * *x;
			else
				*x -= NAMED(in_block)(r, k, i, l) * *y;
		}
}

/* Solves with the triangle of the diagonal block k. */
static void NAMED(block_triangle)(struct run *r, int64_t k, int64_t row, int64_t j)
{
	int64_t block = r->w->block;
	bool upwards = r->a.upper != r->a.turned;

	worked(r, block * block);
	for (int64_t step = 0; step < block; step++) {
		int64_t i = upwards ? block - 1 - step : step;
		T *at = NAMED(place)(&r->w->c, r->c, row * block + i, j), pivot = NAMED(in_block)(r, k, i, i);

		for (int64_t l = upwards ? i + 1 : 0; l < (upwards ? block : i); l++) {
			T v = r->a.turned ? NAMED(in_block)(r, k, l, i) : NAMED(in_block)(r, k, i, l);

			*at -= v * *NAMED(place)(&r->w->c, r->c, row * block + l, j);
		}
		if (r->a.unit)
			continue;
		if (pivot == 0)
			pivot_missing(r, row);
		*at /= pivot;
	}
}

static void NAMED(block_column)(struct run *r, int64_t j, T alpha)
{
	const struct sparse_work *w = r->w;
	int64_t rows = r->a.rows;
	bool upwards = r->a.upper != r->a.turned;

	for (int64_t i = 0; i < w->c.rows; i++)
		*NAMED(place)(&w->c, r->c, i, j) = alpha * NAMED(element)(&w->b, r->b, i, j);
	worked(r, w->c.rows);
	for (int64_t step = 0; step < rows && !r->fault; step++) {
		int64_t row = upwards ? rows - 1 - step : step, end = row_begin(r, row + 1);
		int64_t diagonal = block_diagonal(r, row);

		if (diagonal < 0 && !r->a.unit)
			pivot_missing(r, row);
		if (r->a.turned && diagonal >= 0)
			NAMED(block_triangle)(r, diagonal, row, j);
		for (int64_t k = row_begin(r, row); k < end && !r->fault; k++) {
			int64_t column = column_met(r, k);

			if (column != row && (column > row) == r->a.upper)
				NAMED(block_less)(r, k, row, column, j);
		}
		if (!r->a.turned && diagonal >= 0)
			NAMED(block_triangle)(r, diagonal, row, j);
	}
}

static void NAMED(block_solve)(struct run *r, int64_t from, int64_t to)
{
	T alpha = NAMED(scalar)(&r->w->alpha);

	for (int64_t j = from; j < to && !r->fault; j++)
		NAMED(block_column)(r, j, alpha);
}

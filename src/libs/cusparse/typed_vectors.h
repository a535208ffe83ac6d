/* typed_vectors.h: kernels of sparse vectors in numbers of type T; included by typed.h. One block does the work. */

static inline T *NAMED(dense_number)(struct run *r, int64_t k)
{
	return (T *)(void *)r->c + column_met(r, k);
}

static void NAMED(gather)(struct run *r, int64_t from, int64_t to)
{
	T *values = (T *)(uintptr_t)r->a.values_at;

	for (int64_t k = 0; from < to && k < r->a.nnz && !r->fault; k++)
		values[k] = *NAMED(dense_number)(r, k);
}

static void NAMED(scatter)(struct run *r, int64_t from, int64_t to)
{
	for (int64_t k = 0; from < to && k < r->a.nnz && !r->fault; k++)
		*NAMED(dense_number)(r, k) = NAMED(value)(r, k);
}

static void NAMED(axpby)(struct run *r, int64_t from, int64_t to)
{
	T alpha = NAMED(scalar)(&r->w->alpha), beta = NAMED(scalar)(&r->w->beta);

	for (int64_t i = 0; from < to && i < r->w->c.rows; i++)
		NAMED(keep)((T *)(void *)r->c + i, beta);
	for (int64_t k = 0; from < to && k < r->a.nnz && !r->fault; k++)
		*NAMED(dense_number)(r, k) += alpha * NAMED(value)(r, k);
}

static void NAMED(dot)(struct run *r, int64_t from, int64_t to)
{
	T sum = 0;

	if (from == to)
		return;
	for (int64_t k = 0; k < r->a.nnz && !r->fault; k++)
		sum += NAMED(value)(r, k) * *NAMED(dense_number)(r, k);
	*(T *)(void *)r->b = sum;
}

/* alpha: the cosine; beta: the sine. */
static void NAMED(rot)(struct run *r, int64_t from, int64_t to)
{
	T c = NAMED(scalar)(&r->w->alpha), s = NAMED(scalar)(&r->w->beta), *values = (T *)(uintptr_t)r->a.values_at;

	for (int64_t k = 0; from < to && k < r->a.nnz && !r->fault; k++) {
		T *y = NAMED(dense_number)(r, k), x = values[k];

		values[k] = c * x + s * *y;
		*y = c * *y - s * x;
	}
}

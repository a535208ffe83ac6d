/*
 * level2.h: a matrix and vectors, for one type (typed.h). Triangles may be whole, packed or bands: one way to find an
 * element.
 */

/*
 * The address of element (i, j) of the stored triangle, in any form; NULL: outside the band. The caller ensures that
 * (i, j) is in the triangle.
 */
static T *NAMED(stored)(const struct blas_work *w, T *a, int64_t i, int64_t j)
{
	bool upper = w->uplo == CUBLAS_FILL_MODE_UPPER;

	switch (w->form) {
	case BLAS_PACKED:
		return upper ? a + i + j * (j + 1) / 2 : a + i + j * (2 * w->n - j - 1) / 2;
	case BLAS_BAND:
		if (upper ? j - i > w->k : i - j > w->k)
			return NULL;
		return upper ? a + w->k + i - j + j * w->lda : a + i - j + j * w->lda;
	default:
		return a + i + j * w->lda;
	}
}

static bool NAMED(inside)(const struct blas_work *w, int64_t i, int64_t j)
{
	return w->uplo == CUBLAS_FILL_MODE_UPPER ? i <= j : i >= j;
}

/* Of a symmetric or hermitian matrix. */
static T NAMED(mirrored)(const struct blas_work *w, T *a, int64_t i, int64_t j)
{
	bool turned = !NAMED(inside)(w, i, j);
	T *p = turned ? NAMED(stored)(w, a, j, i) : NAMED(stored)(w, a, i, j);
	T v = p ? *p : 0;

	if (!w->hermitian)
		return v;
	return i == j ? (T)RE(v) : turned ? CONJ(v) : v;
}

/* Of op(triangle). */
static T NAMED(triangle)(const struct blas_work *w, T *a, int64_t i, int64_t j)
{
	bool turned = w->trans != CUBLAS_OP_N;
	int64_t row = turned ? j : i, column = turned ? i : j;
	T *p;

	if (!NAMED(inside)(w, row, column))
		return 0;
	if (i == j && w->diag == CUBLAS_DIAG_UNIT)
		return 1;
	p = NAMED(stored)(w, a, row, column);
	return !p ? 0 : w->trans == CUBLAS_OP_C ? CONJ(*p) : *p;
}

static T *NAMED(triangle_at)(struct soft_native *n, const struct blas_work *w, bool write)
{
	if (w->form == BLAS_PACKED)
		return body_matrix(n, w->AP, w->n * (w->n + 1) / 2, 1, INT64_MAX, sizeof(T), write);
	return body_matrix(n, w->A, w->form == BLAS_BAND ? w->k + 1 : w->n, w->n, w->lda, sizeof(T), write);
}

/* The first and last column of the band in a row, of n. */
static void NAMED(span)(const struct blas_work *w, int64_t i, int64_t *ret_from, int64_t *ret_to)
{
	*ret_from = w->form == BLAS_BAND && i > w->k ? i - w->k : 0;
	*ret_to = w->form == BLAS_BAND && i + w->k + 1 < w->n ? i + w->k + 1 : w->n;
}

static void NAMED(gemv)(struct soft_native *n, const struct blas_work *w)
{
	bool turned = w->trans != CUBLAS_OP_N;
	int64_t count_x = turned ? w->m : w->n, count_y = turned ? w->n : w->m, from, to;
	T alpha, beta, *a, *x, *y;

	if (!NAMED(scalar)(n, w, w->alpha, w->alpha_value, w->alphaType, &alpha) ||
	    !NAMED(scalar)(n, w, w->beta, w->beta_value, w->betaType, &beta) ||
	    !(a = body_matrix(n, w->A, w->m, w->n, w->lda, sizeof(T), false)) ||
	    !(x = body_vector(n, w->x, count_x, w->incx, sizeof(T), false)) ||
	    !(y = body_vector(n, w->y, count_y, w->incy, sizeof(T), true)))
		return;
	body_part(n, count_y, &from, &to);
	for (int64_t i = from; i < to; i++)
		y[i * w->incy] = beta == (T)0 ? 0 : beta * y[i * w->incy];
	if (!turned) {
		for (int64_t j = 0; j < w->n && alpha != (T)0; j++) {
			const T by = alpha * x[j * w->incx], *column = a + j * w->lda;

			if (w->incy == 1)
				for (int64_t i = from; i < to; i++)
					y[i] += by * column[i];
			else
				for (int64_t i = from; i < to; i++)
					y[i * w->incy] += by * column[i];
			if (j % 1024 == 1023 && !NAMED(spent)(n, (to - from) * 1024))
				return;
		}
	} else {
		for (int64_t i = from; i < to && alpha != (T)0; i++) {
			const T *column = a + i * w->lda;
			T sum[16] = { 0 }, all = 0;
			int64_t p = 0;

			if (w->incx == 1 && w->trans == CUBLAS_OP_T)
				for (; p + 16 <= w->m; p += 16)
					for (int l = 0; l < 16; l++)
						sum[l] += column[p + l] * x[p + l];
			for (; p < w->m; p++)
				all += (w->trans == CUBLAS_OP_C ? CONJ(column[p]) : column[p]) * x[p * w->incx];
			for (int l = 0; l < 16; l++)
				all += sum[l];
			y[i * w->incy] += alpha * all;
			if (i % 256 == 255 && !NAMED(spent)(n, w->m * 256))
				return;
		}
	}
	NAMED(spent)(n, count_x);
}

static void NAMED(gbmv)(struct soft_native *n, const struct blas_work *w)
{
	bool turned = w->trans != CUBLAS_OP_N;
	int64_t count_x = turned ? w->m : w->n, count_y = turned ? w->n : w->m;
	T alpha, beta, *a, *x, *y;

	if (!NAMED(scalar)(n, w, w->alpha, w->alpha_value, w->alphaType, &alpha) ||
	    !NAMED(scalar)(n, w, w->beta, w->beta_value, w->betaType, &beta) ||
	    !(a = body_matrix(n, w->A, w->kl + w->ku + 1, w->n, w->lda, sizeof(T), false)) ||
	    !(x = body_vector(n, w->x, count_x, w->incx, sizeof(T), false)) ||
	    !(y = body_vector(n, w->y, count_y, w->incy, sizeof(T), true)))
		return;
	for (int64_t i = 0; i < count_y; i++)
		y[i * w->incy] = beta == (T)0 ? 0 : beta * y[i * w->incy];
	for (int64_t j = 0; j < w->n; j++)
		for (int64_t i = j > w->ku ? j - w->ku : 0; i < w->m && i <= j + w->kl; i++) {
			T v = a[w->ku + i - j + j * w->lda];

			if (turned)
				y[j * w->incy] += alpha * (w->trans == CUBLAS_OP_C ? CONJ(v) : v) * x[i * w->incx];
			else
				y[i * w->incy] += alpha * v * x[j * w->incx];
		}
	NAMED(spent)(n, w->n * (w->kl + w->ku + 1));
}

static void NAMED(symv)(struct soft_native *n, const struct blas_work *w)
{
	T alpha, beta, *a, *x, *y;
	int64_t from, to, first, last;

	if (!NAMED(scalar)(n, w, w->alpha, w->alpha_value, w->alphaType, &alpha) ||
	    !NAMED(scalar)(n, w, w->beta, w->beta_value, w->betaType, &beta) ||
	    !(a = NAMED(triangle_at)(n, w, false)) || !(x = body_vector(n, w->x, w->n, w->incx, sizeof(T), false)) ||
	    !(y = body_vector(n, w->y, w->n, w->incy, sizeof(T), true)))
		return;
	body_part(n, w->n, &from, &to);
	for (int64_t i = from; i < to; i++) {
		W sum = 0;

		NAMED(span)(w, i, &first, &last);
		for (int64_t j = first; j < last && alpha != (T)0; j++)
			sum += (W)NAMED(mirrored)(w, a, i, j) * (W)x[j * w->incx];
		y[i * w->incy] = alpha * (T)sum + (beta == (T)0 ? 0 : beta * y[i * w->incy]);
		if (i % 256 == 255 && !NAMED(spent)(n, 256 * (last - first)))
			return;
	}
	NAMED(spent)(n, w->n);
}

static void NAMED(trmv)(struct soft_native *n, const struct blas_work *w)
{
	int64_t first, last;
	T *a, *x, *kept;

	if (!(a = NAMED(triangle_at)(n, w, false)) || !(x = body_vector(n, w->x, w->n, w->incx, sizeof(T), true)))
		return;
	kept = scratch_get((size_t)(w->n < 1 ? 1 : w->n) * sizeof(T));
	if (!kept) {
		n->refuse(n);
		return;
	}
	for (int64_t i = 0; i < w->n; i++)
		kept[i] = x[i * w->incx];
	for (int64_t i = 0; i < w->n; i++) {
		T sum = 0;

		NAMED(span)(w, i, &first, &last);
		for (int64_t j = first; j < last; j++)
			if (NAMED(inside)(w, w->trans == CUBLAS_OP_N ? i : j, w->trans == CUBLAS_OP_N ? j : i))
				sum += NAMED(triangle)(w, a, i, j) * kept[j];
		x[i * w->incx] = sum;
		if (i % 256 == 255 && !NAMED(spent)(n, 256 * (last - first)))
			return;
	}
	NAMED(spent)(n, w->n);
}

static void NAMED(trsv)(struct soft_native *n, const struct blas_work *w)
{
	bool forward = (w->uplo == CUBLAS_FILL_MODE_LOWER) == (w->trans == CUBLAS_OP_N);
	int64_t first, last;
	T *a, *x;

	if (!(a = NAMED(triangle_at)(n, w, false)) || !(x = body_vector(n, w->x, w->n, w->incx, sizeof(T), true)))
		return;
	for (int64_t step = 0; step < w->n; step++) {
		int64_t i = forward ? step : w->n - 1 - step;
		T sum = x[i * w->incx];

		NAMED(span)(w, i, &first, &last);
		for (int64_t j = forward ? first : i + 1; j < (forward ? i : last); j++)
			sum -= NAMED(triangle)(w, a, i, j) * x[j * w->incx];
		x[i * w->incx] = w->diag == CUBLAS_DIAG_UNIT ? sum : sum / NAMED(triangle)(w, a, i, i);
		if (step % 256 == 255 && !NAMED(spent)(n, 256 * (last - first)))
			return;
	}
	NAMED(spent)(n, w->n);
}

static void NAMED(ger)(struct soft_native *n, const struct blas_work *w)
{
	T alpha, *a, *x, *y;
	int64_t from, to;

	if (!NAMED(scalar)(n, w, w->alpha, w->alpha_value, w->alphaType, &alpha) ||
	    !(a = body_matrix(n, w->A, w->m, w->n, w->lda, sizeof(T), true)) ||
	    !(x = body_vector(n, w->x, w->m, w->incx, sizeof(T), false)) ||
	    !(y = body_vector(n, w->y, w->n, w->incy, sizeof(T), false)))
		return;
	body_part(n, w->n, &from, &to);
	for (int64_t j = from; j < to; j++) {
		T by = alpha * (w->conjugate ? CONJ(y[j * w->incy]) : y[j * w->incy]);

		for (int64_t i = 0; i < w->m; i++)
			a[i + j * w->lda] += x[i * w->incx] * by;
		if (j % 256 == 255 && !NAMED(spent)(n, 256 * w->m))
			return;
	}
	NAMED(spent)(n, w->m);
}

/* One vector, or two: alpha x y' + (alpha y x')'. */
static void NAMED(rank)(struct soft_native *n, const struct blas_work *w, bool two)
{
	T alpha, *a, *x, *y;

	if (w->form == BLAS_BAND) { /* there is no such routine, and elements outside a band are not stored */
		n->refuse(n);
		return;
	}
	if (!NAMED(scalar)(n, w, w->alpha, w->alpha_value, w->alphaType, &alpha) ||
	    !(a = NAMED(triangle_at)(n, w, true)) || !(x = body_vector(n, w->x, w->n, w->incx, sizeof(T), false)) ||
	    !(y = two ? body_vector(n, w->y, w->n, w->incy, sizeof(T), false) : x))
		return;
	for (int64_t j = 0; j < w->n; j++) {
		int64_t step = two ? w->incy : w->incx;
		T at_j = w->hermitian ? CONJ(y[j * step]) : y[j * step];
		T other = w->hermitian ? CONJ(x[j * w->incx]) : x[j * w->incx];
		T alpha_2 = w->hermitian ? CONJ(alpha) : alpha;
		bool upper = w->uplo == CUBLAS_FILL_MODE_UPPER;

		for (int64_t i = upper ? 0 : j; i < (upper ? j + 1 : w->n); i++) {
			T *p = NAMED(stored)(w, a, i, j);

			*p += alpha * x[i * w->incx] * at_j;
			if (two)
				*p += alpha_2 * y[i * w->incy] * other;
			if (w->hermitian && i == j)
				*p = (T)RE(*p);
		}
		if (j % 256 == 255 && !NAMED(spent)(n, 256 * w->n))
			return;
	}
	NAMED(spent)(n, w->n);
}

static void NAMED(syr)(struct soft_native *n, const struct blas_work *w)
{
	NAMED(rank)(n, w, false);
}

static void NAMED(syr2)(struct soft_native *n, const struct blas_work *w)
{
	NAMED(rank)(n, w, true);
}

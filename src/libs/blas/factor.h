/*
 * factor.h: batches of small systems, for one type (typed.h): one matrix after the other, each on one thread.
 *
 * Arrays of addresses and pivots are those of cuBLAS: pivots count from 1, and matrix i's are at P + i n; without P no
 * rows are exchanged. info is 0, or the first column whose pivot is 0.
 */

/* A step of a system of n rows is done. False: the launch has ended. */
static bool NAMED(step_done)(struct soft_native *native, int64_t n)
{
	return n < BODY_LARGE || native->go_on(native, 0);
}

/* False: the launch has ended. */
static bool NAMED(lu)(struct soft_native *native, T *a, int64_t n, int64_t ld, int *pivot, int *info)
{
	*info = 0;
	for (int64_t j = 0; j < n; j++) {
		int64_t best = j;

		if (!NAMED(step_done)(native, n))
			return false;
		for (int64_t i = j + 1; pivot && i < n; i++)
			if (ABS1(a[i + j * ld]) > ABS1(a[best + j * ld]))
				best = i;
		if (pivot)
			pivot[j] = (int)(best + 1);
		if (a[best + j * ld] == (T)0) {
			*info = *info ? *info : (int)(j + 1);
			continue;
		}
		for (int64_t c = 0; best != j && c < n; c++) {
			T kept = a[j + c * ld];

			a[j + c * ld] = a[best + c * ld];
			a[best + c * ld] = kept;
		}
		for (int64_t i = j + 1; i < n; i++)
			a[i + j * ld] /= a[j + j * ld];
		for (int64_t c = j + 1; c < n; c++)
			for (int64_t i = j + 1; i < n; i++)
				a[i + c * ld] -= a[i + j * ld] * a[j + c * ld];
	}
	return true;
}

/* Solves op(LU) X = B in place of B. False: the launch has ended. */
static bool NAMED(lu_solve)(struct soft_native *native, const T *a, int64_t n, int64_t ld, const int *pivot, int32_t op,
			    T *b, int64_t columns, int64_t ldb)
{
	for (int64_t c = 0; n && c < columns; c++) {
		T *x = b + c * ldb;

		if (!NAMED(step_done)(native, n))
			return false;
		for (int64_t i = 0; op == CUBLAS_OP_N && pivot && i < n; i++) {
			int64_t other = (int64_t)pivot[i] - 1;
			T kept = x[i];

			if (other < 0 || other >= n)
				continue;
			x[i] = x[other];
			x[other] = kept;
		}
		if (op == CUBLAS_OP_N) {
			for (int64_t j = 0; j < n; j++)
				for (int64_t i = j + 1; i < n; i++)
					x[i] -= a[i + j * ld] * x[j];
			for (int64_t j = n - 1; j >= 0; j--) {
				x[j] /= a[j + j * ld];
				for (int64_t i = 0; i < j; i++)
					x[i] -= a[i + j * ld] * x[j];
			}
			continue;
		}
		for (int64_t j = 0; j < n; j++) {
			for (int64_t i = 0; i < j; i++)
				x[j] -= NAMED(element)(a, ld, op, j, i) * x[i];
			x[j] /= NAMED(element)(a, ld, op, j, j);
		}
		for (int64_t j = n - 1; j >= 0; j--)
			for (int64_t i = j + 1; i < n; i++)
				x[j] -= NAMED(element)(a, ld, op, j, i) * x[i];
		for (int64_t i = n - 1; pivot && i >= 0; i--) {
			int64_t other = (int64_t)pivot[i] - 1;
			T kept = x[i];

			if (other < 0 || other >= n)
				continue;
			x[i] = x[other];
			x[other] = kept;
		}
	}
	return true;
}

/* Matrix number `batch` of an array. */
static T *NAMED(batched)(struct soft_native *n, uint64_t array, int64_t batch, int64_t rows, int64_t columns,
			 int64_t ld)
{
	uint64_t at = body_of_array(n, array, batch);

	return at ? body_matrix(n, at, rows, columns, ld, sizeof(T), true) : NULL;
}

/* Pivots of a matrix; NULL with *ret_good if there are none. */
static int *NAMED(pivots)(struct soft_native *n, const struct blas_work *w, int64_t batch, bool *ret_good)
{
	uint64_t at = w->P + (uint64_t)batch * (uint64_t)w->n * sizeof(int);

	*ret_good = !w->P || device_reach(n, at, (uint64_t)w->n * sizeof(int), sizeof(int), true);
	return w->P && *ret_good ? (int *)(uintptr_t)at : NULL;
}

static int *NAMED(info_at)(struct soft_native *n, const struct blas_work *w, int64_t batch)
{
	uint64_t at = w->info + (uint64_t)batch * sizeof(int);

	return device_reach(n, at, sizeof(int), sizeof(int), true) ? (int *)(uintptr_t)at : NULL;
}

static void NAMED(getrf)(struct soft_native *n, const struct blas_work *w)
{
	int64_t from, to;

	body_part(n, w->batchSize, &from, &to);
	for (int64_t i = from; i < to; i++) {
		T *a = NAMED(batched)(n, w->A, i, w->n, w->n, w->lda);
		int *info = a ? NAMED(info_at)(n, w, i) : NULL, *pivot;
		bool good = false;

		pivot = info ? NAMED(pivots)(n, w, i, &good) : NULL;
		if (!good)
			return;
		if (!NAMED(lu)(n, a, w->n, w->lda, pivot, info) || !NAMED(spent)(n, w->n * w->n * w->n / 3))
			return;
	}
}

static void NAMED(getrs)(struct soft_native *n, const struct blas_work *w)
{
	int64_t from, to;

	body_part(n, w->batchSize, &from, &to);
	for (int64_t i = from; i < to; i++) {
		T *a = NAMED(batched)(n, w->A, i, w->n, w->n, w->lda);
		T *b = a ? NAMED(batched)(n, w->B, i, w->n, w->nrhs, w->ldb) : NULL;
		bool good = false;
		int *pivot = b ? NAMED(pivots)(n, w, i, &good) : NULL;

		if (!good)
			return;
		if (!NAMED(lu_solve)(n, a, w->n, w->lda, pivot, w->trans, b, w->nrhs, w->ldb) ||
		    !NAMED(spent)(n, w->n * w->n * w->nrhs))
			return;
	}
}

static void NAMED(identity)(T *c, int64_t n, int64_t ld)
{
	for (int64_t j = 0; j < n; j++)
		for (int64_t i = 0; i < n; i++)
			c[i + j * ld] = i == j;
}

static int NAMED(singular)(const T *a, int64_t n, int64_t ld)
{
	for (int64_t j = 0; j < n; j++)
		if (a[j + j * ld] == (T)0)
			return (int)(j + 1);
	return 0;
}

static void NAMED(getri)(struct soft_native *n, const struct blas_work *w)
{
	int64_t from, to;

	body_part(n, w->batchSize, &from, &to);
	for (int64_t i = from; i < to; i++) {
		T *a = NAMED(batched)(n, w->A, i, w->n, w->n, w->lda);
		T *c = a ? NAMED(batched)(n, w->C, i, w->n, w->n, w->ldc) : NULL;
		int *info = c ? NAMED(info_at)(n, w, i) : NULL, *pivot;
		bool good = false;

		pivot = info ? NAMED(pivots)(n, w, i, &good) : NULL;
		if (!good)
			return;
		*info = NAMED(singular)(a, w->n, w->lda);
		if (!*info) {
			NAMED(identity)(c, w->n, w->ldc);
			if (!NAMED(lu_solve)(n, a, w->n, w->lda, pivot, CUBLAS_OP_N, c, w->n, w->ldc))
				return;
		}
		if (!NAMED(spent)(n, w->n * w->n * w->n))
			return;
	}
}

static void NAMED(matinv)(struct soft_native *n, const struct blas_work *w)
{
	T kept[32 * 32];
	int pivot[32];
	int64_t from, to;

	if (w->n > 32) {
		n->refuse(n);
		return;
	}
	body_part(n, w->batchSize, &from, &to);
	for (int64_t i = from; i < to; i++) {
		T *a = NAMED(batched)(n, w->A, i, w->n, w->n, w->lda);
		T *c = a ? NAMED(batched)(n, w->Ainv, i, w->n, w->n, w->lda_inv) : NULL;
		int *info = c ? NAMED(info_at)(n, w, i) : NULL;

		if (!info)
			return;
		for (int64_t j = 0; j < w->n; j++)
			memcpy(kept + j * w->n, a + j * w->lda, (size_t)w->n * sizeof(T));
		if (!NAMED(lu)(n, kept, w->n, w->n, pivot, info))
			return;
		if (!*info) {
			NAMED(identity)(c, w->n, w->lda_inv);
			if (!NAMED(lu_solve)(n, kept, w->n, w->n, pivot, CUBLAS_OP_N, c, w->n, w->lda_inv))
				return;
		}
		if (!NAMED(spent)(n, w->n * w->n * w->n))
			return;
	}
}

/* Householder's reflections, as LAPACK stores them: H = I - tau v v', v(0) = 1. Returns tau; x becomes (beta, v). */
static T NAMED(reflection)(T *x, int64_t count)
{
	double rest = 0, norm;
	T alpha = x[0], tau, by;
	R beta;

	for (int64_t i = 1; i < count; i++)
		rest += (double)RE(x[i]) * (double)RE(x[i]) + (double)IM(x[i]) * (double)IM(x[i]);
	if (rest == 0 && IM(alpha) == 0)
		return 0;
	norm = sqrt(rest + (double)RE(alpha) * (double)RE(alpha) + (double)IM(alpha) * (double)IM(alpha));
	beta = (R)-copysign(norm, (double)RE(alpha));
	tau = ((T)beta - alpha) / beta;
	by = 1 / (alpha - (T)beta);
	for (int64_t i = 1; i < count; i++)
		x[i] *= by;
	x[0] = (T)beta;
	return tau;
}

/* Replaces c by (I - tau v v') c; tau is conjugated for H'. */
static void NAMED(reflect)(const T *v, T tau, int64_t count, T *c)
{
	T sum = c[0];

	for (int64_t i = 1; i < count; i++)
		sum += CONJ(v[i]) * c[i];
	sum *= tau;
	c[0] -= sum;
	for (int64_t i = 1; i < count; i++)
		c[i] -= v[i] * sum;
}

/* False: the launch has ended. */
static bool NAMED(qr)(struct soft_native *native, T *a, int64_t m, int64_t n, int64_t ld, T *tau)
{
	for (int64_t j = 0; j < m && j < n; j++) {
		T *v = a + j + j * ld;

		if (!NAMED(step_done)(native, m > n ? m : n))
			return false;
		tau[j] = NAMED(reflection)(v, m - j);
		for (int64_t c = j + 1; c < n; c++)
			NAMED(reflect)(v, CONJ(tau[j]), m - j, a + j + c * ld);
	}
	return true;
}

static void NAMED(geqrf)(struct soft_native *n, const struct blas_work *w)
{
	int64_t from, to, fewer = w->m < w->n ? w->m : w->n;

	body_part(n, w->batchSize, &from, &to);
	for (int64_t i = from; i < to; i++) {
		T *a = NAMED(batched)(n, w->A, i, w->m, w->n, w->lda);
		T *tau = a ? NAMED(batched)(n, w->TauArray, i, fewer, 1, fewer) : NULL;

		if (!tau)
			return;
		if (!NAMED(qr)(n, a, w->m, w->n, w->lda, tau) || !NAMED(spent)(n, w->m * w->n * w->n))
			return;
	}
}

/*
 * Least squares for more rows than columns: X replaces the first rows of C. devInfoArray: the first zero on R's
 * diagonal.
 */
static void NAMED(gels)(struct soft_native *n, const struct blas_work *w)
{
	int64_t from, to; /* info is devInfoArray here */

	if (w->m < w->n) {
		n->refuse(n);
		return;
	}
	body_part(n, w->batchSize, &from, &to);
	for (int64_t i = from; i < to; i++) {
		T *a = NAMED(batched)(n, w->A, i, w->m, w->n, w->lda);
		T *c = a ? NAMED(batched)(n, w->C, i, w->m, w->nrhs, w->ldc) : NULL;
		int *info = c && w->info ? NAMED(info_at)(n, w, i) : NULL;
		int zero;
		T *tau;

		if (!c || (w->info && !info))
			return;
		tau = scratch_get((size_t)(w->n + 1) * sizeof(T));
		if (!tau) {
			n->refuse(n);
			return;
		}
		if (!NAMED(qr)(n, a, w->m, w->n, w->lda, tau))
			return;
		zero = NAMED(singular)(a, w->n, w->lda);
		if (info)
			*info = zero;
		for (int64_t r = 0; !zero && r < w->nrhs; r++) {
			T *x = c + r * w->ldc;

			if (!NAMED(step_done)(n, w->m))
				return;
			for (int64_t j = 0; j < w->n; j++)
				NAMED(reflect)(a + j + j * w->lda, CONJ(tau[j]), w->m - j, x + j);
			for (int64_t j = w->n - 1; j >= 0; j--) {
				x[j] /= a[j + j * w->lda];
				for (int64_t p = 0; p < j; p++)
					x[p] -= a[p + j * w->lda] * x[j];
			}
		}
		if (!NAMED(spent)(n, w->m * w->n * w->n))
			return;
	}
}

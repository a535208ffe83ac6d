/*
 * level3.h: matrices with matrices, for one type (typed.h): strips of a triangle by the gemm of gemm.h, and the blocks
 * on its diagonal written out in full. Each block of the kernel has some columns of the result, or rows where the
 * triangle is on the right.
 */

/* A strip's diagonal block of op(A), dense; `symmetric`: with its mirror image. */
static void NAMED(diagonal)(const struct blas_work *w, T *a, int64_t from, int64_t size, bool symmetric, T *to)
{
	for (int64_t j = 0; j < size; j++)
		for (int64_t i = 0; i < size; i++)
			to[i + j * size] = symmetric ? NAMED(mirrored)(w, a, from + i, from + j)
						     : NAMED(triangle)(w, a, from + i, from + j);
}

/* op(A)[rows of a strip, columns of another], which is stored whole: by which operation, and where. */
static enum gemm_op NAMED(panel)(const struct blas_work *w, T *a, int64_t row, int64_t column, bool symmetric, T **ret)
{
	bool turned = symmetric ? !NAMED(inside)(w, row, column) : w->trans != CUBLAS_OP_N;

	*ret = turned ? a + column + row * w->lda : a + row + column * w->lda;
	if (!turned)
		return GEMM_N;
	return (symmetric ? w->hermitian : w->trans == CUBLAS_OP_C) ? GEMM_H : GEMM_T;
}

/* to (+)= by op(A)[row.., column..] b, or by b op(A)[..] when A is on the right. */
static void NAMED(strip)(const struct blas_work *w, T *a, int64_t row, int64_t column, int64_t rows, int64_t columns,
			 bool symmetric, T by, const T *b, int64_t ldb, int64_t across, T *to, int64_t ldto)
{
	const T one = 1;
	T *panel;
	enum gemm_op op = NAMED(panel)(w, a, row, column, symmetric, &panel);

	if (rows <= 0 || columns <= 0)
		return;
	if (w->side == CUBLAS_SIDE_LEFT)
		gemm(KIND, op, GEMM_N, rows, across, columns, &by, panel, w->lda, b, ldb, &one, to, ldto);
	else
		gemm(KIND, GEMM_N, op, across, columns, rows, &by, b, ldb, panel, w->lda, &one, to, ldto);
}

static int64_t NAMED(order)(const struct blas_work *w)
{
	return w->side == CUBLAS_SIDE_LEFT ? w->m : w->n;
}

struct NAMED(sides) {
	T *a, *b, *c;
	T alpha, beta;
	int64_t from, to; /* columns of B and C, or rows */
};

static T *NAMED(line)(const struct blas_work *w, T *p, int64_t ld, int64_t along, int64_t across)
{
	return w->side == CUBLAS_SIDE_LEFT ? p + along + across * ld : p + across + along * ld;
}

static bool NAMED(sides_get)(struct soft_native *n, const struct blas_work *w, struct NAMED(sides) * s, bool with_c)
{
	int64_t order = NAMED(order)(w);

	s->beta = 0;
	if (w->form != BLAS_FULL) { /* triangles in other forms are not supported */
		n->refuse(n);
		return false;
	}
	if (!NAMED(scalar)(n, w, w->alpha, w->alpha_value, w->alphaType, &s->alpha) ||
	    (w->beta && !NAMED(scalar)(n, w, w->beta, w->beta_value, w->betaType, &s->beta)) ||
	    !(s->a = body_matrix(n, w->A, order, order, w->lda, sizeof(T), false)) ||
	    !(s->b = body_matrix(n, w->B, w->m, w->n, w->ldb, sizeof(T), !with_c)) ||
	    (with_c && !(s->c = body_matrix(n, w->C, w->m, w->n, w->ldc, sizeof(T), true))))
		return false;
	body_part(n, w->side == CUBLAS_SIDE_LEFT ? w->n : w->m, &s->from, &s->to);
	return true;
}

/* C = beta C, of this block's part. */
static void NAMED(scale_part)(const struct blas_work *w, const struct NAMED(sides) * s)
{
	bool left = w->side == CUBLAS_SIDE_LEFT;
	int64_t i0 = left ? 0 : s->from, i1 = left ? w->m : s->to, j0 = left ? s->from : 0, j1 = left ? s->to : w->n;

	for (int64_t j = j0; j < j1 && s->beta != (T)1; j++)
		for (int64_t i = i0; i < i1; i++)
			s->c[i + j * w->ldc] = s->beta == (T)0 ? 0 : s->beta * s->c[i + j * w->ldc];
}

/* C += alpha A B, A by strips. `b` is this block's part of B. */
static void NAMED(product)(struct soft_native *n, const struct blas_work *w, const struct NAMED(sides) * s,
			   bool symmetric, const T *b, int64_t ldb, T *dense)
{
	int64_t order = NAMED(order)(w), across = s->to - s->from;
	bool left = w->side == CUBLAS_SIDE_LEFT;
	bool lower = (w->uplo == CUBLAS_FILL_MODE_LOWER) == (w->trans == CUBLAS_OP_N || symmetric);
	const T one = 1;

	for (int64_t at = 0; at < order; at += BODY_PIECE) {
		int64_t size = order - at < BODY_PIECE ? order - at : BODY_PIECE;
		/* on the right it is a column of A that makes the strip of C */
		T *to = NAMED(line)(w, s->c, w->ldc, at, s->from);
		bool before = symmetric || lower == left, after = symmetric || lower != left;

		NAMED(diagonal)(w, s->a, at, size, symmetric, dense);
		if (left)
			gemm(KIND, GEMM_N, GEMM_N, size, across, size, &s->alpha, dense, size,
			     NAMED(line)(w, (T *)(uintptr_t)b, ldb, at, 0), ldb, &one, to, w->ldc);
		else
			gemm(KIND, GEMM_N, GEMM_N, across, size, size, &s->alpha,
			     NAMED(line)(w, (T *)(uintptr_t)b, ldb, at, 0), ldb, dense, size, &one, to, w->ldc);
		if (before)
			NAMED(strip)
			(w, s->a, left ? at : 0, left ? 0 : at, left ? size : at, left ? at : size, symmetric, s->alpha,
			 b, ldb, across, to, w->ldc);
		if (after)
			NAMED(strip)
			(w, s->a, left ? at : at + size, left ? at + size : at, left ? size : order - at - size,
			 left ? order - at - size : size, symmetric, s->alpha,
			 NAMED(line)(w, (T *)(uintptr_t)b, ldb, at + size, 0), ldb, across, to, w->ldc);
		if (!NAMED(spent)(n, size * across * order))
			return;
	}
}

static void NAMED(symm)(struct soft_native *n, const struct blas_work *w)
{
	T *dense = scratch_get(sizeof(T) * BODY_PIECE * BODY_PIECE);
	struct NAMED(sides) s;

	if (!dense) {
		n->refuse(n);
		return;
	}
	if (!NAMED(sides_get)(n, w, &s, true))
		return;
	NAMED(scale_part)(w, &s);
	if (s.alpha != (T)0)
		NAMED(product)(n, w, &s, true, NAMED(line)(w, s.b, w->ldb, 0, s.from), w->ldb, dense);
}

/* Out of place as cuBLAS has it; C may be B, so this block's part of B is kept. */
static void NAMED(trmm)(struct soft_native *n, const struct blas_work *w)
{
	bool left = w->side == CUBLAS_SIDE_LEFT;
	struct NAMED(sides) s;
	int64_t rows, columns;
	T *dense, *kept, *from;
	size_t elements;

	if (!NAMED(sides_get)(n, w, &s, true))
		return;
	rows = left ? w->m : s.to - s.from;
	columns = left ? s.to - s.from : w->n;
	dense = NULL;
	if (!__builtin_mul_overflow((size_t)rows, (size_t)columns, &elements) && elements < SIZE_MAX / 64)
		dense = scratch_get(sizeof(T) * (BODY_PIECE * BODY_PIECE + elements));
	if (!dense) {
		n->refuse(n);
		return;
	}
	kept = dense + BODY_PIECE * BODY_PIECE;
	from = NAMED(line)(w, s.b, w->ldb, 0, s.from);
	for (int64_t j = 0; j < columns; j++)
		memcpy(kept + j * rows, from + j * w->ldb, (size_t)rows * sizeof(T));
	s.beta = 0;
	NAMED(scale_part)(w, &s);
	if (s.alpha != (T)0)
		NAMED(product)(n, w, &s, false, kept, rows, dense);
}

/* Solves with a diagonal block, on the left or right of `across` columns or rows. */
static void NAMED(solve_block)(const struct blas_work *w, const T *dense, int64_t size, bool forward, T *b,
			       int64_t across)
{
	for (int64_t step = 0; step < size; step++) {
		int64_t i = forward ? step : size - 1 - step, from = forward ? 0 : i + 1, to = forward ? i : size;
		T pivot = dense[i + i * size];

		if (w->side == CUBLAS_SIDE_LEFT) {
			for (int64_t j = 0; j < across; j++) {
				T *column = b + j * w->ldb, sum = column[i];

				for (int64_t p = from; p < to; p++)
					sum -= dense[i + p * size] * column[p];
				column[i] = w->diag == CUBLAS_DIAG_UNIT ? sum : sum / pivot;
			}
			continue;
		}
		for (int64_t p = from; p < to; p++) {
			T by = dense[p + i * size];

			for (int64_t j = 0; j < across; j++)
				b[j + i * w->ldb] -= by * b[j + p * w->ldb];
		}
		for (int64_t j = 0; w->diag != CUBLAS_DIAG_UNIT && j < across; j++)
			b[j + i * w->ldb] /= pivot;
	}
}

/* One system: B becomes X, op(A) X = alpha B or X op(A) = alpha B, of this block's part. */
static void NAMED(solve)(struct soft_native *n, const struct blas_work *w, struct NAMED(sides) * s, T *dense)
{
	bool left = w->side == CUBLAS_SIDE_LEFT;
	bool lower = (w->uplo == CUBLAS_FILL_MODE_LOWER) == (w->trans == CUBLAS_OP_N), forward = lower == left;
	int64_t order = NAMED(order)(w), across = s->to - s->from, pieces = (order + BODY_PIECE - 1) / BODY_PIECE;

	for (int64_t step = 0; step < pieces; step++) {
		int64_t at = (forward ? step : pieces - 1 - step) * BODY_PIECE;
		int64_t size = order - at < BODY_PIECE ? order - at : BODY_PIECE,
			rest = forward ? order - at - size : at;
		int64_t next = forward ? at + size : 0;
		T *solved = NAMED(line)(w, s->b, w->ldb, at, s->from);

		NAMED(diagonal)(w, s->a, at, size, false, dense);
		NAMED(solve_block)(w, dense, size, forward, solved, across);
		NAMED(strip)
		(w, s->a, left ? next : at, left ? at : next, left ? rest : size, left ? size : rest, false, -1, solved,
		 w->ldb, across, NAMED(line)(w, s->b, w->ldb, next, s->from), w->ldb);
		if (!NAMED(spent)(n, size * across * order))
			return;
	}
}

static void NAMED(trsm)(struct soft_native *n, const struct blas_work *w)
{
	T *dense = scratch_get(sizeof(T) * BODY_PIECE * BODY_PIECE);
	struct blas_work one = *w;
	struct NAMED(sides) s;
	int64_t from = 0, to = 1;

	if (!dense) {
		n->refuse(n);
		return;
	}
	if (w->arrays)
		body_part(n, w->batchCount, &from, &to);
	for (int64_t batch = from; batch < to; batch++) {
		if (w->arrays && (!(one.A = body_of_array(n, w->A, batch)) || !(one.B = body_of_array(n, w->B, batch))))
			return;
		if (!NAMED(sides_get)(n, &one, &s, false))
			return;
		if (w->arrays) {
			s.from = 0;
			s.to = w->side == CUBLAS_SIDE_LEFT ? w->n : w->m;
		}
		s.c = s.b;
		s.beta = s.alpha;
		one.ldc = one.ldb;
		NAMED(scale_part)(&one, &s);
		if (s.alpha != (T)0)
			NAMED(solve)(n, &one, &s, dense);
	}
}

/* Columns of a triangle of C: alpha op(A) op(B)' (+ its mirror image) + beta C, in pieces on and off the diagonal. */
static void NAMED(update)(struct soft_native *n, const struct blas_work *w, bool two)
{
	bool turned = w->trans != CUBLAS_OP_N, upper = w->uplo == CUBLAS_FILL_MODE_UPPER;
	enum gemm_op first = !turned ? GEMM_N : w->hermitian ? GEMM_H : GEMM_T;
	enum gemm_op second = turned ? GEMM_N : w->hermitian ? GEMM_H : GEMM_T;
	int64_t rows = turned ? w->k : w->n, columns = turned ? w->n : w->k, from, to;
	int64_t pieces = (w->n + BODY_PIECE - 1) / BODY_PIECE, ldb = w->B ? w->ldb : w->lda;
	T alpha, beta, other, one = 1, zero = 0, *a, *b, *c, *dense = scratch_get(sizeof(T) * BODY_PIECE * BODY_PIECE);

	if (!dense) {
		n->refuse(n);
		return;
	}
	if (!NAMED(scalar)(n, w, w->alpha, w->alpha_value, w->alphaType, &alpha) ||
	    !NAMED(scalar)(n, w, w->beta, w->beta_value, w->betaType, &beta) ||
	    !(a = body_matrix(n, w->A, rows, columns, w->lda, sizeof(T), false)) ||
	    !(b = w->B ? body_matrix(n, w->B, rows, columns, ldb, sizeof(T), false) : a) ||
	    !(c = body_matrix(n, w->C, w->n, w->n, w->ldc, sizeof(T), true)))
		return;
	other = w->hermitian ? CONJ(alpha) : alpha;
	/* pieces are taken in turn: those of a triangle are not alike */
	for (int64_t piece = n->block; piece < pieces; piece += n->blocks) {
		int64_t at = piece * BODY_PIECE, size = w->n - at < BODY_PIECE ? w->n - at : BODY_PIECE;

		from = upper ? 0 : at + size;
		to = upper ? at : w->n;
		if (to > from) {
			T *target = c + from + at * w->ldc;

			gemm(KIND, first, second, to - from, size, w->k, &alpha, turned ? a + from * w->lda : a + from,
			     w->lda, turned ? b + at * ldb : b + at, ldb, &beta, target, w->ldc);
			if (two)
				gemm(KIND, first, second, to - from, size, w->k, &other,
				     turned ? b + from * ldb : b + from, ldb, turned ? a + at * w->lda : a + at, w->lda,
				     &one, target, w->ldc);
		}
		gemm(KIND, first, second, size, size, w->k, &alpha, turned ? a + at * w->lda : a + at, w->lda,
		     turned ? b + at * ldb : b + at, ldb, &zero, dense, size);
		if (two)
			gemm(KIND, first, second, size, size, w->k, &other, turned ? b + at * ldb : b + at, ldb,
			     turned ? a + at * w->lda : a + at, w->lda, &one, dense, size);
		for (int64_t j = 0; j < size; j++)
			for (int64_t i = upper ? 0 : j; i < (upper ? j + 1 : size); i++) {
				T *p = c + at + i + (at + j) * w->ldc;

				*p = dense[i + j * size] + (beta == (T)0 ? 0 : beta * *p);
				if (w->hermitian && i == j)
					*p = (T)RE(*p);
			}
		if (!NAMED(spent)(n, size * (to - from + size) * w->k * (two ? 2 : 1)))
			return;
	}
}

static void NAMED(syrk)(struct soft_native *n, const struct blas_work *w)
{
	NAMED(update)(n, w, false);
}

static void NAMED(syr2k)(struct soft_native *n, const struct blas_work *w)
{
	NAMED(update)(n, w, true);
}

static T NAMED(element)(const T *a, int64_t ld, int32_t op, int64_t i, int64_t j)
{
	T v = op == CUBLAS_OP_N ? a[i + j * ld] : a[j + i * ld];

	return op == CUBLAS_OP_C ? CONJ(v) : v;
}

static void NAMED(geam)(struct soft_native *n, const struct blas_work *w)
{
	bool turned_a = w->transa != CUBLAS_OP_N, turned_b = w->transb != CUBLAS_OP_N;
	T alpha, beta, *a, *b, *c;
	int64_t from, to;

	if (!NAMED(scalar)(n, w, w->alpha, w->alpha_value, w->alphaType, &alpha) ||
	    !NAMED(scalar)(n, w, w->beta, w->beta_value, w->betaType, &beta) ||
	    !(c = body_matrix(n, w->C, w->m, w->n, w->ldc, sizeof(T), true)))
		return;
	a = alpha == (T)0
		    ? c
		    : body_matrix(n, w->A, turned_a ? w->n : w->m, turned_a ? w->m : w->n, w->lda, sizeof(T), false);
	b = beta == (T)0
		    ? c
		    : body_matrix(n, w->B, turned_b ? w->n : w->m, turned_b ? w->m : w->n, w->ldb, sizeof(T), false);
	if (!a || !b)
		return;
	body_part(n, w->n, &from, &to);
	for (int64_t j = from; j < to; j++)
		for (int64_t i = 0; i < w->m; i++) {
			T v = alpha == (T)0 ? 0 : alpha * NAMED(element)(a, w->lda, w->transa, i, j);

			c[i + j * w->ldc] = v + (beta == (T)0 ? 0 : beta * NAMED(element)(b, w->ldb, w->transb, i, j));
		}
	NAMED(spent)(n, (to - from) * w->m);
}

static void NAMED(dgmm)(struct soft_native *n, const struct blas_work *w)
{
	int64_t count = w->mode == CUBLAS_SIDE_LEFT ? w->m : w->n, from, to;
	T *a, *x, *c;

	if (!(a = body_matrix(n, w->A, w->m, w->n, w->lda, sizeof(T), false)) ||
	    !(x = body_vector(n, w->x, count, w->incx, sizeof(T), false)) ||
	    !(c = body_matrix(n, w->C, w->m, w->n, w->ldc, sizeof(T), true)))
		return;
	body_part(n, w->n, &from, &to);
	for (int64_t j = from; j < to; j++)
		for (int64_t i = 0; i < w->m; i++)
			c[i + j * w->ldc] = a[i + j * w->lda] * x[(w->mode == CUBLAS_SIDE_LEFT ? i : j) * w->incx];
	NAMED(spent)(n, (to - from) * w->m);
}

static void NAMED(unpack)(struct soft_native *n, const struct blas_work *w, bool to_packed)
{
	struct blas_work packed = *w, full = *w;
	T *p, *a;

	packed.form = BLAS_PACKED;
	full.form = BLAS_FULL;
	p = body_matrix(n, w->AP, w->n * (w->n + 1) / 2, 1, INT64_MAX, sizeof(T), to_packed);
	a = p ? body_matrix(n, w->A, w->n, w->n, w->lda, sizeof(T), !to_packed) : NULL;
	for (int64_t j = 0; a && j < w->n; j++)
		for (int64_t i = 0; i < w->n; i++)
			if (NAMED(inside)(w, i, j)) {
				T *in_packed = NAMED(stored)(&packed, p, i, j),
				  *in_full = NAMED(stored)(&full, a, i, j);

				if (to_packed)
					*in_packed = *in_full;
				else
					*in_full = *in_packed;
			}
	NAMED(spent)(n, w->n * w->n);
}

static void NAMED(tpttr)(struct soft_native *n, const struct blas_work *w)
{
	NAMED(unpack)(n, w, false);
}

static void NAMED(trttp)(struct soft_native *n, const struct blas_work *w)
{
	NAMED(unpack)(n, w, true);
}

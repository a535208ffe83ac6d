/*
 * run.c: LAPACK's routines on the device's threads. The parameters are checked: anybody can launch the kernels.
 *
 * Routines are called as gfortran's are: every argument by its address, the lengths of texts behind the others.
 */
#include "libs/cusolver/solver.h"

#include "libs/common/scratch.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One batch. */
struct run {
	struct soft_native *n;
	const struct solver_work *w;
	unsigned int type;
	uint32_t each, real; /* bytes of a number, of its real part */
	char *a, *b, *c, *values, *values_more, *tau;
	int m, columns, k, nrhs, lda, ldb, ldc; /* columns: n */
	int info;
};

typedef void (*routine)(void);

static bool is_complex(const struct run *r)
{
	return r->type >= 2;
}

static routine find(struct run *r, const char *name)
{
	routine f = (routine)lapack_find(name, r->type);

	if (!f)
		r->n->refuse(r->n);
	return f;
}

/* The type's name for what complex numbers have another one. */
static routine find_either(struct run *r, const char *real, const char *other)
{
	return find(r, is_complex(r) ? other : real);
}

/* Memory of the thread's own, in whole numbers: what a query for a workspace has told, and `more` bytes behind it. */
static void *memory(struct run *r, const char *told, int *ret_count, size_t more)
{
	double count = r->real == 8 ? *(const double *)(const void *)told : (double)*(const float *)(const void *)told;
	void *at;

	*ret_count = count < 1 ? 1 : count > 1e9 ? 1000000000 : (int)count + 1;
	at = scratch_get((size_t)*ret_count * r->each + 64 + more);
	if (!at)
		r->n->refuse(r->n);
	return at;
}

static char *behind(const struct run *r, void *at, int count)
{
	return (char *)at + (((size_t)count * r->each + 63) & ~(size_t)63);
}

static double part(const struct run *r, const char *at)
{
	return r->real == 8 ? *(const double *)(const void *)at : (double)*(const float *)(const void *)at;
}

#define CALL(f, types, ...) ((void(*) types)(f))(__VA_ARGS__)
typedef const char *letter;
typedef const int *whole;
typedef void *numbers;

/*
 * A pivot that is no number is not positive: reference LAPACK tells its column, OpenBLAS goes on. Everything behind it
 * is no number either.
 */
static void pivots_check(struct run *r)
{
	int64_t columns = r->info > 0 ? r->info - 1 : r->columns;

	for (int64_t j = 0; r->info >= 0 && j < columns; j++)
		if (isnan(part(r, r->a + (j * r->lda + j) * r->each))) {
			r->info = (int)j + 1;
			return;
		}
}

static void run_potrf(struct run *r)
{
	routine f = find(r, "potrf_");

	if (!f)
		return;
	CALL(f, (letter, whole, numbers, whole, int *, size_t), &r->w->uplo, &r->columns, r->a, &r->lda, &r->info, 1);
	pivots_check(r);
}

static void run_potri(struct run *r)
{
	routine f = find(r, "potri_");

	if (f)
		CALL(f, (letter, whole, numbers, whole, int *, size_t), &r->w->uplo, &r->columns, r->a, &r->lda,
		     &r->info, 1);
}

static void run_trtri(struct run *r)
{
	routine f = find(r, "trtri_");

	if (f)
		CALL(f, (letter, letter, whole, numbers, whole, int *, size_t, size_t), &r->w->uplo, &r->w->diag,
		     &r->columns, r->a, &r->lda, &r->info, 1, 1);
}

static void run_potrs(struct run *r)
{
	routine f = find(r, "potrs_");

	if (f)
		CALL(f, (letter, whole, whole, numbers, whole, numbers, whole, int *, size_t), &r->w->uplo, &r->columns,
		     &r->nrhs, r->a, &r->lda, r->b, &r->ldb, &r->info, 1);
}

/* Pivots are numbers of 32 or 64 bits in the program's memory, and there may be none: rows stay where they are. */
static int *pivots_take(struct run *r, int count, bool read)
{
	int *p = scratch_get((size_t)count * sizeof(int) + 64);

	for (int i = 0; p && i < count; i++) {
		uint64_t at = r->w->pivots + (uint64_t)i * (r->w->wide ? 8 : 4);
		int64_t wide = 0;

		p[i] = i + 1;
		if (!read || !r->w->pivots)
			continue;
		if (r->w->wide)
			memcpy(&wide, (const void *)(uintptr_t)at, 8);
		else
			memcpy(&p[i], (const void *)(uintptr_t)at, 4);
		p[i] = r->w->wide ? (int)wide : p[i];
		/* a row that there is not would be written to */
		if (p[i] < 1 || p[i] > r->columns)
			p[i] = i + 1;
	}
	if (!p)
		r->n->refuse(r->n);
	return p;
}

static void pivots_put(struct run *r, const int *p, int count)
{
	for (int i = 0; i < count; i++) {
		uint64_t at = r->w->pivots + (uint64_t)i * (r->w->wide ? 8 : 4);
		int64_t wide = p[i];

		memcpy((void *)(uintptr_t)at, r->w->wide ? (const void *)&wide : &p[i], r->w->wide ? 8 : 4);
	}
}

#define LARGE 128 /* rows from which on the device is told of each step */

/* LU without pivots, a column at a time. */
#define PLAIN_LU(name, T)                                                                                              \
	static void name(struct run *r)                                                                                \
	{                                                                                                              \
		T *a = (T *)(void *)r->a;                                                                              \
		int64_t ld = r->lda, rank = r->m < r->columns ? r->m : r->columns;                                     \
		for (int64_t k = 0; k < rank; k++) {                                                                   \
			if (rank >= LARGE && !r->n->go_on(r->n, 0))                                                    \
				return;                                                                                \
			if (a[k + k * ld] == 0) {                                                                      \
				r->info = r->info ? r->info : (int)k + 1;                                              \
				continue;                                                                              \
			}                                                                                              \
			for (int64_t i = k + 1; i < r->m; i++)                                                         \
				a[i + k * ld] /= a[k + k * ld];                                                        \
			for (int64_t j = k + 1; j < r->columns; j++)                                                   \
				for (int64_t i = k + 1; i < r->m; i++)                                                 \
					a[i + j * ld] -= a[i + k * ld] * a[k + j * ld];                                \
		}                                                                                                      \
	}
PLAIN_LU(plain_s, float)
PLAIN_LU(plain_d, double)
PLAIN_LU(plain_c, float _Complex)
PLAIN_LU(plain_z, double _Complex)

static void run_getrf(struct run *r)
{
	static void (*const plain[])(struct run *) = { plain_s, plain_d, plain_c, plain_z };
	routine f = find(r, "getrf_");
	int rank = r->m < r->columns ? r->m : r->columns, *p;

	if (!r->w->pivots) {
		plain[r->type](r);
		return;
	}
	p = f ? pivots_take(r, rank, false) : NULL;
	if (!p)
		return;
	CALL(f, (whole, whole, numbers, whole, int *, int *), &r->m, &r->columns, r->a, &r->lda, p, &r->info);
	pivots_put(r, p, rank);
}

static void run_getrs(struct run *r)
{
	routine f = find(r, "getrs_");
	int *p = f ? pivots_take(r, r->columns, true) : NULL;

	if (p)
		CALL(f, (letter, whole, whole, numbers, whole, int *, numbers, whole, int *, size_t), &r->w->trans,
		     &r->columns, &r->nrhs, r->a, &r->lda, p, r->b, &r->ldb, &r->info, 1);
}

/* Whether the triangle that counts is of numbers: pivots that are looked for among others may be rows that are none. */
static bool triangle_finite(const struct run *r)
{
	for (int64_t j = 0; j < r->columns; j++) {
		int64_t from = r->w->uplo == 'U' ? 0 : j, to = r->w->uplo == 'U' ? j + 1 : r->columns;
		const char *at = r->a + (j * r->lda + from) * r->each;

		for (int64_t i = 0; i < (to - from) * (r->each / r->real); i++)
			if (!isfinite(part(r, at + i * r->real)))
				return false;
	}
	return true;
}

static void run_sytrf(struct run *r)
{
	routine f = find(r, "sytrf_");
	char told[16] __attribute__((aligned(16))) = { 0 };
	size_t pivots = (size_t)r->columns * sizeof(int);
	int count = -1, nothing = 0, *p = &nothing;
	void *work = told;

	if (f && !triangle_finite(r)) {
		r->info = 1;
		return;
	}
	for (int asked = 0; f && work && !r->info && asked < 2; asked++) {
		CALL(f, (letter, whole, numbers, whole, int *, numbers, whole, int *, size_t), &r->w->uplo, &r->columns,
		     r->a, &r->lda, p, work, &count, &r->info, 1);
		if (asked)
			break;
		work = memory(r, told, &count, pivots + 64);
		p = work ? (int *)(void *)behind(r, work, count) : NULL;
	}
	if (f && work)
		pivots_put(r, p, r->columns);
}

/*
 * Pivots of a symmetric matrix: a row for one number, or twice the same below 0 for two by two of them. Any other would
 * lead LAPACK out of the matrix.
 */
static int *symmetric_take(struct run *r)
{
	int *p = scratch_get((size_t)r->columns * sizeof(int) + 64);

	for (int i = 0; p && i < r->columns; i++) {
		uint64_t at = r->w->pivots + (uint64_t)i * (r->w->wide ? 8 : 4);
		int64_t wide = 0;
		int32_t narrow = 0;

		memcpy(r->w->wide ? (void *)&wide : &narrow, (const void *)(uintptr_t)at, r->w->wide ? 8 : 4);
		wide = r->w->wide ? wide : narrow;
		p[i] = wide < -r->columns || wide > r->columns ? 0 : (int)wide;
	}
	for (int i = 0; p && i < r->columns; i++) {
		if (p[i] < 0 && i + 1 < r->columns && p[i + 1] == p[i])
			i++;
		else if (p[i] < 1)
			p[i] = i + 1;
	}
	if (!p)
		r->n->refuse(r->n);
	return p;
}

static void run_sytrs(struct run *r)
{
	routine f = find(r, "sytrs_");
	int *p = f ? symmetric_take(r) : NULL;

	if (p)
		CALL(f, (letter, whole, whole, numbers, whole, int *, numbers, whole, int *, size_t), &r->w->uplo,
		     &r->columns, &r->nrhs, r->a, &r->lda, p, r->b, &r->ldb, &r->info, 1);
}

static void run_geqrf(struct run *r)
{
	routine f = find(r, "geqrf_");
	char told[16] __attribute__((aligned(16))) = { 0 };
	int count = -1;
	void *work = told;

	for (int asked = 0; f && work && !r->info && asked < 2; asked++) {
		CALL(f, (whole, whole, numbers, whole, numbers, numbers, whole, int *), &r->m, &r->columns, r->a,
		     &r->lda, r->tau, work, &count, &r->info);
		if (!asked)
			work = memory(r, told, &count, 0);
	}
}

static void run_orgqr(struct run *r)
{
	routine f = find_either(r, "orgqr_", "ungqr_");
	char told[16] __attribute__((aligned(16))) = { 0 };
	int count = -1;
	void *work = told;

	for (int asked = 0; f && work && !r->info && asked < 2; asked++) {
		CALL(f, (whole, whole, whole, numbers, whole, numbers, numbers, whole, int *), &r->m, &r->columns,
		     &r->k, r->a, &r->lda, r->tau, work, &count, &r->info);
		if (!asked)
			work = memory(r, told, &count, 0);
	}
}

static void run_ormqr(struct run *r)
{
	routine f = find_either(r, "ormqr_", "unmqr_");
	char told[16] __attribute__((aligned(16))) = { 0 };
	/* the transpose of complex reflectors is the conjugate one */
	char trans = is_complex(r) && r->w->trans == 'T'    ? 'C'
		     : !is_complex(r) && r->w->trans == 'C' ? 'T'
							    : r->w->trans;
	int count = -1;
	void *work = told;

	for (int asked = 0; f && work && !r->info && asked < 2; asked++) {
		CALL(f,
		     (letter, letter, whole, whole, whole, numbers, whole, numbers, numbers, whole, numbers, whole,
		      int *, size_t, size_t),
		     &r->w->side, &trans, &r->m, &r->columns, &r->k, r->a, &r->lda, r->tau, r->b, &r->ldb, work, &count,
		     &r->info, 1, 1);
		if (!asked)
			work = memory(r, told, &count, 0);
	}
}

/*
 * LAPACK's iterations do not end on what is no number. Then there is no result: the values are no numbers either, and
 * `info` says that nothing converged.
 */
static bool is_finite(struct run *r, const char *a, int64_t rows, int64_t columns, int64_t ld, int64_t values)
{
	double nothing = NAN;
	float narrow = NAN;

	for (int64_t j = 0; j < columns; j++)
		for (int64_t i = 0; i < rows * (r->each / r->real); i++)
			if (!isfinite(part(r, a + j * ld * r->each + i * r->real)))
				r->info = 1;
	for (int64_t i = 0; r->info && i < values; i++)
		memcpy(r->values + i * r->real, r->real == 8 ? (const void *)&nothing : (const void *)&narrow, r->real);
	return !r->info;
}

/* The singular values; `right` gets the conjugate transpose of V. */
static void svd(struct run *r, letter job_u, letter job_v, char *right, const int *ld_right, size_t keep,
		char **ret_kept)
{
	routine f = find(r, "gesvd_");
	char told[16] __attribute__((aligned(16))) = { 0 };
	size_t rank = (size_t)(r->m < r->columns ? r->m : r->columns), more = 5 * (rank + 1) * r->real;
	int count = -1;
	void *work = told;
	char *real = told;

	if (f && !is_finite(r, r->a, r->m, r->columns, r->lda, (int64_t)rank))
		return;
	for (int asked = 0; f && work && !r->info && asked < 2; asked++) {
		if (is_complex(r))
			CALL(f,
			     (letter, letter, whole, whole, numbers, whole, numbers, numbers, whole, numbers, whole,
			      numbers, whole, numbers, int *, size_t, size_t),
			     job_u, job_v, &r->m, &r->columns, r->a, &r->lda, r->values, r->b, &r->ldb, right, ld_right,
			     work, &count, real, &r->info, 1, 1);
		else
			CALL(f,
			     (letter, letter, whole, whole, numbers, whole, numbers, numbers, whole, numbers, whole,
			      numbers, whole, int *, size_t, size_t),
			     job_u, job_v, &r->m, &r->columns, r->a, &r->lda, r->values, r->b, &r->ldb, right, ld_right,
			     work, &count, &r->info, 1, 1);
		if (asked)
			break;
		work = memory(r, told, &count, more + 64 + keep);
		real = work ? behind(r, work, count) : NULL;
		if (work && keep) {
			*ret_kept = real + ((more + 63) & ~(size_t)63);
			right = *ret_kept;
		}
	}
}

static void run_gesvd(struct run *r)
{
	svd(r, &r->w->job, &r->w->job_more, r->c, &r->ldc, 0, NULL);
}

#define TURNED(name, T, CONJ)                                                                                          \
	static void name(const struct run *r, const void *from, int64_t rows)                                          \
	{                                                                                                              \
		const T *v = from;                                                                                     \
		T *to = (T *)(void *)r->c;                                                                             \
		for (int64_t j = 0; j < rows; j++)                                                                     \
			for (int64_t i = 0; i < r->columns; i++)                                                       \
				to[i + j * r->ldc] = CONJ(v[j + i * rows]);                                            \
	}
TURNED(turned_s, float, )
TURNED(turned_d, double, )
TURNED(turned_c, float _Complex, conjf)
TURNED(turned_z, double _Complex, conj)

/* V itself is wanted: it is turned out of the thread's memory. */
static void run_gesvdj(struct run *r)
{
	static void (*const turned[])(const struct run *, const void *, int64_t) = { turned_s, turned_d, turned_c,
										     turned_z };
	int rank = r->m < r->columns ? r->m : r->columns, rows = r->w->job == 'S' ? rank : r->columns;
	int ld = rows > 1 ? rows : 1;
	char *kept = r->c;

	if (r->w->job == 'N') {
		svd(r, "N", "N", r->c, &r->ldc, 0, NULL);
		return;
	}
	svd(r, &r->w->job, &r->w->job, r->c, &ld, (size_t)rows * (size_t)r->columns * r->each, &kept);
	if (kept != r->c)
		turned[r->type](r, kept, rows);
}

/* The same of a matrix that stays as it is. */
static void run_gesvda(struct run *r)
{
	size_t column = (size_t)r->m * r->each;
	char *given = r->a, *copy = malloc(column * (size_t)r->columns + 1);
	int ld = r->lda;

	if (!copy) {
		r->n->refuse(r->n);
		return;
	}
	for (int j = 0; column && j < r->columns; j++)
		memcpy(copy + (size_t)j * column, given + (size_t)j * (size_t)ld * r->each, column);
	r->a = copy;
	r->lda = r->m > 1 ? r->m : 1;
	run_gesvdj(r);
	r->a = given;
	r->lda = ld;
	free(copy);
}

static void run_syevd(struct run *r)
{
	routine f = find_either(r, "syevd_", "heevd_");
	char told[16] __attribute__((aligned(16))) = { 0 }, told_real[16] __attribute__((aligned(16)));
	int count = -1, count_real = -1, count_whole = -1, told_whole = 0;
	void *work = told;
	char *real = told_real;
	int *wholes = &told_whole;

	if (f && !is_finite(r, r->a, r->columns, r->columns, r->lda, r->columns))
		return;
	memset(told_real, 0, sizeof(told_real));
	for (int asked = 0; f && work && !r->info && asked < 2; asked++) {
		size_t bytes_real;

		if (is_complex(r))
			CALL(f,
			     (letter, letter, whole, numbers, whole, numbers, numbers, whole, numbers, whole, int *,
			      whole, int *, size_t, size_t),
			     &r->w->job, &r->w->uplo, &r->columns, r->a, &r->lda, r->values, work, &count, real,
			     &count_real, wholes, &count_whole, &r->info, 1, 1);
		else
			CALL(f,
			     (letter, letter, whole, numbers, whole, numbers, numbers, whole, int *, whole, int *,
			      size_t, size_t),
			     &r->w->job, &r->w->uplo, &r->columns, r->a, &r->lda, r->values, work, &count, wholes,
			     &count_whole, &r->info, 1, 1);
		if (asked)
			break;
		count_whole = told_whole < 1 ? 1 : told_whole;
		count_real = 1;
		if (is_complex(r))
			count_real = (int)(r->real == 8 ? *(double *)(void *)told_real
							: (double)*(float *)(void *)told_real) +
				     1;
		bytes_real = ((size_t)count_real * r->real + 63) & ~(size_t)63;
		work = memory(r, told, &count, bytes_real + 64 + (size_t)count_whole * sizeof(int));
		real = work ? behind(r, work, count) : NULL;
		wholes = work ? (int *)(void *)(real + bytes_real) : NULL;
	}
}

static void run_sygvd(struct run *r)
{
	routine f = find_either(r, "sygv_", "hegv_");
	char told[16] __attribute__((aligned(16))) = { 0 };
	int count = -1;
	void *work = told;
	char *real = told;

	if (f && (!is_finite(r, r->a, r->columns, r->columns, r->lda, r->columns) ||
		  !is_finite(r, r->b, r->columns, r->columns, r->ldb, r->columns)))
		return;
	for (int asked = 0; f && work && !r->info && asked < 2; asked++) {
		if (is_complex(r))
			CALL(f,
			     (whole, letter, letter, whole, numbers, whole, numbers, whole, numbers, numbers, whole,
			      numbers, int *, size_t, size_t),
			     &r->w->itype, &r->w->job, &r->w->uplo, &r->columns, r->a, &r->lda, r->b, &r->ldb,
			     r->values, work, &count, real, &r->info, 1, 1);
		else
			CALL(f,
			     (whole, letter, letter, whole, numbers, whole, numbers, whole, numbers, numbers, whole,
			      int *, size_t, size_t),
			     &r->w->itype, &r->w->job, &r->w->uplo, &r->columns, r->a, &r->lda, r->b, &r->ldb,
			     r->values, work, &count, &r->info, 1, 1);
		if (!asked)
			work = memory(r, told, &count, (size_t)r->columns * 3 * r->real + 64);
		real = work ? behind(r, work, count) : NULL;
	}
}

static void run_sytrd(struct run *r)
{
	routine f = find_either(r, "sytrd_", "hetrd_");
	char told[16] __attribute__((aligned(16))) = { 0 };
	int count = -1;
	void *work = told;

	for (int asked = 0; f && work && !r->info && asked < 2; asked++) {
		CALL(f, (letter, whole, numbers, whole, numbers, numbers, numbers, numbers, whole, int *, size_t),
		     &r->w->uplo, &r->columns, r->a, &r->lda, r->values, r->values_more, r->tau, work, &count, &r->info,
		     1);
		if (!asked)
			work = memory(r, told, &count, 0);
	}
}

/* Eigenvalues of a real matrix: LAPACK tells their parts apart, complex values want them in turns. */
static void values_put(struct run *r, const char *parts)
{
	for (int i = 0; i < r->columns; i++) {
		char *to = r->values + (size_t)i * 2 * r->real;

		memcpy(to, parts + (size_t)i * r->real, r->real);
		memcpy(to + r->real, parts + (size_t)(r->columns + i) * r->real, r->real);
	}
}

static void run_geev(struct run *r)
{
	routine f = find(r, "geev_");
	char told[16] __attribute__((aligned(16))) = { 0 };
	size_t parts = (size_t)r->columns * 2 * r->real; /* LAPACK's real workspace, or values in two parts */
	int count = -1;
	void *work = told;
	char *real = told, *second = told;

	if (f && !is_finite(r, r->a, r->columns, r->columns, r->lda, (int64_t)r->columns * 2))
		return;
	for (int asked = 0; f && work && !r->info && asked < 2; asked++) {
		if (is_complex(r))
			CALL(f,
			     (letter, letter, whole, numbers, whole, numbers, numbers, whole, numbers, whole, numbers,
			      whole, numbers, int *, size_t, size_t),
			     &r->w->job, &r->w->job_more, &r->columns, r->a, &r->lda, r->values, r->b, &r->ldb, r->c,
			     &r->ldc, work, &count, real, &r->info, 1, 1);
		else
			CALL(f,
			     (letter, letter, whole, numbers, whole, numbers, numbers, numbers, whole, numbers, whole,
			      numbers, whole, int *, size_t, size_t),
			     &r->w->job, &r->w->job_more, &r->columns, r->a, &r->lda, real, second, r->b, &r->ldb, r->c,
			     &r->ldc, work, &count, &r->info, 1, 1);
		if (asked)
			break;
		work = memory(r, told, &count, parts + 64);
		if (!work)
			return;
		real = is_complex(r) || r->w->wide ? behind(r, work, count) : r->values;
		second = real + parts / 2;
	}
	if (f && !is_complex(r) && r->w->wide)
		values_put(r, real);
}

/* ---- what a routine touches ---- */

/* Rows and columns of an operand, the length of a vector; 0: it has none. */
struct shape {
	int64_t a[2], b[2], c[2], values, values_more, tau, pivots;
	bool a_read;
};

static struct shape shape_of(const struct solver_work *w)
{
	int64_t m = w->m, n = w->n, rank = m < n ? m : n;
	struct shape s = { .a = { n, n } };

	switch ((enum solver_routine)w->routine) {
	case SOLVER_potrs:
		s.b[0] = n;
		s.b[1] = w->nrhs;
		s.a_read = true;
		break;
	case SOLVER_getrf:
		s.a[0] = m;
		s.pivots = rank;
		break;
	case SOLVER_sytrf:
		s.pivots = n;
		break;
	case SOLVER_sytrs:
		s.b[0] = n;
		s.b[1] = w->nrhs;
		s.pivots = n;
		s.a_read = true;
		break;
	case SOLVER_getrs:
		s.b[0] = n;
		s.b[1] = w->nrhs;
		s.pivots = n;
		s.a_read = true;
		break;
	case SOLVER_geqrf:
		s.a[0] = m;
		s.tau = rank;
		break;
	case SOLVER_orgqr:
		s.a[0] = m;
		s.tau = w->k;
		break;
	case SOLVER_ormqr:
		s.a[0] = w->side == 'L' ? m : n;
		s.a[1] = s.tau = w->k;
		s.b[0] = m;
		s.b[1] = n;
		break;
	case SOLVER_gesvd:
	case SOLVER_gesvdj:
	case SOLVER_gesvda:
		s.a[0] = m;
		s.a_read = w->routine == SOLVER_gesvda;
		s.values = rank;
		s.b[0] = w->job == 'N' || w->job == 'O' ? 0 : m;
		s.b[1] = w->job == 'S' ? rank : m;
		if (w->routine == SOLVER_gesvd) {
			s.c[0] = w->job_more == 'N' || w->job_more == 'O' ? 0 : w->job_more == 'S' ? rank : n;
			s.c[1] = n;
		} else {
			s.c[0] = w->job == 'N' ? 0 : n;
			s.c[1] = w->job == 'S' ? rank : n;
		}
		break;
	case SOLVER_syevd:
		s.values = n;
		break;
	case SOLVER_geev:
		s.values = 2 * n;
		s.b[0] = w->job == 'V' ? n : 0;
		s.c[0] = w->job_more == 'V' ? n : 0;
		s.b[1] = s.c[1] = n;
		break;
	case SOLVER_sygvd:
		s.values = n;
		s.b[0] = s.b[1] = n;
		break;
	case SOLVER_sytrd:
		s.values = n;
		s.values_more = s.tau = n - 1;
		break;
	default:
		break;
	}
	return s;
}

/* The operand of this batch; false: the launch has its fault. */
static bool operand(struct run *r, const struct solver_matrix *m, const int64_t size[2], int64_t batch, bool write,
		    char **ret, int *ret_ld)
{
	uint64_t at = m->at + (uint64_t)batch * (uint64_t)m->apart * r->each;

	*ret_ld = size[0] > 1 ? (int)size[0] : 1; /* what LAPACK wants of one without numbers as well */
	*ret = NULL;
	if (size[0] <= 0 || size[1] <= 0)
		return true;
	*ret_ld = (int)m->ld;
	if (r->w->arrays) {
		at = m->at + (uint64_t)batch * 8;
		if (!r->n->reach(r->n, at, 8, false))
			return false;
		memcpy(&at, (const void *)(uintptr_t)at, 8);
	}
	*ret = (char *)(uintptr_t)at;
	return library_reach(r->n, at, (size[1] - 1) * m->ld + size[0], r->each, write);
}

static bool vector(struct run *r, uint64_t at, int64_t count, uint32_t each, char **ret)
{
	*ret = (char *)(uintptr_t)at;
	return library_reach(r->n, at, count < 0 ? 0 : count, each, true);
}

static bool batch_begin(struct run *r, int64_t batch)
{
	const struct solver_work *w = r->w;
	struct shape s = shape_of(w);
	char *pivots;

	r->info = 0;
	return operand(r, &w->a, s.a, batch, !s.a_read, &r->a, &r->lda) &&
	       operand(r, &w->b, s.b, batch, true, &r->b, &r->ldb) &&
	       operand(r, &w->c, s.c, batch, true, &r->c, &r->ldc) &&
	       vector(r, w->values + (uint64_t)batch * (uint64_t)w->values_apart * r->real, s.values, r->real,
		      &r->values) &&
	       vector(r, w->values_more, s.values_more, r->real, &r->values_more) &&
	       vector(r, w->tau, s.tau, r->each, &r->tau) &&
	       vector(r, w->pivots, w->pivots ? s.pivots : 0, w->wide ? 8 : 4, &pivots) &&
	       (!w->info || r->n->reach(r->n, w->info + (uint64_t)batch * 4, 4, true));
}

static bool one_of(char c, const char *letters)
{
	return c && strchr(letters, c);
}

/* What LAPACK has of a routine: it says a line about any other. */
static bool jobs_sound(const struct solver_work *w)
{
	switch ((enum solver_routine)w->routine) {
	case SOLVER_gesvd:
		return one_of(w->job, "NASO") && one_of(w->job_more, "NASO") && (w->job != 'O' || w->job_more != 'O');
	case SOLVER_gesvdj:
	case SOLVER_gesvda:
		return one_of(w->job, "NAS");
	case SOLVER_syevd:
	case SOLVER_sygvd:
		return one_of(w->job, "NV");
	case SOLVER_geev:
		return one_of(w->job, "NV") && one_of(w->job_more, "NV");
	default:
		return one_of(w->job, "NVASO") && one_of(w->job_more, "NVASO");
	}
}

/* A leading dimension of an operand that there is. */
static bool ld_sound(const struct solver_matrix *m, const int64_t size[2])
{
	return size[0] <= 0 || size[1] <= 0 || (m->ld >= size[0] && m->ld <= SOLVER_SIZE_MOST);
}

static bool work_sound(const struct solver_work *w)
{
	const int64_t sizes[] = { w->m, w->n, w->k, w->nrhs };
	struct shape s;

	if (w->routine >= SOLVER_ROUTINES || w->type > 3 || w->batch < 1 || w->batch > SOLVER_SIZE_MOST)
		return false;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (sizes[i] < 0 || sizes[i] > SOLVER_SIZE_MOST)
			return false;
	if (!one_of(w->uplo, "UL") || !one_of(w->side, "LR") || !one_of(w->trans, "NTC") || !one_of(w->diag, "NU") ||
	    !jobs_sound(w) || w->itype < 1 || w->itype > 3)
		return false;
	s = shape_of(w);
	if (w->routine == SOLVER_ormqr && w->k > s.a[0])
		return false;
	if ((w->routine == SOLVER_sytrf || w->routine == SOLVER_sytrs) && w->n && !w->pivots)
		return false;
	if (w->routine == SOLVER_orgqr && (w->n > w->m || w->k > w->n))
		return false;
	if (w->routine == SOLVER_gesvdj && !one_of(w->job, "NAS"))
		return false;
	if (w->routine == SOLVER_gesvd &&
	    (!one_of(w->job, "NASO") || !one_of(w->job_more, "NASO") || (w->job == 'O' && w->job_more == 'O')))
		return false;
	if ((w->routine == SOLVER_syevd || w->routine == SOLVER_sygvd) && !one_of(w->job, "NV"))
		return false;
	return ld_sound(&w->a, s.a) && ld_sound(&w->b, s.b) && ld_sound(&w->c, s.c);
}

typedef void (*run_function)(struct run *r);

static const run_function runs[] = {
#define SOLVER_RUN(name) [SOLVER_##name] = run_##name,
	SOLVER_EACH(SOLVER_RUN)
#undef SOLVER_RUN
};

void solver_run(struct soft_native *n)
{
	const struct solver_work *w = n->params;
	struct run r = { .n = n, .w = w };
	int64_t from, to;

	if (n->bytes != DEVICE_PARAM_BYTES || !n->blocks || !work_sound(w)) {
		n->refuse(n);
		return;
	}
	r.type = w->type;
	r.real = w->type & 1 ? 8 : 4;
	r.each = r.real * (w->type >= 2 ? 2 : 1);
	r.m = (int)w->m;
	r.columns = (int)w->n;
	r.k = (int)w->k;
	r.nrhs = (int)w->nrhs;
	library_part(n, w->batch, &from, &to);
	for (int64_t i = from; i < to; i++) {
		uint64_t work = (uint64_t)w->n * (uint64_t)w->n * (uint64_t)(w->m > w->n ? w->m : w->n);

		if (!batch_begin(&r, i))
			return;
		runs[w->routine](&r);
		if (w->info)
			memcpy((void *)(uintptr_t)(w->info + (uint64_t)i * 4), &r.info, 4);
		if (!n->go_on(n, work / 64 + 1))
			return;
	}
}

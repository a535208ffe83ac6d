/*
 * tridiagonal.c: cuSPARSE's solvers of tridiagonal systems: gtsv2, with and without pivots, and a batch of them.
 *
 * The diagonals lie as the library documents it: below the diagonal the first number is not used, above it the last
 * one. The system is left as it is, the solution takes the right sides' place. The program's buffer is not used.
 */
#include "libs/cusparse/handle.h"

#define ROWS_LEAST 3

/* What the calls of all types are about. */
struct system {
	int rows, columns;
	const void *below, *diagonal, *above;
	const void *sides;
	int step; /* between columns of the right sides */
	int batch, apart;
	uint32_t type;
	bool pivots;
};

static cusparseStatus_t system_check(cusparseHandle_t h, const struct system *s)
{
	if (!sparse_handle_good(h))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (s->rows < ROWS_LEAST || s->columns < 0 || s->step < s->rows || s->batch < 0 ||
	    (s->batch > 1 && s->apart < s->rows))
		return CUSPARSE_STATUS_INVALID_VALUE;
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t system_solve(cusparseHandle_t h, const struct system *s)
{
	cusparseStatus_t status = system_check(h, s);
	struct sparse_work w = { .kernel = s->pivots ? SPARSE_GTSV : SPARSE_GTSV_PLAIN,
				 .batch = s->batch,
				 .type = s->type,
				 .a = { .rows_at = (uintptr_t)s->below,
					.columns_at = (uintptr_t)s->diagonal,
					.values_at = (uintptr_t)s->above,
					.rows = s->rows,
					.columns = s->rows,
					.nnz = s->rows,
					.values_apart = s->apart },
				 .c = { .at = (uintptr_t)s->sides,
					.down = 1,
					.across = s->step,
					.rows = s->rows,
					.columns = s->columns,
					.apart = s->apart } };

	if (status || !s->columns || !s->batch)
		return status;
	return s->below && s->diagonal && s->above && s->sides ? sparse_launch(h, &w) : CUSPARSE_STATUS_INVALID_VALUE;
}

/* Such a size as the elimination needs: the system and what pivots make of it. */
static cusparseStatus_t system_size(cusparseHandle_t h, const struct system *s, size_t each, size_t *ret)
{
	cusparseStatus_t status = system_check(h, s);

	if (!status && !ret)
		status = CUSPARSE_STATUS_INVALID_VALUE;
	if (!status)
		*ret = (size_t)s->rows * 4 * each;
	return status;
}

#define SYSTEM(T, name, number, with_pivots)                                                                           \
	cusparseStatus_t soft_cusparse##name(cusparseHandle_t handle, int m, int n, const T *dl, const T *d,           \
					     const T *du, T *B, int ldb, void *pBuffer)                                \
	{                                                                                                              \
		struct system s = { m, n, dl, d, du, B, ldb, 1, 0, number, with_pivots };                              \
		return system_solve(handle, &s);                                                                       \
	}                                                                                                              \
	cusparseStatus_t soft_cusparse##name##_bufferSizeExt(cusparseHandle_t handle, int m, int n, const T *dl,       \
							     const T *d, const T *du, const T *B, int ldb,             \
							     size_t *bufferSizeInBytes)                                \
	{                                                                                                              \
		struct system s = { m, n, dl, d, du, B, ldb, 1, 0, number, with_pivots };                              \
		return system_size(handle, &s, sizeof(T), bufferSizeInBytes);                                          \
	}

#define SYSTEMS(T, X, number)                                                                                          \
	SYSTEM(T, X##gtsv2, number, true)                                                                              \
	SYSTEM(T, X##gtsv2_nopivot, number, false)                                                                     \
	cusparseStatus_t soft_cusparse##X##gtsv2StridedBatch(cusparseHandle_t handle, int m, const T *dl, const T *d,  \
							     const T *du, T *x, int batchCount, int batchStride,       \
							     void *pBuffer)                                            \
	{                                                                                                              \
		struct system s = { m, 1, dl, d, du, x, m, batchCount, batchStride, number, false };                   \
		return system_solve(handle, &s);                                                                       \
	}                                                                                                              \
	cusparseStatus_t soft_cusparse##X##gtsv2StridedBatch_bufferSizeExt(                                            \
		cusparseHandle_t handle, int m, const T *dl, const T *d, const T *du, const T *x, int batchCount,      \
		int batchStride, size_t *bufferSizeInBytes)                                                            \
	{                                                                                                              \
		struct system s = { m, 1, dl, d, du, x, m, batchCount, batchStride, number, false };                   \
		return system_size(handle, &s, sizeof(T), bufferSizeInBytes);                                          \
	}

SYSTEMS(float, S, 0)
SYSTEMS(double, D, 1)
SYSTEMS(cuComplex, C, 2)
SYSTEMS(cuDoubleComplex, Z, 3)

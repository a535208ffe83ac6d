/*
 * cusparse_calls_test.c: cuSPARSE on the software device against dense sums: formats, kinds of indices, transposes,
 * orders; triangles; factors without fill-in; conversions there and back; graphs, wrong arguments, wrong indices.
 */
#include "cusparse_numbers.h"

#include <dlfcn.h>
#include <stdlib.h>

#define ROWS 23
#define COLUMNS 17
#define SIDE 5 /* columns of dense matrices */

/* A matrix, and its descriptor. */
struct matrix {
	any dense[MOST * MOST]; /* (i, j) at i * columns + j */
	int rows, columns, nnz;
	CUdeviceptr offsets, indices, values;
	cusparseSpMatDescr_t descriptor;
};

static void matrix_make(struct matrix *m, int rows, int columns, cusparseFormat_t format, bool wide, int base,
			bool triangle)
{
	int offsets[MOST * MOST], indices[MOST * MOST], outer = format == CUSPARSE_FORMAT_CSC ? columns : rows;
	int inner = format == CUSPARSE_FORMAT_CSC ? rows : columns;
	cusparseIndexType_t kind = wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
	any values[MOST * MOST];

	m->rows = rows;
	m->columns = columns;
	m->nnz = 0;
	for (int i = 0; i < rows * columns; i++)
		m->dense[i] = random_number() > 0.3 ? some() : 0;
	for (int i = 0; triangle && i < rows; i++)
		m->dense[i * columns + i] = 3 + random_number();
	for (int a = 0; a < outer; a++) {
		if (format != CUSPARSE_FORMAT_COO)
			offsets[a] = m->nnz + base;
		for (int b = 0; b < inner; b++) {
			int i = format == CUSPARSE_FORMAT_CSC ? b : a, j = format == CUSPARSE_FORMAT_CSC ? a : b;

			if (m->dense[i * columns + j] == 0)
				continue;
			if (format == CUSPARSE_FORMAT_COO)
				offsets[m->nnz] = a + base;
			indices[m->nnz] = b + base;
			values[m->nnz++] = m->dense[i * columns + j];
		}
	}
	if (format != CUSPARSE_FORMAT_COO)
		offsets[outer] = m->nnz + base;
	m->offsets = put_indices(offsets, format == CUSPARSE_FORMAT_COO ? m->nnz : outer + 1, wide);
	m->indices = put_indices(indices, m->nnz, wide);
	m->values = put(values, m->nnz);
	if (format == CUSPARSE_FORMAT_COO)
		GOOD(t.cusparseCreateCoo(&m->descriptor, rows, columns, m->nnz, at(m->offsets), at(m->indices),
					 at(m->values), kind, (cusparseIndexBase_t)base, data_type[type]));
	else
		GOOD((format == CUSPARSE_FORMAT_CSR ? t.cusparseCreateCsr : t.cusparseCreateCsc)(
			&m->descriptor, rows, columns, m->nnz, at(m->offsets), at(m->indices), at(m->values), kind,
			kind, (cusparseIndexBase_t)base, data_type[type]));
}

static void matrix_free(struct matrix *m)
{
	GOOD(t.cusparseDestroySpMat(m->descriptor));
	cuMemFree(m->offsets);
	cuMemFree(m->indices);
	cuMemFree(m->values);
}

static any operated(const any *m, int columns, cusparseOperation_t op, int i, int j)
{
	any v = op ? m[j * columns + i] : m[i * columns + j];

	return op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? conj(v) : v;
}

/* op(A) op(B), of one column as a vector, of several in both orders. */
static void test_products(cusparseFormat_t format, bool wide, int base)
{
	struct matrix a;
	cusparseDnVecDescr_t x, y;
	cusparseDnMatDescr_t mb, mc;
	uint8_t alpha[16], beta[16];
	any va = 2, vb = type >= 2 ? -1 + 0.5 * I : -1;
	size_t bytes = 0;

	matrix_make(&a, ROWS, COLUMNS, format, wide, base, false);
	write_one(alpha, 0, va);
	write_one(beta, 0, vb);
	for (int op = 0; op < 3; op++) {
		int rows = op ? COLUMNS : ROWS, inner = op ? ROWS : COLUMNS;

		for (int shape = 0; shape < 4; shape++) { /* a vector; by columns; by rows; the other transposed */
			int n = shape ? SIDE : 1;
			bool by_rows = shape == 2, turned = shape == 3;
			any b[MOST * MOST], c[MOST * MOST], want[MOST * MOST];
			CUdeviceptr pb, pc;

			for (int i = 0; i < MOST * MOST; i++) {
				b[i] = some();
				c[i] = want[i] = some();
			}
			pb = put(b, inner * n);
			pc = put(c, rows * n);
			for (int i = 0; i < rows; i++)
				for (int j = 0; j < n; j++) {
					any sum = 0, *at_c = &want[by_rows ? i * n + j : i + j * rows];

					for (int k = 0; k < inner; k++)
						sum += operated(a.dense, COLUMNS, (cusparseOperation_t)op, i, k) *
						       (turned || by_rows ? b[k * n + j] : b[k + j * inner]);
					*at_c = va * sum + vb * *at_c;
				}
			if (!shape) {
				GOOD(t.cusparseCreateDnVec(&x, inner, at(pb), data_type[type]));
				GOOD(t.cusparseCreateDnVec(&y, rows, at(pc), data_type[type]));
				GOOD(t.cusparseSpMV_bufferSize(handle, (cusparseOperation_t)op, alpha, a.descriptor, x,
							       beta, y, data_type[type], CUSPARSE_SPMV_ALG_DEFAULT,
							       &bytes));
				GOOD(t.cusparseSpMV(handle, (cusparseOperation_t)op, alpha, a.descriptor, x, beta, y,
						    data_type[type], CUSPARSE_SPMV_ALG_DEFAULT, space()));
				GOOD(t.cusparseDestroyDnVec(x));
				GOOD(t.cusparseDestroyDnVec(y));
			} else {
				GOOD(t.cusparseCreateDnMat(&mb, turned ? n : inner, turned ? inner : n,
							   turned || by_rows ? n : inner, at(pb), data_type[type],
							   by_rows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL));
				GOOD(t.cusparseCreateDnMat(&mc, rows, n, by_rows ? n : rows, at(pc), data_type[type],
							   by_rows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL));
				GOOD(t.cusparseSpMM(handle, (cusparseOperation_t)op,
						    turned ? CUSPARSE_OPERATION_TRANSPOSE
							   : CUSPARSE_OPERATION_NON_TRANSPOSE,
						    alpha, a.descriptor, mb, beta, mc, data_type[type],
						    CUSPARSE_SPMM_ALG_DEFAULT, space()));
				GOOD(t.cusparseDestroyDnMat(mb));
				GOOD(t.cusparseDestroyDnMat(mc));
			}
			get(c, pc, rows * n);
			SAME(c, want, rows * n, "type %d, format %d, operation %d, %s", type, (int)format, op,
			     shape ? by_rows  ? "SpMM by rows"
				     : turned ? "SpMM transposed"
					      : "SpMM"
				   : "SpMV");
			cuMemFree(pb);
			cuMemFree(pc);
		}
	}
	matrix_free(&a);
}

static void test_triangle(cusparseFormat_t format, int op, bool upper, bool unit)
{
	struct matrix a;
	cusparseDnVecDescr_t x, y;
	cusparseSpSVDescr_t plan = NULL;
	cusparseFillMode_t fill = upper ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
	cusparseDiagType_t diagonal = unit ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
	any v[MOST], solved[MOST], again[MOST];
	uint8_t one[16];
	CUdeviceptr px, py;
	size_t bytes = 0;

	matrix_make(&a, 12, 12, format, false, 0, true);
	write_one(one, 0, 1);
	for (int i = 0; i < 12; i++)
		v[i] = some();
	px = put(v, 12);
	py = put(v, 12);
	GOOD(t.cusparseCreateDnVec(&x, 12, at(px), data_type[type]));
	GOOD(t.cusparseCreateDnVec(&y, 12, at(py), data_type[type]));
	GOOD(t.cusparseSpMatSetAttribute(a.descriptor, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof(fill)));
	GOOD(t.cusparseSpMatSetAttribute(a.descriptor, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof(diagonal)));
	GOOD(t.cusparseSpSV_createDescr(&plan));
	GOOD(t.cusparseSpSV_bufferSize(handle, (cusparseOperation_t)op, one, a.descriptor, x, y, data_type[type],
				       CUSPARSE_SPSV_ALG_DEFAULT, plan, &bytes));
	GOOD(t.cusparseSpSV_analysis(handle, (cusparseOperation_t)op, one, a.descriptor, x, y, data_type[type],
				     CUSPARSE_SPSV_ALG_DEFAULT, plan, space()));
	GOOD(t.cusparseSpSV_solve(handle, (cusparseOperation_t)op, one, a.descriptor, x, y, data_type[type],
				  CUSPARSE_SPSV_ALG_DEFAULT, plan));
	get(solved, py, 12);
	for (int i = 0; i < 12; i++) {
		again[i] = 0;
		for (int j = 0; j < 12; j++) {
			int row = op ? j : i, column = op ? i : j;
			any value = row == column && unit ? 1 : operated(a.dense, 12, (cusparseOperation_t)op, i, j);

			if (row == column || (column > row) == upper)
				again[i] += value * solved[j];
		}
	}
	SAME(again, v, 12, "type %d, format %d: SpSV, operation %d, %s%s", type, (int)format, op,
	     upper ? "upper" : "lower", unit ? ", unit" : "");
	GOOD(t.cusparseSpSV_destroyDescr(plan));
	GOOD(t.cusparseDestroyDnVec(x));
	GOOD(t.cusparseDestroyDnVec(y));
	cuMemFree(px);
	cuMemFree(py);
	matrix_free(&a);
}

/* Right sides by columns, their transpose by rows, and the results by rows. */
static void test_triangle_many(cusparseFormat_t format, int op, bool upper, bool turned)
{
	enum { TALL = 12, WIDE = 2 };
	cusparseOperation_t op_b = turned ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
	cusparseFillMode_t fill = upper ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
	any given[MOST], solved[MOST], sums[MOST];
	cusparseSpSMDescr_t plan = NULL;
	cusparseDnMatDescr_t b, c;
	CUdeviceptr pb, pc;
	struct matrix a;
	size_t bytes = 0;
	uint8_t one[16];

	matrix_make(&a, TALL, TALL, format, false, 0, true);
	write_one(one, 0, 1);
	for (int i = 0; i < TALL * WIDE; i++)
		given[i] = some();
	pb = put(given, TALL * WIDE);
	pc = put(given, TALL * WIDE);
	GOOD(t.cusparseCreateDnMat(&b, turned ? WIDE : TALL, turned ? TALL : WIDE, TALL, at(pb), data_type[type],
				   turned ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL));
	GOOD(t.cusparseCreateDnMat(&c, TALL, WIDE, WIDE, at(pc), data_type[type], CUSPARSE_ORDER_ROW));
	GOOD(t.cusparseSpMatSetAttribute(a.descriptor, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof(fill)));
	GOOD(t.cusparseSpSM_createDescr(&plan));
	GOOD(t.cusparseSpSM_bufferSize(handle, (cusparseOperation_t)op, op_b, one, a.descriptor, b, c, data_type[type],
				       CUSPARSE_SPSM_ALG_DEFAULT, plan, &bytes));
	GOOD(t.cusparseSpSM_analysis(handle, (cusparseOperation_t)op, op_b, one, a.descriptor, b, c, data_type[type],
				     CUSPARSE_SPSM_ALG_DEFAULT, plan, space()));
	GOOD(t.cusparseSpSM_solve(handle, (cusparseOperation_t)op, op_b, one, a.descriptor, b, c, data_type[type],
				  CUSPARSE_SPSM_ALG_DEFAULT, plan));
	get(solved, pc, TALL * WIDE);
	for (int n = 0; n < TALL * WIDE; n++) {
		int i = n % TALL, column = n / TALL;

		sums[n] = 0;
		for (int j = 0; j < TALL; j++)
			if (i == j || (op ? i > j : j > i) == upper)
				sums[n] += operated(a.dense, TALL, (cusparseOperation_t)op, i, j) *
					   solved[j * WIDE + column];
	}
	SAME(sums, given, TALL * WIDE, "type %d, format %d: SpSM, operation %d, %s%s", type, (int)format, op,
	     upper ? "upper" : "lower", turned ? ", right sides transposed" : "");
	GOOD(t.cusparseSpSM_destroyDescr(plan));
	GOOD(t.cusparseDestroyDnMat(b));
	GOOD(t.cusparseDestroyDnMat(c));
	cuMemFree(pb);
	cuMemFree(pc);
	matrix_free(&a);
}

/* What the descriptor of a matrix was told; `nnz` may have been counted since, by the device. */
static void test_told(const struct matrix *m, cusparseFormat_t format, int nnz, bool wide, int base)
{
	cusparseIndexType_t kinds[2] = { 0 };
	int64_t size[3] = { -1, -1, -1 };
	const void *list[3] = { NULL };
	cusparseIndexBase_t from = 7;
	cudaDataType kind = 99;
	void *values = NULL;

	if (format == CUSPARSE_FORMAT_COO) {
		GOOD(t.cusparseConstCooGet(m->descriptor, &size[0], &size[1], &size[2], &list[0], &list[1], &list[2],
					   &kinds[0], &from, &kind));
		kinds[1] = kinds[0];
		is(t.cusparseCsrGet(m->descriptor, &size[0], &size[1], &size[2], (void **)&list[0], (void **)&list[1],
				    (void **)&list[2], &kinds[0], &kinds[1], &from, &kind),
		   CUSPARSE_STATUS_INVALID_VALUE);
	} else {
		GOOD((format == CUSPARSE_FORMAT_CSR ? t.cusparseCsrGet : t.cusparseCscGet)(
			m->descriptor, &size[0], &size[1], &size[2], (void **)&list[0], (void **)&list[1],
			(void **)&list[2], &kinds[0], &kinds[1], &from, &kind));
	}
	is(size[0] == m->rows && size[1] == m->columns && size[2] == nnz, true);
	is(list[0] == at(m->offsets) && list[1] == at(m->indices) && list[2] == at(m->values), true);
	is(kinds[0] == kinds[1] && kinds[0] == (wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I), true);
	is((int)from == base && kind == (cudaDataType)data_type[type], true);
	GOOD(t.cusparseConstSpMatGetValues(m->descriptor, &list[0]));
	GOOD(t.cusparseSpMatGetValues(m->descriptor, &values));
	is(list[0] == values && values == at(m->values), true);
}

static void test_told_dense(void)
{
	cusparseFillMode_t fill = CUSPARSE_FILL_MODE_UPPER, fill_told = CUSPARSE_FILL_MODE_LOWER;
	int64_t rows = 0, columns = 0, ld = 0, size = 0, apart = 0;
	const void *constant = NULL;
	cusparseDnMatDescr_t dense;
	cusparseDnVecDescr_t vector;
	cusparseOrder_t order = 0;
	cudaDataType kind = 99;
	void *values = NULL;
	struct matrix m;
	int batch = 0;

	type = 0;
	matrix_make(&m, ROWS, COLUMNS, CUSPARSE_FORMAT_CSR, false, 0, false);
	GOOD(t.cusparseCreateDnMat(&dense, 4, 3, 5, at(m.values), CUDA_R_64F, CUSPARSE_ORDER_COL));
	GOOD(t.cusparseDnMatSetStridedBatch(dense, 2, 20));
	GOOD(t.cusparseDnMatGet(dense, &rows, &columns, &ld, &values, &kind, &order));
	is(rows == 4 && columns == 3 && ld == 5 && values == at(m.values) && kind == CUDA_R_64F &&
		   order == CUSPARSE_ORDER_COL,
	   true);
	GOOD(t.cusparseConstDnMatGet(dense, &rows, &columns, &ld, &constant, &kind, &order));
	is(constant == values, true);
	GOOD(t.cusparseDnMatGetStridedBatch(dense, &batch, &apart));
	is(batch == 2 && apart == 20, true);
	GOOD(t.cusparseCreateDnVec(&vector, 9, at(m.indices), CUDA_R_32F));
	GOOD(t.cusparseDnVecGet(vector, &size, &values, &kind));
	is(size == 9 && values == at(m.indices) && kind == CUDA_R_32F, true);
	is(t.cusparseDnVecGet(vector, NULL, &values, &kind), CUSPARSE_STATUS_INVALID_VALUE);
	GOOD(t.cusparseConstDnVecGetValues(vector, &constant));
	is(constant == values, true);
	GOOD(t.cusparseSpMatSetAttribute(m.descriptor, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof(fill)));
	GOOD(t.cusparseSpMatGetAttribute(m.descriptor, CUSPARSE_SPMAT_FILL_MODE, &fill_told, sizeof(fill_told)));
	is(fill_told, fill);
	is(t.cusparseSpMatGetAttribute(m.descriptor, CUSPARSE_SPMAT_FILL_MODE, &fill_told, 1),
	   CUSPARSE_STATUS_INVALID_VALUE);
	is(t.cusparseCsrSetStridedBatch(m.descriptor, 3, 0, m.nnz - 1), CUSPARSE_STATUS_INVALID_VALUE);
	GOOD(t.cusparseCsrSetStridedBatch(m.descriptor, 3, 0, m.nnz));
	GOOD(t.cusparseSpMatGetStridedBatch(m.descriptor, &batch));
	is(batch, 3);
	GOOD(t.cusparseDestroyDnVec(vector));
	GOOD(t.cusparseDestroyDnMat(dense));
	matrix_free(&m);
}

static void test_conversions(cusparseFormat_t format)
{
	struct matrix a, b;
	cusparseDnMatDescr_t dense;
	any v[MOST * MOST], want[MOST * MOST];
	CUdeviceptr p, buffer;
	int64_t rows = 0, columns = 0, nnz = 0;
	size_t bytes = 0;

	matrix_make(&a, ROWS, COLUMNS, format, format == CUSPARSE_FORMAT_COO, 1, false);
	for (int i = 0; i < ROWS * COLUMNS; i++)
		v[i] = some();
	p = put(v, ROWS * COLUMNS);
	GOOD(t.cusparseCreateDnMat(&dense, ROWS, COLUMNS, COLUMNS, at(p), data_type[type], CUSPARSE_ORDER_ROW));
	GOOD(t.cusparseSparseToDense(handle, a.descriptor, dense, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, space()));
	get(v, p, ROWS * COLUMNS);
	SAME(v, a.dense, ROWS * COLUMNS, "type %d, format %d: SparseToDense", type, (int)format);
	/* back into the places of another one, which has as many numbers */
	matrix_make(&b, ROWS, COLUMNS, format, false, 0, false);
	GOOD(t.cusparseDenseToSparse_bufferSize(handle, dense, b.descriptor, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT,
						&bytes));
	CU(cuMemAlloc(&buffer, bytes));
	GOOD(t.cusparseDenseToSparse_analysis(handle, dense, b.descriptor, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT,
					      at(buffer)));
	GOOD(t.cusparseSpMatGetSize(b.descriptor, &rows, &columns, &nnz));
	is(nnz, a.nnz);
	test_told(&a, format, a.nnz, format == CUSPARSE_FORMAT_COO, 1);
	test_told(&b, format, a.nnz, false, 0);
	GOOD(t.cusparseDenseToSparse_convert(handle, dense, b.descriptor, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT,
					     at(buffer)));
	memset(want, 0, sizeof(want));
	CU(cuMemsetD8(p, 0xff, ROWS * COLUMNS * each[type]));
	GOOD(t.cusparseSparseToDense(handle, b.descriptor, dense, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, space()));
	get(v, p, ROWS * COLUMNS);
	SAME(v, a.dense, ROWS * COLUMNS, "type %d, format %d: DenseToSparse and back", type, (int)format);
	GOOD(t.cusparseDestroyDnMat(dense));
	cuMemFree(p);
	cuMemFree(buffer);
	matrix_free(&a);
	matrix_free(&b);
}

static void test_sampled(cusparseFormat_t format)
{
	struct matrix c;
	cusparseDnMatDescr_t ma, mb, dense;
	any a[MOST * MOST], b[MOST * MOST], v[MOST * MOST], want[MOST * MOST];
	uint8_t one[16], half[16];
	CUdeviceptr pa, pb, pd;

	matrix_make(&c, ROWS, COLUMNS, format, false, 0, false);
	write_one(one, 0, 1);
	write_one(half, 0, 0.5);
	for (int i = 0; i < MOST * MOST; i++) {
		a[i] = some();
		b[i] = some();
	}
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLUMNS; j++) {
			any sum = 0;

			for (int k = 0; k < SIDE; k++)
				sum += a[i + k * ROWS] * b[k + j * SIDE];
			want[i * COLUMNS + j] =
				c.dense[i * COLUMNS + j] == 0 ? 0 : sum + 0.5 * c.dense[i * COLUMNS + j];
		}
	pa = put(a, ROWS * SIDE);
	pb = put(b, SIDE * COLUMNS);
	pd = put(want, ROWS * COLUMNS);
	GOOD(t.cusparseCreateDnMat(&ma, ROWS, SIDE, ROWS, at(pa), data_type[type], CUSPARSE_ORDER_COL));
	GOOD(t.cusparseCreateDnMat(&mb, SIDE, COLUMNS, SIDE, at(pb), data_type[type], CUSPARSE_ORDER_COL));
	GOOD(t.cusparseCreateDnMat(&dense, ROWS, COLUMNS, COLUMNS, at(pd), data_type[type], CUSPARSE_ORDER_ROW));
	GOOD(t.cusparseSDDMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, one, ma, mb,
			     half, c.descriptor, data_type[type], CUSPARSE_SDDMM_ALG_DEFAULT, space()));
	GOOD(t.cusparseSparseToDense(handle, c.descriptor, dense, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, space()));
	get(v, pd, ROWS * COLUMNS);
	SAME(v, want, ROWS * COLUMNS, "type %d, format %d: SDDMM", type, (int)format);
	GOOD(t.cusparseDestroyDnMat(ma));
	GOOD(t.cusparseDestroyDnMat(mb));
	GOOD(t.cusparseDestroyDnMat(dense));
	cuMemFree(pa);
	cuMemFree(pb);
	cuMemFree(pd);
	matrix_free(&c);
}

/* ---- factors without fill-in ---- */

#define TYPED(call, ...)                                                                                               \
	(type == 0   ? t.cusparseS##call(__VA_ARGS__)                                                                  \
	 : type == 1 ? t.cusparseD##call(__VA_ARGS__)                                                                  \
	 : type == 2 ? t.cusparseC##call(__VA_ARGS__)                                                                  \
		     : t.cusparseZ##call(__VA_ARGS__))

#define TYPED_THERE(call)                                                                                              \
	(type == 0   ? (void *)t.cusparseS##call                                                                       \
	 : type == 1 ? (void *)t.cusparseD##call                                                                       \
	 : type == 2 ? (void *)t.cusparseC##call                                                                       \
		     : (void *)t.cusparseZ##call)

/* The same in a dense array, where only what is in the pattern is written. */
static void factor_dense(any *a, int n, bool cholesky)
{
	bool there[MOST * MOST];

	for (int i = 0; i < n * n; i++)
		there[i] = a[i] != 0;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < (cholesky ? i + 1 : n); j++) {
			int left = j < i ? j : i;

			if (!there[i * n + j])
				continue;
			for (int k = 0; k < left; k++)
				if (there[i * n + k] && there[cholesky ? j * n + k : k * n + j])
					a[i * n + j] -= a[i * n + k] * (cholesky ? conj(a[j * n + k]) : a[k * n + j]);
			if (j < i)
				a[i * n + j] /= a[j * n + j];
			else if (cholesky)
				a[i * n + j] = csqrt(a[i * n + j]);
		}
}

static void test_factor(bool cholesky, int base)
{
	struct matrix a;
	csrilu02Info_t lu = NULL;
	csric02Info_t ll = NULL;
	cusparseMatDescr_t general;
	any have[MOST * MOST], want[MOST * MOST];
	int bytes = 0, pivot = 7, n = cholesky ? 6 : 12, next = 0; /* six rows are positive definite */
	size_t more = soft_theirs(); /* NVIDIA's library of CUDA 13 has no ..._bufferSizeExt() */
	void *offsets, *indices, *values;

	matrix_make(&a, n, n, CUSPARSE_FORMAT_CSR, false, base, true);
	offsets = at(a.offsets);
	indices = at(a.indices);
	values = at(a.values);
	GOOD(t.cusparseCreateMatDescr(&general));
	GOOD(t.cusparseSetMatIndexBase(general, (cusparseIndexBase_t)base));
	if (cholesky) {
		GOOD(t.cusparseCreateCsric02Info(&ll));
		GOOD(TYPED(csric02_bufferSize, handle, n, a.nnz, general, values, offsets, indices, ll, &bytes));
		if (TYPED_THERE(csric02_bufferSizeExt))
			GOOD(TYPED(csric02_bufferSizeExt, handle, n, a.nnz, general, values, offsets, indices, ll,
				   &more));
		GOOD(TYPED(csric02_analysis, handle, n, a.nnz, general, values, offsets, indices, ll,
			   CUSPARSE_SOLVE_POLICY_NO_LEVEL, space()));
		GOOD(TYPED(csric02, handle, n, a.nnz, general, values, offsets, indices, ll,
			   CUSPARSE_SOLVE_POLICY_NO_LEVEL, space()));
		GOOD(t.cusparseXcsric02_zeroPivot(handle, ll, &pivot));
		GOOD(t.cusparseDestroyCsric02Info(ll));
	} else {
		GOOD(t.cusparseCreateCsrilu02Info(&lu));
		GOOD(TYPED(csrilu02_bufferSize, handle, n, a.nnz, general, values, offsets, indices, lu, &bytes));
		if (TYPED_THERE(csrilu02_bufferSizeExt))
			GOOD(TYPED(csrilu02_bufferSizeExt, handle, n, a.nnz, general, values, offsets, indices, lu,
				   &more));
		GOOD(TYPED(csrilu02_analysis, handle, n, a.nnz, general, values, offsets, indices, lu,
			   CUSPARSE_SOLVE_POLICY_USE_LEVEL, space()));
		GOOD(TYPED(csrilu02, handle, n, a.nnz, general, values, offsets, indices, lu,
			   CUSPARSE_SOLVE_POLICY_USE_LEVEL, space()));
		GOOD(t.cusparseXcsrilu02_zeroPivot(handle, lu, &pivot));
		GOOD(t.cusparseDestroyCsrilu02Info(lu));
	}
	is(pivot, -1);
	is(bytes > 0 && more > 0, 1);
	get(have, a.values, a.nnz);
	factor_dense(a.dense, n, cholesky);
	for (int i = 0; i < n * n; i++)
		if (a.dense[i] != 0)
			want[next++] = a.dense[i];
	SAME(have, want, a.nnz, "type %d: csr%s, indices from %d on", type, cholesky ? "ic02" : "ilu02", base);
	GOOD(t.cusparseDestroyMatDescr(general));
	matrix_free(&a);
}

/* Rows that have no pivot are told, as the program counts; and what is wrong about the calls. */
static void test_pivots(void)
{
	static const int offsets[] = { 1, 3, 5, 6 }, holes[] = { 1, 2, 1, 3, 3 }, zeroes[] = { 1, 2, 1, 2, 3 };
	static const float values[] = { 1, 2, 2, 4, 1, 1 };
	csrilu02Info_t info;
	cusparseMatDescr_t d;
	CUdeviceptr p;
	int position = 0;

	CU(cuMemAlloc(&p, 4096));
	CU(cuMemcpyHtoD(p, offsets, sizeof(offsets)));
	CU(cuMemcpyHtoD(p + 256, holes, sizeof(holes)));
	CU(cuMemcpyHtoD(p + 512, zeroes, sizeof(zeroes)));
	CU(cuMemcpyHtoD(p + 768, values, sizeof(values)));
	GOOD(t.cusparseCreateMatDescr(&d));
	GOOD(t.cusparseSetMatIndexBase(d, CUSPARSE_INDEX_BASE_ONE));
	GOOD(t.cusparseCreateCsrilu02Info(&info));
#define LU(call, columns, ...)                                                                                         \
	t.cusparseScsrilu02##call(handle, 3, 5, d, at(p + 768), at(p), at(columns), info,                              \
				  CUSPARSE_SOLVE_POLICY_NO_LEVEL, space())
	is(LU(, p + 256), CUSPARSE_STATUS_INVALID_VALUE);
	GOOD(LU(_analysis, p + 256));
	is(t.cusparseXcsrilu02_zeroPivot(handle, info, &position), CUSPARSE_STATUS_ZERO_PIVOT);
	is(position, 2);
	GOOD(LU(_analysis, p + 512));
	GOOD(t.cusparseXcsrilu02_zeroPivot(handle, info, &position));
	is(position, -1);
	GOOD(LU(, p + 512));
	is(t.cusparseXcsrilu02_zeroPivot(handle, info, &position), CUSPARSE_STATUS_ZERO_PIVOT);
	is(position, 2);
	GOOD(t.cusparseSetMatType(d, CUSPARSE_MATRIX_TYPE_TRIANGULAR));
	is(LU(_analysis, p + 512), CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED);
	GOOD(t.cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE));
	is(t.cusparseXcsrilu02_zeroPivot(handle, info, (int *)at(p)), CUSPARSE_STATUS_INVALID_VALUE);
	GOOD(t.cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST));
	is(t.cusparseXcsrilu02_zeroPivot(handle, NULL, &position), CUSPARSE_STATUS_INVALID_VALUE);
	is(t.cusparseScsrilu02_numericBoost(handle, info, 1, NULL, NULL), CUSPARSE_STATUS_NOT_SUPPORTED);
	GOOD(t.cusparseDestroyCsrilu02Info(info));
	GOOD(t.cusparseDestroyMatDescr(d));
	CU(cuMemFree(p));
}

static void test_wrong(void)
{
	char no_handle[64] __attribute__((aligned(8))) = { 0 };
	const float one = 1;
	cusparseDnVecDescr_t x, y;
	cusparseSpMatDescr_t m = NULL;
	struct matrix a;
	int version = 0, bad[] = { 999 };
	CUdeviceptr p;

	test_pivots();
	GOOD(cusparseGetVersion(handle, &version));
	is(version / 1000, 12);
	is(t.cusparseCreate(NULL), CUSPARSE_STATUS_INVALID_VALUE);
	is(t.cusparseDestroy((void *)no_handle), CUSPARSE_STATUS_NOT_INITIALIZED);
	is(t.cusparseCreateCsr(&m, -1, 2, 0, NULL, NULL, NULL, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
			       CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
	   CUSPARSE_STATUS_INVALID_VALUE);
	is(t.cusparseCreateCsr(&m, 2, 2, 0, NULL, NULL, NULL, CUSPARSE_INDEX_16U, CUSPARSE_INDEX_32I,
			       CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
	   CUSPARSE_STATUS_NOT_SUPPORTED);
	CU(cuMemAlloc(&p, 4096));
	GOOD(t.cusparseCreateDnVec(&x, ROWS, at(p), CUDA_R_32F));
	GOOD(t.cusparseCreateDnVec(&y, COLUMNS, at(p), CUDA_R_64F));
	matrix_make(&a, ROWS, COLUMNS, CUSPARSE_FORMAT_CSR, false, 0, false);
	is(t.cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a.descriptor, x, &one, x, CUDA_R_32F,
			  CUSPARSE_SPMV_ALG_DEFAULT, space()),
	   CUSPARSE_STATUS_INVALID_VALUE);
	is(t.cusparseSpMV(handle, CUSPARSE_OPERATION_TRANSPOSE, &one, a.descriptor, x, &one, y, CUDA_R_32F,
			  CUSPARSE_SPMV_ALG_DEFAULT, space()),
	   CUSPARSE_STATUS_NOT_SUPPORTED);
	is(t.cusparseCreateColorInfo(NULL), CUSPARSE_STATUS_NOT_SUPPORTED);
	is_str(t.cusparseGetErrorName(CUSPARSE_STATUS_NOT_SUPPORTED), "CUSPARSE_STATUS_NOT_SUPPORTED");
	/* a column that there is not is no place to read */
	CU(cuMemcpyHtoD(a.indices, bad, 4));
	GOOD(t.cusparseDestroyDnVec(y));
	GOOD(t.cusparseCreateDnVec(&y, COLUMNS, at(p + 1024), CUDA_R_32F));
	GOOD(t.cusparseSpMV(handle, CUSPARSE_OPERATION_TRANSPOSE, &one, a.descriptor, x, &one, y, CUDA_R_32F,
			    CUSPARSE_SPMV_ALG_DEFAULT, space()));
	FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	GOOD(t.cusparseDestroyDnVec(x));
	GOOD(t.cusparseDestroyDnVec(y));
	GOOD(t.cusparseDestroySpMat(a.descriptor));
}

typedef cusparseStatus_t (*solver)(cusparseHandle_t, int, int, const void *, const void *, const void *, void *, int,
				   void *);
typedef cusparseStatus_t (*batch_solver)(cusparseHandle_t, int, const void *, const void *, const void *, void *, int,
					 int, void *);
typedef cusparseStatus_t (*size_teller)(cusparseHandle_t, int, int, const void *, const void *, const void *,
					const void *, int, size_t *);
#define OF_TYPES(name)                                                                                                 \
	{                                                                                                              \
		(void *)t.cusparseS##name, (void *)t.cusparseD##name, (void *)t.cusparseC##name,                       \
			(void *)t.cusparseZ##name                                                                      \
	}

/* Row i of each system: below[i] x[i - 1] + diagonal[i] x[i] + above[i] x[i + 1]. */
static void tridiagonal_times(any *ret, const any *below, const any *diagonal, const any *above, const any *x, int rows)
{
	for (int i = 0; i < rows; i++)
		ret[i] = (i ? below[i] * x[i - 1] : 0) + diagonal[i] * x[i] + (i + 1 < rows ? above[i] * x[i + 1] : 0);
}

/* With pivots the diagonal may be small, or 0; without them it is the largest. */
static void test_tridiagonal(int rows, int columns, bool pivots)
{
	void *with[] = OF_TYPES(gtsv2), *without[] = OF_TYPES(gtsv2_nopivot), *sizes[] = OF_TYPES(gtsv2_bufferSizeExt);
	any below[MOST], diagonal[MOST], above[MOST], sides[MOST * 3], x[MOST * 3], again[MOST];
	CUdeviceptr pl, pd, pu, pb;
	size_t bytes = 0;

	for (int i = 0; i < rows; i++) {
		below[i] = some();
		above[i] = some();
		diagonal[i] = pivots ? some() * 0.1 : 3 + some();
	}
	diagonal[0] = pivots ? 0 : diagonal[0];
	for (int i = 0; i < rows * columns; i++)
		sides[i] = some();
	pl = put(below, rows);
	pd = put(diagonal, rows);
	pu = put(above, rows);
	pb = put(sides, rows * columns);
	GOOD(((size_teller)sizes[type])(handle, rows, columns, at(pl), at(pd), at(pu), at(pb), rows, &bytes));
	tap_ok(bytes > 0, "a buffer of %zu bytes", bytes);
	GOOD(((solver)(pivots ? with : without)[type])(handle, rows, columns, at(pl), at(pd), at(pu), at(pb), rows,
						       space()));
	CU(cuCtxSynchronize());
	get(x, pb, rows * columns);
	for (int j = 0; j < columns; j++) {
		tridiagonal_times(again, below, diagonal, above, x + j * rows, rows);
		SAME(again, sides + j * rows, rows, "type %d: gtsv2%s, column %d", type, pivots ? "" : "_nopivot", j);
	}
	is(((solver)with[type])(handle, 2, columns, at(pl), at(pd), at(pu), at(pb), rows, space()),
	   CUSPARSE_STATUS_INVALID_VALUE);
	is(((solver)with[type])(handle, rows, columns, at(pl), at(pd), at(pu), at(pb), rows - 1, space()),
	   CUSPARSE_STATUS_INVALID_VALUE);
	is(((solver)with[type])(handle, rows, columns, at(pl), NULL, at(pu), at(pb), rows, space()),
	   CUSPARSE_STATUS_INVALID_VALUE);
	is(((solver)with[type])(NULL, rows, columns, at(pl), at(pd), at(pu), at(pb), rows, space()),
	   CUSPARSE_STATUS_NOT_INITIALIZED);
	GOOD(((solver)with[type])(handle, rows, 0, at(pl), at(pd), at(pu), at(pb), rows, space()));
	cuMemFree(pl);
	cuMemFree(pd);
	cuMemFree(pu);
	cuMemFree(pb);
}

/* Systems of five rows, six numbers apart. */
static void test_tridiagonal_batch(void)
{
	enum { SYSTEM_ROWS = 5, APART = 6, SYSTEMS = 3 };
	void *calls[] = OF_TYPES(gtsv2StridedBatch);
	any below[APART * SYSTEMS], diagonal[APART * SYSTEMS], above[APART * SYSTEMS], sides[APART * SYSTEMS],
		x[APART * SYSTEMS], again[SYSTEM_ROWS];
	CUdeviceptr pl, pd, pu, px;

	for (int i = 0; i < APART * SYSTEMS; i++) {
		below[i] = some();
		above[i] = some();
		diagonal[i] = 3 + some();
		sides[i] = some();
	}
	pl = put(below, APART * SYSTEMS);
	pd = put(diagonal, APART * SYSTEMS);
	pu = put(above, APART * SYSTEMS);
	px = put(sides, APART * SYSTEMS);
	GOOD(((batch_solver)calls[type])(handle, SYSTEM_ROWS, at(pl), at(pd), at(pu), at(px), SYSTEMS, APART, space()));
	CU(cuCtxSynchronize());
	get(x, px, APART * SYSTEMS);
	for (int k = 0; k < SYSTEMS; k++) {
		tridiagonal_times(again, below + k * APART, diagonal + k * APART, above + k * APART, x + k * APART,
				  SYSTEM_ROWS);
		SAME(again, sides + k * APART, SYSTEM_ROWS, "type %d: gtsv2StridedBatch, system %d", type, k);
		SAME(x + k * APART + SYSTEM_ROWS, sides + k * APART + SYSTEM_ROWS, 1, "what lies between is as it was");
	}
	cuMemFree(pl);
	cuMemFree(pd);
	cuMemFree(pu);
	cuMemFree(px);
}

static cusparseStatus_t spgemm(cusparseSpGEMMDescr_t d, any scale, struct matrix *a, struct matrix *b,
			       cusparseSpMatDescr_t c, int64_t *ret_nnz)
{
	const cusparseOperation_t same = CUSPARSE_OPERATION_NON_TRANSPOSE;
	uint8_t alpha[16], beta[16];
	CUdeviceptr first = 0, second = 0;
	int64_t rows, columns;
	size_t bytes = 0;

	write_one(alpha, 0, scale);
	write_one(beta, 0, 0);
	GOOD(t.cusparseSpGEMM_workEstimation(handle, same, same, alpha, a->descriptor, b->descriptor, beta, c,
					     data_type[type], CUSPARSE_SPGEMM_DEFAULT, d, &bytes, NULL));
	CU(cuMemAlloc(&first, bytes + 1));
	GOOD(t.cusparseSpGEMM_workEstimation(handle, same, same, alpha, a->descriptor, b->descriptor, beta, c,
					     data_type[type], CUSPARSE_SPGEMM_DEFAULT, d, &bytes, at(first)));
	is(t.cusparseSpGEMM_copy(handle, same, same, alpha, a->descriptor, b->descriptor, beta, c, data_type[type],
				 CUSPARSE_SPGEMM_DEFAULT, d),
	   CUSPARSE_STATUS_INVALID_VALUE);
	GOOD(t.cusparseSpGEMM_compute(handle, same, same, alpha, a->descriptor, b->descriptor, beta, c, data_type[type],
				      CUSPARSE_SPGEMM_DEFAULT, d, &bytes, NULL));
	CU(cuMemAlloc(&second, bytes));
	bytes--;
	is(t.cusparseSpGEMM_compute(handle, same, same, alpha, a->descriptor, b->descriptor, beta, c, data_type[type],
				    CUSPARSE_SPGEMM_DEFAULT, d, &bytes, at(second)),
	   CUSPARSE_STATUS_INSUFFICIENT_RESOURCES);
	bytes++;
	GOOD(t.cusparseSpGEMM_compute(handle, same, same, alpha, a->descriptor, b->descriptor, beta, c, data_type[type],
				      CUSPARSE_SPGEMM_DEFAULT, d, &bytes, at(second)));
	GOOD(t.cusparseSpMatGetSize(c, &rows, &columns, ret_nnz));
	return t.cusparseSpGEMM_copy(handle, same, same, alpha, a->descriptor, b->descriptor, beta, c, data_type[type],
				     CUSPARSE_SPGEMM_DEFAULT, d);
}

/* The product of two sparse matrices, whose indices may begin at 1, read back as a dense one. */
static void test_sparse_product(bool wide, int base)
{
	enum { INNER = COLUMNS, ACROSS = 11 };
	cusparseIndexType_t kind = wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
	cusparseSpGEMMDescr_t d = NULL;
	cusparseSpMatDescr_t c, by_columns;
	CUdeviceptr offsets, indices, values;
	struct matrix a, b;
	any wanted[ROWS * ACROSS], got[ROWS * ACROSS], listed[ROWS * ACROSS], scale = type >= 2 ? 2 - I : 2;
	int64_t where[MOST * MOST], nnz = 0;
	bool sorted = true;

	matrix_make(&a, ROWS, INNER, CUSPARSE_FORMAT_CSR, wide, base, false);
	matrix_make(&b, INNER, ACROSS, CUSPARSE_FORMAT_CSR, !wide, 1 - base, false);
	for (int i = 0; i < ROWS * ACROSS; i++) {
		wanted[i] = got[i] = 0;
		for (int k = 0; k < INNER; k++)
			wanted[i] += scale * a.dense[i / ACROSS * INNER + k] * b.dense[k * ACROSS + i % ACROSS];
	}
	offsets = put_indices((int[MOST *MOST]){ 0 }, MOST * MOST, true);
	indices = put_indices((int[MOST *MOST]){ 0 }, MOST * MOST, true);
	values = put(wanted, ROWS * ACROSS);
	GOOD(t.cusparseSpGEMM_createDescr(&d));
	GOOD(t.cusparseCreateCsr(&c, ROWS, ACROSS, 0, at(offsets), NULL, NULL, kind, kind, (cusparseIndexBase_t)base,
				 data_type[type]));
	/* the pointers are told before the numbers are written, as a program does it that has counted them */
	GOOD(t.cusparseCsrSetPointers(c, at(offsets), at(indices), at(values)));
	GOOD(spgemm(d, scale, &a, &b, c, &nnz));
	CU(cuCtxSynchronize());
	tap_ok(nnz > 0 && nnz <= ROWS * ACROSS, "type %d: a product of %d numbers", type, (int)nnz);
	get(listed, values, (int)nnz);
	CU(cuMemcpyDtoH(where, indices, sizeof(where)));
	for (int i = 0, k = 0; i < ROWS; i++) {
		int64_t ends[MOST + 1] = { 0 }, last = -1, stop;

		CU(cuMemcpyDtoH(ends, offsets, (ROWS + 1) * (wide ? 8 : 4)));
		stop = (wide ? ends[i + 1] : ((int32_t *)ends)[i + 1]) - base;
		for (; k < stop && k < nnz; k++) {
			int64_t column = (wide ? where[k] : ((int32_t *)where)[k]) - base;

			sorted = sorted && column > last && column < ACROSS;
			last = column;
			if (column >= 0 && column < ACROSS)
				got[i * ACROSS + column] = listed[k];
		}
	}
	tap_ok(sorted, "columns rise within a row");
	SAME(got, wanted, ROWS * ACROSS, "type %d: SpGEMM, indices of %d bits from %d on", type, wide ? 64 : 32, base);
	GOOD(t.cusparseCreateCsc(&by_columns, ROWS, ACROSS, 0, at(offsets), at(indices), at(values), kind, kind,
				 (cusparseIndexBase_t)base, data_type[type]));
	is(t.cusparseSpGEMM_copy(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, wanted,
				 a.descriptor, b.descriptor, wanted, by_columns, data_type[type],
				 CUSPARSE_SPGEMM_DEFAULT, d),
	   CUSPARSE_STATUS_NOT_SUPPORTED);
	is(t.cusparseSpGEMM_copy(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, wanted,
				 b.descriptor, a.descriptor, wanted, c, data_type[type], CUSPARSE_SPGEMM_DEFAULT, d),
	   CUSPARSE_STATUS_INVALID_VALUE);
	GOOD(t.cusparseDestroySpMat(by_columns));
	GOOD(t.cusparseDestroySpMat(c));
	GOOD(t.cusparseSpGEMM_destroyDescr(d));
	matrix_free(&a);
	matrix_free(&b);
	cuMemFree(offsets);
	cuMemFree(indices);
	cuMemFree(values);
}

int main(void)
{
	static const cusparseFormat_t formats[] = { CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_CSC, CUSPARSE_FORMAT_COO };

	for (int i = 0; i < CUSPARSE_CALL_COUNT; i++)
		((void **)&t)[i] = dlsym(dlopen(NULL, RTLD_NOW), cusparse_call_name[i]);
	soft_begin("1", "256M");
	soft_context();
	GOOD(t.cusparseCreate(&handle));
	for (type = 0; type < 4; type++)
		for (int k = 0; k < 4; k++)
			test_factor(k & 1, k >> 1);
	test_told_dense();
	for (type = 0; type < 4; type++)
		for (int f = 0; f < 3; f++) {
			test_products(formats[f], f == 1, f == 2);
			test_conversions(formats[f]);
			test_sampled(formats[f]);
			for (int op = 0; op < 3; op++)
				for (int k = 0; k < 4; k++) {
					test_triangle(formats[f], op, k & 1, k >> 1);
					test_triangle_many(formats[f], op, k & 1, k >> 1);
				}
		}
	for (type = 0; type < 4; type++) {
		for (int k = 0; k < 4; k++)
			test_tridiagonal(k & 1 ? 3 : 11, k & 2 ? 3 : 1, k < 3);
		test_tridiagonal_batch();
		for (int k = 0; k < 4; k++)
			test_sparse_product(k & 1, k >> 1);
	}
	type = 0;
	test_wrong();
	return soft_end();
}

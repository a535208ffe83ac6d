/*
 * cusparse_older_test.c: cuSPARSE's older calls on the software device against dense sums: lists of indices, their
 * sorting, transposes, sums of sparse matrices, matrices of blocks and their triangles; and sparse vectors.
 */
#include "cusparse_numbers.h"

#include <dlfcn.h>
#include <stdlib.h>

/* The call of this type, as the one of floats. */
#define TYPED(name)                                                                                                    \
	((__typeof__(t.cusparseS##name))(type == 0   ? (void *)t.cusparseS##name                                       \
					 : type == 1 ? (void *)t.cusparseD##name                                       \
					 : type == 2 ? (void *)t.cusparseC##name                                       \
						     : (void *)t.cusparseZ##name))

static cusparseMatDescr_t described(int base, cusparseFillMode_t fill, cusparseDiagType_t diagonal)
{
	cusparseMatDescr_t d = NULL;

	GOOD(t.cusparseCreateMatDescr(&d));
	GOOD(t.cusparseSetMatIndexBase(d, (cusparseIndexBase_t)base));
	GOOD(t.cusparseSetMatFillMode(d, fill));
	GOOD(t.cusparseSetMatDiagType(d, diagonal));
	return d;
}

static void get_indices(int *v, CUdeviceptr p, int count)
{
	CU(cuMemcpyDtoH(v, p, (size_t)count * sizeof(*v)));
}

static bool equal(const int *a, const int *b, int count)
{
	return !memcmp(a, b, (size_t)count * sizeof(*a));
}

/* Numbers of a dense matrix by rows, rising; value: how many. */
static int compressed(const any *dense, int rows, int columns, int base, int *offsets, int *indices, any *values)
{
	int count = 0;

	for (int i = 0; i < rows; i++) {
		offsets[i] = count + base;
		for (int j = 0; j < columns; j++) {
			if (dense[i * columns + j] == 0)
				continue;
			indices[count] = j + base;
			values[count++] = dense[i * columns + j];
		}
	}
	offsets[rows] = count + base;
	return count;
}

static void dense_make(any *dense, int count)
{
	for (int i = 0; i < count; i++)
		dense[i] = random_number() > 0.4 ? some() : 0;
}

/* ---- lists ---- */

#define ROWS 13
#define COLUMNS 9

static void test_lists(int base)
{
	int offsets[MOST * MOST], indices[MOST * MOST], rows[MOST * MOST], got[MOST * MOST], count;
	any dense[ROWS * COLUMNS], values[ROWS * COLUMNS];
	CUdeviceptr p_rows, p_offsets;

	dense_make(dense, ROWS * COLUMNS);
	for (int j = 0; j < COLUMNS; j++)
		dense[5 * COLUMNS + j] = 0;
	count = compressed(dense, ROWS, COLUMNS, base, offsets, indices, values);
	for (int i = 0; i < ROWS; i++)
		for (int k = offsets[i] - base; k < offsets[i + 1] - base; k++)
			rows[k] = i + base;
	p_rows = put_indices(rows, count, false);
	p_offsets = put_indices((int[MOST *MOST]){ 77 }, MOST, false);
	GOOD(t.cusparseXcoo2csr(handle, at(p_rows), count, ROWS, at(p_offsets), (cusparseIndexBase_t)base));
	get_indices(got, p_offsets, ROWS + 1);
	tap_ok(equal(got, offsets, ROWS + 1), "offsets of rows, from %d on", base);
	CU(cuMemsetD8(p_rows, 0x77, (size_t)count * sizeof(int)));
	GOOD(t.cusparseXcsr2coo(handle, at(p_offsets), count, ROWS, at(p_rows), (cusparseIndexBase_t)base));
	get_indices(got, p_rows, count);
	tap_ok(equal(got, rows, count), "and rows of offsets");
	GOOD(t.cusparseXcoo2csr(handle, NULL, 0, ROWS, at(p_offsets), (cusparseIndexBase_t)base));
	get_indices(got, p_offsets, ROWS + 1);
	tap_ok(got[0] == base && got[ROWS] == base, "a matrix without numbers has rows");
	is(t.cusparseXcoo2csr(handle, at(p_rows), -1, ROWS, at(p_offsets), (cusparseIndexBase_t)base),
	   CUSPARSE_STATUS_INVALID_VALUE);
	if (!soft_theirs()) /* which writes to NULL */
		is(t.cusparseXcoo2csr(handle, at(p_rows), count, ROWS, NULL, (cusparseIndexBase_t)base),
		   CUSPARSE_STATUS_INVALID_VALUE);
	is(t.cusparseXcoo2csr(NULL, at(p_rows), count, ROWS, at(p_offsets), (cusparseIndexBase_t)base),
	   CUSPARSE_STATUS_NOT_INITIALIZED);
	cuMemFree(p_rows);
	cuMemFree(p_offsets);
}

/* Whether the permutation leads from what was to what is, and what is rises by `major`, `minor`, and place. */
static bool sorted(const int *major, const int *minor, const int *order, const int *was_major, const int *was_minor,
		   int count)
{
	for (int k = 0; k < count; k++) {
		if (order[k] < 0 || order[k] >= count || major[k] != was_major[order[k]] ||
		    minor[k] != was_minor[order[k]])
			return false;
		if (k && (major[k] < major[k - 1] ||
			  (major[k] == major[k - 1] &&
			   (minor[k] < minor[k - 1] || (minor[k] == minor[k - 1] && order[k] < order[k - 1])))))
			return false;
	}
	return true;
}

static void test_coordinates_sort(bool by_column)
{
	enum { COUNT = 200 };
	int rows[MOST * MOST], columns[MOST * MOST], got_rows[COUNT], got_columns[COUNT], order[COUNT];
	CUdeviceptr p_rows, p_columns, p_order;
	size_t bytes = 0;

	for (int k = 0; k < COUNT; k++) { /* some of them twice */
		rows[k] = (int)(fabs(random_number()) * ROWS);
		columns[k] = (int)(fabs(random_number()) * COLUMNS);
	}
	p_rows = put_indices(rows, COUNT, false);
	p_columns = put_indices(columns, COUNT, false);
	p_order = put_indices(rows, COUNT, false);
	GOOD(t.cusparseXcoosort_bufferSizeExt(handle, ROWS, COLUMNS, COUNT, at(p_rows), at(p_columns), &bytes));
	GOOD(t.cusparseCreateIdentityPermutation(handle, COUNT, at(p_order)));
	GOOD((by_column ? t.cusparseXcoosortByColumn : t.cusparseXcoosortByRow)(
		handle, ROWS, COLUMNS, COUNT, at(p_rows), at(p_columns), at(p_order), space()));
	get_indices(got_rows, p_rows, COUNT);
	get_indices(got_columns, p_columns, COUNT);
	get_indices(order, p_order, COUNT);
	tap_ok(by_column ? sorted(got_columns, got_rows, order, columns, rows, COUNT)
			 : sorted(got_rows, got_columns, order, rows, columns, COUNT),
	       "coordinates by %s", by_column ? "column" : "row");
	is(t.cusparseXcoosortByRow(handle, ROWS, COLUMNS, -1, at(p_rows), at(p_columns), NULL, NULL),
	   CUSPARSE_STATUS_INVALID_VALUE);
	cuMemFree(p_rows);
	cuMemFree(p_columns);
	cuMemFree(p_order);
}

/* Each row is turned round, and sorted again. */
static void test_rows_sort(bool columns, int base)
{
	int offsets[MOST * MOST], indices[MOST * MOST], turned[MOST * MOST], got[MOST * MOST], order[MOST * MOST];
	any dense[ROWS * COLUMNS], values[ROWS * COLUMNS];
	cusparseMatDescr_t d = described(base, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_NON_UNIT);
	CUdeviceptr p_offsets, p_indices, p_order;
	int count, good = 0;

	dense_make(dense, ROWS * COLUMNS);
	count = compressed(dense, ROWS, COLUMNS, base, offsets, indices, values);
	for (int i = 0; i < ROWS; i++)
		for (int k = offsets[i] - base; k < offsets[i + 1] - base; k++)
			turned[k] = indices[offsets[i] + offsets[i + 1] - 2 * base - 1 - k];
	p_offsets = put_indices(offsets, ROWS + 1, false);
	p_indices = put_indices(turned, count, false);
	p_order = put_indices(turned, count, false);
	GOOD(t.cusparseCreateIdentityPermutation(handle, count, at(p_order)));
	if (columns)
		GOOD(t.cusparseXcscsort(handle, COLUMNS, ROWS, count, d, at(p_offsets), at(p_indices), at(p_order),
					space()));
	else
		GOOD(t.cusparseXcsrsort(handle, ROWS, COLUMNS, count, d, at(p_offsets), at(p_indices), at(p_order),
					space()));
	get_indices(got, p_indices, count);
	get_indices(order, p_order, count);
	for (int k = 0; k < count; k++)
		good += got[k] == indices[k] && order[k] >= 0 && order[k] < count && turned[order[k]] == got[k];
	tap_ok(good == count, "%s sorted, from %d on: %d of %d", columns ? "columns" : "rows", base, good, count);
	GOOD(t.cusparseDestroyMatDescr(d));
	cuMemFree(p_offsets);
	cuMemFree(p_indices);
	cuMemFree(p_order);
}

static void test_turn(int base, bool values_too)
{
	int offsets[MOST * MOST], indices[MOST * MOST], wanted_offsets[MOST * MOST], wanted[MOST * MOST],
		got[MOST * MOST];
	any dense[ROWS * COLUMNS], turned[ROWS * COLUMNS], values[ROWS * COLUMNS], listed[ROWS * COLUMNS];
	CUdeviceptr p_offsets, p_indices, p_values, to_offsets, to_indices, to_values;
	cusparseAction_t action = values_too ? CUSPARSE_ACTION_NUMERIC : CUSPARSE_ACTION_SYMBOLIC;
	size_t bytes = 0;
	int count;

	dense_make(dense, ROWS * COLUMNS);
	for (int i = 0; i < ROWS * COLUMNS; i++)
		turned[i] = dense[i % ROWS * COLUMNS + i / ROWS];
	count = compressed(dense, ROWS, COLUMNS, base, offsets, indices, values);
	p_offsets = put_indices(offsets, ROWS + 1, false);
	p_indices = put_indices(indices, count, false);
	p_values = put(values, count);
	to_offsets = put_indices(offsets, COLUMNS + 1, false);
	to_indices = put_indices(indices, count, false);
	to_values = put(values, count);
	compressed(turned, COLUMNS, ROWS, base, wanted_offsets, wanted, listed);
	GOOD(t.cusparseCsr2cscEx2_bufferSize(handle, ROWS, COLUMNS, count, at(p_values), at(p_offsets), at(p_indices),
					     at(to_values), at(to_offsets), at(to_indices), data_type[type], action,
					     (cusparseIndexBase_t)base, CUSPARSE_CSR2CSC_ALG1, &bytes));
	GOOD(t.cusparseCsr2cscEx2(handle, ROWS, COLUMNS, count, at(p_values), at(p_offsets), at(p_indices),
				  at(to_values), at(to_offsets), at(to_indices), data_type[type], action,
				  (cusparseIndexBase_t)base, CUSPARSE_CSR2CSC_ALG1, space()));
	get_indices(got, to_offsets, COLUMNS + 1);
	tap_ok(equal(got, wanted_offsets, COLUMNS + 1), "type %d: offsets of columns, from %d on", type, base);
	get_indices(got, to_indices, count);
	tap_ok(equal(got, wanted, count), "their rows");
	get(turned, to_values, count);
	SAME(turned, values_too ? listed : values, count, "their numbers, if they are wanted");
	is(t.cusparseCsr2cscEx2(handle, ROWS, COLUMNS, count, at(p_values), NULL, at(p_indices), at(to_values),
				at(to_offsets), at(to_indices), data_type[type], action, (cusparseIndexBase_t)base,
				CUSPARSE_CSR2CSC_ALG1, space()),
	   CUSPARSE_STATUS_INVALID_VALUE);
	cuMemFree(p_offsets);
	cuMemFree(p_indices);
	cuMemFree(p_values);
	cuMemFree(to_offsets);
	cuMemFree(to_indices);
	cuMemFree(to_values);
}

/* ---- the sum ---- */

static void test_sum(int base, bool on_device)
{
	int offsets[3][MOST * MOST], indices[3][MOST * MOST], got[MOST * MOST], count[3], total = -1;
	any dense[3][ROWS * COLUMNS], values[3][ROWS * COLUMNS], scale = type >= 2 ? 2 - I : 2, other = -3;
	CUdeviceptr p_offsets[3], p_indices[3], p_values[3], p_total, p_scalars;
	uint8_t alpha[16], beta[16];
	const void *given_alpha = alpha, *given_beta = beta;
	cusparseMatDescr_t d[3];
	size_t bytes = 0;

	dense_make(dense[0], ROWS * COLUMNS);
	dense_make(dense[1], ROWS * COLUMNS);
	for (int i = 0; i < ROWS * COLUMNS; i++)
		dense[2][i] = scale * dense[0][i] + other * dense[1][i];
	for (int i = 0; i < 3; i++) {
		d[i] = described(i == 1 ? 1 - base : base, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_NON_UNIT);
		count[i] = compressed(dense[i], ROWS, COLUMNS, i == 1 ? 1 - base : base, offsets[i], indices[i],
				      values[i]);
		p_offsets[i] = put_indices(offsets[i < 2 ? i : 0], ROWS + 1, false);
		p_indices[i] = put_indices(indices[i < 2 ? i : 0], ROWS * COLUMNS, false);
		p_values[i] = put(values[i < 2 ? i : 0], i < 2 ? count[i] : 1);
	}
	p_total = put_indices((int[MOST *MOST]){ -7 }, 1, false);
	p_scalars = put((any[]){ scale, other }, 2);
	write_one(alpha, 0, scale);
	write_one(beta, 0, other);
	if (on_device) {
		GOOD(t.cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE));
		given_alpha = at(p_scalars);
		given_beta = at(p_scalars + each[type]);
	}
	GOOD(TYPED(csrgeam2_bufferSizeExt)(handle, ROWS, COLUMNS, given_alpha, d[0], count[0], at(p_values[0]),
					   at(p_offsets[0]), at(p_indices[0]), given_beta, d[1], count[1],
					   at(p_values[1]), at(p_offsets[1]), at(p_indices[1]), d[2], at(p_values[2]),
					   at(p_offsets[2]), at(p_indices[2]), &bytes));
	GOOD(t.cusparseXcsrgeam2Nnz(handle, ROWS, COLUMNS, d[0], count[0], at(p_offsets[0]), at(p_indices[0]), d[1],
				    count[1], at(p_offsets[1]), at(p_indices[1]), d[2], at(p_offsets[2]),
				    on_device ? at(p_total) : (void *)&total, space()));
	if (on_device)
		get_indices(&total, p_total, 1);
	is(total, count[2]);
	get_indices(got, p_offsets[2], ROWS + 1);
	tap_ok(equal(got, offsets[2], ROWS + 1), "type %d: offsets of a sum, from %d on%s", type, base,
	       on_device ? ", the device's scalars" : "");
	GOOD(TYPED(csrgeam2)(handle, ROWS, COLUMNS, given_alpha, d[0], count[0], at(p_values[0]), at(p_offsets[0]),
			     at(p_indices[0]), given_beta, d[1], count[1], at(p_values[1]), at(p_offsets[1]),
			     at(p_indices[1]), d[2], at(p_values[2]), at(p_offsets[2]), at(p_indices[2]), space()));
	get_indices(got, p_indices[2], count[2]);
	tap_ok(equal(got, indices[2], count[2]), "its columns");
	get(dense[0], p_values[2], count[2]);
	SAME(dense[0], values[2], count[2], "its numbers");
	GOOD(t.cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST));
	if (!soft_theirs()) /* which may read at NULL */
		is(TYPED(csrgeam2)(handle, ROWS, COLUMNS, (void *)alpha, d[0], count[0], NULL, at(p_offsets[0]),
				   at(p_indices[0]), (void *)beta, d[1], count[1], at(p_values[1]), at(p_offsets[1]),
				   at(p_indices[1]), d[2], at(p_values[2]), at(p_offsets[2]), at(p_indices[2]),
				   space()),
		   CUSPARSE_STATUS_INVALID_VALUE);
	for (int i = 0; i < 3; i++) {
		GOOD(t.cusparseDestroyMatDescr(d[i]));
		cuMemFree(p_offsets[i]);
		cuMemFree(p_indices[i]);
		cuMemFree(p_values[i]);
	}
	cuMemFree(p_total);
	cuMemFree(p_scalars);
}

/* ---- blocks ---- */

#define BLOCK 3
#define MB 4
#define NB 3

/* Of dense blocks, of which some are not there. */
static int blocks_make(any *dense, int mb, int nb, bool by_columns, bool diagonal, int base, int *offsets, int *indices,
		       any *values)
{
	int count = 0, width = nb * BLOCK;

	for (int i = 0; i < mb * BLOCK * width; i++)
		dense[i] = some();
	for (int i = 0; diagonal && i < mb * BLOCK; i++)
		dense[i * width + i] = 5 + random_number();
	for (int i = 0; i < mb; i++) {
		offsets[i] = count + base;
		for (int j = 0; j < nb; j++) {
			bool there = (diagonal && i == j) || random_number() > -0.2;

			for (int k = 0; k < BLOCK * BLOCK; k++) {
				any *one = &dense[(i * BLOCK + k / BLOCK) * width + j * BLOCK + k % BLOCK];

				*one = there ? *one : 0;
				values[count * BLOCK * BLOCK + (by_columns ? k % BLOCK * BLOCK + k / BLOCK : k)] = *one;
			}
			if (there)
				indices[count++] = j + base;
		}
	}
	offsets[mb] = count + base;
	return count;
}

static void test_blocks(bool by_columns, int base)
{
	enum { DOWN = MB * BLOCK, ACROSS = NB * BLOCK, N = 4 };
	any dense[DOWN * ACROSS], values[(MB * NB + 1) * BLOCK * BLOCK], b[ACROSS * N], c[DOWN * N], wanted[DOWN * N];
	any scale = type >= 2 ? 1 + 2 * I : 3, kept = 0.5;
	int offsets[MOST * MOST], indices[MOST * MOST], count;
	cusparseDirection_t direction = by_columns ? CUSPARSE_DIRECTION_COLUMN : CUSPARSE_DIRECTION_ROW;
	cusparseMatDescr_t d = described(base, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_NON_UNIT);
	CUdeviceptr p_offsets, p_indices, p_values, p_b, p_c;
	uint8_t raw_alpha[16], raw_beta[16];
	void *alpha = raw_alpha, *beta = raw_beta;

	count = blocks_make(dense, MB, NB, by_columns, false, base, offsets, indices, values);
	p_offsets = put_indices(offsets, MB + 1, false);
	p_indices = put_indices(indices, count, false);
	p_values = put(values, count * BLOCK * BLOCK);
	write_one(alpha, 0, scale);
	write_one(beta, 0, kept);
	for (int way = 0; way < 3; way++) { /* a vector; a matrix; the transpose of one */
		int n = way ? N : 1;

		for (int i = 0; i < ACROSS * N; i++)
			b[i] = some();
		for (int i = 0; i < DOWN * N; i++)
			c[i] = some();
		for (int i = 0; i < DOWN; i++)
			for (int j = 0; j < n; j++) {
				wanted[i + j * DOWN] = kept * c[i + j * DOWN];
				for (int k = 0; k < ACROSS; k++)
					wanted[i + j * DOWN] += scale * dense[i * ACROSS + k] *
								(way == 2 ? b[k * N + j] : b[k + j * ACROSS]);
			}
		p_b = put(b, ACROSS * N);
		p_c = put(c, DOWN * N);
		if (!way)
			GOOD(TYPED(bsrmv)(handle, direction, CUSPARSE_OPERATION_NON_TRANSPOSE, MB, NB, count, alpha, d,
					  at(p_values), at(p_offsets), at(p_indices), BLOCK, at(p_b), beta, at(p_c)));
		else
			GOOD(TYPED(bsrmm)(handle, direction, CUSPARSE_OPERATION_NON_TRANSPOSE,
					  way == 2 ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE,
					  MB, N, NB, count, alpha, d, at(p_values), at(p_offsets), at(p_indices), BLOCK,
					  at(p_b), way == 2 ? N : ACROSS, beta, at(p_c), DOWN));
		get(c, p_c, DOWN * n);
		SAME(c, wanted, DOWN * n, "type %d: blocks by %s from %d on, way %d", type,
		     by_columns ? "columns" : "rows", base, way);
		cuMemFree(p_b);
		cuMemFree(p_c);
	}
	is(TYPED(bsrmv)(handle, direction, CUSPARSE_OPERATION_TRANSPOSE, MB, NB, count, alpha, d, at(p_values),
			at(p_offsets), at(p_indices), BLOCK, at(p_values), beta, at(p_values)),
	   soft_theirs() ? CUSPARSE_STATUS_INVALID_VALUE : CUSPARSE_STATUS_NOT_SUPPORTED);
	is(TYPED(bsrmv)(handle, direction, CUSPARSE_OPERATION_NON_TRANSPOSE, MB, NB, count, alpha, d, at(p_values),
			at(p_offsets), at(p_indices), 0, at(p_values), beta, at(p_values)),
	   CUSPARSE_STATUS_INVALID_VALUE);
	GOOD(t.cusparseDestroyMatDescr(d));
	cuMemFree(p_offsets);
	cuMemFree(p_indices);
	cuMemFree(p_values);
}

static bool in_triangle(int i, int j, bool upper)
{
	return i == j || (j > i) == upper;
}

/* The product of the triangle and what was solved is the right side. */
static void test_triangle(bool by_columns, int base, bool upper, bool unit, int op)
{
	enum { SIDE = MB * BLOCK, N = 3 };
	any dense[SIDE * SIDE], values[(MB * MB + 1) * BLOCK * BLOCK], f[SIDE * N], x[SIDE * N], back[SIDE * N];
	any scale = 2;
	int offsets[MOST * MOST], indices[MOST * MOST], count, position = 5, bytes = 0;
	cusparseDirection_t direction = by_columns ? CUSPARSE_DIRECTION_COLUMN : CUSPARSE_DIRECTION_ROW;
	cusparseMatDescr_t d = described(base, upper ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER,
					 unit ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT);
	CUdeviceptr p_offsets, p_indices, p_values, p_f, p_x;
	bsrsv2Info_t one = NULL;
	bsrsm2Info_t many = NULL;
	uint8_t raw[16];
	void *alpha = raw;

	count = blocks_make(dense, MB, MB, by_columns, true, base, offsets, indices, values);
	for (int i = 0; i < SIDE * N; i++)
		f[i] = some();
	p_offsets = put_indices(offsets, MB + 1, false);
	p_indices = put_indices(indices, count, false);
	p_values = put(values, count * BLOCK * BLOCK);
	write_one(alpha, 0, scale);
	for (int way = 0; way < 3; way++) { /* a vector; a matrix; transposes */
		int n = way ? N : 1, step = way == 2 ? N : SIDE;
		cusparseOperation_t across = way == 2 ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;

		p_f = put(f, SIDE * N);
		p_x = put(f, SIDE * N);
		if (!way) {
			GOOD(t.cusparseCreateBsrsv2Info(&one));
			GOOD(TYPED(bsrsv2_bufferSize)(handle, direction, (cusparseOperation_t)op, MB, count, d,
						      at(p_values), at(p_offsets), at(p_indices), BLOCK, one, &bytes));
			is(TYPED(bsrsv2_solve)(handle, direction, (cusparseOperation_t)op, MB, count, alpha, d,
					       at(p_values), at(p_offsets), at(p_indices), BLOCK, one, at(p_f), at(p_x),
					       CUSPARSE_SOLVE_POLICY_NO_LEVEL, space()),
			   CUSPARSE_STATUS_INVALID_VALUE); /* before it was analysed */
			GOOD(TYPED(bsrsv2_analysis)(handle, direction, (cusparseOperation_t)op, MB, count, d,
						    at(p_values), at(p_offsets), at(p_indices), BLOCK, one,
						    CUSPARSE_SOLVE_POLICY_NO_LEVEL, space()));
			GOOD(TYPED(bsrsv2_solve)(handle, direction, (cusparseOperation_t)op, MB, count, alpha, d,
						 at(p_values), at(p_offsets), at(p_indices), BLOCK, one, at(p_f),
						 at(p_x), CUSPARSE_SOLVE_POLICY_NO_LEVEL, space()));
			GOOD(t.cusparseXbsrsv2_zeroPivot(handle, one, &position));
			is(position, -1);
			GOOD(t.cusparseDestroyBsrsv2Info(one));
		} else {
			GOOD(t.cusparseCreateBsrsm2Info(&many));
			GOOD(TYPED(bsrsm2_bufferSize)(handle, direction, (cusparseOperation_t)op, across, MB, n, count,
						      d, at(p_values), at(p_offsets), at(p_indices), BLOCK, many,
						      &bytes));
			GOOD(TYPED(bsrsm2_analysis)(handle, direction, (cusparseOperation_t)op, across, MB, n, count, d,
						    at(p_values), at(p_offsets), at(p_indices), BLOCK, many,
						    CUSPARSE_SOLVE_POLICY_NO_LEVEL, space()));
			GOOD(TYPED(bsrsm2_solve)(handle, direction, (cusparseOperation_t)op, across, MB, n, count,
						 alpha, d, at(p_values), at(p_offsets), at(p_indices), BLOCK, many,
						 at(p_f), step, at(p_x), step, CUSPARSE_SOLVE_POLICY_NO_LEVEL,
						 space()));
			GOOD(t.cusparseDestroyBsrsm2Info(many));
		}
		get(x, p_x, SIDE * n);
		for (int i = 0; i < SIDE; i++)
			for (int j = 0; j < n; j++) {
				any sum = 0;

				for (int k = 0; k < SIDE; k++) {
					int row = op ? k : i, column = op ? i : k;
					any v = in_triangle(row, column, upper) ? dense[row * SIDE + column] : 0;

					v = row == column && unit ? 1 : v;
					v = op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? conj(v) : v;
					sum += v * x[way == 2 ? k * N + j : k + j * SIDE];
				}
				back[way == 2 ? i * N + j : i + j * SIDE] = sum / scale;
			}
		/* relative to what was solved, which grows where the diagonal is 1 */
		{
			double worst = 0, most = 1;

			for (int i = 0; i < SIDE * n; i++) {
				worst = fmax(worst, cabs(back[i] - f[i]));
				most = fmax(most, cabs(x[i]));
			}
			tap_ok(worst < most * (type & 1 ? 1e-12 : 1e-4),
			       "type %d: triangle of blocks, by columns %d, from %d, upper %d, unit %d, op %d, way %d: "
			       "%g",
			       type, by_columns, base, upper, unit, op, way, worst / most);
		}
		cuMemFree(p_f);
		cuMemFree(p_x);
	}
	GOOD(t.cusparseDestroyMatDescr(d));
	cuMemFree(p_offsets);
	cuMemFree(p_indices);
	cuMemFree(p_values);
}

/* The second row of blocks has no diagonal one; and the third one's has a 0. */
static void test_pivot(void)
{
	static const int offsets[] = { 1, 2, 3, 4 }, indices[] = { 1, 1, 3 };
	cusparseMatDescr_t d = described(1, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_NON_UNIT);
	CUdeviceptr p_offsets = put_indices(offsets, 4, false), p_indices = put_indices(indices, 3, false);
	CUdeviceptr values = put((any[]){ 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1, 0 }, 12),
		    x = put((any[]){ 1, 1, 1, 1, 1, 1 }, 6);
	bsrsv2Info_t info = NULL;
	int position = 0;
	float one = 1;

	GOOD(t.cusparseCreateBsrsv2Info(&info));
	GOOD(t.cusparseXbsrsv2_zeroPivot(handle, info, &position));
	is(position, -1);
	GOOD(t.cusparseSbsrsv2_analysis(handle, CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE, 3, 3, d,
					at(values), at(p_offsets), at(p_indices), 2, info,
					CUSPARSE_SOLVE_POLICY_USE_LEVEL, space()));
	is(t.cusparseXbsrsv2_zeroPivot(handle, info, &position), CUSPARSE_STATUS_ZERO_PIVOT);
	is(position, 2);
	/* now only the 0 is left */
	CU(cuMemcpyHtoD(p_indices, (int[]){ 1, 2, 3 }, 3 * sizeof(int)));
	GOOD(t.cusparseSbsrsv2_analysis(handle, CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE, 3, 3, d,
					at(values), at(p_offsets), at(p_indices), 2, info,
					CUSPARSE_SOLVE_POLICY_USE_LEVEL, space()));
	GOOD(t.cusparseXbsrsv2_zeroPivot(handle, info, &position));
	GOOD(t.cusparseSbsrsv2_solve(handle, CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE, 3, 3, &one, d,
				     at(values), at(p_offsets), at(p_indices), 2, info, at(x), at(x),
				     CUSPARSE_SOLVE_POLICY_USE_LEVEL, space()));
	is(t.cusparseXbsrsv2_zeroPivot(handle, info, &position), CUSPARSE_STATUS_ZERO_PIVOT);
	is(position, 3);
	GOOD(t.cusparseDestroyBsrsv2Info(info));
	GOOD(t.cusparseDestroyMatDescr(d));
	cuMemFree(p_offsets);
	cuMemFree(p_indices);
	cuMemFree(values);
	cuMemFree(x);
}

/* ---- vectors ---- */

static void test_vectors(bool wide, int base)
{
	enum { SIZE = 40, COUNT = 12 };
	any x[COUNT], y[SIZE], wanted[SIZE], got[SIZE], sum = 0, scale = type >= 2 ? 0.6 + I : 0.6, other = 0.8;
	cusparseIndexType_t kind = wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I, got_kind;
	cusparseIndexBase_t got_base;
	cudaDataType got_type;
	CUdeviceptr p_indices, p_x, p_y, room;
	uint8_t alpha[16], beta[16], result[16];
	cusparseSpVecDescr_t sparse = NULL;
	cusparseDnVecDescr_t dense = NULL;
	int indices[MOST * MOST];
	int64_t size = 0, count = 0;
	void *at_indices, *at_values;
	size_t bytes = 0;

	for (int i = 0; i < SIZE; i++)
		y[i] = wanted[i] = some();
	for (int k = 0; k < COUNT; k++) {
		indices[k] = 3 * k + 1 + base;
		x[k] = some();
	}
	p_indices = put_indices(indices, COUNT, wide);
	p_x = put(x, COUNT);
	p_y = put(y, SIZE);
	room = put(y, SIZE);
	write_one(alpha, 0, scale);
	write_one(beta, 0, other);
	GOOD(t.cusparseCreateSpVec(&sparse, SIZE, COUNT, at(p_indices), at(p_x), kind, (cusparseIndexBase_t)base,
				   data_type[type]));
	GOOD(t.cusparseCreateDnVec(&dense, SIZE, at(p_y), data_type[type]));
	GOOD(t.cusparseSpVecGet(sparse, &size, &count, &at_indices, &at_values, &got_kind, &got_base, &got_type));
	is(size == SIZE && count == COUNT && at_indices == at(p_indices) && at_values == at(p_x) && got_kind == kind &&
		   (int)got_base == base && got_type == data_type[type],
	   1);
	for (int op = 0; op < 3; op += 2) {
		if (op && type < 2 && soft_theirs()) /* which has no conjugates of real numbers */
			continue;
		sum = 0;
		for (int k = 0; k < COUNT; k++)
			sum += (op ? conj(x[k]) : x[k]) * y[indices[k] - base];
		GOOD(t.cusparseSpVV_bufferSize(handle, (cusparseOperation_t)op, sparse, dense, result, data_type[type],
					       &bytes));
		tap_ok(bytes >= each[type] && bytes <= MOST * MOST * 16, "room for a scalar product");
		GOOD(t.cusparseSpVV(handle, (cusparseOperation_t)op, sparse, dense, result, data_type[type], at(room)));
		got[0] = read_one(result, 0);
		SAME(got, &sum, 1, "type %d: a scalar product, op %d", type, op);
		GOOD(t.cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE));
		CU(cuMemsetD8(room, 0, 16));
		GOOD(t.cusparseSpVV(handle, (cusparseOperation_t)op, sparse, dense, at(room), data_type[type],
				    space()));
		GOOD(t.cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST));
		get(got, room, 1);
		SAME(got, &sum, 1, "the same in the device's memory");
	}
	for (int i = 0; i < SIZE; i++)
		wanted[i] *= other;
	for (int k = 0; k < COUNT; k++)
		wanted[indices[k] - base] += scale * x[k];
	GOOD(t.cusparseAxpby(handle, alpha, sparse, beta, dense));
	get(y, p_y, SIZE);
	SAME(y, wanted, SIZE, "type %d: a sum of vectors, indices of %d bits from %d on", type, wide ? 64 : 32, base);
	GOOD(t.cusparseGather(handle, dense, sparse));
	get(got, p_x, COUNT);
	for (int k = 0; k < COUNT; k++)
		x[k] = y[indices[k] - base];
	SAME(got, x, COUNT, "gathered");
	for (int k = 0; k < COUNT; k++) {
		any before = y[indices[k] - base] + 1, turned = x[k];

		x[k] = scale * turned + other * before;
		y[indices[k] - base] = scale * before - other * turned;
		wanted[k] = before;
	}
	CU(cuMemFree(room));
	room = put(wanted, COUNT);
	GOOD(t.cusparseSpVecSetValues(sparse, at(room)));
	GOOD(t.cusparseScatter(handle, sparse, dense)); /* what stood there and 1 */
	GOOD(t.cusparseSpVecSetValues(sparse, at(p_x)));
	GOOD(t.cusparseRot(handle, alpha, beta, sparse, dense));
	get(got, p_x, COUNT);
	SAME(got, x, COUNT, "rotated: the sparse one");
	get(got, p_y, SIZE);
	SAME(got, y, SIZE, "and the dense one, into which was scattered");
	is(t.cusparseGather(NULL, dense, sparse),
	   soft_theirs() ? CUSPARSE_STATUS_INVALID_VALUE : CUSPARSE_STATUS_NOT_INITIALIZED);
	is(t.cusparseGather(handle, NULL, sparse), CUSPARSE_STATUS_INVALID_VALUE);
	is(t.cusparseCreateSpVec(&sparse, 3, 4, at(p_indices), at(p_x), kind, CUSPARSE_INDEX_BASE_ZERO,
				 data_type[type]),
	   CUSPARSE_STATUS_INVALID_VALUE);
	GOOD(t.cusparseDestroySpVec(sparse));
	GOOD(t.cusparseDestroyDnVec(dense));
	cuMemFree(p_indices);
	cuMemFree(p_x);
	cuMemFree(p_y);
	cuMemFree(room);
}

/* ---- nothing at all ---- */

/* Lists without numbers may be nowhere. */
static void test_empty_lists(void)
{
	static const int wanted[] = { 1, 1, 1, 1 };
	CUdeviceptr p = put_indices((int[]){ 7, 7, 7, 7 }, 4, false);
	int got[4];

	GOOD(t.cusparseXcoosortByRow(handle, 3, 3, 0, NULL, NULL, NULL, NULL));
	GOOD(t.cusparseXcoosortByColumn(handle, 0, 0, 0, NULL, NULL, NULL, NULL));
	GOOD(t.cusparseCreateIdentityPermutation(handle, 0, NULL));
	GOOD(t.cusparseXcoo2csr(handle, NULL, 0, 3, at(p), CUSPARSE_INDEX_BASE_ONE));
	CU(cuCtxSynchronize());
	get_indices(got, p, 4);
	is(equal(got, wanted, 4), 1);
	cuMemFree(p);
}

/* A matrix without rows: nothing is computed, and no pivot is missing. */
static void test_empty_matrices(void)
{
	cusparseMatDescr_t d = described(0, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_NON_UNIT);
	CUdeviceptr p = put_indices((int[]){ 0, 0, 0, 0 }, 4, false);
	bsrsv2Info_t info = NULL;
	csrilu02Info_t factor = NULL;
	int position = 5, total = 5;
	float one = 1;

	GOOD(t.cusparseXcsrgeam2Nnz(handle, 0, 3, d, 0, at(p), NULL, d, 0, at(p), NULL, d, at(p), &total, space()));
	is(total, 0);
	GOOD(t.cusparseScsrgeam2(handle, 0, 3, &one, d, 0, NULL, NULL, NULL, &one, d, 0, NULL, NULL, NULL, d, NULL,
				 NULL, NULL, NULL));
	GOOD(t.cusparseCreateBsrsv2Info(&info));
	GOOD(t.cusparseSbsrsv2_analysis(handle, CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE, 0, 0, d, NULL,
					NULL, NULL, 2, info, CUSPARSE_SOLVE_POLICY_USE_LEVEL, space()));
	GOOD(t.cusparseXbsrsv2_zeroPivot(handle, info, &position));
	is(position, -1);
	GOOD(t.cusparseSbsrsv2_solve(handle, CUSPARSE_DIRECTION_ROW, CUSPARSE_OPERATION_NON_TRANSPOSE, 0, 0, &one, d,
				     NULL, NULL, NULL, 2, info, NULL, NULL, CUSPARSE_SOLVE_POLICY_USE_LEVEL, space()));
	GOOD(t.cusparseDestroyBsrsv2Info(info));
	position = 5;
	GOOD(t.cusparseCreateCsrilu02Info(&factor));
	GOOD(t.cusparseScsrilu02_analysis(handle, 0, 0, d, NULL, NULL, NULL, factor, CUSPARSE_SOLVE_POLICY_USE_LEVEL,
					  space()));
	GOOD(t.cusparseXcsrilu02_zeroPivot(handle, factor, &position));
	is(position, -1);
	GOOD(t.cusparseDestroyCsrilu02Info(factor));
	CU(cuCtxSynchronize());
	GOOD(t.cusparseDestroyMatDescr(d));
	cuMemFree(p);
}

int main(void)
{
	int version = 0;

	for (int i = 0; i < CUSPARSE_CALL_COUNT; i++)
		((void **)&t)[i] = dlsym(dlopen(NULL, RTLD_NOW), cusparse_call_name[i]);
	soft_begin("1", "256M");
	soft_context();
	GOOD(t.cusparseCreate(&handle));
	GOOD(cusparseGetVersion(handle, &version));
	if (!soft_theirs()) {	    /* which wants addresses, also of what has no numbers */
		test_empty_lists(); /* before a thread of the device has room for numbers to sort */
		test_empty_matrices();
	}
	for (int k = 0; k < 4; k++) {
		test_lists(k & 1);
		test_coordinates_sort(k & 1);
		test_rows_sort(k & 1, k >> 1);
	}
	for (type = 0; type < 4; type++)
		for (int k = 0; k < 4; k++) {
			test_turn(k & 1, k >> 1);
			test_sum(k & 1, k >> 1);
			test_blocks(k & 1, k >> 1);
			test_vectors(k & 1, k >> 1);
			for (int op = 0; op < 3; op++)
				for (int fill = 0; fill < 4; fill++)
					test_triangle(k & 1, k >> 1, fill & 1, fill >> 1, op);
		}
	type = 0;
	test_pivot();
	return soft_end();
}

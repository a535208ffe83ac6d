/*
 * routines.h: routines of one type against plain loops in double complex: read once for each type by routines_test.c,
 * which defines L (the letter), TYPE, REAL_TYPE, IS_COMPLEX, SCALAR (of the type), REAL (of the real type), and names
 * that differ.
 */
#define CALL_(l, name) cublas##l##name
#define CALL__(l, name) CALL_(l, name)
#define CALL(name) CALL__(L, name)
#define NAMED_(l, name) name##_##l
#define NAMED__(l, name) NAMED_(l, name)
#define NAMED(name) NAMED__(L, name)

static const SCALAR NAMED(alpha) = MAKE(0.75, -0.5), NAMED(beta) = MAKE(-0.25, 0.5);
static const any NAMED(alpha_any) = 0.75 - 0.5 * I * IS_COMPLEX, NAMED(beta_any) = -0.25 + 0.5 * I * IS_COMPLEX;

static void NAMED(vectors)(void)
{
	struct vec x = vec_new(TYPE, 301, 2), y = vec_new(TYPE, 301, -3);
	SCALAR got;
	REAL real;
	any sum = 0, dot = 0;
	double size = 0, squares = 0;
	int at = 0, best = 0;

	for (int i = 0; i < x.n; i++) {
		any v = vec_at(&x, i);
		double one = fabs(creal(v)) + fabs(cimag(v));

		size += one;
		squares += creal(v) * creal(v) + cimag(v) * cimag(v);
		dot += conj(v) * vec_at(&y, i);
		sum += v * vec_at(&y, i);
		if (!i || one > fabs(creal(vec_at(&x, best))) + fabs(cimag(vec_at(&x, best))))
			best = i;
	}
	OK(CALL__(IL, amax_v2)(handle, x.n, vec_in(&x), x.step, &at));
	is(at, best + 1);
	OK(CALL(ASUM)(handle, x.n, vec_in(&x), x.step, &real));
	near_to("asum", TYPE, real, size, size);
	OK(CALL(NRM2)(handle, x.n, vec_in(&x), x.step, &real));
	near_to("nrm2", TYPE, real, sqrt(squares), sqrt(squares));
	OK(CALL(DOT)(handle, x.n, vec_in(&x), x.step, vec_in(&y), y.step, &got));
	near_to("dot", TYPE, value_of(TYPE, &got), IS_COMPLEX ? dot : sum, size);
	OK(CALL(axpy_v2)(handle, x.n, &NAMED(alpha), vec_in(&x), x.step, vec_in(&y), y.step));
	vec_read(&y);
	for (int i = 0; i < x.n; i++)
		vec_expect(&y, i, vec_old(&y, i) + NAMED(alpha_any) * vec_at(&x, i), 2);
	vec_check("axpy", &y);
	OK(CALL(scal_v2)(handle, x.n, &NAMED(beta), vec_in(&x), x.step));
	vec_read(&x);
	for (int i = 0; i < x.n; i++)
		vec_expect(&x, i, NAMED(beta_any) * vec_old(&x, i), 1);
	vec_check("scal", &x);
	OK(CALL(swap_v2)(handle, x.n, vec_in(&x), x.step, vec_in(&y), y.step));
	vec_read(&x);
	for (int i = 0; i < x.n; i++)
		vec_expect(&x, i, vec_at(&y, i), 0);
	vec_check("swap", &x);
	OK(CALL(copy_v2)(handle, x.n, vec_in(&x), x.step, vec_in(&y), y.step));
	vec_read(&y);
	for (int i = 0; i < x.n; i++)
		vec_expect(&y, i, vec_at(&x, i), 0);
	vec_check("copy", &y);
	vec_free(&x);
	vec_free(&y);
}

static void NAMED(matrix_vector)(cublasOperation_t op, int step)
{
	int m = 133, n = 77, rows = op == CUBLAS_OP_N ? m : n, columns = op == CUBLAS_OP_N ? n : m;
	struct vec a = vec_new(TYPE, (m + 3) * n, 1), x = vec_new(TYPE, columns, step), y = vec_new(TYPE, rows, -step);

	OK(CALL(gemv_v2)(handle, op, m, n, &NAMED(alpha), vec_in(&a), m + 3, vec_in(&x), x.step, &NAMED(beta),
			 vec_in(&y), y.step));
	vec_read(&y);
	for (int i = 0; i < rows; i++) {
		any sum = 0;

		for (int j = 0; j < columns; j++)
			sum += op_at(&a, op, m + 3, i, j) * vec_at(&x, j);
		vec_expect(&y, i, NAMED(alpha_any) * sum + NAMED(beta_any) * vec_old(&y, i), columns);
	}
	vec_check("gemv", &y);
	if (op == CUBLAS_OP_N) {
		OK(CALL(GER)(handle, m, n, &NAMED(alpha), vec_in(&y), y.step, vec_in(&x), x.step, vec_in(&a), m + 3));
		vec_read(&a);
		for (int j = 0; j < n; j++)
			for (int i = 0; i < m + 3; i++)
				vec_expect(&a, i + j * (m + 3),
					   vec_old(&a, i + j * (m + 3)) +
						   (i < m ? NAMED(alpha_any) * vec_at(&y, i) * conj(vec_at(&x, j)) : 0),
					   4);
		vec_check("ger", &a);
	}
	vec_free(&a);
	vec_free(&x);
	vec_free(&y);
}

/* Triangles: whole, packed and bands. */
static void NAMED(triangles)(cublasFillMode_t uplo, cublasOperation_t op, cublasDiagType_t diag, int form)
{
	int n = 61, k = 5, ld = form == 2 ? k + 2 : n + 1;
	struct vec a = vec_new(TYPE, form == 1 ? n * (n + 1) / 2 : ld * n, 1), x = vec_new(TYPE, n, 2),
		   y = vec_new(TYPE, n, -1);
	struct tri t = { &a, uplo, form, n, k, ld };

	for (int i = 0; i < n; i++) /* so that a system with it can be solved */
		vec_set(&a, tri_index(&t, i, i), 9 + i % 3);
	if (form == 1)
		OK(CALL(tpmv_v2)(handle, uplo, op, diag, n, vec_in(&a), vec_in(&x), x.step));
	else if (form == 2)
		OK(CALL(tbmv_v2)(handle, uplo, op, diag, n, k, vec_in(&a), ld, vec_in(&x), x.step));
	else
		OK(CALL(trmv_v2)(handle, uplo, op, diag, n, vec_in(&a), ld, vec_in(&x), x.step));
	vec_read(&x);
	for (int i = 0; i < n; i++) {
		any sum = 0;

		for (int j = 0; j < n; j++)
			sum += tri_at(&t, op, diag, i, j) * vec_old(&x, j);
		vec_expect(&x, i, sum, n);
	}
	vec_check("trmv, tpmv or tbmv", &x);
	if (form == 1)
		OK(CALL(tpsv_v2)(handle, uplo, op, diag, n, vec_in(&a), vec_in(&x), x.step));
	else if (form == 2)
		OK(CALL(tbsv_v2)(handle, uplo, op, diag, n, k, vec_in(&a), ld, vec_in(&x), x.step));
	else
		OK(CALL(trsv_v2)(handle, uplo, op, diag, n, vec_in(&a), ld, vec_in(&x), x.step));
	vec_read(&x);
	for (int i = 0; i < n; i++) { /* what was there before the product */
		any sum = 0;

		for (int j = 0; j < n; j++)
			sum += tri_at(&t, op, diag, i, j) * vec_at(&x, j);
		vec_expect_value(&x, i, sum, vec_old(&x, i), diag == CUBLAS_DIAG_UNIT ? 1e7 : 30 * n);
	}
	vec_check("trsv, tpsv or tbsv", &x);
	if (op == CUBLAS_OP_N && diag == CUBLAS_DIAG_NON_UNIT) {
		if (form == 1)
			OK(CALL(SPMV)(handle, uplo, n, &NAMED(alpha), vec_in(&a), vec_in(&x), x.step, &NAMED(beta),
				      vec_in(&y), y.step));
		else if (form == 2)
			OK(CALL(SBMV)(handle, uplo, n, k, &NAMED(alpha), vec_in(&a), ld, vec_in(&x), x.step,
				      &NAMED(beta), vec_in(&y), y.step));
		else
			OK(CALL(SYMV)(handle, uplo, n, &NAMED(alpha), vec_in(&a), ld, vec_in(&x), x.step, &NAMED(beta),
				      vec_in(&y), y.step));
		vec_read(&y);
		for (int i = 0; i < n; i++) {
			any sum = 0;

			for (int j = 0; j < n; j++)
				sum += sym_at(&t, IS_COMPLEX, i, j) * vec_at(&x, j);
			vec_expect(&y, i, NAMED(alpha_any) * sum + NAMED(beta_any) * vec_old(&y, i), 10 * n);
		}
		vec_check("symv, spmv, sbmv or their hermitian twins", &y);
	}
	vec_free(&a);
	vec_free(&x);
	vec_free(&y);
}

static void NAMED(sides)(cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t op, cublasDiagType_t diag)
{
	int m = 150, n = 140, order = side == CUBLAS_SIDE_LEFT ? m : n;
	struct vec a = vec_new(TYPE, (order + 1) * order, 1), b = vec_new(TYPE, m * n, 1), c = vec_new(TYPE, m * n, 1);
	struct tri t = { &a, uplo, 0, order, 0, order + 1 };

	for (int i = 0; i < order; i++)
		for (int j = 0; j < order; j++)
			vec_set(&a, i + j * (order + 1), i == j ? 3 : vec_at(&a, i + j * (order + 1)) / order);
	OK(CALL(trmm_v2)(handle, side, uplo, op, diag, m, n, &NAMED(alpha), vec_in(&a), order + 1, vec_in(&b), m,
			 vec_in(&c), m));
	vec_read(&c);
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++) {
			any sum = 0;

			for (int p = 0; p < order; p++)
				sum += side == CUBLAS_SIDE_LEFT ? tri_at(&t, op, diag, i, p) * vec_at(&b, p + j * m)
								: vec_at(&b, i + p * m) * tri_at(&t, op, diag, p, j);
			vec_expect(&c, i + j * m, NAMED(alpha_any) * sum, 10);
		}
	vec_check("trmm", &c);
	OK(CALL(trsm_v2)(handle, side, uplo, op, diag, m, n, &NAMED(beta), vec_in(&a), order + 1, vec_in(&c), m));
	vec_read(&c);
	for (int i = 0; i < m * n; i++)
		vec_expect(&c, i, NAMED(beta_any) * NAMED(alpha_any) * vec_at(&b, i), 40);
	vec_check("trsm", &c);
	if (op == CUBLAS_OP_N && diag == CUBLAS_DIAG_NON_UNIT) {
		OK(CALL(SYMM)(handle, side, uplo, m, n, &NAMED(alpha), vec_in(&a), order + 1, vec_in(&b), m,
			      &NAMED(beta), vec_in(&c), m));
		vec_read(&c);
		for (int j = 0; j < n; j++)
			for (int i = 0; i < m; i++) {
				any sum = 0;

				for (int p = 0; p < order; p++)
					sum += side == CUBLAS_SIDE_LEFT
						       ? sym_at(&t, IS_COMPLEX, i, p) * vec_at(&b, p + j * m)
						       : vec_at(&b, i + p * m) * sym_at(&t, IS_COMPLEX, p, j);
				vec_expect(&c, i + j * m,
					   NAMED(alpha_any) * sum + NAMED(beta_any) * vec_old(&c, i + j * m), 10);
			}
		vec_check("symm or hemm", &c);
	}
	vec_free(&a);
	vec_free(&b);
	vec_free(&c);
}

static void NAMED(updates)(cublasFillMode_t uplo, bool turned)
{
	int n = 140, k = 90, rows = turned ? k : n, columns = turned ? n : k;
	cublasOperation_t op = !turned ? CUBLAS_OP_N : IS_COMPLEX ? CUBLAS_OP_C : CUBLAS_OP_T;
	cublasOperation_t other = turned ? CUBLAS_OP_N : IS_COMPLEX ? CUBLAS_OP_C : CUBLAS_OP_T;
	struct vec a = vec_new(TYPE, rows * columns, 1), b = vec_new(TYPE, rows * columns, 1),
		   c = vec_new(TYPE, n * n, 1);
	const REAL alpha = (REAL)0.75, beta = (REAL)-0.25;

	for (int two = 0; two < 2; two++) {
		if (two)
			OK(CALL(SYR2K)(handle, uplo, op, n, k, &NAMED(alpha), vec_in(&a), rows, vec_in(&b), rows, &beta,
				       vec_in(&c), n));
		else
			OK(CALL(SYRK)(handle, uplo, op, n, k, &alpha, vec_in(&a), rows, &beta, vec_in(&c), n));
		vec_read(&c);
		for (int j = 0; j < n; j++)
			for (int i = 0; i < n; i++) {
				any old = vec_old(&c, i + j * n), sum = 0;
				bool in = uplo == CUBLAS_FILL_MODE_UPPER ? i <= j : i >= j;

				for (int p = 0; p < k && in; p++)
					sum += two ? NAMED(alpha_any) * op_at(&a, op, rows, i, p) *
								       op_at(&b, other, rows, p, j) +
							       conj(NAMED(alpha_any)) * op_at(&b, op, rows, i, p) *
								       op_at(&a, other, rows, p, j)
						   : 0.75 * op_at(&a, op, rows, i, p) * op_at(&a, other, rows, p, j);
				if (in && i == j && IS_COMPLEX)
					old = creal(old);
				vec_expect(&c, i + j * n, in ? sum - 0.25 * old : old, k);
			}
		vec_check(two ? "syr2k or her2k" : "syrk or herk", &c);
	}
	vec_free(&a);
	vec_free(&b);
	vec_free(&c);
}

/* A X = B by getrf and getrs, the inverse by getri, and by matinv. */
static void NAMED(systems)(int n, bool pivots)
{
	enum { COUNT = 3, RIGHT = 2 };
	struct vec a = vec_new(TYPE, COUNT * n * n, 1), b = vec_new(TYPE, COUNT * n * RIGHT, 1),
		   c = vec_new(TYPE, COUNT * n * n, 1);
	CUdeviceptr pivot = blas_device(NULL, COUNT * (size_t)n * 4), info = blas_device(NULL, COUNT * 4);
	int infos[COUNT] = { 1, 1, 1 }, said = 7;
	CUdeviceptr at_a, at_b, at_c;

	for (int i = 0; i < COUNT * n && !pivots; i++)
		vec_set(&a, i / n * n * n + i % n * (n + 1), 2 * n);
	at_a = vec_batches(&a, n * n);
	at_b = vec_batches(&b, n * RIGHT);
	at_c = vec_batches(&c, n * n);
	if (n <= 32) {
		OK(CALL(matinvBatched)(handle, n, blas_at(at_a), n, blas_at(at_c), n, blas_at(info), COUNT));
		vec_read(&c);
		inverse_check("matinv", &a, &c, n, COUNT);
	}
	OK(CALL(getrfBatched)(handle, n, blas_at(at_a), n, pivots ? blas_at(pivot) : NULL, blas_at(info), COUNT));
	blas_back(infos, info, sizeof(infos));
	ok(!infos[0] && !infos[1] && !infos[2]);
	for (int turned = 0; turned < 2; turned++) {
		struct vec kept = vec_copy(&b);
		cublasOperation_t op = turned ? CUBLAS_OP_C : CUBLAS_OP_N;

		OK(CALL(getrsBatched)(handle, op, n, RIGHT, blas_at(at_a), n, pivots ? blas_at(pivot) : NULL,
				      blas_at(at_b), n, &said, COUNT));
		is(said, 0);
		vec_read(&b);
		for (int batch = 0; batch < COUNT; batch++)
			for (int j = 0; j < RIGHT; j++)
				for (int i = 0; i < n; i++) {
					any sum = 0;

					for (int p = 0; p < n; p++)
						sum += op_from(&a, op, n, batch * n * n, i, p) *
						       vec_at(&b, batch * n * RIGHT + p + j * n);
					vec_expect_value(&b, batch * n * RIGHT + i + j * n, sum,
							 vec_at(&kept, batch * n * RIGHT + i + j * n), 3e4);
				}
		vec_check("getrs", &b);
		vec_free(&kept);
	}
	OK(CALL(getriBatched)(handle, n, blas_at(at_a), n, pivots ? blas_at(pivot) : NULL, blas_at(at_c), n,
			      blas_at(info), COUNT));
	vec_read(&c);
	inverse_check("getri", &a, &c, n, COUNT);
	cuMemFree(at_a);
	cuMemFree(at_b);
	cuMemFree(at_c);
	cuMemFree(pivot);
	cuMemFree(info);
	vec_free(&a);
	vec_free(&b);
	vec_free(&c);
}

/*
 * gemm_loops.h: the product by mete's own loops, for one type: included once for each by gemm.c, which defines T, NAMED
 * and CONJ. Four columns of the result at a time are summed from columns of op(a), packed into small pieces.
 */
#define ROWS 64
#define DEPTH 64
#define COLUMNS_AT_ONCE 4

/* op(a)[i0.., p0..] as columns of ROWS. */
static void NAMED(pack)(enum gemm_op op, const T *a, int64_t lda, int64_t i0, int64_t p0, int64_t rows, int64_t depth,
			T *to)
{
	for (int64_t p = 0; p < depth; p++)
		for (int64_t i = 0; i < rows; i++) {
			T v = op == GEMM_N ? a[i0 + i + (p0 + p) * lda] : a[p0 + p + (i0 + i) * lda];

			to[p * ROWS + i] = op == GEMM_H ? CONJ(v) : v;
		}
}

static T NAMED(b_at)(enum gemm_op op, const T *b, int64_t ldb, int64_t p, int64_t j)
{
	T v = op == GEMM_N ? b[p + j * ldb] : b[j + p * ldb];

	return op == GEMM_H ? CONJ(v) : v;
}

/* ROWS x 4 of the product of a packed piece. */
static void NAMED(piece)(const T *packed, T b[DEPTH][COLUMNS_AT_ONCE], int64_t depth, T sum[COLUMNS_AT_ONCE][ROWS])
{
	memset(sum, 0, sizeof(T) * COLUMNS_AT_ONCE * ROWS);
	for (int64_t p = 0; p < depth; p++) {
		const T *column = packed + p * ROWS;

		for (int64_t i = 0; i < ROWS; i++) {
			sum[0][i] += column[i] * b[p][0];
			sum[1][i] += column[i] * b[p][1];
			sum[2][i] += column[i] * b[p][2];
			sum[3][i] += column[i] * b[p][3];
		}
	}
}

static void NAMED(scale)(int64_t m, int64_t n, T beta, T *c, int64_t ldc)
{
	for (int64_t j = 0; j < n; j++)
		for (int64_t i = 0; i < m; i++)
			c[i + j * ldc] = beta == (T)0 ? (T)0 : c[i + j * ldc] * beta;
}

static void NAMED(loops)(enum gemm_op op_a, enum gemm_op op_b, int64_t m, int64_t n, int64_t k, const void *alpha_at,
			 const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta_at, void *c_at,
			 int64_t ldc)
{
	T packed[DEPTH * ROWS], four[DEPTH][COLUMNS_AT_ONCE], sum[COLUMNS_AT_ONCE][ROWS], *c = c_at;
	const T alpha = *(const T *)alpha_at, beta = *(const T *)beta_at;

	if (beta != (T)1)
		NAMED(scale)(m, n, beta, c, ldc);
	if (alpha == (T)0)
		return;
	memset(packed, 0, sizeof(packed));
	for (int64_t i0 = 0; i0 < m; i0 += ROWS)
		for (int64_t p0 = 0; p0 < k; p0 += DEPTH) {
			int64_t rows = m - i0 < ROWS ? m - i0 : ROWS, depth = k - p0 < DEPTH ? k - p0 : DEPTH;

			NAMED(pack)(op_a, a, lda, i0, p0, rows, depth, packed);
			for (int64_t j0 = 0; j0 < n; j0 += COLUMNS_AT_ONCE) {
				int64_t columns = n - j0 < COLUMNS_AT_ONCE ? n - j0 : COLUMNS_AT_ONCE;

				for (int64_t p = 0; p < depth; p++)
					for (int64_t j = 0; j < COLUMNS_AT_ONCE; j++)
						four[p][j] =
							j < columns ? NAMED(b_at)(op_b, b, ldb, p0 + p, j0 + j) : (T)0;
				NAMED(piece)(packed, four, depth, sum);
				for (int64_t j = 0; j < columns; j++)
					for (int64_t i = 0; i < rows; i++)
						c[i0 + i + (j0 + j) * ldc] += alpha * sum[j][i];
			}
		}
}

#undef ROWS
#undef DEPTH
#undef COLUMNS_AT_ONCE
#undef T
#undef NAMED
#undef CONJ

/*
 * product.h: products of matrices in one type T by the device's own loops, if oneDNN is missing or has no such type;
 * NAMED(name) names a function. Included by product.c.
 */

#define TILE 64

/* C += alpha * A B: rows of C and B are contiguous. */
static void NAMED(product_rows)(int64_t m, int64_t n, int64_t k, T alpha, const T *a, int64_t a_row, int64_t a_column,
				const T *b, int64_t ldb, T *c, int64_t ldc)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t p = 0; p < k; p++) {
			T factor = alpha * a[i * a_row + p * a_column];
			const T *row = b + p * ldb;
			T *sum = c + i * ldc;

			for (int64_t j = 0; j < n; j++)
				sum[j] += factor * row[j];
		}
}

/* C += alpha * A B^T: rows of A and B are contiguous. */
static void NAMED(product_dots)(int64_t m, int64_t n, int64_t k, T alpha, const T *a, int64_t a_row, int64_t a_column,
				const T *b, int64_t ldb, T *c, int64_t ldc)
{
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			T sum = 0;

			for (int64_t p = 0; p < k; p++)
				sum += a[i * a_row + p * a_column] * b[j * ldb + p];
			c[i * ldc + j] += alpha * sum;
		}
}

static void NAMED(product_own)(bool turned_a, bool turned_b, int64_t m, int64_t n, int64_t k, T alpha, const T *a,
			       int64_t lda, const T *b, int64_t ldb, T beta, T *c, int64_t ldc)
{
	int64_t a_row = turned_a ? 1 : lda, a_column = turned_a ? lda : 1;

	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
	for (int64_t p = 0; p < k; p += TILE) {
		int64_t count = k - p < TILE ? k - p : TILE;
		const T *from = a + p * a_column;

		if (turned_b)
			NAMED(product_dots)(m, n, count, alpha, from, a_row, a_column, b + p, ldb, c, ldc);
		else
			NAMED(product_rows)(m, n, count, alpha, from, a_row, a_column, b + p * ldb, ldb, c, ldc);
	}
}

#undef TILE
#undef T
#undef NAMED

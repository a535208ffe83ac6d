/* lt_test.c: cuBLASLt: products with epilogues, orders, batches, scales of FP8 and integers; transformations; against
 * plain loops. */
#include "blas/blas.h"

static cublasLtHandle_t handle;

struct product {
	int type_a, type_b, type_d, compute, scale, epilogue;
	int order_a, order_b, order_d;
	cublasOperation_t ta, tb;
	int m, n, k, batches;
	const char *name;
	bool ours; /* NVIDIA's 13.1 answers that it does not support it */
};

static int64_t at(int order, int64_t ld, int64_t i, int64_t j)
{
	return order ? i * ld + j : i + j * ld;
}

/* cuBLASLt wants columns of bytes and of what is made of bytes at multiples of 16 elements. */
static cublasLtMatrixLayout_t layout(int type, int64_t rows, int64_t columns, int order, int batches, bool of_bytes,
				     int64_t *ld, int64_t *size)
{
	cublasLtMatrixLayout_t l = NULL;
	int32_t count = batches;

	*ld = (order ? columns : rows) + 3;
	if (of_bytes)
		*ld = (*ld + 15) / 16 * 16;
	*size = *ld * (order ? rows : columns);
	OK(cublasLtMatrixLayoutCreate(&l, type, (uint64_t)rows, (uint64_t)columns, *ld));
	OK(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order)));
	OK(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)));
	OK(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, size, sizeof(*size)));
	return l;
}

static double gelu(double x)
{
	return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x)
{
	return (gelu(x + 1e-6) - gelu(x - 1e-6)) / 2e-6;
}

#define SET(d, name, value) OK(cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_##name, &(value), sizeof(value)))

static void run(const struct product *p)
{
	int a_rows = p->ta ? p->k : p->m, a_columns = p->ta ? p->m : p->k;
	int b_rows = p->tb ? p->n : p->k, b_columns = p->tb ? p->k : p->n;
	bool of_bytes = blas_bytes(p->type_a) == 1;
	/* cuBLASLt wants what lies beside halves to be halves */
	int beside = blas_bytes(p->type_d) == 2 ? p->type_d : CUDA_R_32F;
	int64_t lda, ldb, ldd, sa, sb, sd, aux_ld = (p->m + 127) / 128 * 128;
	cublasLtMatrixLayout_t la = layout(p->type_a, a_rows, a_columns, p->order_a, p->batches, of_bytes, &lda, &sa);
	cublasLtMatrixLayout_t lb = layout(p->type_b, b_rows, b_columns, p->order_b, p->batches, of_bytes, &ldb, &sb);
	cublasLtMatrixLayout_t ld = layout(p->type_d, p->m, p->n, p->order_d, p->batches, of_bytes, &ldd, &sd);
	struct blas_array a = blas_new(p->type_a, sa * p->batches), b = blas_new(p->type_b, sb * p->batches),
			  c = blas_new(p->type_d, sd * p->batches), bias = blas_new(beside, p->m > p->n ? p->m : p->n);
	struct blas_array aux = blas_new(beside, aux_ld * p->n);
	bool bits = p->epilogue & 128 && p->epilogue & (2 | 8), slope = p->epilogue & (8 | 64),
	     scaled = p->type_a >= CUDA_R_8F_E4M3 && p->type_a <= CUDA_R_8F_E5M2;
	float factor_a = 2, factor_b = 0.25f, alpha_f = 0.5f, beta_f = 0.25f, amax = -1;
	double alpha_d = 0.5, beta_d = 0.25, worst = 0, most = 0, worst_aux = 0;
	int32_t alpha_i = 2, beta_i = 3, bias_type = beside, aux_type = beside;
	const void *alpha = p->scale == CUDA_R_64F   ? (void *)&alpha_d
			    : p->scale == CUDA_R_32I ? (void *)&alpha_i
						     : (void *)&alpha_f;
	const void *beta = p->scale == CUDA_R_64F   ? (void *)&beta_d
			   : p->scale == CUDA_R_32I ? (void *)&beta_i
						    : (void *)&beta_f;
	double al = p->scale == CUDA_R_32I ? 2 : 0.5, be = p->scale == CUDA_R_32I ? 3 : 0.25;
	CUdeviceptr sa_at = blas_device(&factor_a, 4), sb_at = blas_device(&factor_b, 4),
		    amax_at = blas_device(&amax, 4);
	CUdeviceptr d_at = blas_device(NULL, (size_t)(sd * p->batches) * blas_bytes(p->type_d));
	void *d = malloc((size_t)(sd * p->batches) * blas_bytes(p->type_d));
	float *aux_now = malloc((size_t)(aux_ld * p->n) * 4), *bias_now = malloc((size_t)bias.count * 4);
	double *gradient = calloc((size_t)bias.count, sizeof(*gradient));
	cublasLtMatmulHeuristicResult_t found;
	cublasLtMatmulPreference_t preference = NULL;
	cublasLtMatmulDesc_t desc = NULL;
	int count = 0;
	cublasStatus_t status;

	OK(cublasLtMatmulDescCreate(&desc, p->compute, p->scale));
	SET(desc, TRANSA, p->ta);
	SET(desc, TRANSB, p->tb);
	SET(desc, EPILOGUE, p->epilogue);
	if (p->epilogue & (4 | 16 | 256 | 512)) {
		SET(desc, BIAS_POINTER, bias.device);
		if (p->type_d != CUDA_R_64F)
			SET(desc, BIAS_DATA_TYPE, bias_type);
	}
	if (p->epilogue & 128) {
		SET(desc, EPILOGUE_AUX_POINTER, aux.device);
		SET(desc, EPILOGUE_AUX_LD, aux_ld);
		if (!bits)
			SET(desc, EPILOGUE_AUX_DATA_TYPE, aux_type);
	}
	if (scaled) {
		SET(desc, A_SCALE_POINTER, sa_at);
		SET(desc, B_SCALE_POINTER, sb_at);
		if (!soft_theirs()) /* which tells it of results in FP8 */
			SET(desc, AMAX_D_POINTER, amax_at);
		al *= 2 * 0.25;
	}
	OK(cublasLtMatmulPreferenceCreate(&preference));
	OK(cublasLtMatmulAlgoGetHeuristic(handle, desc, la, lb, ld, ld, preference, 1, &found, &count));
	is(count, 1);
	status = cublasLtMatmul(handle, desc, alpha, blas_at(a.device), la, blas_at(b.device), lb, beta,
				blas_at(c.device), ld, blas_at(d_at), ld, &found.algo, NULL, 0, NULL);
	blas_back(d, d_at, (size_t)(sd * p->batches) * blas_bytes(p->type_d));
	blas_back(aux_now, aux.device, (size_t)(aux_ld * p->n) * blas_bytes(beside));
	blas_back(bias_now, bias.device, (size_t)bias.count * blas_bytes(beside));
	for (int batch = 0; batch < p->batches && !status; batch++)
		for (int j = 0; j < p->n; j++)
			for (int i = 0; i < p->m; i++) {
				double sum = 0, size = 1, v, off, pre;
				double got = creal(blas_get(p->type_d, d, batch * sd + at(p->order_d, ldd, i, j)));

				for (int q = 0; q < p->k; q++) {
					double x =
						creal(blas_host(&a, batch * sa + (p->ta ? at(p->order_a, lda, q, i)
											: at(p->order_a, lda, i, q))));
					double y =
						creal(blas_host(&b, batch * sb + (p->tb ? at(p->order_b, ldb, j, q)
											: at(p->order_b, ldb, q, j))));

					sum += x * y;
					size += fabs(al * x * y);
				}
				v = al * sum + be * creal(blas_host(&c, batch * sd + at(p->order_d, ldd, i, j)));
				if (p->epilogue & 4)
					v += creal(blas_host(&bias, i));
				pre = v;
				if (p->epilogue & 2)
					v = v > 0 ? v : 0;
				if (p->epilogue & 32)
					v = gelu(v);
				if (p->epilogue & 8)
					v = ((uint8_t *)aux.host)[(i + j * aux_ld) / 8] >> (i + j * aux_ld) % 8 & 1 ? v
														    : 0;
				if (p->epilogue & 64)
					v *= gelu_slope(creal(blas_host(&aux, i + j * aux_ld)));
				gradient[i] += v;
				most = fabs(v) > most ? fabs(v) : most;
				if (p->type_d == CUDA_R_8I) /* rounded and saturated */
					v = fmax(-128, fmin(127, rint(v)));
				off = got == v ? 0
					       : fabs(got - v) / (blas_tolerance(p->type_d == CUDA_R_8I ? CUDA_R_32I
													: p->type_d) *
									  size +
								  1e-300);
				worst = off > worst || off != off ? off : worst;
				if (p->epilogue & 128 && !slope) {
					if (!bits)
						worst_aux = fmax(
							worst_aux,
							fabs(creal(blas_get(beside, aux_now, i + j * aux_ld)) - pre) /
								(blas_tolerance(beside) * size));
					else if (fabs(pre) > 1e-4 &&
						 (((uint8_t *)aux_now)[(i + j * aux_ld) / 8] >> (i + j * aux_ld) % 8 &
						  1) != (pre > 0))
						worst_aux = INFINITY;
				}
			}
	for (int i = 0; p->epilogue & 16 && i < p->m; i++)
		worst_aux = fmax(worst_aux, fabs(bias_now[i] - gradient[i]) / (1e-4 * p->n));
	for (int j = 0; p->epilogue & 512 && j < p->n; j++) {
		double sum = 0;

		for (int q = 0; q < p->k; q++)
			sum += creal(blas_host(&b, p->tb ? at(p->order_b, ldb, j, q) : at(p->order_b, ldb, q, j)));
		worst_aux = fmax(worst_aux, fabs(bias_now[j] - sum) / (1e-5 * p->k));
	}
	for (int i = 0; p->epilogue & 256 && i < p->m; i++) {
		double sum = 0;

		for (int q = 0; q < p->k; q++)
			sum += creal(blas_host(&a, p->ta ? at(p->order_a, lda, q, i) : at(p->order_a, lda, i, q)));
		worst_aux = fmax(worst_aux, fabs(bias_now[i] - sum) / (1e-5 * p->k));
	}
	tap_ok(!status && worst <= 1 && worst_aux <= 1, "%s: status %d, off by %.3g, beside D by %.3g of the tolerance",
	       p->name, status, worst, worst_aux);
	if (scaled && !soft_theirs()) {
		blas_back(&amax, amax_at, 4);
		tap_ok(fabs(amax - most) <= 1e-4 * most, "%s: the largest magnitude is %g, expected %g", p->name, amax,
		       most);
	}
	OK(cublasLtMatmulDescDestroy(desc));
	OK(cublasLtMatmulPreferenceDestroy(preference));
	OK(cublasLtMatrixLayoutDestroy(la));
	OK(cublasLtMatrixLayoutDestroy(lb));
	OK(cublasLtMatrixLayoutDestroy(ld));
	free(d);
	free(aux_now);
	free(bias_now);
	free(gradient);
	cuMemFree(d_at);
	cuMemFree(sa_at);
	cuMemFree(sb_at);
	cuMemFree(amax_at);
	blas_free(&a);
	blas_free(&b);
	blas_free(&c);
	blas_free(&bias);
	blas_free(&aux);
}

#define F32 CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F
#define F16 CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F
#define BF16 CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F
#define N CUBLAS_OP_N
#define T CUBLAS_OP_T

static const struct product products[] = {
	{ F32, 1, 0, 0, 0, N, N, 60, 40, 30, 1, "plain" },
	{ F32, 1, 1, 1, 1, N, N, 60, 40, 30, 1, "by rows" },
	{ F32, 1, 1, 0, 0, T, N, 61, 41, 30, 3, "A by rows and turned, three of them" },
	{ F32, 1, 0, 1, 1, N, T, 33, 41, 300, 2, "B and D by rows" },
	{ F32, 4, 0, 0, 0, N, N, 130, 140, 30, 1, "BIAS" },
	{ F32, 4, 0, 0, 1, N, N, 50, 40, 30, 1, "BIAS, D by rows", true },
	{ F32, 2, 0, 0, 0, T, T, 60, 40, 30, 1, "RELU" },
	{ F32, 6, 0, 0, 0, N, N, 60, 40, 30, 1, "RELU_BIAS" },
	{ F32, 134, 0, 0, 0, N, N, 210, 140, 30, 1, "RELU_AUX_BIAS" },
	{ F32, 130, 0, 0, 0, N, N, 61, 40, 30, 1, "RELU_AUX" },
	{ F32, 32, 0, 0, 0, N, N, 60, 40, 30, 1, "GELU" },
	{ F32, 36, 0, 0, 0, N, N, 60, 40, 30, 1, "GELU_BIAS" },
	{ F32, 160, 0, 0, 0, N, N, 60, 40, 30, 1, "GELU_AUX" },
	{ F32, 164, 0, 0, 0, N, N, 60, 40, 30, 1, "GELU_AUX_BIAS" },
	{ F32, 136, 0, 0, 0, N, N, 210, 140, 30, 1, "DRELU" },
	{ F32, 152, 0, 0, 0, N, N, 210, 140, 30, 1, "DRELU_BGRAD", true },
	{ F32, 192, 0, 0, 0, N, N, 60, 40, 30, 1, "DGELU" },
	{ F32, 208, 0, 0, 0, N, N, 60, 140, 30, 1, "DGELU_BGRAD", true },
	{ F32, 256, 0, 0, 0, N, T, 60, 40, 30, 1, "BGRADA" },
	{ F32, 512, 0, 0, 0, T, N, 60, 40, 30, 1, "BGRADB", true },
	{ F16, 4, 0, 0, 0, T, N, 60, 40, 130, 1, "half BIAS" },
	{ F16, 164, 0, 0, 0, T, N, 600, 70, 130, 1, "half GELU_AUX_BIAS" },
	{ BF16, 6, 0, 0, 0, N, N, 60, 40, 600, 2, "bfloat16 RELU_BIAS, two of them" },
	{ CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1, 0, 0, 0, N, N, 60, 40, 600, 1,
	  "bfloat16 to float" },
	{ CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, 1, 0, 0, 0, N, N, 60, 40, 30, 1,
	  "double" },
	{ CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, 2, 0, 0, 0, N, N, 60, 40, 30, 1,
	  "double RELU" },
	{ CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I, 1, 0, 0, 0, T, N, 60, 40, 3000, 1,
	  "int8 to int32" },
	{ CUDA_R_8I, CUDA_R_8I, CUDA_R_8I, CUBLAS_COMPUTE_32I, CUDA_R_32F, 1, 0, 0, 0, T, N, 60, 40, 4, 1,
	  "int8 to int8" },
	{ CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1, 0, 0, 0, T, N, 60, 40, 130, 1,
	  "FP8 E4M3 with scales", true },
	{ CUDA_R_8F_E5M2, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1, 0, 0, 0, T, N, 60, 40, 130, 1,
	  "FP8 E5M2 by E4M3 to bfloat16", true },
	{ CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1, 0, 0, 0, T, N, 64, 48, 144, 1,
	  "FP8 E4M3 with scales, sizes of 16" },
	{ CUDA_R_8F_E5M2, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1, 0, 0, 0, T, N, 64, 48, 144, 1,
	  "FP8 E5M2 by E4M3 to bfloat16, sizes of 16" },
};

/* From columns to rows, to COL32, and added up. */
static void test_transform(void)
{
	int of_rows = soft_theirs() ? CUDA_R_32F : CUDA_R_16F; /* two types in one sum are ours alone */
	int64_t ld, size, ld_rows, size_rows, ld32 = 32 * 50;
	cublasLtMatrixLayout_t columns = layout(CUDA_R_32F, 50, 70, 0, 1, false, &ld, &size),
			       rows = layout(of_rows, 50, 70, 1, 1, false, &ld_rows, &size_rows), tiles = NULL;
	struct blas_array a = blas_new(CUDA_R_32F, size), b = blas_new(of_rows, size_rows),
			  c = blas_new(CUDA_R_32F, ld32 * 3);
	cublasLtMatrixTransformDesc_t desc = NULL;
	float alpha = 2, beta = -1, *now = malloc((size_t)(ld32 * 3) * 4);
	int32_t order = 2; /* COL32 */
	bool same = true;

	OK(cublasLtMatrixLayoutCreate(&tiles, CUDA_R_32F, 50, 70, ld32));
	OK(cublasLtMatrixLayoutSetAttribute(tiles, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order)));
	OK(cublasLtMatrixTransformDescCreate(&desc, CUDA_R_32F));
	OK(cublasLtMatrixTransform(handle, desc, &alpha, blas_at(a.device), columns, &beta, blas_at(b.device), rows,
				   blas_at(c.device), tiles, NULL));
	blas_back(now, c.device, (size_t)(ld32 * 3) * 4);
	for (int j = 0; j < 70; j++)
		for (int i = 0; i < 50; i++) {
			double wanted = 2 * creal(blas_host(&a, i + j * ld)) - creal(blas_host(&b, i * ld_rows + j));

			same = same && fabs(now[j / 32 * ld32 + i * 32 + j % 32] - wanted) < 1e-5;
		}
	ok(same);
	OK(cublasLtMatrixTransformDescDestroy(desc));
	OK(cublasLtMatrixLayoutDestroy(columns));
	OK(cublasLtMatrixLayoutDestroy(rows));
	OK(cublasLtMatrixLayoutDestroy(tiles));
	free(now);
	blas_free(&a);
	blas_free(&b);
	blas_free(&c);
}

/* Batches by arrays of addresses in the device's memory, in an order that no stride has. */
static void test_arrays(void)
{
	static const float numbers[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, one = 1, zero = 0;
	CUdeviceptr m = blas_device(numbers, sizeof(numbers)), d = blas_device(NULL, 12 * sizeof(float));
	const CUdeviceptr of_a[] = { m + 32, m, m + 16 }, of_b[] = { m, m, m + 32 }, of_d[] = { d + 16, d + 32, d };
	CUdeviceptr a_at = blas_device(of_a, sizeof(of_a)), b_at = blas_device(of_b, sizeof(of_b)),
		    d_at = blas_device(of_d, sizeof(of_d));
	int32_t batches = 3, mode = 1; /* CUBLASLT_BATCH_MODE_POINTER_ARRAY */
	cublasLtMatrixLayout_t l = NULL, other = NULL;
	cublasLtMatmulDesc_t desc = NULL;
	float got[12];

	OK(cublasLtMatrixLayoutCreate(&l, CUDA_R_32F, 2, 2, 2));
	OK(cublasLtMatrixLayoutCreate(&other, CUDA_R_32F, 2, 2, 2));
	OK(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof(batches)));
	OK(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, &mode, sizeof(mode)));
	OK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	OK(cublasLtMatmul(handle, desc, &one, blas_at(a_at), l, blas_at(b_at), l, &zero, blas_at(d_at), l,
			  blas_at(d_at), l, NULL, NULL, 0, NULL));
	blas_back(got, d, sizeof(got));
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 2; i++)
			for (int j = 0; j < 2; j++) {
				const float *a = numbers + (of_a[k] - m) / 4, *b = numbers + (of_b[k] - m) / 4;
				float want = a[i] * b[2 * j] + a[i + 2] * b[1 + 2 * j];

				tap_ok(fabsf(got[(of_d[k] - d) / 4 + (size_t)(i + 2 * j)] - want) < 1e-3f,
				       "arrays: product %d, element %d, %d", k, i, j);
			}
	/* all of the matrices, or none of them */
	is(cublasLtMatmul(handle, desc, &one, blas_at(m), other, blas_at(b_at), l, &zero, blas_at(d_at), l,
			  blas_at(d_at), l, NULL, NULL, 0, NULL),
	   CUBLAS_STATUS_INVALID_VALUE);
	OK(cublasLtMatmulDescDestroy(desc));
	OK(cublasLtMatrixLayoutDestroy(l));
	OK(cublasLtMatrixLayoutDestroy(other));
}

static void test_wrong(void)
{
	cublasLtMatmulDesc_t desc = NULL;
	cublasLtMatrixLayout_t l = NULL, other = NULL;
	cublasLtMatmulHeuristicResult_t found;
	cublasLtMatmulAlgo_t algo = { { 0 } };
	int epilogue = 3, count = 5, ids[2];
	int64_t bias = 0;
	float one = 1;
	size_t written = 0;
	CUdeviceptr m = blas_device(NULL, 64);

	OK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	OK(cublasLtMatrixLayoutCreate(&l, CUDA_R_32F, 4, 4, 4));
	OK(cublasLtMatrixLayoutCreate(&other, CUDA_R_32F, 3, 4, 4));
	is(cublasLtMatmul(NULL, desc, &one, blas_at(m), l, blas_at(m), l, &one, blas_at(m), l, blas_at(m), l, NULL,
			  NULL, 0, NULL),
	   CUBLAS_STATUS_NOT_INITIALIZED);
	is(cublasLtMatmul(handle, desc, &one, blas_at(m), other, blas_at(m), l, &one, blas_at(m), l, blas_at(m), l,
			  NULL, NULL, 0, NULL),
	   CUBLAS_STATUS_INVALID_VALUE);
	if (!soft_theirs()) { /* NVIDIA's 13.1 reads the scalar at NULL; an algorithm of zeroes is none of ours */
		is(cublasLtMatmul(handle, desc, NULL, blas_at(m), l, blas_at(m), l, &one, blas_at(m), l, blas_at(m), l,
				  NULL, NULL, 0, NULL),
		   CUBLAS_STATUS_INVALID_VALUE);
		is(cublasLtMatmul(handle, desc, &one, blas_at(m), l, blas_at(m), l, &one, blas_at(m), l, blas_at(m), l,
				  &algo, NULL, 0, NULL),
		   CUBLAS_STATUS_INVALID_VALUE);
	}
	SET(desc, EPILOGUE, epilogue);
	is(cublasLtMatmulAlgoGetHeuristic(handle, desc, l, l, l, l, NULL, 1, &found, &count),
	   CUBLAS_STATUS_INVALID_VALUE);
	is(count, 0);
	epilogue = 4;
	SET(desc, EPILOGUE, epilogue);
	SET(desc, BIAS_POINTER, bias);
	is(cublasLtMatmul(handle, desc, &one, blas_at(m), l, blas_at(m), l, &one, blas_at(m), l, blas_at(m), l, NULL,
			  NULL, 0, NULL),
	   CUBLAS_STATUS_INVALID_VALUE);
	is(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, 2),
	   CUBLAS_STATUS_INVALID_VALUE);
	OK(cublasLtMatmulDescGetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, NULL, 0, &written));
	is(written, 4);
	OK(cublasLtMatmulAlgoGetIds(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
				    CUDA_R_32F, 2, ids, &count));
	tap_ok(soft_theirs() ? count > 0 : count == 1, "algorithms: %d", count);
	OK(cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
				  CUDA_R_32F, ids[0], &algo));
	if (!soft_theirs()) /* it has one of that number */
		is(cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
					  CUDA_R_32F, 7, &algo),
		   CUBLAS_STATUS_INVALID_VALUE);
	epilogue = 1;
	SET(desc, EPILOGUE, epilogue);
	OK(cublasLtMatmulAlgoCheck(handle, desc, l, l, l, l, &algo, &found));
	OK(cublasLtMatmulDescDestroy(desc));
	OK(cublasLtMatrixLayoutDestroy(l));
	OK(cublasLtMatrixLayoutDestroy(other));
	cuMemFree(m);
}

int main(int argc, char **argv)
{
	cublasHandle_t blas = NULL;

	if (argc > 1)
		setenv("METE_OPENBLAS", argv[1], 1);
	soft_begin("1", "1G");
	soft_context();
	OK(cublasLtCreate(&handle));
	for (size_t i = 0; i < sizeof(products) / sizeof(*products); i++)
		if (!products[i].ours || !soft_theirs())
			run(&products[i]);
	test_transform();
	test_arrays();
	test_wrong();
	OK(cublasLtDestroy(handle));
	/* a handle of cuBLAS is one of cuBLASLt */
	OK(cublasCreate_v2(&blas));
	handle = (cublasLtHandle_t)blas;
	run(&products[4]);
	OK(cublasDestroy_v2(blas));
	return soft_end();
}

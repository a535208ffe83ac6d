/* lt.c: the client's half of cuBLASLt; see lt.h. What a heuristic answers is asked once. */
#include "remote/blas/lt.h"
#include "libs/blas/lt_product.h"
#include "remote/blas/blas.h"

#define PROPERTY_VERSION 130000

void blas_refused(const char *symbol)
{
	forward_refused(symbol);
}

/* Calls. */

cublasStatus_t cublasLtCreate(cublasLtHandle_t *lightHandle)
{
	return lightHandle ? forward_create((void **)lightHandle, BLAS_LT_HANDLE, CUBLAS_CALL_cublasLtCreate)
			   : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle)
{
	return forward_destroy(lightHandle, CUBLAS_CALL_cublasLtDestroy);
}

/* Absent ones travel as a description of no kind. */
static void put_description(struct forward_call *c, const struct lt_description *d)
{
	static const struct lt_description none;

	forward_put(c, d ? d : &none, lt_bytes(d ? d : &none));
}

static void put_scalar(struct forward_call *c, const void *value, size_t bytes, bool here)
{
	uint64_t place = here ? FORWARD_IN_HOST : FORWARD_IN_DEVICE;

	forward_put(c, &place, sizeof(place));
	if (here)
		forward_put(c, value, bytes);
	else
		forward_put_address(c, value);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc, const void *alpha,
			      const void *A, cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc,
			      const void *beta, const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
			      cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo, void *workspace,
			      size_t workspaceSizeInBytes, cudaStream_t stream)
{
	const struct lt_description *d = lt_find(computeDesc, LT_PRODUCT);
	const void *const layouts[] = { Adesc, Bdesc, Cdesc, Ddesc }, *const matrices[] = { A, B, C, D };
	uint64_t size = workspaceSizeInBytes, algorithm = 0;
	struct forward_call c;
	struct product p;
	cublasStatus_t status = forward_known(lightHandle, BLAS_LT_HANDLE);

	if (status)
		return status;
	status = lt_product(&p, computeDesc, layouts, alpha, beta, matrices);
	if (!status)
		status = lt_product_placed(&p);
	status = forward_judged(lightHandle, BLAS_LT_HANDLE, status, LT_PRODUCT_REFUSED);
	if (status)
		return status;
	if (!d || !lt_scalar_bytes(d) || !alpha || (!beta && lt_pointer_mode(d) != LT_POINTERS_VECTOR_AND_ZERO) ||
	    (algo && algo->data[0] != LT_ALGORITHM))
		return CUBLAS_STATUS_INVALID_VALUE;
	for (size_t i = 0; i < 4; i++)
		if (!lt_find(layouts[i], LT_LAYOUT))
			return CUBLAS_STATUS_INVALID_VALUE;
	if (forward_begin(&c, lightHandle, CUBLAS_CALL_cublasLtMatmul, FORWARD_FORGET, 5 * sizeof(*d))) {
		put_description(&c, d);
		put_scalar(&c, alpha, lt_scalar_bytes(d), lt_alpha_here(d));
		put_scalar(&c, beta, lt_scalar_bytes(d), lt_beta_here(d));
		for (size_t i = 0; i < 4; i++) {
			forward_put_address(&c, matrices[i]);
			put_description(&c, lt_find(layouts[i], LT_LAYOUT));
		}
		algorithm = algo ? algo->data[1] : 0;
		forward_put(&c, &algorithm, sizeof(algorithm));
		forward_put_address(&c, workspace);
		forward_put(&c, &size, sizeof(size));
		forward_put_stream(&c, stream);
		forward_send(&c);
	}
	return forward_end(&c);
}

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t lightHandle, cublasLtMatrixTransformDesc_t transformDesc,
				       const void *alpha, const void *A, cublasLtMatrixLayout_t Adesc, const void *beta,
				       const void *B, cublasLtMatrixLayout_t Bdesc, void *C,
				       cublasLtMatrixLayout_t Cdesc, cudaStream_t stream)
{
	const struct lt_description *d = lt_find(transformDesc, LT_TRANSFORM), *a = lt_find(Adesc, LT_LAYOUT),
				    *b = lt_find(Bdesc, LT_LAYOUT), *to = lt_find(Cdesc, LT_LAYOUT);
	const void *const layouts[] = { Adesc, Bdesc, Cdesc }, *const matrices[] = { A, B, C };
	const uint8_t zero[FORWARD_SCALAR_BYTES] = { 0 };
	struct transform t = { 0 };
	struct forward_call c;
	cublasStatus_t status = forward_known(lightHandle, BLAS_LT_HANDLE);

	if (status)
		return status;
	status = lt_transform(&t, transformDesc, layouts, alpha, beta, matrices);
	status = forward_judged(lightHandle, BLAS_LT_HANDLE, status, NULL);
	if (status)
		return status;
	if (!d || !lt_scalar_bytes(d) || !alpha || !a || !to || (B && !b))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (forward_begin(&c, lightHandle, CUBLAS_CALL_cublasLtMatrixTransform, FORWARD_FORGET, 4 * sizeof(*d))) {
		put_description(&c, d);
		put_scalar(&c, alpha, lt_scalar_bytes(d), lt_alpha_here(d));
		put_scalar(&c, beta || !lt_beta_here(d) ? beta : zero, lt_scalar_bytes(d), lt_beta_here(d));
		forward_put_address(&c, A);
		put_description(&c, a);
		forward_put_address(&c, B);
		put_description(&c, b);
		forward_put_address(&c, C);
		put_description(&c, to);
		forward_put_stream(&c, stream);
		forward_send(&c);
	}
	return forward_end(&c);
}

/* Of addresses a heuristic sees how they are aligned, no more, so that it need not be asked anew for each. */
static void hide_addresses(struct lt_description *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		if (lt_attribute_form(d->kind, d->attributes[i].number) == LT_ADDRESS) {
			uint64_t at = lt_number(d, d->attributes[i].number, 0);

			at = at ? (at & 0xff) | LT_HIDDEN : 0;
			memcpy(d->attributes[i].value, &at, sizeof(at));
		}
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
					      cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
					      cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
					      cublasLtMatmulPreference_t preference, int requestedAlgoCount,
					      cublasLtMatmulHeuristicResult_t *results, int *returnAlgoCount)
{
	const void *const layouts[] = { Adesc, Bdesc, Cdesc, Ddesc };
	const struct lt_description *d = lt_find(operationDesc, LT_PRODUCT);
	uint64_t id, wanted, count = 0;
	struct lt_description asked;
	struct forward_call c;

	if (!d || requestedAlgoCount <= 0 || !results || !returnAlgoCount)
		return CUBLAS_STATUS_INVALID_VALUE;
	for (size_t i = 0; i < 4; i++)
		if (!lt_find(layouts[i], LT_LAYOUT))
			return CUBLAS_STATUS_INVALID_VALUE;
	if (!blas_handle_find(lightHandle, BLAS_LT_HANDLE))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	asked = *d;
	hide_addresses(&asked);
	wanted = (uint64_t)requestedAlgoCount < LT_RESULTS ? (uint64_t)requestedAlgoCount : LT_RESULTS;
	if (!forward_open(&c, &blas_library))
		return forward_end(&c);
	id = c.client->use(&c.call, KIND_FORWARDED, lightHandle);
	if (!forward_start_memo(&c, CUBLAS_CALL_cublasLtMatmulAlgoGetHeuristic, id))
		return forward_end(&c);
	put_description(&c, &asked);
	for (size_t i = 0; i < 4; i++)
		put_description(&c, lt_find(layouts[i], LT_LAYOUT));
	put_description(&c, lt_find(preference, LT_PREFERENCE));
	forward_put(&c, &wanted, sizeof(wanted));
	forward_send(&c);
	if (c.call.result == CUDA_SUCCESS) {
		forward_get(&c, &count, sizeof(count));
		for (uint64_t i = 0; i < count && i < wanted && !c.call.in.bad; i++) {
			struct lt_result r = { 0 };

			forward_get(&c, &r, sizeof(r));
			results[i] = (cublasLtMatmulHeuristicResult_t){ .algo.data = { LT_ALGORITHM, r.algorithm },
									.workspaceSize = r.workspace,
									.state = (cublasStatus_t)r.state,
									.wavesCount = r.waves };
		}
		*returnAlgoCount = (int)count;
	}
	return forward_end(&c);
}

/* Without a handle. */

size_t cublasLtGetVersion(void)
{
	return PROPERTY_VERSION;
}

size_t cublasLtGetCudartVersion(void)
{
	return PROPERTY_VERSION / 10;
}

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value)
{
	return blas_property(PROPERTY_VERSION, type, value);
}

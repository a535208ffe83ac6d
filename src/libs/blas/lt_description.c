/* lt_description.c: cuBLASLt's calls about descriptions; see lt_description.h. */
#include "libs/blas/lt_description.h"

#include "cublas_forward.h"

#include <stdlib.h>

static struct lt_description *made(enum lt_kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct lt_description *new = calloc(1, sizeof(*new));

	if (new)
		*new = (struct lt_description){ .kind = kind, .made_with = { a, b, c, d } };
	return new;
}

static cublasStatus_t set_attribute(struct lt_description *d, uint32_t number, const void *value, size_t bytes)
{
	struct lt_attribute *a = NULL;

	if (!d || !value || !bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (lt_attribute_form(d->kind, number) == LT_UNKNOWN) {
		blas_refused("an attribute of cuBLASLt");
		return CUBLAS_STATUS_NOT_SUPPORTED;
	}
	if (bytes != lt_form_bytes(lt_attribute_form(d->kind, number)))
		return CUBLAS_STATUS_INVALID_VALUE;
	for (uint32_t i = 0; i < d->count; i++)
		if (d->attributes[i].number == number)
			a = &d->attributes[i];
	if (!a && d->count == LT_ATTRIBUTES)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!a)
		a = &d->attributes[d->count++];
	*a = (struct lt_attribute){ .number = number, .bytes = (uint32_t)bytes };
	memcpy(a->value, value, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

/* What was set, or what it was made with. */
static cublasStatus_t get_attribute(const struct lt_description *d, uint32_t number, uint64_t otherwise, void *value,
				    size_t bytes, size_t *written)
{
	const struct lt_attribute *a = NULL;
	size_t size;

	if (!d || (bytes && !value) || (!bytes && !written))
		return CUBLAS_STATUS_INVALID_VALUE;
	for (uint32_t i = 0; i < d->count; i++)
		if (d->attributes[i].number == number)
			a = &d->attributes[i];
	size = lt_form_bytes(lt_attribute_form(d->kind, number));
	if (!size)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (written)
		*written = size;
	if (!bytes)
		return CUBLAS_STATUS_SUCCESS;
	if (bytes < size)
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(value, 0, bytes);
	memcpy(value, a ? a->value : (const void *)&otherwise, size);
	return CUBLAS_STATUS_SUCCESS;
}

#define DESCRIPTION(name, type, kind_, attribute)                                                                      \
	cublasStatus_t cublasLt##name##Destroy(type d)                                                                 \
	{                                                                                                              \
		if (!lt_find(d, kind_))                                                                                \
			return d ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;                                \
		lt_find(d, kind_)->kind = 0;                                                                           \
		free(d);                                                                                               \
		return CUBLAS_STATUS_SUCCESS;                                                                          \
	}                                                                                                              \
	cublasStatus_t cublasLt##name##SetAttribute(type d, attribute attr, const void *buf, size_t sizeInBytes)       \
	{                                                                                                              \
		return set_attribute(lt_find(d, kind_), (uint32_t)attr, buf, sizeInBytes);                             \
	}                                                                                                              \
	cublasStatus_t cublasLt##name##GetAttribute(type d, attribute attr, void *buf, size_t sizeInBytes,             \
						    size_t *sizeWritten)                                               \
	{                                                                                                              \
		const struct lt_description *given = lt_find(d, kind_);                                                \
														       \
		return get_attribute(given, (uint32_t)attr, given ? lt_default(given, (uint32_t)attr) : 0, buf,        \
				     sizeInBytes, sizeWritten);                                                        \
	}

uint64_t lt_default(const struct lt_description *d, uint32_t number)
{
	if (d->kind == LT_PRODUCT && number <= CUBLASLT_MATMUL_DESC_SCALE_TYPE)
		return d->made_with[number];
	if (d->kind == LT_PRODUCT && number == CUBLASLT_MATMUL_DESC_EPILOGUE)
		return 1;
	if (d->kind == LT_TRANSFORM && number == CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE)
		return d->made_with[0];
	if (d->kind != LT_LAYOUT)
		return 0;
	switch (number) {
	case CUBLASLT_MATRIX_LAYOUT_TYPE:
		return d->made_with[0];
	case CUBLASLT_MATRIX_LAYOUT_ROWS:
		return d->made_with[1];
	case CUBLASLT_MATRIX_LAYOUT_COLS:
		return d->made_with[2];
	case CUBLASLT_MATRIX_LAYOUT_LD:
		return d->made_with[3];
	case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
		return 1;
	default:
		return 0;
	}
}

uint64_t lt_value(const struct lt_description *d, uint32_t number)
{
	return lt_number(d, number, lt_default(d, number));
}

DESCRIPTION(MatmulDesc, cublasLtMatmulDesc_t, LT_PRODUCT, cublasLtMatmulDescAttributes_t)
DESCRIPTION(MatrixLayout, cublasLtMatrixLayout_t, LT_LAYOUT, cublasLtMatrixLayoutAttribute_t)
DESCRIPTION(MatmulPreference, cublasLtMatmulPreference_t, LT_PREFERENCE, cublasLtMatmulPreferenceAttributes_t)
DESCRIPTION(MatrixTransformDesc, cublasLtMatrixTransformDesc_t, LT_TRANSFORM, cublasLtMatrixTransformDescAttributes_t)

static cublasStatus_t give(void **to, struct lt_description *d)
{
	if (!d)
		return CUBLAS_STATUS_ALLOC_FAILED;
	*to = d;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *matmulDesc, cublasComputeType_t computeType,
					cudaDataType_t scaleType)
{
	return matmulDesc ? give((void **)matmulDesc, made(LT_PRODUCT, computeType, scaleType, 0, 0))
			  : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *matLayout, cudaDataType type, uint64_t rows,
					  uint64_t cols, int64_t ld)
{
	return matLayout ? give((void **)matLayout, made(LT_LAYOUT, type, rows, cols, (uint64_t)ld))
			 : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *pref)
{
	return pref ? give((void **)pref, made(LT_PREFERENCE, 0, 0, 0, 0)) : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t *transformDesc, cudaDataType scaleType)
{
	return transformDesc ? give((void **)transformDesc, made(LT_TRANSFORM, scaleType, 0, 0, 0))
			     : CUBLAS_STATUS_INVALID_VALUE;
}

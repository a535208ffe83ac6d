/*
 * lt_attributes.c: what cuBLASLt's attributes are: how large, and which are addresses.
 *
 * Both sides use it. The client refuses what the library would refuse; the worker believes no description in which
 * an attribute comes twice, or in a size that is not its own: it and the library might then read different values in
 * it, and it is the pointer mode that says whether a scalar is looked for in this process's memory or in the device's.
 *
 * Source: cublasLt.h of CUDA 13.0, whose comment on each attribute ends with its type. Those of CUDA 12 that are not
 * there any more (27 to 30, counters that kernels wait for) and those that are addresses of the process (the
 * descriptor of emulation) are not forwarded.
 */
#include "libs/blas/lt_description.h"

#define PRODUCT(name, form) [CUBLASLT_MATMUL_DESC_##name] = form
#define LAYOUT(name, form) [CUBLASLT_MATRIX_LAYOUT_##name] = form
#define PREFERENCE(name, form) [CUBLASLT_MATMUL_PREF_##name] = form
#define TRANSFORM(name, form) [CUBLASLT_MATRIX_TRANSFORM_DESC_##name] = form

static const uint8_t product_forms[] = {
	PRODUCT(COMPUTE_TYPE, LT_INT32),
	PRODUCT(SCALE_TYPE, LT_INT32),
	PRODUCT(POINTER_MODE, LT_INT32),
	PRODUCT(TRANSA, LT_INT32),
	PRODUCT(TRANSB, LT_INT32),
	PRODUCT(TRANSC, LT_INT32),
	PRODUCT(FILL_MODE, LT_INT32),
	PRODUCT(EPILOGUE, LT_INT32),
	PRODUCT(BIAS_POINTER, LT_ADDRESS),
	PRODUCT(BIAS_BATCH_STRIDE, LT_INT64),
	PRODUCT(EPILOGUE_AUX_POINTER, LT_ADDRESS),
	PRODUCT(EPILOGUE_AUX_LD, LT_INT64),
	PRODUCT(EPILOGUE_AUX_BATCH_STRIDE, LT_INT64),
	PRODUCT(ALPHA_VECTOR_BATCH_STRIDE, LT_INT64),
	PRODUCT(SM_COUNT_TARGET, LT_INT32),
	PRODUCT(A_SCALE_POINTER, LT_ADDRESS),
	PRODUCT(B_SCALE_POINTER, LT_ADDRESS),
	PRODUCT(C_SCALE_POINTER, LT_ADDRESS),
	PRODUCT(D_SCALE_POINTER, LT_ADDRESS),
	PRODUCT(AMAX_D_POINTER, LT_ADDRESS),
	PRODUCT(EPILOGUE_AUX_DATA_TYPE, LT_INT32),
	PRODUCT(EPILOGUE_AUX_SCALE_POINTER, LT_ADDRESS),
	PRODUCT(EPILOGUE_AUX_AMAX_POINTER, LT_ADDRESS),
	PRODUCT(FAST_ACCUM, LT_INT8),
	PRODUCT(BIAS_DATA_TYPE, LT_INT32),
	PRODUCT(A_SCALE_MODE, LT_INT32),
	PRODUCT(B_SCALE_MODE, LT_INT32),
	PRODUCT(C_SCALE_MODE, LT_INT32),
	PRODUCT(D_SCALE_MODE, LT_INT32),
	PRODUCT(EPILOGUE_AUX_SCALE_MODE, LT_INT32),
	PRODUCT(D_OUT_SCALE_POINTER, LT_ADDRESS),
	PRODUCT(D_OUT_SCALE_MODE, LT_INT32),
};

static const uint8_t layout_forms[] = {
	LAYOUT(TYPE, LT_INT32),
	LAYOUT(ORDER, LT_INT32),
	LAYOUT(ROWS, LT_INT64),
	LAYOUT(COLS, LT_INT64),
	LAYOUT(LD, LT_INT64),
	LAYOUT(BATCH_COUNT, LT_INT32),
	LAYOUT(STRIDED_BATCH_OFFSET, LT_INT64),
	LAYOUT(PLANE_OFFSET, LT_INT64),
	LAYOUT(BATCH_MODE, LT_INT32),
};

static const uint8_t preference_forms[] = {
	PREFERENCE(SEARCH_MODE, LT_INT32),
	PREFERENCE(MAX_WORKSPACE_BYTES, LT_INT64),
	PREFERENCE(REDUCTION_SCHEME_MASK, LT_INT32),
	PREFERENCE(MIN_ALIGNMENT_A_BYTES, LT_INT32),
	PREFERENCE(MIN_ALIGNMENT_B_BYTES, LT_INT32),
	PREFERENCE(MIN_ALIGNMENT_C_BYTES, LT_INT32),
	PREFERENCE(MIN_ALIGNMENT_D_BYTES, LT_INT32),
	PREFERENCE(MAX_WAVES_COUNT, LT_INT32),
	PREFERENCE(IMPL_MASK, LT_INT64),
};

static const uint8_t transform_forms[] = {
	TRANSFORM(SCALE_TYPE, LT_INT32),
	TRANSFORM(POINTER_MODE, LT_INT32),
	TRANSFORM(TRANSA, LT_INT32),
	TRANSFORM(TRANSB, LT_INT32),
};

static const struct {
	const uint8_t *forms;
	size_t count;
} kinds[] = {
	[LT_PRODUCT] = { product_forms, sizeof(product_forms) },
	[LT_LAYOUT] = { layout_forms, sizeof(layout_forms) },
	[LT_PREFERENCE] = { preference_forms, sizeof(preference_forms) },
	[LT_TRANSFORM] = { transform_forms, sizeof(transform_forms) },
};

enum lt_form lt_attribute_form(uint32_t kind, uint32_t number)
{
	if (kind >= sizeof(kinds) / sizeof(kinds[0]) || number >= kinds[kind].count)
		return LT_UNKNOWN;
	return (enum lt_form)kinds[kind].forms[number];
}

size_t lt_form_bytes(enum lt_form form)
{
	static const uint8_t bytes[] = {
		[LT_UNKNOWN] = 0, [LT_INT8] = 1, [LT_INT32] = 4, [LT_INT64] = 8, [LT_ADDRESS] = 8
	};

	return bytes[form];
}

bool lt_description_good(const struct lt_description *d)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < d->count; i++) {
		const struct lt_attribute *a = &d->attributes[i];
		enum lt_form form = lt_attribute_form(d->kind, a->number);

		if (form == LT_UNKNOWN || a->bytes != lt_form_bytes(form) || seen & UINT64_C(1) << a->number)
			return false;
		seen |= UINT64_C(1) << a->number;
	}
	return true;
}

/*
 * lt.h: descriptions of cuBLASLt (products, layouts, preferences, transformations) as bytes.
 *
 * A description is data of the program's process alone: what it was made with, and the attributes that were set. It
 * travels with every call that uses it, and the worker makes one of the real library's of it, or takes the one that it
 * made of the same bytes before. Attributes are values or addresses of device memory, which the worker checks as those
 * of matrices; the one that is an address of the process is refused.
 */
#pragma once

#include "remote.h"
#include "remote/blas/forward.h"

#include <stdbool.h>

#define LT_ATTRIBUTES 48u
#define LT_ATTRIBUTE_BYTES 32u

enum lt_kind { LT_PRODUCT = 1, LT_LAYOUT, LT_PREFERENCE, LT_TRANSFORM };

struct lt_attribute {
	uint32_t number, bytes;
	uint8_t value[LT_ATTRIBUTE_BYTES];
};

/* On the wire as it stands, up to the attributes that there are. */
struct lt_description {
	uint32_t kind, count;
	uint64_t made_with[4]; /* the arguments of the call that made it */
	struct lt_attribute attributes[LT_ATTRIBUTES];
};

static inline size_t lt_bytes(const struct lt_description *d)
{
	return offsetof(struct lt_description, attributes) + d->count * sizeof(d->attributes[0]);
}

/* The value of an attribute as a number; `otherwise` when it was not set. */
static inline uint64_t lt_number(const struct lt_description *d, uint32_t number, uint64_t otherwise)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < d->count; i++)
		if (d->attributes[i].number == number) {
			memcpy(&value, d->attributes[i].value, d->attributes[i].bytes < 8 ? d->attributes[i].bytes : 8);
			return value;
		}
	return otherwise;
}

/* lt_attributes.c */

enum lt_form {
	LT_UNKNOWN, /* there is none of this number, or it is not forwarded */
	LT_INT8,
	LT_INT32, /* or a float */
	LT_INT64,
	LT_ADDRESS, /* of device memory */
};

enum lt_form lt_attribute_form(uint32_t kind, uint32_t number);
size_t lt_form_bytes(enum lt_form form);
/* Each attribute is known, has its own size, and comes once. At most LT_ATTRIBUTES of them. */
bool lt_description_good(const struct lt_description *d);

/* Where the two scalars of a product or transformation stand, by its pointer mode. */
enum lt_pointer_mode {
	LT_POINTERS_HOST,
	LT_POINTERS_DEVICE,
	LT_POINTERS_DEVICE_VECTOR,
	LT_POINTERS_VECTOR_AND_ZERO,
	LT_POINTERS_VECTOR_AND_HOST,
};

static inline uint64_t lt_pointer_mode(const struct lt_description *d)
{
	return lt_number(d,
			 d->kind == LT_PRODUCT ? CUBLASLT_MATMUL_DESC_POINTER_MODE
					       : CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE,
			 LT_POINTERS_HOST);
}

static inline bool lt_alpha_here(const struct lt_description *d)
{
	return lt_pointer_mode(d) == LT_POINTERS_HOST;
}

static inline bool lt_beta_here(const struct lt_description *d)
{
	return lt_pointer_mode(d) == LT_POINTERS_HOST || lt_pointer_mode(d) == LT_POINTERS_VECTOR_AND_HOST;
}

static inline size_t lt_scalar_bytes(const struct lt_description *d)
{
	uint64_t made = d->made_with[d->kind == LT_PRODUCT ? 1 : 0];

	return forward_type_bytes((unsigned int)lt_number(
		d, d->kind == LT_PRODUCT ? CUBLASLT_MATMUL_DESC_SCALE_TYPE : CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE,
		made));
}

/* In place of an address in what a heuristic is asked: this, and the address's lowest eight bits. */
#define LT_HIDDEN UINT64_C(0x100)

/* What a heuristic found, as the program has it: data[0] is LT_ALGORITHM and data[1] the worker's number for it. */
#define LT_ALGORITHM UINT64_C(0x6c74616c676f0001)
#define LT_RESULTS 64

struct lt_result {
	uint64_t algorithm, workspace;
	int32_t state;
	float waves;
};

/*
 * lt_description.h: descriptions of cuBLASLt (products, layouts, preferences, transformations) as bytes: the arguments
 * of their creation, and the attributes that were set. The software device's cuBLASLt reads them; on the remote path
 * they are sent with every call.
 */
#pragma once

#include "cublas_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LT_ATTRIBUTES 48u
#define LT_ATTRIBUTE_BYTES 32u

enum lt_kind { LT_PRODUCT = 1, LT_LAYOUT, LT_PREFERENCE, LT_TRANSFORM };

struct lt_attribute {
	uint32_t number, bytes;
	uint8_t value[LT_ATTRIBUTE_BYTES];
};

/* Sent as it is in memory, up to the last used attribute. */
struct lt_description {
	uint32_t kind, count;
	uint64_t made_with[4]; /* the arguments of the creating call */
	struct lt_attribute attributes[LT_ATTRIBUTES];
};

static inline size_t lt_bytes(const struct lt_description *d)
{
	return offsetof(struct lt_description, attributes) + d->count * sizeof(d->attributes[0]);
}

/* The value of an attribute as a number; `otherwise` if it was not set. */
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
	LT_UNKNOWN, /* there is no such number, or it is not forwarded */
	LT_INT8,
	LT_INT32, /* or a float */
	LT_INT64,
	LT_ADDRESS, /* of device memory */
};

enum lt_form lt_attribute_form(uint32_t kind, uint32_t number);
size_t lt_form_bytes(enum lt_form form);
/* True if each attribute is known, has the right size, and occurs once. At most LT_ATTRIBUTES of them. */
bool lt_description_good(const struct lt_description *d);

/* The place of the two scalars of a product or transformation, by its pointer mode. */
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

/* A description of the program; NULL: not of this kind. */
static inline struct lt_description *lt_find(const void *handle, enum lt_kind kind)
{
	struct lt_description *d = (struct lt_description *)(uintptr_t)handle;

	return d && d->kind == (uint32_t)kind ? d : NULL;
}

/* The default of an attribute; and its value, set or not. */
uint64_t lt_default(const struct lt_description *d, uint32_t number);
uint64_t lt_value(const struct lt_description *d, uint32_t number);

/* Defined by the library: logs one line about an unsupported attribute. */
void blas_refused(const char *symbol);

/*
 * types.h: elements of matrices: their sizes, and how they are read and written as floats.
 *
 * Sources: IEEE 754 binary16; bfloat16 is a float's upper half; FP8 E4M3 (no infinities, 448 the largest) and E5M2 as
 * the OCP's "8-bit Floating Point Specification" has them. Results are rounded to the nearest, ties to even; FP8
 * results saturate, as cuBLASLt documents it for its FP8 outputs.
 */
#pragma once

#include "cublas_table.h"

#include <stdbool.h>

/* Bytes of an element; 0: a type that is not supported here. */
uint32_t type_bytes(unsigned int type);
bool type_is_complex(unsigned int type);

/* `count` elements that lie `step` elements apart, as floats; and back, with rounding. Any type but the 64-bit ones. */
void type_read(unsigned int type, const void *from, int64_t step, int64_t count, float *to);
void type_write(unsigned int type, const float *from, int64_t count, void *to, int64_t step);

/* One element of any real type. */
double type_get(unsigned int type, const void *from);
void type_put(unsigned int type, double value, void *to);

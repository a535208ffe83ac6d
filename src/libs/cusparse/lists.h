/*
 * lists.h: kernels on lists of 32-bit indices, as in cuSPARSE's older calls: a launch's parameters, and the entry
 * point.
 */
#pragma once

#include "libs/cusparse/sparse.h"

/* The first words are those of struct sparse_work. Every list except offsets has `count` numbers. */
struct sparse_lists {
	uint32_t number;
	uint32_t kernel;
	uint32_t type; /* unused */
	uint32_t each; /* bytes of a value; 0: the matrix has none */
	int64_t rows, columns, count;
	uint64_t rows_at; /* `compressed`: rows + 1 offsets */
	uint64_t columns_at, values_at;
	uint64_t order_at; /* sorted together with the indices, or 0 */
	uint64_t to_offsets_at, to_indices_at, to_values_at;
	uint8_t base, compressed;
	uint8_t spare[6];
};

_Static_assert(sizeof(struct sparse_lists) <= DEVICE_PARAM_BYTES, "a kernel's parameters");

void sparse_lists_run(struct soft_native *n);

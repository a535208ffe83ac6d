/*
 * lists.h: kernels about lists of indices of 32 bits, as cuSPARSE's older calls take them: what a launch's parameters
 * say, and where it arrives.
 */
#pragma once

#include "libs/cusparse/sparse.h"

/* The first words are those of struct sparse_work. Every list has `count` numbers but offsets. */
struct sparse_lists {
	uint32_t number;
	uint32_t kernel;
	uint32_t type; /* not used */
	uint32_t each; /* bytes of a value; 0: the matrix has none */
	int64_t rows, columns, count;
	uint64_t rows_at; /* `compressed`: rows + 1 offsets */
	uint64_t columns_at, values_at;
	uint64_t order_at; /* sorted along, or 0 */
	uint64_t to_offsets_at, to_indices_at, to_values_at;
	uint8_t base, compressed;
	uint8_t spare[6];
};

_Static_assert(sizeof(struct sparse_lists) <= DEVICE_PARAM_BYTES, "a kernel's parameters");

void sparse_lists_run(struct soft_native *n);

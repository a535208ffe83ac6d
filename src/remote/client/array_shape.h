/* array_shape.h: the dimensions of an array in bytes; the worker is asked once. */
#pragma once

#include "cuda_table.h"

struct array_shape {
	size_t element_bytes, row_bytes, height, depth;
};

CUresult array_shape(CUarray array, struct array_shape *ret);

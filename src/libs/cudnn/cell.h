/*
 * cell.h: one step of a row of cells of a recurrent network (cell_typed.h). Cells of float use the instructions that
 * the processor has.
 */
#pragma once

#include <stdint.h>

#define CELLS(T, suffix)                                                                                               \
	void cell_tanh##suffix(int64_t n, T *restrict gates, const T *restrict part, const T *restrict bias,           \
			       T *restrict h);                                                                         \
	void cell_lstm##suffix(int64_t n, T *restrict gates, const T *restrict part, const T *restrict bias,           \
			       T *restrict h, T *restrict c);                                                          \
	void cell_gru##suffix(int64_t n, T *restrict gates, const T *restrict part, T *restrict h);
CELLS(float, _f)
CELLS(double, _d)
/* Those of float by the instructions that they need; cell_..._f() choose. */
CELLS(float, _f_any)
CELLS(float, _f_avx2)
CELLS(float, _f_avx512)
#undef CELLS

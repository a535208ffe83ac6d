/* cell.c: the cells of cell.h, and which ones of float are used. */
#include "libs/cudnn/cell.h"
#include "libs/common/exponential.h"
#include "libs/common/instructions.h"

#include <math.h>

static double sigmoid_d(double x)
{
	return 1 / (1 + exp(-x));
}

#define T double
#define NAMED(name) name##_d
#define SIGMOID sigmoid_d
#define TANH tanh
#include "libs/cudnn/cell_typed.h"

#define T float
#define NAMED(name) name##_f_any
#define SIGMOID sigmoid_float
#define TANH tanh_float
#include "libs/cudnn/cell_typed.h"

void cell_tanh_f(int64_t n, float *restrict gates, const float *restrict part, const float *restrict bias,
		 float *restrict h)
{
	CHOSEN(cell_tanh_f)(n, gates, part, bias, h);
}

void cell_lstm_f(int64_t n, float *restrict gates, const float *restrict part, const float *restrict bias,
		 float *restrict h, float *restrict c)
{
	CHOSEN(cell_lstm_f)(n, gates, part, bias, h, c);
}

void cell_gru_f(int64_t n, float *restrict gates, const float *restrict part, float *restrict h)
{
	CHOSEN(cell_gru_f)(n, gates, part, h);
}

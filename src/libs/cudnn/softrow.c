/* softrow.c: the rows of softrow.h, and which ones are used. */
#include "libs/cudnn/softrow.h"
#include "libs/common/exponential.h"
#include "libs/common/instructions.h"

#include <math.h>

#define NAMED(name) name##_any
#define LANES 8
#include "libs/cudnn/softrow_typed.h"

float softrow_largest(const float *x, int64_t count, float most)
{
	return CHOSEN(softrow_largest)(x, count, most);
}

double softrow_exponentials(float *x, int64_t count, float base)
{
	return CHOSEN(softrow_exponentials)(x, count, base);
}

void softrow_multiply(float *x, int64_t count, float factor)
{
	CHOSEN(softrow_multiply)(x, count, factor);
}

void softrow_float(const float *restrict x, int64_t count, float factor, float *restrict to)
{
	CHOSEN(softrow_float)(x, count, factor, to);
}

void softrow_half(const float *x, int64_t count, float factor, uint16_t *to)
{
	CHOSEN(softrow_half)(x, count, factor, to);
}

void softrow_bfloat(const float *x, int64_t count, float factor, uint16_t *to)
{
	CHOSEN(softrow_bfloat)(x, count, factor, to);
}

/*
 * softrow_typed.h: the parts of a softmax over a row of floats; NAMED(name) names a function, LANES numbers are
 * computed at once.
 */

float NAMED(softrow_largest)(const float *x, int64_t count, float most)
{
	float lane[LANES];
	int64_t i = 0;

	for (int k = 0; k < LANES; k++)
		lane[k] = most;
	for (; i + LANES <= count; i += LANES)
		for (int k = 0; k < LANES; k++)
			lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];
	for (int k = 0; k < LANES; k++)
		most = lane[k] > most ? lane[k] : most;
	for (; i < count; i++)
		most = x[i] > most ? x[i] : most;
	return most;
}

double NAMED(softrow_exponentials)(float *x, int64_t count, float base)
{
	float lane[LANES] = { 0 };
	double sum = 0;
	int64_t i = 0;

	for (; i + LANES <= count; i += LANES)
		for (int k = 0; k < LANES; k++) {
			x[i + k] = exp_float(x[i + k] - base);
			lane[k] += x[i + k];
		}
	for (; i < count; i++)
		sum += (double)(x[i] = exp_float(x[i] - base));
	for (int k = 0; k < LANES; k++)
		sum += (double)lane[k];
	return sum;
}

void NAMED(softrow_multiply)(float *x, int64_t count, float factor)
{
	for (int64_t i = 0; i < count; i++)
		x[i] *= factor;
}

void NAMED(softrow_float)(const float *restrict x, int64_t count, float factor, float *restrict to)
{
	for (int64_t i = 0; i < count; i++)
		to[i] = x[i] * factor;
}

void NAMED(softrow_half)(const float *x, int64_t count, float factor, uint16_t *to)
{
	for (int64_t i = 0; i < count; i++)
		to[i] = half_write(x[i] * factor);
}

void NAMED(softrow_bfloat)(const float *x, int64_t count, float factor, uint16_t *to)
{
	for (int64_t i = 0; i < count; i++)
		to[i] = bfloat_write(x[i] * factor);
}

#undef NAMED
#undef LANES

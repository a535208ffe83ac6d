/* distributions.c: normal and Poisson's numbers of uniform ones. */
#include "libs/curand/rand.h"

#include <math.h>

#define POISSON_NORMAL 4000.0 /* from this mean on, Poisson's numbers are rounded normal ones */

void rand_pair(float u1, float angle, float ret[2])
{
	float length = sqrtf(-2.0f * logf(u1));

	sincosf(angle, &ret[0], &ret[1]);
	ret[0] *= length;
	ret[1] *= length;
}

void rand_pair_double(double u1, double angle, double ret[2])
{
	double length = sqrt(-2.0 * log(u1));

	sincos(angle * 6.283185307179586, &ret[0], &ret[1]);
	ret[0] *= length;
	ret[1] *= length;
}

/*
 * A first guess (A. Stegun and M. Abramowitz, Handbook of Mathematical Functions, 26.2.23), and Newton's steps in the
 * third order on the distribution's function, until nothing changes.
 */
double rand_normal_at(double p)
{
	double q = p < 0.5 ? p : 1 - p, t = sqrt(-2 * log(q));
	double x =
		t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));

	for (int i = 0; i < 3; i++) {
		/* of the upper tail, where nothing cancels */
		double off = (0.5 * erfc(x * 0.7071067811865476) - q) / (exp(-x * x / 2) * 0.3989422804014327);

		x += off / (1 - x * off / 2);
	}
	return p < 0.5 ? -x : x;
}

/* By a search from the mean outwards would be quicker; from 0 on is exact, and short where means are small. */
static uint32_t poisson_search(double mean, double p)
{
	double term = exp(-mean), sum = term;
	uint32_t k = 0;

	while (p > sum && k < 10000) {
		k++;
		term *= mean / k;
		sum += term;
		if (term < 1e-18 && k > mean)
			break;
	}
	return k;
}

uint32_t rand_poisson_at(double mean, double p)
{
	double value;

	if (mean < 500)
		return poisson_search(mean, p);
	/* Cornish and Fisher's expansion by the skewness of Poisson's distribution */
	value = rand_normal_at(p);
	value = mean + sqrt(mean) * value + (mean < POISSON_NORMAL ? (value * value - 1) / 6 : 0);
	return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)llrint(value);
}

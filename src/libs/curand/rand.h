/*
 * rand.h: cuRAND of the software device: its generators, and the execution of calls.
 *
 * A generator of XORWOW or MRG32K3A consists of many subsequences of one sequence, far apart, as cuRAND documents them
 * for each ordering; a call takes its numbers from them in turn, one or a pair from each. Their states are in device
 * memory and belong to the generator. Philox and Sobol are functions of a position.
 *
 * A call fills a struct rand_work, which is a kernel's parameters; rand_run() executes it on the device's threads. A
 * generator of the host (curandCreateGeneratorHost()) calls the same functions at once.
 *
 * Sources: cuRAND documentation, "Generator Options"; G. Marsaglia, "Xorshift RNGs"; P. L'Ecuyer, "Good parameters and
 * implementations for combined multiple recursive random number generators"; J. Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3". How cuRAND seeds, orders and converts was measured by NVIDIA's host generator:
 * tests/libs/curand_oracle_test.c.
 */
#pragma once

#include "curand_soft.h"
#include "libs/common/library.h"

#define RAND_TITLE "cuRAND"
#define RAND_DIMENSIONS 1111u /* dimensions with direction numbers in sobol_numbers.h */

enum rand_kernel { RAND_KERNEL_SEED, RAND_KERNEL_GENERATE, RAND_KERNELS };

enum rand_output {
	RAND_BITS,
	RAND_BITS64,
	RAND_UNIFORM,
	RAND_UNIFORM_DOUBLE,
	RAND_NORMAL,
	RAND_NORMAL_DOUBLE,
	RAND_LOG_NORMAL,
	RAND_LOG_NORMAL_DOUBLE,
	RAND_POISSON,
	RAND_OUTPUTS
};

/* A subsequence: XORWOW's five words and counter, or MRG32K3A's two times three numbers. */
struct rand_state {
	uint32_t v[6];
};

struct rand_work {
	uint32_t number; /* device_launch() sets it */
	uint32_t kernel; /* enum rand_kernel */
	uint32_t type;	 /* curandRngType_t */
	uint32_t output; /* enum rand_output */
	uint64_t to;	 /* address of the numbers */
	int64_t count;	 /* of numbers */
	uint64_t states; /* address of `sequences` struct rand_state */
	uint32_t sequences, first;
	uint32_t seeded;       /* each of them has a seed of its own */
	uint64_t seed, offset; /* offset: as set */
	uint64_t done;	       /* numbers since, or points of each dimension; of functions of a position */
	uint32_t dimensions;
	double mean, deviation; /* of a normal or logarithmic normal distribution; mean: of Poisson's */
};

/* The number of subsequences of a generator, by its type and ordering; 0: it has no states. */
uint32_t rand_sequences(curandRngType_t type, curandOrdering_t order);
/* The number of consecutive numbers from one subsequence. */
uint32_t rand_unit(const struct rand_work *w);
uint32_t rand_bytes(enum rand_output output);

/* States of subsequences from .. to - 1. */
void rand_seed(const struct rand_work *w, struct rand_state *states, int64_t from, int64_t to);

/* Numbers of the subsequences whose turn is from .. to - 1, counted from the first one's. False: stopped. */
bool rand_sequences_run(const struct rand_work *w, struct rand_state *states, void *out, int64_t from, int64_t to,
			struct soft_native *n);
/* Numbers from .. to - 1 of a function of a position. */
bool rand_positions_run(const struct rand_work *w, void *out, int64_t from, int64_t to, struct soft_native *n);

/* ---- conversions ---- */

/* Four numbers of Philox: counter {low, high, sequence, 0}. */
void philox(uint64_t counter, uint32_t sequence, uint64_t seed, uint32_t ret[4]);
/* A pair of normal numbers from two uniform ones. */
void rand_pair(float u1, float angle, float ret[2]);
void rand_pair_double(double u1, double angle, double ret[2]);
/* The inverse of the normal distribution function. */
double rand_normal_at(double p);
/* The inverse of the Poisson distribution function at a uniform number in (0, 1). */
uint32_t rand_poisson_at(double mean, double p);

/* Direction numbers of a dimension, with 32 or 64 bits. */
void sobol_directions32(uint32_t dimension, uint32_t ret[32]);
void sobol_directions64(uint32_t dimension, uint64_t ret[64]);

/* The entry point of kernels. */
void rand_run(struct soft_native *n);

/*
 * rand.h: cuRAND of the software device: its generators, and the execution of calls.
 *
 * A generator of XORWOW or MRG32K3A consists of many subsequences of one sequence, far apart, as cuRAND documents them
 * for each ordering; a call takes its numbers from them in turn, one or a pair from each. Their states are in device
 * memory and belong to the generator. Philox and Sobol are functions of a position.
 *
 * What a generator is set to and how far it has come is in device memory as well, in front of the states: a call is one
 * kernel, whose last block moves the generator's place on. So a graph that is launched again continues the sequence.
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

/*
 * Where a generator is. `shares`: the blocks of a kernel together add 1 << 32; whoever carries into the upper half is
 * the last one. Kernels of one generator that two streams run at the same time get numbers twice, but leave it sound.
 */
struct rand_place {
	uint64_t id;	  /* of this memory's generator: a kernel of another one is refused */
	uint64_t setting; /* which of the settings it was seeded by */
	uint64_t seed, offset;
	uint64_t done; /* since the offset: turns of subsequences; numbers of Philox; points of each dimension of Sobol
			*/
	uint64_t shares;
};

struct rand_work {
	uint32_t number; /* device_launch() sets it */
	uint32_t kernel; /* enum rand_kernel */
	uint32_t type;	 /* curandRngType_t */
	uint32_t output; /* enum rand_output */
	uint64_t to;	 /* address of the numbers */
	int64_t count;	 /* of numbers */
	uint64_t place;	 /* address of a struct rand_place, and of `sequences` struct rand_state behind it */
	uint64_t id;	 /* of the place */
	uint32_t sequences;
	uint32_t dimensions;
	/* of seeding alone */
	uint32_t seeded; /* each subsequence has a seed of its own */
	uint32_t older;	 /* only a place of another setting is seeded; the kernel has one block */
	uint64_t setting;
	uint64_t seed, offset;
	double mean, deviation; /* of a normal or logarithmic normal distribution; mean: of Poisson's */
};

_Static_assert(sizeof(struct rand_work) <= DEVICE_PARAM_BYTES, "a kernel's parameters");

/* The number of subsequences of a generator, by its type and ordering; 0: it has no states. */
uint32_t rand_sequences(curandRngType_t type, curandOrdering_t order);
/* The number of consecutive numbers from one subsequence. */
uint32_t rand_unit(const struct rand_work *w);
uint32_t rand_bytes(enum rand_output output);

static inline struct rand_place *rand_place(const struct rand_work *w)
{
	return (struct rand_place *)(uintptr_t)w->place;
}

static inline struct rand_state *rand_states(const struct rand_work *w)
{
	return (struct rand_state *)(rand_place(w) + 1);
}

/* A generator that has no numbers yet: its place ... */
void rand_place_begin(const struct rand_work *w);
/* ... and the states of subsequences from .. to - 1. False: stopped; without `n` nobody stops it. */
bool rand_seed(const struct rand_work *w, int64_t from, int64_t to, struct soft_native *n);

/* Numbers of the subsequences whose turn is from .. to - 1, counted from the first one's. False: stopped. */
bool rand_sequences_run(const struct rand_work *w, const struct rand_place *at, int64_t from, int64_t to,
			struct soft_native *n);
/* Numbers from .. to - 1 of a function of a position. */
bool rand_positions_run(const struct rand_work *w, const struct rand_place *at, int64_t from, int64_t to,
			struct soft_native *n);
/* How far a call takes the generator. */
uint64_t rand_turns(const struct rand_work *w);

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

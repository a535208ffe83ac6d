/* native_rand.c: kernels of cuRAND. */
#include "libs/curand/rand.h"
#include "native.h"

static void make_rand(void *to, const struct plain *p)
{
	struct rand_work *work = to;
	static const uint32_t types[] = { CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A,
					  CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_QUASI_SOBOL32,
					  CURAND_RNG_QUASI_SOBOL64 };
	unsigned int type = p->choice % 5;

	*work = (struct rand_work){ .kernel = p->more & 1,
				    .type = types[type],
				    .output = p->more / 2 % RAND_OUTPUTS,
				    .to = address(0, 0),
				    .count = p->m * p->n,
				    .place = address(1, 0),
				    .sequences = type < 2 ? (uint32_t)p->k : 0,
				    .seed = p->more,
				    .offset = p->more,
				    .dimensions = type < 2 ? 0 : (uint32_t)p->n,
				    .mean = 3,
				    .deviation = 1 };
}

#define R(member) F(struct rand_work, member)
static const struct field rand_fields[] = {
	R(kernel), R(type),  R(output),	 R(to),	  R(count),  R(place), R(id),	     R(sequences),
	R(seeded), R(older), R(setting), R(seed), R(offset), R(mean),  R(deviation), R(dimensions),
};
#undef R

NATIVE_KERNEL(rand, rand_run)

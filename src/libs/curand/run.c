/* run.c: kernels of cuRAND on the device's threads. The parameters are checked: anybody can launch the kernels. */
#include "libs/curand/rand.h"

uint32_t rand_bytes(enum rand_output output)
{
	return output == RAND_BITS64 || output == RAND_UNIFORM_DOUBLE || output == RAND_NORMAL_DOUBLE ||
			       output == RAND_LOG_NORMAL_DOUBLE
		       ? 8
		       : 4;
}

uint32_t rand_unit(const struct rand_work *w)
{
	return w->sequences && w->output >= RAND_NORMAL && w->output <= RAND_LOG_NORMAL_DOUBLE ? 2 : 1;
}

static bool work_sound(const struct rand_work *w)
{
	bool states = w->type == CURAND_RNG_PSEUDO_XORWOW || w->type == CURAND_RNG_PSEUDO_MRG32K3A;
	bool positions = w->type == CURAND_RNG_PSEUDO_PHILOX4_32_10 || w->type == CURAND_RNG_QUASI_SOBOL32 ||
			 w->type == CURAND_RNG_QUASI_SOBOL64;

	if (w->kernel >= RAND_KERNELS || w->output >= RAND_OUTPUTS || w->count <= 0 || w->count > INT64_C(1) << 40 ||
	    !(w->mean < 1e10) || !(w->mean > -1e10))
		return false;
	if (states)
		return w->sequences && w->sequences <= 1u << 20 && w->first < w->sequences;
	return positions && !w->sequences && w->kernel == RAND_KERNEL_GENERATE && w->dimensions &&
	       w->dimensions <= RAND_DIMENSIONS && w->count % w->dimensions == 0 && w->mean < 1e10 &&
	       (w->output != RAND_BITS64 || w->type == CURAND_RNG_QUASI_SOBOL64);
}

void rand_run(struct soft_native *n)
{
	const struct rand_work *w = n->params;
	struct rand_state *states;
	int64_t from, to, units;

	if (n->bytes != DEVICE_PARAM_BYTES || !n->blocks || !work_sound(w)) {
		n->refuse(n);
		return;
	}
	states = (struct rand_state *)(uintptr_t)w->states;
	if (w->sequences && !library_reach(n, w->states, w->sequences, sizeof(*states), true))
		return;
	if (w->kernel == RAND_KERNEL_SEED) {
		library_part(n, w->sequences, &from, &to);
		rand_seed(w, states, from, to);
		return;
	}
	if (!library_reach(n, w->to, w->count, rand_bytes((enum rand_output)w->output), true))
		return;
	if (!w->sequences) {
		library_part(n, w->count, &from, &to);
		rand_positions_run(w, (void *)(uintptr_t)w->to, from, to, n);
		return;
	}
	units = w->count / rand_unit(w);
	library_part(n, units < w->sequences ? units : w->sequences, &from, &to);
	rand_sequences_run(w, states, (void *)(uintptr_t)w->to, from, to, n);
}

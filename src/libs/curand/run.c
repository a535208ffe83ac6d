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

uint64_t rand_turns(const struct rand_work *w)
{
	return (uint64_t)(w->sequences ? w->count / rand_unit(w) : w->count / w->dimensions);
}

void rand_place_begin(const struct rand_work *w)
{
	*rand_place(w) =
		(struct rand_place){ .id = w->id, .setting = w->setting, .seed = w->seed, .offset = w->offset };
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
		return w->sequences && w->sequences <= 1u << 20;
	return positions && !w->sequences && w->dimensions && w->dimensions <= RAND_DIMENSIONS &&
	       w->count % w->dimensions == 0 && (w->output != RAND_BITS64 || w->type == CURAND_RNG_QUASI_SOBOL64);
}

static void run_seed(const struct rand_work *w, struct soft_native *n)
{
	const struct rand_place *place = rand_place(w);
	int64_t from, to;

	if (w->older && place->id == w->id && place->setting == w->setting)
		return;
	if (w->sequences) {
		library_part(n, w->sequences, &from, &to);
		if (!rand_seed(w, from, to, n))
			return;
	}
	if (!n->block)
		rand_place_begin(w);
}

/* What this block did is its share of the call; the last block takes the generator on. */
static void place_advance(const struct rand_work *w, struct soft_native *n)
{
	struct rand_place *place = rand_place(w);
	int64_t from, to;
	uint64_t before;

	library_part(n, INT64_C(1) << 32, &from, &to);
	before = __atomic_fetch_add(&place->shares, (uint64_t)(to - from), __ATOMIC_ACQ_REL);
	if (before >> 32 != (before + (uint64_t)(to - from)) >> 32)
		__atomic_fetch_add(&place->done, rand_turns(w), __ATOMIC_RELEASE);
}

static void run_generate(const struct rand_work *w, struct soft_native *n)
{
	const struct rand_place *place = rand_place(w);
	const struct rand_place at = { .seed = place->seed,
				       .offset = place->offset,
				       .done = __atomic_load_n(&place->done, __ATOMIC_ACQUIRE) };
	int64_t from, to, units = w->count / rand_unit(w);
	bool whole;

	if (place->id != w->id) {
		n->refuse(n); /* the generator has ended, and a graph of it is launched */
		return;
	}
	if (!library_reach(n, w->to, w->count, rand_bytes((enum rand_output)w->output), true))
		return;
	if (w->sequences) {
		library_part(n, units < w->sequences ? units : w->sequences, &from, &to);
		whole = rand_sequences_run(w, &at, from, to, n);
	} else {
		library_part(n, w->count, &from, &to);
		whole = rand_positions_run(w, &at, from, to, n);
	}
	if (whole)
		place_advance(w, n);
}

void rand_run(struct soft_native *n)
{
	const struct rand_work *w = n->params;
	int64_t bytes;

	if (n->bytes != DEVICE_PARAM_BYTES || !n->blocks || !work_sound(w)) {
		n->refuse(n);
		return;
	}
	bytes = (int64_t)(sizeof(struct rand_place) + w->sequences * sizeof(struct rand_state));
	if (!library_reach(n, w->place, bytes / 8, 8, true))
		return;
	if (w->kernel == RAND_KERNEL_SEED)
		run_seed(w, n);
	else
		run_generate(w, n);
}

/* rand_forged_test.c: cuRAND's kernels with forged parameters: see forged.h. */
#include "tests/libs/forged.h"

#include "libs/curand/rand.h"

#define ROUNDS 4000

union params {
	char bytes[DEVICE_PARAM_BYTES];
	struct rand_work work;
};

uint32_t device_threads(void)
{
	return 4;
}

static uint64_t at(uint64_t offset)
{
	return (uint64_t)(uintptr_t)forged_memory + offset;
}

/* Numbers that are left over when all dimensions have theirs are of a dimension that there is not. */
static void test_dimensions(void)
{
	union params p = { .work = { .kernel = RAND_KERNEL_GENERATE,
				     .type = CURAND_RNG_QUASI_SOBOL32,
				     .output = RAND_BITS,
				     .place = at(FORGED_ALLOWED - sizeof(struct rand_place)),
				     .to = at(0),
				     .count = 2 * RAND_DIMENSIONS - 1,
				     .dimensions = RAND_DIMENSIONS } };

	ok(forged_run(rand_run, &p, 1, 2000) == FORGED_REFUSED);
	p.work.count = 2 * RAND_DIMENSIONS;
	ok(forged_run(rand_run, &p, 1, 2000) == FORGED_DONE);
}

/* What a generator does not have is not what happens to lie on the thread's stack. */
static void test_wide(void)
{
	union params p = { .work = { .kernel = RAND_KERNEL_GENERATE,
				     .type = CURAND_RNG_PSEUDO_PHILOX4_32_10,
				     .output = RAND_BITS64,
				     .place = at(FORGED_ALLOWED - sizeof(struct rand_place)),
				     .to = at(0),
				     .count = 64,
				     .dimensions = 1 } };

	ok(forged_run(rand_run, &p, 1, 2000) == FORGED_REFUSED);
	p.work.type = CURAND_RNG_QUASI_SOBOL32;
	ok(forged_run(rand_run, &p, 1, 2000) == FORGED_REFUSED);
	p.work.type = CURAND_RNG_QUASI_SOBOL64;
	ok(forged_run(rand_run, &p, 1, 2000) == FORGED_DONE);
}

/* One block of a call, as the device's threads would run it. */
static void block_run(const union params *p, uint32_t block, uint32_t blocks)
{
	struct soft_native n = { .params = p,
				 .bytes = sizeof(*p),
				 .block = block,
				 .blocks = blocks,
				 .reach = forged_reach,
				 .go_on = forged_go_on,
				 .refuse = forged_refuse };

	forged_refused = false;
	rand_run(&n);
}

/* The last block of a call takes the generator on; calls that overlap all the same leave it as far as both together. */
static void test_place(void)
{
	union params p = { .work = { .kernel = RAND_KERNEL_SEED,
				     .type = CURAND_RNG_PSEUDO_PHILOX4_32_10,
				     .output = RAND_BITS,
				     .place = at(FORGED_ALLOWED - sizeof(struct rand_place)),
				     .id = 77,
				     .to = at(0),
				     .count = 1000,
				     .dimensions = 1 } };
	const struct rand_place *place = rand_place(&p.work);

	block_run(&p, 0, 1);
	p.work.kernel = RAND_KERNEL_GENERATE;
	block_run(&p, 2, 3);
	block_run(&p, 0, 3);
	ok(place->done == 0);
	block_run(&p, 1, 3);
	ok(place->done == 1000);
	block_run(&p, 0, 3);
	block_run(&p, 1, 2);
	block_run(&p, 1, 3);
	block_run(&p, 0, 2);
	block_run(&p, 2, 3);
	ok(place->done == 3000 && !(uint32_t)place->shares);
	p.work.id = 78;
	block_run(&p, 0, 1);
	ok(forged_refused && place->done == 3000);
}

static void forge(struct rand_work *w)
{
	static const uint32_t types[] = { CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A,
					  CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_QUASI_SOBOL32,
					  CURAND_RNG_QUASI_SOBOL64 };

	memset(w, 0, sizeof(*w));
	w->kernel = (uint32_t)forged_below(RAND_KERNELS);
	w->type = types[forged_below(5)];
	w->output = (uint32_t)forged_below(RAND_OUTPUTS);
	w->to = forged_address();
	w->count = forged_number();
	w->place = forged_address();
	w->id = forged_below(2);
	w->sequences = w->type == CURAND_RNG_PSEUDO_XORWOW || w->type == CURAND_RNG_PSEUDO_MRG32K3A
			       ? (uint32_t)forged_below(70)
			       : 0;
	w->seeded = (uint32_t)forged_below(2);
	w->older = (uint32_t)forged_below(2);
	w->setting = (uint64_t)forged_below(3);
	w->seed = forged_random();
	w->offset = (uint64_t)forged_number();
	w->dimensions = (uint32_t)forged_below(1200);
	w->mean = forged_below(8) ? (double)forged_below(100) : -1e300;
	w->deviation = 1;
}

/* The program can write what it likes where a generator is, at any time: its own kernels reach it. */
static void forge_place(const struct rand_work *w)
{
	struct rand_place *place = rand_place(w);

	*place = (struct rand_place){ .id = w->id,
				      .setting = (uint64_t)forged_below(3),
				      .seed = forged_random(),
				      .offset = forged_random(),
				      .done = forged_random(),
				      .shares = forged_random() };
	for (uint32_t i = 0; i < w->sequences; i++)
		for (int k = 0; k < 6; k++)
			rand_states(w)[i].v[k] = (uint32_t)forged_random();
}

/* The states are the last that the device allows, and the generator is anywhere among them. */
static void test_turns(void)
{
	union params p = { .work = { .kernel = RAND_KERNEL_GENERATE,
				     .type = CURAND_RNG_PSEUDO_XORWOW,
				     .output = RAND_BITS,
				     .to = at(0),
				     .count = 1000,
				     .sequences = 64 } };

	p.work.place = at(FORGED_ALLOWED - sizeof(struct rand_place) - 64 * sizeof(struct rand_state));
	for (int i = 0; i < 100; i++) {
		forge_place(&p.work);
		ok(forged_run(rand_run, &p, 1, 2000) == FORGED_DONE);
	}
}

static bool has_place(const struct rand_work *w)
{
	uint64_t bytes = sizeof(struct rand_place) + w->sequences * sizeof(struct rand_state);

	return !(w->place % 8) && forged_reach(NULL, w->place, bytes, true);
}

static void test_any(void)
{
	int escaped = 0, done = 0;

	for (int i = 0; i < ROUNDS; i++) {
		enum forged_end end;
		union params p;

		memset(&p, 0, sizeof(p));
		forge(&p.work);
		if (forged_below(4) && has_place(&p.work))
			forge_place(&p.work);
		end = forged_any(rand_run, &p);
		done += end == FORGED_DONE;
		escaped += end == FORGED_ESCAPED;
	}
	printf("# %d of %d were executed\n", done, ROUNDS);
	tap_ok(!escaped, "%d of %d touch what they must not", escaped, ROUNDS);
	tap_ok(!forged_endless, "%d of %d cannot be stopped", forged_endless, ROUNDS);
	tap_ok(done > ROUNDS / 100, "not all of them are refused");
}

/* A jump ahead for each of a million subsequences. */
static void test_seeds(void)
{
	union params p = { .work = { .kernel = RAND_KERNEL_SEED,
				     .type = CURAND_RNG_PSEUDO_XORWOW,
				     .count = 1,
				     .place = at(0),
				     .sequences = 1024,
				     .seeded = 1,
				     .offset = UINT64_MAX } };

	forged_goes_on = 3;
	ok(forged_run(rand_run, &p, 1, 2000) == FORGED_DONE && forged_goes_on < 0);
	forged_goes_on = INT64_MAX;
}

int main(void)
{
	tap_begin();
	forged_begin();
	test_seeds();
	test_dimensions();
	test_wide();
	test_place();
	test_turns();
	test_any();
	return tap_end();
}

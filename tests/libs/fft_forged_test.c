/* fft_forged_test.c: cuFFT's kernel with forged parameters: see forged.h. */
#include "tests/libs/forged.h"

#include "libs/cufft/fft.h"

#define ROUNDS 60000

union params {
	char bytes[DEVICE_PARAM_BYTES];
	struct fft_pass pass;
};

uint32_t device_threads(void)
{
	return 4;
}

/* Two lines lie in one, and each is turned as if it had one of its own. */
static void test_turn(void)
{
	for (uint32_t wide = 0; wide < 2; wide++)
		for (int64_t n = 1; n <= 64; n *= 2) {
			struct fft_side side = { .at = (uint64_t)(uintptr_t)forged_memory,
						 .kind = FFT_REAL,
						 .stride = 1,
						 .step = 1,
						 .apart = { n, 0, 0 } };
			union params p = { .pass = { .wide = wide,
						     .turn = 1,
						     .n = n,
						     .whole = n,
						     .count = { 64, 1, 1 },
						     .in = side,
						     .out = side } };
			enum forged_end end = forged_run(fft_run, &p, 1, 2000);

			tap_ok(end != FORGED_ESCAPED, "pairs of %d real numbers are not turned beside their memory",
			       (int)n);
		}
}

static void forge_side(struct fft_side *s, int64_t whole)
{
	s->at = forged_address();
	s->kind = (uint32_t)forged_below(FFT_KINDS);
	s->stride = 1 + (forged_below(5) ? (int64_t)forged_below(3) : forged_number());
	s->step = 1 + (int64_t)forged_below(3);
	s->first = forged_below(2) ? 0 : forged_below(8) ? 1 + (int64_t)forged_below(4) : forged_number();
	for (int i = 0; i < 3; i++)
		s->apart[i] = forged_below(6) ? (int64_t)forged_below((uint64_t)whole + 1) : forged_number();
}

static void forge(struct fft_pass *p)
{
	memset(p, 0, sizeof(*p));
	p->wide = (uint32_t)forged_below(2);
	p->backwards = (uint32_t)forged_below(2);
	p->turn = (uint32_t)forged_below(2);
	p->n = 1 + (int64_t)forged_below(40);
	p->whole = p->n + (forged_below(2) ? 0 : (int64_t)forged_below(300));
	for (int i = 0; i < 3; i++)
		p->count[i] = 1 + (forged_below(8) ? (int64_t)forged_below(6) : forged_number());
	forge_side(&p->in, p->whole);
	forge_side(&p->out, p->whole);
	if (!forged_below(8))
		p->whole = forged_number();
}

static void test_any(void)
{
	int escaped = 0, done = 0;

	for (int i = 0; i < ROUNDS; i++) {
		enum forged_end end;
		union params p;

		memset(&p, 0, sizeof(p));
		forge(&p.pass);
		end = forged_any(fft_run, &p);
		done += end == FORGED_DONE;
		escaped += end == FORGED_ESCAPED;
	}
	printf("# %d of %d were executed\n", done, ROUNDS);
	tap_ok(!escaped, "%d of %d touch what they must not", escaped, ROUNDS);
	tap_ok(!forged_endless, "%d of %d cannot be stopped", forged_endless, ROUNDS);
	tap_ok(done > ROUNDS / 100, "not all of them are refused");
}

int main(void)
{
	tap_begin();
	forged_begin();
	test_turn();
	test_any();
	return tap_end();
}

/*
 * solver_forged_test.c: cuSOLVER's kernels with forged parameters: see forged.h. OpenBLAS's kernels read a column
 * further than they use, of the thread's memory and of the device's: the device has pages behind all that it gives.
 */
#define FORGED_SLACK 4096
#define FORGED_BEHIND (UINT64_C(64) << 10)
#include "tests/libs/forged.h"

#include "libs/cusolver/solver.h"

#include <fcntl.h>
#include <unistd.h>

#define ROUNDS 30000

union params {
	char bytes[DEVICE_PARAM_BYTES];
	struct solver_work work;
};

uint32_t device_threads(void)
{
	return 4;
}

static void forge_matrix(struct solver_matrix *m)
{
	m->at = forged_address();
	m->ld = forged_below(8) ? 12 + (int64_t)forged_below(3) : forged_number();
	m->apart = forged_below(4) ? (int64_t)forged_below(200) : forged_number();
}

static void forge(struct solver_work *w)
{
	int64_t *sizes[] = { &w->m, &w->n, &w->k, &w->nrhs };

	memset(w, 0, sizeof(*w));
	w->routine = (uint32_t)forged_below(SOLVER_ROUTINES);
	w->type = (uint8_t)forged_below(4);
	w->arrays = !forged_below(4);
	w->wide = (uint8_t)forged_below(2);
	w->conjugated = (uint8_t)forged_below(2);
	w->uplo = "UL"[forged_below(2)];
	w->side = "LR"[forged_below(2)];
	w->trans = "NTC"[forged_below(3)];
	w->diag = "NU"[forged_below(2)];
	w->job = "NVASO"[forged_below(5)];
	w->job_more = "NVASO"[forged_below(5)];
	w->itype = 1 + (int32_t)forged_below(3);
	for (int i = 0; i < 4; i++)
		*sizes[i] = forged_below(20) ? (int64_t)forged_below(13) : forged_number();
	w->batch = 1 + (int64_t)forged_below(3);
	forge_matrix(&w->a);
	forge_matrix(&w->b);
	forge_matrix(&w->c);
	w->values = forged_address();
	w->values_more = forged_address();
	w->tau = forged_address();
	w->pivots = forged_address();
	w->info = forged_below(3) ? forged_address() : 0;
	w->values_apart = forged_below(4) ? 13 : forged_number();
}

static void fill(void)
{
	uint64_t *words = (uint64_t *)(void *)forged_memory;

	for (uint64_t i = 0; i < FORGED_ALLOWED / 8; i++)
		words[i] = !forged_below(8)  ? forged_random()
			   : forged_below(3) ? UINT64_C(0x3ff0000000000000) + forged_below(1 << 20)
					     : forged_address();
}

/* LAPACK says lines about numbers that are none, where the test speaks. */
static int turn_away(void)
{
	int kept = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);

	fflush(stdout);
	dup2(nowhere, STDOUT_FILENO);
	close(nowhere);
	return kept;
}

static void turn_back(int kept)
{
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(kept);
}

int main(void)
{
	int escaped = 0, done = 0, kept;

	tap_begin();
	if (!lapack_open()) {
		tap_ok(true, "without LAPACK nothing is executed # SKIP");
		return tap_end();
	}
	forged_begin();
	kept = turn_away();
	for (int i = 0; i < ROUNDS; i++) {
		enum forged_end end;
		union params p;

		memset(&p, 0, sizeof(p));
		if (!(i % 64))
			fill();
		forge(&p.work);
		end = forged_any(solver_run, &p);
		done += end == FORGED_DONE;
		if (end == FORGED_ESCAPED && escaped++ < 8)
			fprintf(stderr,
				"# routine %u of type %u, round %d: m %ld, n %ld, a %ld and %ld behind the memory's begin, b %ld, c %ld, "
				"arrays %u\n",
				p.work.routine, p.work.type, i, (long)p.work.m, (long)p.work.n, (long)p.work.a.ld,
				(long)(p.work.a.at - (uint64_t)(uintptr_t)forged_memory), (long)p.work.b.ld,
				(long)p.work.c.ld, p.work.arrays);
	}
	turn_back(kept);
	printf("# %d of %d were executed\n", done, ROUNDS);
	tap_ok(!escaped, "%d of %d touch what they must not", escaped, ROUNDS);
	tap_ok(!forged_endless, "%d of %d cannot be stopped", forged_endless, ROUNDS);
	tap_ok(done > ROUNDS / 100, "not all of them are refused");
	return tap_end();
}

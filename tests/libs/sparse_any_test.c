/* sparse_any_test.c: cuSPARSE's kernels with any parameters: see forged.h. */
#include "tests/libs/forged.h"

#include "libs/cusparse/lists.h"

#include <pthread.h>
#include <stdatomic.h>

#define ROUNDS 100000

union params {
	char bytes[DEVICE_PARAM_BYTES];
	struct sparse_work work;
	struct sparse_lists lists;
};

uint32_t device_threads(void)
{
	return 4;
}

static int64_t size(void)
{
	return forged_below(16) ? (int64_t)forged_below(6) : forged_number();
}

static void forge_dense(struct sparse_dense *d, int64_t rows, int64_t columns)
{
	d->at = forged_address();
	d->down = forged_below(8) ? (int64_t)forged_below(7) : forged_number();
	d->across = forged_below(8) ? (int64_t)forged_below(7) : forged_number();
	d->rows = forged_below(8) ? rows : size();
	d->columns = forged_below(8) ? columns : size();
	d->apart = forged_below(8) ? (int64_t)forged_below(40) : forged_number();
	d->conjugated = forged_below(2);
}

static void forge(struct sparse_work *w)
{
	int64_t rows, columns;

	memset(w, 0, sizeof(*w));
	w->kernel = (uint32_t)forged_below(SPARSE_KERNELS);
	w->type = (uint32_t)forged_below(4);
	w->batch = 1 + (forged_below(8) ? (int64_t)forged_below(2) : forged_number());
	w->a.rows_at = forged_address();
	w->a.columns_at = forged_address();
	w->a.values_at = forged_address();
	w->a.rows = size();
	w->a.columns = forged_below(2) ? w->a.rows : size();
	w->a.nnz = forged_below(8) ? (int64_t)forged_below(9) : forged_number();
	w->a.coordinates = forged_below(3) == 0;
	w->a.wide_rows = forged_below(2);
	w->a.wide_columns = forged_below(2);
	w->a.base = (uint8_t)(forged_below(2) + !forged_below(20));
	w->a.turned = forged_below(2);
	w->a.upper = forged_below(2);
	w->a.unit = forged_below(2);
	w->a.rows_apart = forged_below(8) ? (int64_t)forged_below(9) : forged_number();
	w->a.values_apart = forged_below(8) ? (int64_t)forged_below(9) : forged_number();
	rows = w->a.turned ? w->a.columns : w->a.rows;
	columns = w->a.turned ? w->a.rows : w->a.columns;
	if (w->kernel == SPARSE_SPMM) {
		int64_t across = size();

		forge_dense(&w->b, columns, across);
		forge_dense(&w->c, rows, across);
	} else if (w->kernel == SPARSE_SDDMM) {
		int64_t depth = size();

		forge_dense(&w->b, rows, depth);
		forge_dense(&w->c, depth, columns);
	} else {
		int64_t across = w->kernel == SPARSE_SPSV ? size() : columns;

		forge_dense(&w->b, rows, across);
		forge_dense(&w->c, rows, across);
	}
	if ((w->kernel == SPARSE_GTSV || w->kernel == SPARSE_GTSV_PLAIN) && forged_below(8)) {
		if (!w->a.turned)
			w->a.columns = w->a.rows;
		w->a.nnz = w->c.rows = w->a.columns;
		w->c.down = 1;
	}
	for (int i = 0; i < 2; i++)
		w->more[i] =
			(struct sparse_matrix){ .rows_at = forged_address(),
						.columns_at = forged_address(),
						.values_at = forged_address(),
						.rows = forged_below(8) ? i ? w->a.rows : w->a.columns : size(),
						.columns = i && forged_below(8) ? w->more[0].columns : size(),
						.nnz = forged_below(8) ? (int64_t)forged_below(9) : forged_number(),
						.wide_rows = forged_below(2),
						.wide_columns = forged_below(2),
						.base = (uint8_t)forged_below(2) };
	w->alpha.value[0] = 1;
	w->alpha.address = forged_below(3) ? 0 : forged_address();
	w->beta.address = forged_below(3) ? 0 : forged_address();
}

/* The same of lists of indices; the kernel is one of theirs. */
static void forge_lists(struct sparse_lists *w)
{
	uint32_t kernel = w->kernel;
	bool compresses = kernel == SPARSE_LINES || kernel == SPARSE_TURN;

	memset(w, 0, sizeof(*w));
	w->kernel = kernel;
	w->each = (uint32_t)forged_below(forged_below(8) ? 9 : 40);
	w->rows = size();
	w->columns = size();
	w->count = forged_below(8) ? (int64_t)forged_below(9) : forged_number();
	w->rows_at = forged_address();
	w->columns_at = forged_address();
	w->values_at = forged_address();
	w->order_at = forged_below(3) ? forged_address() : 0;
	w->to_offsets_at = forged_address();
	w->to_indices_at = forged_address();
	w->to_values_at = forged_address();
	w->base = (uint8_t)(forged_below(2) + !forged_below(20));
	w->compressed = kernel == SPARSE_SORT || !forged_below(8) ? forged_below(2) : compresses;
}

/* Of factors, blocks, vectors and sums: what must be so for them to run. */
static void forge_newer(struct sparse_work *w)
{
	bool blocks = w->kernel >= SPARSE_BLOCKS && w->kernel <= SPARSE_BLOCK_PIVOTS;
	int64_t across = (int64_t)forged_below(4);

	if (w->kernel >= SPARSE_ILU && w->kernel <= SPARSE_PIVOTS && forged_below(8)) {
		w->batch = 1;
		w->pivot_at = forged_address();
		w->a.columns = w->a.rows;
		w->a.coordinates = w->a.turned = w->a.conjugated = 0;
	}
	if (!forged_below(8) || w->kernel < SPARSE_SUM_COUNT)
		return;
	w->batch = 1;
	w->a.coordinates = w->more[0].coordinates = w->a.rows_apart = w->a.values_apart = 0;
	w->pivot_at = forged_below(3) ? forged_address() : 0;
	if (blocks) {
		w->block = 1 + (uint32_t)forged_below(3);
		w->a.wide_rows = w->a.wide_columns = 0;
		w->a.turned &= w->kernel != SPARSE_BLOCKS;
		w->a.columns = w->kernel == SPARSE_BLOCKS ? w->a.columns : w->a.rows;
		w->a.by_columns = forged_below(2);
		w->b.rows = w->kernel == SPARSE_BLOCKS ? w->a.columns : w->a.rows;
		w->c.rows = w->a.rows;
		if (w->c.rows <= SPARSE_SIZE_MOST && w->b.rows <= SPARSE_SIZE_MOST) {
			w->b.rows *= w->block;
			w->c.rows *= w->block;
		}
		w->b.columns = w->c.columns = across;
	} else if (w->kernel <= SPARSE_SUM) {
		w->a.wide_rows = w->a.wide_columns = w->more[0].wide_rows = w->more[0].wide_columns = 0;
		w->more[0].rows = w->a.rows;
		w->more[0].columns = w->a.columns;
	} else {
		w->a.turned = 0;
		w->c.rows = w->a.columns;
		w->c.columns = w->c.down = w->b.rows = w->b.columns = 1;
	}
}

/* Lists of indices, most of them small. */
static void fill(void)
{
	uint32_t *words = (uint32_t *)(void *)forged_memory;

	for (uint64_t i = 0; i < FORGED_ALLOWED / 4; i++)
		words[i] = forged_below(40) ? (uint32_t)forged_below(4) : (uint32_t)forged_number();
}

/* Of a tridiagonal matrix that is said to be turned either side may be taken for the rows of the right sides. */
static void test_turned(void)
{
	union params p = { .work = { .batch = 1, .a = { .rows = 1024, .columns = 4, .nnz = 4, .turned = 1 } } };
	uint64_t begin = (uint64_t)(uintptr_t)forged_memory;
	struct sparse_work *w = &p.work;
	int escaped = 0;

	w->a.rows_at = w->a.columns_at = w->a.values_at = begin;
	w->c = (struct sparse_dense){
		.at = begin + FORGED_ALLOWED - 4 * 16, .down = 1, .across = 4, .rows = 4, .columns = 1
	};
	for (w->kernel = SPARSE_GTSV; w->kernel <= SPARSE_GTSV_PLAIN; w->kernel++)
		for (w->type = 0; w->type < 4; w->type++)
			escaped += forged_run(sparse_run, &p, 1, 100) == FORGED_ESCAPED;
	tap_ok(!escaped, "no system has more rows than its right sides: %d of 8", escaped);
}

static atomic_bool changes;

/* A row of B grows and shrinks all the time, as a kernel on another stream may have it. */
static void *change(void *given)
{
	volatile int32_t *end = given;

	while (atomic_load(&changes))
		*end = *end == 1 ? 1024 : 1;
	return NULL;
}

/* Room for a row of a product is measured, and filled when it may be too little: that is a fault, and it ends. */
static void test_changed(void)
{
	union params p = { .work = { .kernel = SPARSE_GEMM_COUNT, .batch = 1 } };
	uint64_t begin = (uint64_t)(uintptr_t)forged_memory;
	int32_t *words = (int32_t *)(void *)forged_memory;
	struct sparse_work *w = &p.work;
	enum forged_end end = FORGED_DONE;
	sigset_t none, all;
	pthread_t thread;
	int faults = 0;

	memset(words, 0, FORGED_ALLOWED);
	w->a = (struct sparse_matrix){ begin, begin + 64, begin, .rows = 1, .columns = 1, .nnz = 1 };
	w->more[0] = (struct sparse_matrix){ begin + 128, begin + 4096,	   begin + 16384,
					     .rows = 1,	  .columns = 1024, .nnz = 1024 };
	w->more[1] = (struct sparse_matrix){ .rows = 1, .columns = 1024 };
	w->b.at = begin + 256;
	words[1] = 1;
	for (int i = 0; i < 1024; i++)
		words[1024 + i] = i;
	words[33] = 1;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &none);
	atomic_store(&changes, true);
	tap_ok(!pthread_create(&thread, NULL, change, &words[33]), "somebody changes a row's length");
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	for (int i = 0; i < 5000 && end != FORGED_LONG && end != FORGED_ESCAPED; i++) {
		end = forged_run(sparse_run, &p, 1, 900);
		faults += end == FORGED_REFUSED;
	}
	atomic_store(&changes, false);
	pthread_join(thread, NULL);
	tap_ok(end != FORGED_LONG && end != FORGED_ESCAPED, "a product of what changes ends, %d times by a fault",
	       faults);
}

int main(void)
{
	int escaped = 0, done = 0, ran[SPARSE_KERNELS] = { 0 };
	bool all = true;

	tap_begin();
	forged_begin();
	for (int i = 0; i < ROUNDS; i++) {
		enum forged_end end;
		union params p;

		memset(&p, 0, sizeof(p));
		if (!(i % 64))
			fill();
		forge(&p.work);
		forge_newer(&p.work);
		if (p.work.kernel >= SPARSE_OFFSETS)
			forge_lists(&p.lists);
		end = forged_any(sparse_run, &p);
		done += end == FORGED_DONE;
		ran[p.work.kernel] += end == FORGED_DONE;
		if ((end == FORGED_ESCAPED && escaped++ < 8) || end == FORGED_LONG)
			printf("# kernel %u, round %d, end %d\n", p.work.kernel, i, end);
	}
	printf("# %d of %d were executed\n", done, ROUNDS);
	tap_ok(!escaped, "%d of %d touch what they must not", escaped, ROUNDS);
	tap_ok(!forged_endless, "%d of %d cannot be stopped", forged_endless, ROUNDS);
	tap_ok(done > ROUNDS / 100, "not all of them are refused");
	for (int k = 0; k < SPARSE_KERNELS; k++) {
		printf("# kernel %d: %d\n", k, ran[k]);
		all = all && (ran[k] || k == SPARSE_GTSV || k == SPARSE_GTSV_PLAIN);
	}
	tap_ok(all, "each kernel was executed");
	test_turned();
	test_changed();
	return tap_end();
}

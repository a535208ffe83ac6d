/*
 * sparse_forged_test.c: parameters that anybody can launch cuSPARSE's kernels with: whatever they say, nothing is read
 * or written but what the device allows. Here it allows one list, and beside it lies what must stay as it is.
 */
#include "base/tap.h"
#include "libs/cusparse/sparse.h"

#include <string.h>
#include <unistd.h>

#define ALLOWED 64
#define CANARY 0x5a5a5a5a

static struct {
	int32_t before[ALLOWED], allowed[ALLOWED], after[ALLOWED];
} place;
static bool faulted;
static int asked, goes_on = INT32_MAX; /* so often; then the launch has been stopped */

uint32_t device_threads(void)
{
	return 4;
}

static bool reach(struct soft_native *n, uint64_t address, uint64_t bytes, bool write)
{
	uint64_t from = (uint64_t)(uintptr_t)place.allowed;
	bool good = address >= from && address - from <= sizeof(place.allowed) &&
		    bytes <= sizeof(place.allowed) - (address - from);

	faulted |= !good;
	return good;
}

static bool reach_any(struct soft_native *n, uint64_t address, uint64_t bytes, bool write)
{
	return true;
}

static bool go_on(struct soft_native *n, uint64_t instructions)
{
	return ++asked <= goes_on;
}

static void refuse(struct soft_native *n)
{
	faulted = true;
}

static uint64_t at(const int32_t *p)
{
	return (uint64_t)(uintptr_t)p;
}

static bool untouched(void)
{
	for (int i = 0; i < ALLOWED; i++)
		if (place.before[i] != CANARY || place.after[i] != CANARY)
			return false;
	return true;
}

/* Value: it has its fault, and what lies beside is as it was. */
static bool is_held(struct sparse_work *w)
{
	_Alignas(16) char params[DEVICE_PARAM_BYTES] = { 0 };
	struct soft_native n = {
		.params = params, .bytes = sizeof(params), .blocks = 1, .reach = reach, .go_on = go_on, .refuse = refuse
	};

	memset(&place, 0x5a, sizeof(place));
	memset(place.allowed, 0, sizeof(place.allowed));
	place.allowed[1] = 1;		/* the second offset */
	place.allowed[16] = 0x3f800000; /* the number: 1.0f */
	faulted = false;
	w->batch = 1;
	memcpy(params, w, sizeof(*w));
	sparse_run(&n);
	return faulted && untouched();
}

/* A matrix of one number, at the beginning of what is allowed. */
static struct sparse_matrix one(bool coordinates)
{
	return (struct sparse_matrix){ .rows_at = at(place.allowed),
				       .columns_at = at(place.allowed + 8),
				       .values_at = at(place.allowed + 16),
				       .nnz = 1,
				       .coordinates = coordinates };
}

static void test_empty(void)
{
	struct sparse_work w = { .kernel = SPARSE_TO_DENSE, .a = one(true), .c = { .at = at(place.after) } };

	tap_ok(is_held(&w), "a number of a matrix without rows is written nowhere");
	w = (struct sparse_work){ .kernel = SPARSE_SPMM,
				  .a = one(true),
				  .b = { .at = at(place.before), .columns = 1 },
				  .c = { .at = at(place.after), .columns = 1 },
				  .alpha.value = { 1, 0 } };
	tap_ok(is_held(&w), "nor is a product with it");
	w.a.turned = true;
	tap_ok(is_held(&w), "nor with its transpose");
	w = (struct sparse_work){ .kernel = SPARSE_SPMM,
				  .a = one(false),
				  .b = { .at = at(place.before), .columns = 1 },
				  .c = { .at = at(place.allowed + 32), .rows = 1, .columns = 1 },
				  .alpha.value = { 1, 0 } };
	w.a.rows = 1;
	tap_ok(is_held(&w), "a matrix without columns is multiplied by nothing that lies elsewhere");
	tap_ok(!place.allowed[32], "of which nothing is in the result");
}

static void test_count(void)
{
	struct sparse_work w = { .kernel = SPARSE_COUNT, .a = one(true), .c = { .at = at(place.allowed + 32) } };

	w.a.rows = w.c.rows = 2 * ALLOWED;
	w.a.columns = w.c.columns = 1;
	w.a.base = 1;
	tap_ok(is_held(&w), "rows are counted in a list that is as long as there are rows");
}

/* Each row is all numbers of the matrix: of so few come a million times a million steps. */
static void test_stopped(uint32_t kernel, const char *name)
{
	enum { ROWS = 2000, NUMBERS = 4000 };
	static int32_t offsets[ROWS + 1], columns[NUMBERS];
	static float values[NUMBERS];
	static int64_t pivot;
	_Alignas(16) char params[DEVICE_PARAM_BYTES] = { 0 };
	struct sparse_work w = { .kernel = kernel,
				 .batch = 1,
				 .a = { .rows_at = at(offsets),
					.columns_at = at(columns),
					.values_at = (uint64_t)(uintptr_t)values,
					.rows = ROWS,
					.columns = ROWS,
					.nnz = NUMBERS },
				 .pivot_at = (uint64_t)(uintptr_t)&pivot };
	struct soft_native n = { .params = params,
				 .bytes = sizeof(params),
				 .blocks = 1,
				 .reach = reach_any,
				 .go_on = go_on,
				 .refuse = refuse };

	for (int i = 0; i <= ROWS; i++)
		offsets[i] = i % 2 ? NUMBERS : 0;
	for (int i = 0; i < NUMBERS; i++) {
		columns[i] = i / 2;
		values[i] = 1;
	}
	faulted = false;
	asked = 0;
	goes_on = 3;
	pivot = CANARY;
	memcpy(params, &w, sizeof(w));
	alarm(20);
	sparse_run(&n);
	alarm(0);
	tap_ok(asked == 4 && !faulted && pivot == CANARY, "%s of rows that overlap can be stopped (asked %d times)",
	       name, asked);
	goes_on = INT32_MAX;
}

/* A product in which every row is all numbers of the matrix; it is told of within the launch. */
static void test_overlapping(void)
{
	enum { ROWS = 1000, NUMBERS = 1000, COLUMNS = 1000 };
	static int32_t offsets[ROWS + 1], columns[NUMBERS];
	static float values[NUMBERS], b[COLUMNS], c[ROWS * COLUMNS];
	_Alignas(16) char params[DEVICE_PARAM_BYTES] = { 0 };
	struct sparse_work w = {
		.kernel = SPARSE_SPMM,
		.batch = 1,
		.a = { .rows_at = at(offsets),
		       .columns_at = at(columns),
		       .values_at = (uint64_t)(uintptr_t)values,
		       .rows = ROWS,
		       .columns = 1,
		       .nnz = NUMBERS },
		.b = { .at = (uint64_t)(uintptr_t)b, .down = 1, .across = 1, .rows = 1, .columns = COLUMNS },
		.c = { .at = (uint64_t)(uintptr_t)c, .down = COLUMNS, .across = 1, .rows = ROWS, .columns = COLUMNS },
		.alpha.value = { 1, 0 }
	};
	struct soft_native n = { .params = params,
				 .bytes = sizeof(params),
				 .blocks = 1,
				 .reach = reach_any,
				 .go_on = go_on,
				 .refuse = refuse };

	for (int i = 0; i <= ROWS; i++)
		offsets[i] = i % 2 ? NUMBERS : 0;
	faulted = false;
	asked = 0;
	goes_on = 3;
	memcpy(params, &w, sizeof(w));
	alarm(60);
	sparse_run(&n);
	alarm(0);
	tap_ok(asked == 4 && !faulted, "a product of rows that overlap can be stopped (asked %d times)", asked);
	goes_on = INT32_MAX;
}

/* Dense matrices of one element, however large they are said to be: what is to be done for each has no bound. */
static void test_one_element(void)
{
	const int64_t most = INT64_C(1) << 40;
	const struct sparse_dense dense = { .at = at(place.allowed + 32), .rows = 1, .columns = 1, .down = 1 };
	struct sparse_work w = { .kernel = SPARSE_TO_DENSE, .a = one(true), .c = dense };

	alarm(60);
	w.a.rows = w.c.rows = w.a.columns = w.c.columns = most;
	w.c.down = 0;
	tap_ok(is_held(&w), "a matrix of one element is not filled");
	w = (struct sparse_work){ .kernel = SPARSE_SDDMM, .a = one(true), .b = dense, .c = dense };
	w.a.rows = w.a.columns = 1;
	w.b.columns = w.c.rows = most;
	w.c.down = 0;
	tap_ok(is_held(&w), "nor is a sum over it computed");
	w = (struct sparse_work){ .kernel = SPARSE_SPMM, .a = one(false), .b = dense, .c = dense };
	w.a.rows = w.a.columns = 1;
	w.b.columns = w.c.columns = most;
	tap_ok(is_held(&w), "nor a product");
	w = (struct sparse_work){ .kernel = SPARSE_BLOCKS, .a = one(false), .block = INT32_MAX };
	w.a.rows = ALLOWED - 2;
	w.a.nnz = w.a.columns = 0;
	w.c.rows = w.a.rows * INT32_MAX;
	tap_ok(is_held(&w), "rows of blocks without columns are not walked through");
	alarm(0);
}

int main(void)
{
	tap_begin();
	test_one_element();
	test_overlapping();
	test_empty();
	test_count();
	test_stopped(SPARSE_ILU, "csrilu02");
	test_stopped(SPARSE_IC, "csric02");
	return tap_end();
}

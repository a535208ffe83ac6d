/* children_test.c: kernels that launch kernels, from children.cu: results, order, depth, errors, faults. */
#include "harness.h"
#include "softdev/ptx/engine.h"

#include <pthread.h>

enum { SLOTS = 1 << 16, SLOT_BYTES = 64 };

static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static int slot[SLOTS], slots_left;

/* Slots in the upper half of the device's memory. */
static uint64_t test_alloc(void *ctx, uint64_t bytes)
{
	uint64_t r = 0;

	pthread_mutex_lock(&slots_lock);
	if (slots_left && bytes <= SLOT_BYTES)
		r = (uintptr_t)device + DEVICE_BYTES / 2 + (uint64_t)slot[--slots_left] * SLOT_BYTES;
	pthread_mutex_unlock(&slots_lock);
	return r;
}

static void test_free(void *ctx, uint64_t address)
{
	pthread_mutex_lock(&slots_lock);
	slot[slots_left++] = (int)((address - (uintptr_t)device - DEVICE_BYTES / 2) / SLOT_BYTES);
	pthread_mutex_unlock(&slots_lock);
}

static int children(struct ptx_launch *l, struct ptx_module *m, const char *kernel, struct dims grid, struct dims block,
		    const uint64_t *arg)
{
	l->memory.heap_alloc = test_alloc;
	l->memory.heap_free = test_free;
	return launch_with(l, m, kernel, grid, block, arg);
}

static int run(struct ptx_module *m, const char *kernel, uint32_t blocks, uint32_t threads, const uint64_t *arg)
{
	struct ptx_launch l = { 0 };

	return children(&l, m, kernel, DIM(blocks), DIM(threads), arg);
}

static int by_value(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

static void test_quicksort(struct ptx_module *m)
{
	enum { N = 3000 };
	int *data = device_alloc(N * sizeof(int)), *sorted = malloc(N * sizeof(int));

	for (int i = 0; i < N; i++)
		sorted[i] = data[i] = (int)(random_bits() % 5000);
	qsort(sorted, N, sizeof(int), by_value);
	is(run(m, "quicksort", 1, 1, ARGS(PTR(data), 0, N, 0)), 0);
	ok(!memcmp(data, sorted, N * sizeof(int)));
	free(sorted);
}

static void test_order(struct ptx_module *m)
{
	static const int want[] = { 11, 10, 11, 12, 13, 20, 21, 22, 23, 30, 100, 101 };
	int *list = device_alloc(4096);

	is(run(m, "order", 1, 1, ARGS(PTR(list))), 0);
	ok(!memcmp(list, want, sizeof(want)));
}

static void test_many(struct ptx_module *m)
{
	int *sum = device_alloc(4), *left = device_alloc(4), want = 0;
	struct ptx_launch l = { 0 };

	for (int i = 0; i < 64; i++)
		want += 6 * 32 * (i + 1);
	is(children(&l, m, "wide", DIM(8), DIM(64), ARGS(PTR(sum))), 0);
	is(*sum, 8 * want);
	is(l.stats.blocks, 8 + 8 * 64 * 6);
	*left = 5000;
	is(run(m, "tails", 1, 1, ARGS(PTR(left))), 0);
	is(*left, 0);
}

static void test_errors(struct ptx_module *m)
{
	int *result = device_alloc(64);
	struct ptx_launch l = { 0 };

	is(run(m, "deep", 1, 1, ARGS(PTR(result), 0)), 0);
	is(result[0], 24);
	is(result[1], 65);
	is(result[2], 0);
	is(run(m, "wrong", 1, 1, ARGS(PTR(result))), 0);
	is(result[0], 9);
	is(result[1], 9);
	is(result[2], 0);
	is(result[3], 9);
	/* without a heap */
	is(launch(m, "deep", DIM(1), DIM(1), ARGS(PTR(result), 7)), 0);
	is(result[0], 7);
	is(result[1], 2);
	/* a fault of a child is one of the launch, and nothing runs after it */
	result[0] = 0;
	is(children(&l, m, "bad_child", DIM(1), DIM(1), ARGS(PTR(result), 16)), 1);
	is(l.fault.kind, PTX_FAULT_ILLEGAL_ADDRESS);
	ok(!strcmp(l.fault.function, "bad_store") && !strcmp(l.kernel->name, "bad_store"));
	is(result[0], 0);
	/* an endless chain can be ended */
	l = (struct ptx_launch){ .timeout_ns = 50000000 };
	is(children(&l, m, "endless", DIM(1), DIM(1), ARGS(PTR(result))), 1);
	is(l.fault.kind, PTX_FAULT_TIMEOUT);
}

int main(int argc, char **argv)
{
	static const char *const isas[] = { "base", NULL };

	if (argc < 2)
		tap_skip_all("needs the folder of the kernels");
	tap_begin();
	device_open(3);
	while (slots_left < SLOTS) {
		slot[slots_left] = slots_left;
		slots_left++;
	}
	for (int i = 0; i < 2; i++) {
		struct ptx_module *m;

		if (!isa_find(isas[i]))
			continue;
		m = load_file(argv[1], "children.ptx", &(struct ptx_options){ .isa = isas[i], .quantum = i ? 1 : 0 });
		if (!tap_ok(m != NULL, "loaded"))
			break;
		test_quicksort(m);
		test_order(m);
		test_many(m);
		test_errors(m);
		ptx_module_free(m);
	}
	is(slots_left, SLOTS);
	device_close();
	return tap_end();
}

/*
 * ptx_fuzz.c: fuzz target for the reader of PTX and for the engine: an input is a text, or several with a NUL between them,
 * which are linked. What loads is bound to a small memory and its kernels are launched for a moment: whatever they do, they
 * end as done or as a fault.
 */
#include "fuzz.h"

#include "softdev/ptx/ptx.h"

#define MEMORY_BYTES ((size_t)1 << 20)
#define TEXTS_MAX 4

static uint8_t *memory;
static struct ptx_pool *pool;

static bool find(void *ctx, uint64_t address, struct ptx_range *ret)
{
	const uint64_t base = (uintptr_t)memory;

	*ret = (struct ptx_range){ base, base + MEMORY_BYTES, false };
	return address >= base && address < base + MEMORY_BYTES;
}

static void print(void *ctx, const char *text, size_t bytes)
{
	volatile char last;

	for (size_t i = 0; i < bytes; i++)
		last = text[i];
	(void)last;
}

static void run(const struct ptx_kernel *k)
{
	static uint64_t params[4096];
	struct ptx_launch l = { .kernel = k, .grid = { 2, 1, 1 }, .block = { 40, 1, 1 }, .params = params,
				.timeout_ns = 3000000, .memory = { .find = find }, .print = print };

	/* every parameter is the address of the memory, or a number when it is read as one */
	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++)
		params[i] = (uintptr_t)memory;
	for (int i = 0; i < 3 && k->required_threads[0]; i++)
		l.block[i] = k->required_threads[i];
	check(ptx_launch_run(pool, &l) <= 1);
}

/* Places for the variables, when they fit. */
static bool bind(struct ptx_module *m)
{
	const size_t count = ptx_module_variable_count(m);
	uint64_t *address = calloc(count + 1, sizeof(*address)), at = 0;
	bool fits = true;

	check(address);
	for (size_t i = 0; i < count && fits; i++) {
		const struct ptx_variable *v = ptx_module_variable_at(m, i);

		at = (at + v->align - 1) & ~((uint64_t)v->align - 1);
		address[i] = (uintptr_t)memory + at;
		fits = v->bytes <= MEMORY_BYTES && at + v->bytes <= MEMORY_BYTES;
		at += v->bytes;
	}
	fits = fits && !ptx_module_bind(m, address);
	free(address);
	return fits;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	struct ptx_text text[TEXTS_MAX];
	const char *at = (const char *)data, *end = at + length;
	size_t count = 0;
	struct ptx_module *m = NULL;
	char log[200];
	int r;

	if (!memory) {
		memory = aligned_alloc(4096, MEMORY_BYTES);
		pool = ptx_pool_new(2);
		check(memory && pool);
	}
	do {
		text[count] = (struct ptx_text){ at, strnlen(at, (size_t)(end - at)) };
		at += text[count++].bytes + 1;
	} while (at < end && count < TEXTS_MAX);
	r = ptx_module_load(text, count, NULL, &m, log, sizeof(log));
	check((r == 0) == (m != NULL));
	check(r == 0 || strlen(log) > 0);
	check(r >= 0);
	if (m && bind(m))
		for (size_t i = 0; i < ptx_module_kernel_count(m) && i < 4; i++)
			run(ptx_module_kernel_at(m, i));
	ptx_module_free(m);
	return 0;
}

#ifndef FUZZ_ENGINE
int main(int argc, char **argv)
{
	int r = fuzz_main(argc, argv, "0123456789abcdefx.,;:{}()[]%@!_$+-*/ \"\n<>|=rdpfsu");

	ptx_pool_free(pool);
	free(memory);
	return r;
}
#endif

/*
 * harness.h: what the tests of the PTX engine share: a device memory that is one block of this process, a loader of texts,
 * a launcher. The memory ends at a page that is not accessible, so that the engine's own checks are what catches a wild
 * access and not luck.
 */
#pragma once

#include "base/tap.h"
#include "softdev/ptx/ptx.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <sys/mman.h>

#define DEVICE_BYTES ((size_t)64 << 20)
#define DEVICE_GUARD ((size_t)1 << 20)

static uint8_t *device;
static size_t device_used;
static struct ptx_pool *pool;
static char printed[1 << 16];
static size_t printed_bytes;

static inline bool device_find(void *ctx, uint64_t address, struct ptx_range *ret)
{
	const uint64_t base = (uintptr_t)device;

	if (address < base || address >= base + DEVICE_BYTES)
		return false;
	*ret = (struct ptx_range){ base, base + DEVICE_BYTES, false };
	return true;
}

static inline void device_print(void *ctx, const char *text, size_t bytes)
{
	if (bytes > sizeof(printed) - 1 - printed_bytes)
		bytes = sizeof(printed) - 1 - printed_bytes;
	memcpy(printed + printed_bytes, text, bytes);
	printed_bytes += bytes;
	printed[printed_bytes] = 0;
}

static inline void device_open(unsigned threads)
{
	uint8_t *p = mmap(NULL, DEVICE_BYTES + 2 * DEVICE_GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED || mprotect(p + DEVICE_GUARD, DEVICE_BYTES, PROT_READ | PROT_WRITE)) {
		printf("Bail out! no memory for the device\n");
		exit(1);
	}
	device = p + DEVICE_GUARD;
	pool = ptx_pool_new(threads);
}

static inline void device_close(void)
{
	ptx_pool_free(pool);
	munmap(device - DEVICE_GUARD, DEVICE_BYTES + 2 * DEVICE_GUARD);
}

static inline void *device_alloc(size_t bytes)
{
	void *p = device + device_used;

	device_used += (bytes + 511) & ~(size_t)511;
	if (device_used > DEVICE_BYTES) {
		printf("Bail out! the test's device memory is too small\n");
		exit(1);
	}
	memset(p, 0, bytes);
	return p;
}

/* Forgets all allocations, those of modules too. */
static inline void device_reset(void)
{
	device_used = 0;
}

static inline char *read_file(const char *path, size_t *ret_bytes)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	size_t n = 0;

	if (!f) {
		printf("Bail out! cannot open %s\n", path);
		exit(1);
	}
	for (size_t room = 0, got = 1; got; n += got) {
		if (n == room)
			text = realloc(text, (room = room * 2 + 65536) + 1);
		got = fread(text + n, 1, room - n, f);
	}
	fclose(f);
	text[n] = 0;
	*ret_bytes = n;
	return text;
}

/* With METE_TEST_COMPILE=1 all kernels of a test are compiled, where the compiler takes them. */
static inline struct ptx_module *load_text(const char *text, size_t bytes, const struct ptx_options *options)
{
	const struct ptx_text t = { text, bytes };
	struct ptx_options own = options ? *options : (struct ptx_options){ 0 };
	struct ptx_module *m = NULL;
	uint64_t *address;
	char log[512];
	int r;

	if (getenv("METE_TEST_COMPILE"))
		own.compile = PTX_COMPILE_ALWAYS;
	r = ptx_module_load(&t, 1, &own, &m, log, sizeof(log));
	if (r) {
		printf("# not loaded: %d %s\n", r, log);
		return NULL;
	}
	address = calloc(ptx_module_variable_count(m) + 1, sizeof(*address));
	for (size_t i = 0; i < ptx_module_variable_count(m); i++)
		address[i] = (uintptr_t)device_alloc(ptx_module_variable_at(m, i)->bytes + 1);
	r = ptx_module_bind(m, address);
	free(address);
	if (r) {
		printf("# not bound: %d\n", r);
		ptx_module_free(m);
		return NULL;
	}
	return m;
}

static inline struct ptx_module *load_file(const char *folder, const char *name, const struct ptx_options *options)
{
	char path[512];
	size_t bytes;
	char *text;
	struct ptx_module *m;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	text = read_file(path, &bytes);
	m = load_text(text, bytes, options);
	free(text);
	return m;
}

struct dims {
	uint32_t x, y, z;
};

#define DIM(...) ((struct dims){ __VA_ARGS__ })

/* Launches with arguments given as an array of 64-bit values, packed as the kernel's parameters ask. */
static inline int launch_with(struct ptx_launch *l, struct ptx_module *m, const char *name, struct dims grid, struct dims block,
			      const uint64_t *arg)
{
	uint8_t params[4096] = { 0 };

	l->kernel = ptx_module_kernel_find(m, name);
	if (!l->kernel) {
		printf("# no kernel %s\n", name);
		return -1;
	}
	for (uint32_t i = 0; i < l->kernel->param_count; i++)
		memcpy(params + l->kernel->param[i].offset, &arg[i], l->kernel->param[i].bytes);
	l->grid[0] = grid.x;
	l->grid[1] = grid.y ? grid.y : 1;
	l->grid[2] = grid.z ? grid.z : 1;
	l->block[0] = block.x;
	l->block[1] = block.y ? block.y : 1;
	l->block[2] = block.z ? block.z : 1;
	l->params = params;
	l->memory.find = device_find;
	l->print = device_print;
	if (!l->timeout_ns)
		l->timeout_ns = 60000000000u;
	int r = ptx_launch_run(pool, l);

	if (r > 0)
		printf("# fault %d in %s line %u, block %u thread %u, address 0x%llx\n", l->fault.kind, l->fault.function,
		       l->fault.line, l->fault.block[0], l->fault.thread[0], (unsigned long long)l->fault.address);
	return r;
}

#define ARGS(...) ((const uint64_t[]){ __VA_ARGS__ })
#define PTR(p) ((uint64_t)(uintptr_t)(p))

static inline int launch(struct ptx_module *m, const char *name, struct dims grid, struct dims block, const uint64_t *arg)
{
	struct ptx_launch l = { 0 };

	return launch_with(&l, m, name, grid, block, arg);
}

static inline uint64_t float_arg(float f)
{
	uint32_t b;

	memcpy(&b, &f, sizeof(b));
	return b;
}

/* A small generator: the same numbers in every run. */
static uint64_t random_state = 0x9e3779b97f4a7c15ull;

static inline uint64_t random_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dull;
}

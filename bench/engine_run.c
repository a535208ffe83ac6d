/*
 * engine_run.c: see engine_run.h.
 */
#include "engine_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static uint8_t *device;
static size_t device_used;
static char message[400];

void *device_take(size_t bytes)
{
	void *p = device + device_used;

	device_used += (bytes + 4095) & ~(size_t)4095;
	if (device_used > DEVICE_BYTES) {
		fprintf(stderr, "engine: out of memory\n");
		exit(1);
	}
	return p;
}

static bool device_find(void *unused, uint64_t address, struct ptx_range *ret)
{
	const uint64_t base = (uintptr_t)device;

	if (address < base || address >= base + DEVICE_BYTES)
		return false;
	*ret = (struct ptx_range){ base, base + DEVICE_BYTES, false };
	return true;
}

double clock_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct ptx_module *module_load(const char *text, size_t bytes, const char *isa)
{
	struct ptx_text one = { text, bytes };
	const char *compile = getenv("METE_SOFT_COMPILE");
	struct ptx_options options = { .isa = isa,
				       .compile = compile && !strcmp(compile, "always") ? PTX_COMPILE_ALWAYS
											: PTX_COMPILE_NEVER };
	struct ptx_module *m;

	if (ptx_module_load(&one, 1, &options, &m, message, sizeof(message)) || ptx_module_bind(m, NULL)) {
		fprintf(stderr, "engine: %s\n", message);
		exit(1);
	}
	return m;
}

struct ptx_launch launch_of(const struct ptx_module *m, const char *kernel, const struct setup *s)
{
	struct ptx_launch l = { .kernel = ptx_module_kernel_find(m, kernel),
				.params = s->params.bytes,
				.memory = { .find = device_find } };

	memcpy(l.grid, s->grid, sizeof(l.grid));
	memcpy(l.block, s->block, sizeof(l.block));
	return l;
}

void launch_run(struct ptx_pool *pool, struct ptx_launch *l)
{
	int r = ptx_launch_run(pool, l);

	if (!r)
		return;
	fprintf(stderr, "engine: %s failed: %d, fault %d at line %u\n", l->kernel ? l->kernel->name : "?", r,
		l->fault.kind, l->fault.line);
	exit(1);
}

bool agrees(const struct bench_case *c, const struct setup *s)
{
	const float *f = s->out, *g = s->expect;
	const double *d = s->out, *e = s->expect;
	const int32_t *i32 = s->out, *j32 = s->expect;
	double sum[2] = { 0, 0 };
	size_t differ = 0;

	switch (c->comparison) {
	case SAME:
		return !memcmp(s->out, s->expect, s->out_bytes);
	case CLOSE_F64:
		for (size_t i = 0; i < s->out_bytes / 8; i++)
			differ += !(fabs(d[i] - e[i]) <= c->tolerance * (1 + fabs(e[i])));
		return !differ;
	case MOSTLY_S32:
		for (size_t i = 0; i < s->out_bytes / 4; i++)
			differ += i32[i] != j32[i];
		return (double)differ <= c->tolerance * (double)(s->out_bytes / 4);
	case SUM_F32:
		for (size_t i = 0; i < s->out_bytes / 4; i++) {
			sum[0] += f[i];
			sum[1] += g[i];
		}
		return fabs(sum[0] - sum[1]) <= c->tolerance * fabs(sum[1]);
	case CLOSE_F32:
		for (size_t i = 0; i < s->out_bytes / 4; i++)
			differ += !(fabsf(f[i] - g[i]) <= c->tolerance * (1 + fabsf(g[i])));
		return !differ;
	}
	return false;
}

char *file_read(const char *path, size_t *ret_bytes)
{
	FILE *f = fopen(path, "rb");
	char *text = malloc(1 << 24);

	if (!f || !text) {
		perror(path);
		exit(1);
	}
	*ret_bytes = fread(text, 1, (1 << 24) - 1, f);
	text[*ret_bytes] = 0;
	fclose(f);
	return text;
}

static const struct bench_case *case_of(const struct bench_case *cases, unsigned count, const char *kernel)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(kernel, cases[i].kernel))
			return &cases[i];
	return NULL;
}

const struct bench_case *case_find(const char *kernel)
{
	const struct {
		const struct bench_case *cases;
		unsigned count;
	} sets[] = { { bench_cases, bench_case_count },	  { varied_cases, varied_case_count },
		     { tensor_cases, tensor_case_count }, { irregular_cases, irregular_case_count },
		     { unseen_cases, unseen_case_count }, { held_cases, held_case_count },
		     { fresh_cases, fresh_case_count } };
	const struct bench_case *c = NULL;

	for (size_t i = 0; !c && i < sizeof(sets) / sizeof(sets[0]); i++)
		c = case_of(sets[i].cases, sets[i].count, kernel);
	return c;
}

void device_open(void *memory)
{
	device = memory ? memory
			: mmap(NULL, DEVICE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			       -1, 0);
	if (device == MAP_FAILED) {
		fprintf(stderr, "engine: out of memory\n");
		exit(1);
	}
}

void device_clear(void)
{
	device_used = 0;
}

/*
 * random_test.c: random kernels (generator.c) must give the same bits on the engine, in every build and with several
 * quanta, as on the reference executor (reference/), and when they are compiled, where the compiler was built.
 *
 * Without arguments: kernels of a fixed seed and of a fresh one, which is printed. --seed N --count N repeats. --few N:
 * so many, but all with METE_TEST_LONG. A kernel that differs is made smaller while it still differs and is written to
 * random_<seed>.ptx in the current folder. With --compile-each 1 every kernel is compiled too, and not one in ten.
 */
#include "generator.h"
#include "harness.h"
#include "reference/reference.h"

#include <time.h>

enum { THREADS_MAX = 2 * 96, OUT_WORDS = GENERATED_REGISTERS + GENERATED_TRACES };

#define OUT_BYTES (THREADS_MAX * OUT_WORDS * 8)
#define OWN_BYTES (THREADS_MAX * GENERATED_OWN_BYTES)
#define RESULT_BYTES (OUT_BYTES + OWN_BYTES + GENERATED_CELL_BYTES)
#define REFERENCE_ADDRESS 0x0000100000000000ull

/* What a kernel is run on: registers from `in`; results are out, own and cells in one piece. */
struct data {
	uint64_t in[THREADS_MAX * GENERATED_REGISTERS];
	uint8_t params[GENERATED_PARAM_BYTES];
	uint8_t want[RESULT_BYTES];
};

enum verdict { SAME, DIFFERS, REFUSED, FAULT, NO_REFERENCE };

static struct data data;
static char message[400];

static uint64_t interesting(void)
{
	static const uint64_t edges[] = { 0,
					  1,
					  2,
					  31,
					  32,
					  63,
					  64,
					  0x7f,
					  0x80,
					  0xff,
					  0x7fff,
					  0x8000,
					  0xffff,
					  0x3c00,
					  0x7c00,
					  0x7e01,
					  0x8001,
					  0xfbff,
					  0x3f80,
					  0x7f80,
					  0xff80,
					  0x3f800000,
					  0x40490fdb,
					  0xbf800000,
					  0x7f800000,
					  0xff800000,
					  0x7fc00001,
					  0xffc00000,
					  0x00000001,
					  0x807fffff,
					  0x00800000,
					  0x7f7fffff,
					  0x4f000000,
					  0x5f000000,
					  0x33800000,
					  0x7fffffff,
					  0x80000000,
					  0xffffffff,
					  0x3ff0000000000000,
					  0x7ff0000000000000,
					  0xfff8000000000001,
					  0x0000000000000001,
					  0x8000000000000000,
					  0x7fffffffffffffff,
					  0xffffffffffffffff,
					  0x3c003c00,
					  0x000fffffffffffff,
					  0x41e0000000000000,
					  0x43e0000000000000,
					  0xc3e0000000000000,
					  0x47efffffe0000000,
					  0x36a0000000000000,
					  0x3810000000000000 };
	const uint64_t r = random_bits() >> 16;

	switch (r % 6) {
	case 0:
	case 1:
		return edges[r / 8 % (sizeof(edges) / sizeof(edges[0]))];
	case 2: /* a float near one, in its low and high words */
		return (0x3f000000ull + (random_bits() & 0x01ffffff)) | random_bits() << 32;
	case 3:
		return (uint64_t)(int64_t)(int8_t)random_bits();
	case 4: {
		double d = ldexp((double)(int64_t)random_bits(), (int)(r / 8 % 160) - 140);
		uint64_t bits;

		memcpy(&bits, &d, 8);
		return bits;
	}
	default:
		return random_bits();
	}
}

static void data_fill(uint64_t seed)
{
	random_state = seed * 0x9e3779b97f4a7c15ull | 1;
	for (int i = 0; i < 8; i++)
		random_bits();
	for (size_t i = 0; i < sizeof(data.in) / 8; i++)
		data.in[i] = interesting();
	for (size_t i = 0; i < sizeof(data.params); i++)
		data.params[i] = (uint8_t)random_bits();
}

/* out, in, own, cells: where they are for whoever runs the kernel. */
static void set_addresses(uint64_t in, uint64_t result)
{
	const uint64_t address[4] = { result, in, result + OUT_BYTES, result + OUT_BYTES + OWN_BYTES };

	memcpy(data.params, address, sizeof(address));
}

static bool run_reference(const char *text, const struct generated *g)
{
	char error[300] = "";
	struct ref_module *m = ref_module_load(text, error, sizeof(error));
	struct ref_launch l = { .kernel = "generated",
				.grid = { g->grid, 1, 1 },
				.block = { g->block, 1, 1 },
				.params = data.params,
				.instructions_max = 4000000 };
	int r = -1;

	set_addresses(REFERENCE_ADDRESS, REFERENCE_ADDRESS + (1 << 24));
	memset(data.want, 0, sizeof(data.want));
	l.memory[0] = (struct ref_memory){ REFERENCE_ADDRESS, (uint8_t *)data.in, sizeof(data.in) };
	l.memory[1] = (struct ref_memory){ REFERENCE_ADDRESS + (1 << 24), data.want, sizeof(data.want) };
	if (m)
		r = ref_run(m, &l);
	if (r)
		snprintf(message, sizeof(message), "reference: %s", m ? l.error : error);
	ref_module_free(m);
	return !r;
}

static enum verdict compare(const uint8_t *got, const char *isa, uint32_t quantum)
{
	for (size_t i = 0; i < RESULT_BYTES; i += 8) {
		uint64_t a, b;

		memcpy(&a, got + i, 8);
		memcpy(&b, data.want + i, 8);
		if (a == b)
			continue;
		if (i < OUT_BYTES)
			snprintf(message, sizeof(message), "%s, quantum %u: thread %zu place %zu: %llx, reference %llx",
				 isa, quantum, i / 8 / OUT_WORDS, i / 8 % OUT_WORDS, (unsigned long long)a,
				 (unsigned long long)b);
		else
			snprintf(message, sizeof(message),
				 "%s, quantum %u: byte %zu of own memory or cells: %llx, reference %llx", isa, quantum,
				 i - OUT_BYTES, (unsigned long long)a, (unsigned long long)b);
		return DIFFERS;
	}
	return SAME;
}

/* One build and quantum of the engine against data.want. */
static enum verdict run_engine(const char *text, const struct generated *g, const char *isa, uint32_t quantum,
			       enum ptx_compile compile)
{
	const struct ptx_text t = { text, strlen(text) };
	const struct ptx_options options = { .isa = isa, .quantum = quantum, .compile = compile };
	struct ptx_module *m = NULL;
	struct ptx_launch l = { .grid = { g->grid, 1, 1 },
				.block = { g->block, 1, 1 },
				.params = data.params,
				.memory = { .find = device_find },
				.timeout_ns = 20000000000u };
	uint64_t address[8] = { 0 };
	uint8_t *in, *result;
	enum verdict v;
	char log[300];

	if (ptx_module_load(&t, 1, &options, &m, log, sizeof(log))) {
		snprintf(message, sizeof(message), "%s: %s", isa, log);
		return REFUSED;
	}
	device_reset();
	in = device_alloc(sizeof(data.in));
	result = device_alloc(RESULT_BYTES);
	memcpy(in, data.in, sizeof(data.in));
	for (size_t i = 0; i < ptx_module_variable_count(m) && i < 8; i++)
		address[i] = PTR(device_alloc(ptx_module_variable_at(m, i)->bytes));
	ptx_module_bind(m, address);
	set_addresses(PTR(in), PTR(result));
	l.kernel = ptx_module_kernel_find(m, "generated");
	if (ptx_launch_run(pool, &l)) {
		snprintf(message, sizeof(message), "%s, quantum %u: fault %d in line %u", isa, quantum, l.fault.kind,
			 l.fault.line);
		v = FAULT;
	} else {
		v = compare(result, isa, quantum);
	}
	if (compile && v != SAME)
		strncat(message, " (compiled)", sizeof(message) - strlen(message) - 1);
	ptx_module_free(m);
	return v;
}

static uint32_t compile_each = 10; /* of so many kernels one: compiling takes far longer than all the rest */
static bool compiles; /* the library is there: METE_SOFT_COMPILER */
static uint32_t compile_turn; /* the kernel's number */

static enum verdict judge(const char *text, const struct generated *g)
{
	static const char *const isas[] = { "base", "avx2", "avx512" };
	static const uint32_t quanta[] = { 32, 1, 7 };
	enum verdict v;

	if (!run_reference(text, g))
		return NO_REFERENCE;
	for (int i = 0; i < 3; i++) {
		if (!isa_find(isas[i]))
			continue;
		for (int k = 0; k < 3; k++) {
			v = run_engine(text, g, isas[i], quanta[k], PTX_COMPILE_NEVER);
			if (v != SAME)
				return v;
		}
		v = SAME;
		if (i && compiles && (compile_turn + (uint32_t)i) % compile_each == 0)
			v = run_engine(text, g, isas[i], 32, PTX_COMPILE_ALWAYS);
		if (v != SAME)
			return v;
	}
	return SAME;
}

static char *joined(const struct generated *g, const bool *out)
{
	size_t n = 1;
	char *text, *p;

	for (size_t i = 0; i < g->lines; i++)
		n += strlen(g->line[i]) + 1;
	p = text = malloc(n);
	if (!text)
		abort();
	for (size_t i = 0; i < g->lines; i++)
		if (!out || !out[i])
			p += sprintf(p, "%s\n", g->line[i]);
	*p = 0;
	return text;
}

static size_t group_end(const struct generated *g, size_t i)
{
	int open = 0;

	for (; i < g->lines; i++) {
		open += !strcmp(g->line[i], "//{") - !strcmp(g->line[i], "//}");
		if (!open)
			break;
	}
	return i;
}

/* A single instruction that may go: no barrier (the rest would race), no label, no brace. */
static bool removable(const char *line)
{
	return line[0] == '\t' && !strstr(line, "bar") && !strstr(line, ".reg") && !strstr(line, ".local .align") &&
	       !strstr(line, "{ .") && !strstr(line, "; }") && strcmp(line, "\tret;");
}

/* Leaves out lines [i, end] when the kernel still fails in the same way. */
static bool try_without(const struct generated *g, bool *out, size_t i, size_t end, enum verdict wanted)
{
	bool *tried = malloc(g->lines);
	char *text;
	bool gone;

	if (!tried)
		abort();
	memcpy(tried, out, g->lines);
	for (size_t k = i; k <= end; k++)
		tried[k] = true;
	text = joined(g, tried);
	gone = judge(text, g) == wanted;
	if (gone)
		memcpy(out, tried, g->lines);
	free(text);
	free(tried);
	return gone;
}

static void shrink(const struct generated *g, bool *out, enum verdict wanted)
{
	bool again = true;

	for (int round = 0; again && round < 4; round++) {
		again = false;
		for (size_t i = g->lines; i-- > 0;)
			if (!out[i] && !strcmp(g->line[i], "//{") && try_without(g, out, i, group_end(g, i), wanted))
				again = true;
		for (size_t i = g->lines; i-- > 0;)
			if (!out[i] && removable(g->line[i]) && try_without(g, out, i, i, wanted))
				again = true;
	}
}

static void write_failure(const struct generated *g, uint64_t seed, enum verdict v)
{
	bool *out = calloc(g->lines, sizeof(*out));
	char path[64], *text;
	FILE *f;

	if (!out)
		abort();
	printf("# seed %llu: %s\n", (unsigned long long)seed, message);
	if (v != NO_REFERENCE)
		shrink(g, out, v);
	text = joined(g, out);
	judge(text, g);
	snprintf(path, sizeof(path), "random_%llu.ptx", (unsigned long long)seed);
	f = fopen(path, "w");
	if (f) {
		fprintf(f, "// --seed %llu --count 1; grid %u, block %u\n// %s\n%s", (unsigned long long)seed, g->grid,
			g->block, message, text);
		fclose(f);
	}
	printf("# smaller, in %s: %s\n", path, message);
	free(text);
	free(out);
}

static int run_seeds(const struct catalogue *c, uint64_t seed, int count)
{
	int wrong = 0;

	for (int i = 0; i < count && wrong < 5; i++) {
		struct generated g = generate(c, seed + (uint64_t)i);
		char *text = joined(&g, NULL);
		enum verdict v;

		data_fill(seed + (uint64_t)i);
		compile_turn = (uint32_t)i;
		v = judge(text, &g);
		if (v != SAME) {
			write_failure(&g, seed + (uint64_t)i, v);
			wrong++;
		}
		free(text);
		generated_free(&g);
	}
	return wrong;
}

int main(int argc, char **argv)
{
	uint64_t seed = 0, fresh;
	int count = 100;
	struct timespec now;
	struct catalogue c;

	for (int i = 1; i + 1 < argc; i++) {
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		if (!strcmp(argv[i], "--count"))
			count = atoi(argv[i + 1]);
		if (!strcmp(argv[i], "--few") && !getenv("METE_TEST_LONG"))
			count = atoi(argv[i + 1]);
		if (!strcmp(argv[i], "--compile-each"))
			compile_each = (uint32_t)strtoul(argv[i + 1], NULL, 0);
	}
	compiles = getenv("METE_SOFT_COMPILER");
	tap_begin();
	device_open(2);
	c = generator_catalogue();
	ok(c.count > 500);
	clock_gettime(CLOCK_REALTIME, &now);
	fresh = ((uint64_t)now.tv_sec * 1000003u + (uint64_t)now.tv_nsec) % 1000000000u;
	tap_ok(!run_seeds(&c, seed ? seed : 1, count), "%d kernels from seed %llu", count,
	       (unsigned long long)(seed ? seed : 1));
	if (!seed)
		tap_ok(!run_seeds(&c, fresh, count), "%d kernels from seed %llu", count, (unsigned long long)fresh);
	free(c.at);
	device_close();
	return tap_end();
}

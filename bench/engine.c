/*
 * engine.c: how fast the software device is: kernels on its engine beside the same loops in C, two threads beside one,
 * the decoding of a large module, the size of the decoded tables, an empty launch.
 *
 *   engine KERNELS.ptx [turns] [isa] [kernel]    prints one JSON object per row
 *   engine turn KERNELS.ptx KERNEL RUNS [isa]    the kernel alone: times, and a hash of what it wrote, for engine-turns
 *   engine latency LIBCUDA KERNELS.ptx           the empty launch, through the driver's own calls
 *   engine compile KERNELS.ptx [isa] [kernel]    CPU time of compiling each kernel, and the peak of memory until then
 *
 * Times of one thread are its CPU time and the least of several turns, so that a busy machine disturbs little; the
 * kernel and the loops take turns. With two threads there is no such time: the wall clock counts, and the sum of CPU
 * times beside it says what is lost to the work itself and not to other programs.
 */
#include "engine_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int latency_main(const char *library, const char *ptx);			 /* engine_latency.c */
int compile_main(const char *path, const char *isa, const char *kernel); /* engine_compile.c */

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* CPU time of the calling thread. */
static double loop_time(const struct bench_case *c, const struct loops *l, struct setup *s)
{
	const double begin = clock_of(CLOCK_THREAD_CPUTIME_ID);

	c->loop(l, s);
	return clock_of(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static bool case_run(const struct bench_case *c, const struct ptx_module *m, struct ptx_pool *one, struct ptx_pool *two,
		     int turns)
{
	struct setup s = { .n = 0 };
	struct ptx_launch l;
	double kernel = 1e9, plain = 1e9, native = 1e9, wall_one = 1e9, wall_two = 1e9, cpu_two = 1e9;
	bool good;

	device_clear();
	c->prepare(&s);
	l = launch_of(m, c->kernel, &s);
	launch_run(one, &l);
	c->loop(&loops_plain, &s);
	good = agrees(c, &s);
	for (int i = 0; i < turns; i++) {
		double cpu = clock_of(CLOCK_THREAD_CPUTIME_ID), begin = clock_of(CLOCK_MONOTONIC);

		launch_run(one, &l);
		kernel = least(kernel, clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu);
		wall_one = least(wall_one, clock_of(CLOCK_MONOTONIC) - begin);
		plain = least(plain, loop_time(c, &loops_plain, &s));
		native = least(native, loop_time(c, &loops_native, &s));
		cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
		begin = clock_of(CLOCK_MONOTONIC);
		launch_run(two, &l);
		wall_two = least(wall_two, clock_of(CLOCK_MONOTONIC) - begin);
		cpu_two = least(cpu_two, clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	}
	printf("{\"row\":\"kernel\",\"kernel\":\"%s\",\"what\":\"%s\",\"lane_instructions\":%llu,\"seconds\":%.6g,"
	       "\"rate\":%.4g,"
	       "\"plain_seconds\":%.6g,\"native_seconds\":%.6g,\"goal\":%.4g,\"blocks\":%llu,\"two_wall\":%.4g,\"two_"
	       "cpu\":%.4g,"
	       "\"agrees\":%s}\n",
	       c->kernel, c->what, (unsigned long long)l.stats.lane_instructions, kernel,
	       (double)l.stats.lane_instructions / kernel, plain, native, c->goal, (unsigned long long)l.stats.blocks,
	       wall_one / wall_two, 2 * kernel / cpu_two, good ? "true" : "false");
	fflush(stdout);
	return good;
}

/* The text again and again, with other kernel names, until it has `bytes`. */
static char *text_repeat(const char *text, size_t bytes, size_t most, size_t *ret_bytes)
{
	const char *body = strstr(text, ".visible");
	char *all = malloc(most + bytes * 2), *to = all;

	if (!body || !all)
		exit(1);
	memcpy(to, text, (size_t)(body - text));
	to += body - text;
	for (int copy = 0; (size_t)(to - all) < most; copy++) {
		for (const char *p = body; *p; p++) {
			*to++ = *p;
			/* the kernel's and the parameters' names begin with what is unique in the copy */
			if (p > body && !strncmp(p, "_param_", 7))
				to += sprintf(to, "x%d", copy);
			else if (!strncmp(p - 6 > body ? p - 6 : body, ".entry ", 7))
				to += sprintf(to, "k%d_", copy);
		}
	}
	*ret_bytes = (size_t)(to - all);
	return all;
}

static void decode_run(const char *text, size_t bytes, const char *isa, int turns)
{
	size_t large_bytes;
	char *large = text_repeat(text, bytes, 1 << 20, &large_bytes);
	struct ptx_table_size size;
	double best = 1e9;

	for (int i = 0; i < turns; i++) {
		const double begin = clock_of(CLOCK_THREAD_CPUTIME_ID);
		struct ptx_module *m = module_load(large, large_bytes, isa);

		best = least(best, clock_of(CLOCK_THREAD_CPUTIME_ID) - begin);
		ptx_module_table_size(m, &size);
		ptx_module_free(m);
	}
	printf("{\"row\":\"decode\",\"bytes\":%zu,\"seconds\":%.6g,\"instructions\":%llu,\"operands\":%llu,"
	       "\"operations\":%llu,"
	       "\"table_bytes\":%llu}\n",
	       large_bytes, best * 1048576 / (double)large_bytes, (unsigned long long)size.instructions,
	       (unsigned long long)size.operands, (unsigned long long)size.operations, (unsigned long long)size.bytes);
	free(large);
}

/* What a launch costs below the driver: blocks of one warp and of 32, of a kernel that does nothing. */
static void launch_cost(const struct ptx_module *m, struct ptx_pool *one, uint32_t threads)
{
	struct setup s = { .grid = { 1, 1, 1 }, .block = { threads, 1, 1 } };
	struct ptx_launch l = launch_of(m, "nothing", &s);
	double best = 1e9;

	for (int turn = 0; turn < 20; turn++) {
		const double begin = clock_of(CLOCK_THREAD_CPUTIME_ID);

		for (int i = 0; i < 500; i++)
			launch_run(one, &l);
		best = least(best, (clock_of(CLOCK_THREAD_CPUTIME_ID) - begin) / 500);
	}
	printf("{\"row\":\"launch\",\"threads\":%u,\"seconds\":%.4g}\n", threads, best);
}

static uint64_t hash_of(const uint8_t *p, size_t bytes)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

/* One build's turn at a kernel. The hash is of the first run's result: later runs may add to it. */
static int turn_main(const char *path, const char *kernel, int runs, const char *isa)
{
	const struct bench_case *c = case_find(kernel);
	struct ptx_pool *one = ptx_pool_new(1);
	struct setup s = { .grid = { 1, 1, 1 }, .block = { 32, 1, 1 } };
	const int launches = c ? 1 : 2000;
	struct ptx_launch l;
	uint64_t hash = 0;
	size_t bytes;
	char *text = file_read(path, &bytes);
	struct ptx_module *m = module_load(text, bytes, isa);

	if (!one || !ptx_module_kernel_find(m, kernel)) {
		fprintf(stderr, "engine: %s has no kernel %s\n", path, kernel);
		return 1;
	}
	if (c)
		c->prepare(&s);
	l = launch_of(m, kernel, &s);
	launch_run(one, &l);
	if (c)
		hash = hash_of(s.out, s.out_bytes);
	printf("{\"kernel\":\"%s\",\"hash\":\"%016llx\",\"lane_instructions\":%llu,\"seconds\":[", kernel,
	       (unsigned long long)hash, (unsigned long long)l.stats.lane_instructions);
	for (int i = 0; i < runs; i++) {
		const double begin = clock_of(CLOCK_THREAD_CPUTIME_ID);

		for (int k = 0; k < launches; k++)
			launch_run(one, &l);
		printf("%s%.6g", i ? "," : "", (clock_of(CLOCK_THREAD_CPUTIME_ID) - begin) / launches);
	}
	printf("]}\n");
	ptx_module_free(m);
	ptx_pool_free(one);
	free(text);
	return 0;
}

static bool cases_run(const struct bench_case *c, unsigned count, const struct ptx_module *m, const char *kernel,
		      struct ptx_pool *one, struct ptx_pool *two, int turns)
{
	bool good = true;

	for (; count; count--, c++)
		if ((!kernel || !strcmp(kernel, c->kernel)) && ptx_module_kernel_find(m, c->kernel))
			good &= case_run(c, m, one, two, turns);
	return good;
}

int main(int argc, char **argv)
{
	struct ptx_pool *one, *two;
	struct ptx_module *m;
	const int turns = argc > 2 ? atoi(argv[2]) : 7;
	const char *isa = argc > 3 && *argv[3] ? argv[3] : NULL, *kernel = argc > 4 ? argv[4] : NULL;
	bool good;
	size_t bytes;
	char *text;

	if (argc == 4 && !strcmp(argv[1], "latency"))
		return latency_main(argv[2], argv[3]);
	if (argc >= 3 && !strcmp(argv[1], "compile"))
		return compile_main(argv[2], argc > 3 && *argv[3] ? argv[3] : NULL, argc > 4 ? argv[4] : NULL);
	device_open(NULL);
	if (argc >= 5 && !strcmp(argv[1], "turn"))
		return turn_main(argv[2], argv[3], atoi(argv[4]), argc > 5 && *argv[5] ? argv[5] : NULL);
	if (argc < 2) {
		fprintf(stderr, "usage: engine KERNELS.ptx [turns] [isa] [kernel]\n");
		return 2;
	}
	one = ptx_pool_new(1);
	two = ptx_pool_new(2);
	if (!one || !two)
		return 1;
	text = file_read(argv[1], &bytes);
	m = module_load(text, bytes, isa);
	printf("{\"row\":\"loops\",\"plain\":\"%s\",\"native\":\"%s\"}\n", loops_plain.flags, loops_native.flags);
	good = cases_run(bench_cases, bench_case_count, m, kernel, one, two, turns);
	good &= cases_run(varied_cases, varied_case_count, m, kernel, one, two, turns);
	good &= cases_run(tensor_cases, tensor_case_count, m, kernel, one, two, turns);
	good &= cases_run(irregular_cases, irregular_case_count, m, kernel, one, two, turns);
	good &= cases_run(unseen_cases, unseen_case_count, m, kernel, one, two, turns);
	good &= cases_run(held_cases, held_case_count, m, kernel, one, two, turns);
	good &= cases_run(fresh_cases, fresh_case_count, m, kernel, one, two, turns);
	if (!kernel && ptx_module_kernel_find(m, "nothing")) {
		decode_run(text, bytes, isa, turns < 3 ? turns : 5);
		launch_cost(m, one, 32);
		launch_cost(m, one, 1024);
	}
	ptx_module_free(m);
	ptx_pool_free(one);
	ptx_pool_free(two);
	free(text);
	return good ? 0 : 1;
}

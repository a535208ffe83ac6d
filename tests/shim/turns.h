/*
 * turns.h: what the tests of the gate share: they play meted, by writing the page of the process that they run in, and
 * the program, by launching a kernel that lasts as long as it is told.
 */
#pragma once

#include "kit.h"

#include <dirent.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#define US 1000ull
#define MS (1000 * US)

static struct wire_page *page;
static CUcontext context;
static CUfunction busy, other;
static CUstream stream;

static const char busy_ptx[] =
	".version 7.0\n.target sm_52\n.address_size 64\n"
	".visible .entry busy(.param .u64 ns)\n{\n.reg .u64 %t<4>;\n.reg .pred %p;\n"
	"ld.param.u64 %t0, [ns];\nmov.u64 %t1, %globaltimer;\nadd.u64 %t0, %t0, %t1;\n"
	"again:\nmov.u64 %t1, %globaltimer;\nsetp.lt.u64 %p, %t1, %t0;\n@%p bra again;\nret;\n}\n"
	".visible .entry other(.param .u64 ns)\n{\n.reg .u64 %t<4>;\n.reg .pred %p;\n"
	"ld.param.u64 %t0, [ns];\nmov.u64 %t1, %globaltimer;\nadd.u64 %t0, %t0, %t1;\n"
	"again:\nmov.u64 %t1, %globaltimer;\nsetp.lt.u64 %p, %t1, %t0;\n@%p bra again;\nret;\n}\n";

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void nap(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	nanosleep(&t, NULL);
}

static inline struct wire_turn *turn(enum wire_engine engine)
{
	return &page->turn[0][engine];
}

/* meted's side of the gate: one of the words of enum wire_gate. */
static inline void gate_set(enum wire_engine engine, uint32_t word, uint64_t bound_ns, uint64_t until_ns)
{
	struct wire_turn *t = turn(engine);
	uint32_t serial = (atomic_load(&t->gate) & ~(WIRE_GATE_SERIAL - 1)) + WIRE_GATE_SERIAL;

	atomic_store(&t->bound_ns, bound_ns);
	atomic_store(&t->until_ns, until_ns);
	atomic_store(&t->gate, serial | word);
	syscall(SYS_futex, &t->gate, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static inline CUresult launch(CUfunction f, uint64_t ns, CUstream s)
{
	void *params[] = { &ns };

	/* The grid tells the lengths apart: a kind is a function and its shape. */
	return cu.cuLaunchKernel(f, 1, 1, 1, 1 + (unsigned int)(ns / (50 * US)) % 1000, 1, 1, 0, s, params, NULL);
}

static inline void wait_idle(enum wire_engine engine)
{
	for (int i = 0; i < 5000 && atomic_load(&turn(engine)->busy_since_ns); i++)
		nap(1 * MS);
	is(atomic_load(&turn(engine)->busy_since_ns), 0);
}

static inline void page_open(void)
{
	page = page_find();
}

static inline void setup(void)
{
	CUmodule module;

	kit_open("libcuda.so.1");
	context = begin(0);
	page_open();
	is(cu.cuModuleLoadData(&module, busy_ptx), CUDA_SUCCESS);
	is(cu.cuModuleGetFunction(&busy, module, "busy"), CUDA_SUCCESS);
	is(cu.cuModuleGetFunction(&other, module, "other"), CUDA_SUCCESS);
	is(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
}

/* Takes all edges off the page. Value: the time between begins and ends. ret_count: edges. */
static inline uint64_t take_edges(enum wire_engine engine, unsigned int *ret_count)
{
	uint64_t at, last = 0, begin = 0, sum = 0;
	unsigned int count = 0;
	bool begins;

	while (wire_edge_get(turn(engine), &at, &begins)) {
		ok(at >= last);
		ok(begins == (begin == 0));
		if (!begins)
			sum += at - begin;
		begin = begins ? at : 0;
		last = at;
		count++;
	}
	if (ret_count)
		*ret_count = count;
	return sum;
}

/* The time that threads of this process were ready to run and had no processor, by the kernel's count. */
static inline uint64_t starved_ns(void)
{
	DIR *tasks = opendir("/proc/self/task");
	uint64_t sum = 0;

	for (struct dirent *d; tasks && (d = readdir(tasks));) {
		unsigned long long ran, waited;
		char path[300];
		FILE *f;

		snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", d->d_name);
		f = d->d_name[0] == '.' ? NULL : fopen(path, "re");
		if (!f)
			continue;
		if (fscanf(f, "%llu %llu", &ran, &waited) == 2)
			sum += waited;
		fclose(f);
	}
	if (tasks)
		closedir(tasks);
	return sum;
}

/*
 * The software device stands still itself while something else has its thread's processor, and has not served then what
 * a case wants to measure.
 */
static inline bool stood_still(uint64_t busy_ns, uint64_t length_ns)
{
	return busy_ns < length_ns - length_ns / 5;
}

static inline void skip_busy(const char *what)
{
	tap_ok(true, "%s # SKIP the machine is too busy: the device stood still each time", what);
}

static inline long bells(int fd)
{
	char rings[4096];
	ssize_t n = read(fd, rings, sizeof rings);

	return n > 0 ? n / 8 : 0;
}

/* Runs the case that the first argument names. Value: the program's exit status. */
static inline int turns_main(const struct kit_case *cases, size_t count, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < count; i++) {
		if (strcmp(cases[i].name, name))
			continue;
		cases[i].run();
		printf("1..%d\n", tap_count);
		return tap_failed ? 1 : 0;
	}
	return 2;
}

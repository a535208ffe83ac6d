/* engine_compile.c: what it costs to compile each kernel of a file: `engine compile`, see engine.c. */
#include "engine_run.h"

#include "softdev/ptx/hot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int compile_main(const char *path, const char *isa, const char *kernel);

static double peak_mib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_maxrss / 1024;
}

/* The first kernel also bears what LLVM does once in a process: an object of its own is compiled before it. */
static void row(const struct ptx_kernel *k)
{
	const struct function *f = kernel_function(k);
	const uint32_t need = k->required_threads[0];
	struct ptx_launch l = { .kernel = k, .grid = { 1, 1, 1 }, .block = { need ? need : 256, 1, 1 } };
	double cpu;

	for (uint32_t i = 1; need && i < 3; i++)
		l.block[i] = k->required_threads[i];
	if (k->max_threads < l.block[0])
		l.block[0] = k->max_threads;
	cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
	hot_wait(f, &l);
	cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("{\"row\":\"compile\",\"kernel\":\"%s\",\"operations\":%u,\"compiled\":%s,\"seconds\":%.4g,\"peak_mib\":"
	       "%.0f}\n",
	       k->name, f->count, ptx_kernel_is_compiled(k) ? "true" : "false", cpu, peak_mib());
	fflush(stdout);
}

int compile_main(const char *path, const char *isa, const char *kernel)
{
	const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry first()\n{\n\tret;\n}\n";
	size_t bytes;
	char *own;
	struct ptx_module *m;

	setenv("METE_SOFT_COMPILE", "always", 1);
	setenv("METE_SOFT_COMPILE_CACHE", "off", 1);
	m = module_load(text, sizeof(text) - 1, isa);
	row(ptx_module_kernel_at(m, 0));
	ptx_module_free(m);
	own = file_read(path, &bytes);
	m = module_load(own, bytes, isa);
	for (size_t i = 0; i < ptx_module_kernel_count(m); i++)
		if (!kernel || !strcmp(ptx_module_kernel_at(m, i)->name, kernel))
			row(ptx_module_kernel_at(m, i));
	ptx_module_free(m);
	free(own);
	return 0;
}

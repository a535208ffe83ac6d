/*
 * engine_latency.c: through the calls of the driver that is given: an empty launch and the wait for its end, many
 * launches that are waited for together, and the first launch of a kernel that was just loaded.
 */
#include <cuda.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TURNS 40
#define BATCH 200
#define QUEUED 20000
#define LINES 200 /* of the kernel that is loaded and launched once */

int latency_main(const char *library, const char *ptx);

static void *symbol(void *library, const char *name)
{
	void *f = dlsym(library, name);

	if (!f) {
		fprintf(stderr, "engine: %s is missing\n", name);
		exit(1);
	}
	return f;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* A kernel of LINES instructions, mixed as compilers mix them. */
static void first_text(char *p, int number)
{
	static const char *const lines[] = {
		"mad.lo.u32 %r3, %r1, %r2, %r3;",  "ld.global.f32 %f1, [%d2];",	    "fma.rn.f32 %f2, %f1, %f1, %f2;",
		"add.s64 %d2, %d2, 4;",		   "setp.lt.u32 %p1, %r3, %r1;",    "selp.b32 %r1, %r2, %r3, %p1;",
		"cvt.rn.f32.u32 %f1, %r3;",	   "st.global.f32 [%d1+4], %f2;",   "shl.b32 %r4, %r3, 2;",
		"mul.wide.u32 %d3, %r4, 4;",
	};

	p += sprintf(p, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry first(.param .u64 po)\n{\n"
			".reg .b32 %%r<9>; .reg .f32 %%f<9>; .reg .b64 %%d<9>; .reg .pred %%p<4>;\n"
			"ld.param.u64 %%d1, [po]; mov.u64 %%d2, %%d1; mov.u32 %%r1, %d; mov.u32 %%r2, %%tid.x;\n",
		     number);
	for (int i = 0; i < LINES; i++)
		p += sprintf(p, "%s\n", lines[i % 10]);
	sprintf(p, "ret;\n}\n");
}

int latency_main(const char *library, const char *ptx)
{
	static char text[1 << 20];
	void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	FILE *f = fopen(ptx, "rb");
	__typeof__(cuInit) *init;
	__typeof__(cuDevicePrimaryCtxRetain) *retain;
	__typeof__(cuCtxSetCurrent) *set_current;
	__typeof__(cuModuleLoadData) *load;
	__typeof__(cuModuleGetFunction) *find;
	__typeof__(cuLaunchKernel) *launch;
	__typeof__(cuCtxSynchronize) *synchronise;
	static const unsigned shape[3][2] = { { 1, 32 }, { 1, 1024 }, { 64, 256 } };
	__typeof__(cuMemAlloc) *alloc;
	double each[TURNS], begin;
	CUdeviceptr memory;
	void *params[1] = { &memory };
	CUcontext context;
	CUmodule module;
	CUfunction function;

	if (!lib || !f || !fread(text, 1, sizeof(text) - 1, f)) {
		fprintf(stderr, "engine: %s\n", lib ? ptx : dlerror());
		return 1;
	}
	fclose(f);
	*(void **)&init = symbol(lib, "cuInit");
	*(void **)&retain = symbol(lib, "cuDevicePrimaryCtxRetain");
	*(void **)&set_current = symbol(lib, "cuCtxSetCurrent");
	*(void **)&load = symbol(lib, "cuModuleLoadData");
	*(void **)&find = symbol(lib, "cuModuleGetFunction");
	*(void **)&launch = symbol(lib, "cuLaunchKernel");
	*(void **)&synchronise = symbol(lib, "cuCtxSynchronize");
	*(void **)&alloc = symbol(lib, "cuMemAlloc_v2");
	if (init(0) || retain(&context, 0) || set_current(context) || load(&module, text) ||
	    find(&function, module, "nothing")) {
		fprintf(stderr, "engine: the driver does not start\n");
		return 1;
	}
	for (int k = 0; k < 3; k++) {
		for (int turn = 0; turn < TURNS; turn++) {
			begin = now();
			for (int i = 0; i < BATCH; i++)
				if (launch(function, shape[k][0], 1, 1, shape[k][1], 1, 1, 0, NULL, NULL, NULL) ||
				    synchronise())
					return 1;
			each[turn] = (now() - begin) / BATCH;
		}
		qsort(each, TURNS, sizeof(each[0]), compare);
		printf("{\"row\":\"latency\",\"blocks\":%u,\"threads\":%u,\"least\":%.4g,\"median\":%.4g,\"most\":%.4g}"
		       "\n",
		       shape[k][0], shape[k][1], each[0], each[TURNS / 2], each[TURNS - 1]);
	}
	for (int turn = 0; turn < TURNS; turn++) {
		begin = now();
		for (int i = 0; i < QUEUED; i++)
			if (launch(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL))
				return 1;
		if (synchronise())
			return 1;
		each[turn] = QUEUED / (now() - begin);
	}
	qsort(each, TURNS, sizeof(each[0]), compare);
	printf("{\"row\":\"queued\",\"least\":%.4g,\"median\":%.4g,\"most\":%.4g}\n", each[0], each[TURNS / 2],
	       each[TURNS - 1]);
	if (alloc(&memory, 1 << 20))
		return 1;
	for (int turn = 0; turn < TURNS; turn++) {
		first_text(text, turn);
		begin = now();
		if (load(&module, text) || find(&function, module, "first") ||
		    launch(function, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL) || synchronise())
			return 1;
		each[turn] = now() - begin;
	}
	printf("{\"row\":\"first\",\"once\":%.4g,", each[0]);
	qsort(each, TURNS, sizeof(each[0]), compare);
	printf("\"lines\":%d,\"least\":%.4g,\"median\":%.4g,\"most\":%.4g}\n", LINES, each[0], each[TURNS / 2],
	       each[TURNS - 1]);
	return 0;
}

/* engine_latency.c: an empty launch and the wait for its end, through the calls of the driver that is given. */
#include <cuda.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TURNS 40
#define BATCH 200

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
	if (init(0) || retain(&context, 0) || set_current(context) || load(&module, text) ||
	    find(&function, module, "nothing")) {
		fprintf(stderr, "engine: the driver does not start\n");
		return 1;
	}
	for (int k = 0; k < 3; k++) {
		double each[TURNS];

		for (int turn = 0; turn < TURNS; turn++) {
			const double begin = now();

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
	return 0;
}

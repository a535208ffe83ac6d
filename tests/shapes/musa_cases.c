/*
 * musa_cases.c: programs in small for a library of CUDA's shape, each a case by name. They are written with CUDA's
 *names and compiled with the vendor's; some names are looked up as programs of the vendor's look them up.
 *
 *	devices          what the library says of its devices: a line each
 *	hold BYTES       takes one block, says so, and waits for a line on its input
 *	race STEP N      N times: takes what it gets, and gives it back; prints how much at once, and N
 *	plain            calls by their plain names, which in CUDA are those of 32 bits, charge and give back
 *	tables           what is not to be had: tables of the library's inner functions, by any way
 *	both BYTES       CUDA and this library in one program: refused at the sum
 */
#include <cuda.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SHAPE_PREFIX
#define SHAPE_PREFIX "cu" /* as Iluvatar's, which has CUDA's own names */
#endif
#define LIVE 70000u
#define MIB (1u << 20)

static CUcontext context;

static void need(CUresult r, const char *what)
{
	if (r == CUDA_SUCCESS)
		return;
	printf("%s: %d\n", what, r);
	exit(3);
}

static void begin(void)
{
	need(cuInit(0), "init");
	need(cuDevicePrimaryCtxRetain(&context, 0), "retain");
	need(cuCtxSetCurrent(context), "current");
}

static size_t free_bytes(void)
{
	size_t free = 0, total = 0;

	need(cuMemGetInfo(&free, &total), "info");
	return free;
}

static int devices(void)
{
	int count;

	begin();
	need(cuDeviceGetCount(&count), "count");
	for (int i = 0; i < count; i++) {
		size_t total, free, all;
		char name[96], place[32];
		CUdevice device;

		need(cuDeviceGet(&device, i), "get");
		need(cuDeviceGetName(name, sizeof name, device), "name");
		need(cuDeviceTotalMem(&total, device), "total");
		need(cuMemGetInfo(&free, &all), "info");
		need(cuDeviceGetPCIBusId(place, sizeof place, device), "place");
		printf("%d %zu %zu %zu %s\n", i, total, free, all, name);
	}
	return 0;
}

static int hold(size_t bytes)
{
	CUdeviceptr p;

	begin();
	need(cuMemAlloc(&p, bytes), "alloc");
	puts("held");
	fflush(stdout);
	getchar();
	return 0;
}

static int race(size_t step, int times)
{
	static CUdeviceptr made[LIVE];
	size_t most = 0;
	int n = 0;

	begin();
	for (; n < times; n++) {
		unsigned int count = 0;

		while (count < LIVE && cuMemAlloc(&made[count], step) == CUDA_SUCCESS)
			count++;
		if (count * step > most)
			most = count * step;
		while (count)
			need(cuMemFree(made[--count]), "free");
	}
	printf("%zu %d\n", most, n);
	return 0;
}

/* By name, as a program does that knows no header. */
static void *look(const char *name)
{
	void *f = dlsym(RTLD_DEFAULT, name);

	if (!f)
		printf("%s is not there\n", name);
	return f;
}

static int plain(void)
{
	CUresult (*alloc)(CUdeviceptr *, size_t) = (CUresult(*)(CUdeviceptr *, size_t))look(SHAPE_PREFIX "MemAlloc");
	CUresult (*give)(CUdeviceptr) = (CUresult(*)(CUdeviceptr))look(SHAPE_PREFIX "MemFree");
	CUresult (*info)(size_t *, size_t *) = (CUresult(*)(size_t *, size_t *))look(SHAPE_PREFIX "MemGetInfo");
	size_t before, free, total;
	CUdeviceptr p = 0;

	if (!alloc || !give || !info)
		return 1;
	begin();
	before = free_bytes();
	need(alloc(&p, 8 * MIB), "alloc");
	need(info(&free, &total), "info");
	printf("%zu %zu %d\n", before - free, before - free_bytes(), p > UINT32_MAX);
	need(give(p), "free");
	printf("%zu\n", before - free_bytes());
	return 0;
}

static int tables(void)
{
	static const CUuuid any;
	CUresult (*table)(const void **, const CUuuid *) =
		(CUresult(*)(const void **, const CUuuid *))look(SHAPE_PREFIX "GetExportTable");
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	const void *given = NULL;
	void *f = NULL;
	CUresult r;

	begin();
	printf("%d", table ? (int)table(&given, &any) : -1);
	r = cuGetProcAddress(SHAPE_PREFIX "GetExportTable", &f, 12000, 0, &status);
	printf(" %d %d %d\n", r, f != NULL, status);
	return 0;
}

/* Half of it by CUDA, then the rest here. */
static int both(size_t bytes)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	CUresult (*init)(unsigned int) = cuda ? (CUresult(*)(unsigned int))dlsym(cuda, "cuInit") : NULL;
	CUresult (*retain)(CUcontext *, CUdevice) =
		cuda ? (CUresult(*)(CUcontext *, CUdevice))dlsym(cuda, "cuDevicePrimaryCtxRetain") : NULL;
	CUresult (*enter)(CUcontext) = cuda ? (CUresult(*)(CUcontext))dlsym(cuda, "cuCtxSetCurrent") : NULL;
	CUresult (*alloc)(CUdeviceptr *, size_t) =
		cuda ? (CUresult(*)(CUdeviceptr *, size_t))dlsym(cuda, "cuMemAlloc_v2") : NULL;
	CUdeviceptr p, q;
	CUcontext other;
	size_t left;

	if (!init || !retain || !enter || !alloc)
		return 1;
	need(init(0), "CUDA's init");
	need(retain(&other, 0), "CUDA's context");
	need(enter(other), "CUDA's context");
	need(alloc(&p, bytes / 2), "CUDA's half");
	begin();
	left = free_bytes();
	printf("%zu %d", left, cuMemAlloc(&q, left + 512));
	printf(" %d\n", cuMemAlloc(&q, left));
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	size_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	if (!strcmp(name, "devices"))
		return devices();
	if (!strcmp(name, "hold"))
		return hold(first);
	if (!strcmp(name, "race") && argc > 3)
		return race(first, atoi(argv[3]));
	if (!strcmp(name, "plain"))
		return plain();
	if (!strcmp(name, "tables"))
		return tables();
	if (!strcmp(name, "both"))
		return both(first);
	return 2;
}

/* names_library.c: a library that keeps the driver's functions in variables of their names, as some loaders do. */
#include "names_library.h"

#include <dlfcn.h>
#include <stdio.h>

#pragma GCC visibility push(default)
int (*cuInit)(unsigned int);
int (*cuDevicePrimaryCtxRetain)(void **, int);
int (*cuCtxSetCurrent)(void *);
int (*cuMemAlloc_v2)(unsigned long long *, size_t);
int (*nvmlInit_v2)(void);
int (*nvmlDeviceGetCount_v2)(unsigned int *);
#pragma GCC visibility pop

static const struct {
	const char *library, *name;
	void *variable;
} names[] = {
	{ "libcuda.so.1", "cuInit", &cuInit },
	{ "libcuda.so.1", "cuDevicePrimaryCtxRetain", &cuDevicePrimaryCtxRetain },
	{ "libcuda.so.1", "cuCtxSetCurrent", &cuCtxSetCurrent },
	{ "libcuda.so.1", "cuMemAlloc_v2", &cuMemAlloc_v2 },
	{ "libnvidia-ml.so.1", "nvmlInit_v2", &nvmlInit_v2 },
	{ "libnvidia-ml.so.1", "nvmlDeviceGetCount_v2", &nvmlDeviceGetCount_v2 },
};

/* A variable that is another's function would not be empty, and could not be written. */
static int names_find(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *library = dlopen(names[i].library, RTLD_NOW | RTLD_LOCAL), **variable = names[i].variable;

		if (!library || *variable)
			return printf("%s: %s\n", names[i].name, library ? "is not empty" : dlerror());
		*variable = dlsym(library, names[i].name);
	}
	return 0;
}

void names_use(size_t bytes)
{
	unsigned int devices = 0;
	unsigned long long memory = 0;
	void *context = NULL;

	if (names_find())
		return;
	printf("init %d", cuInit(0));
	printf(" retain %d", cuDevicePrimaryCtxRetain(&context, 0));
	printf(" set %d", cuCtxSetCurrent(context));
	printf(" alloc %d", cuMemAlloc_v2(&memory, bytes));
	printf(" nvml %d", nvmlInit_v2());
	printf(" count %d", nvmlDeviceGetCount_v2(&devices));
	printf(" of %u\n", devices);
}

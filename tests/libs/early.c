/*
 * early.c: a library that calls the driver while it is loaded, as NVIDIA's management library does in a worker. It asks
 * for the driver by its name. METE_TEST_EARLY=init: it starts the driver, too.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void call_early(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	const char *early = getenv("METE_TEST_EARLY");
	int (*version)(int *), (*init)(unsigned int), number;

	if (!driver)
		return;
	*(void **)&version = dlsym(driver, "cuDriverGetVersion");
	*(void **)&init = dlsym(driver, "cuInit");
	if (version)
		version(&number);
	if (init && early && !strcmp(early, "init"))
		init(0);
}

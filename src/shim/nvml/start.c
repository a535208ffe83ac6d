/*
 * start.c: the first call of all finds the driver's NVML and fills the tables.
 *
 * The library is opened by absolute path: glibc takes that for another file than the shim, although both are called
 * libnvidia-ml.so.1. A path that leads back to the shim is recognised by the address of its nvmlErrorString. The shim
 * has a function for every name that NVML ever had; one that this driver has not answers NVML_ERROR_FUNCTION_NOT_FOUND.
 */
#include "shim/nvml/shim.h"
#include "base/own_note.h"
#include "base/setting.h"
#include "core/log.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

OWN_NOTE("the shim");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool bound; /* guarded by the lock */

static const char *const usual_places[] = {
#if defined(__x86_64__)
	"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
#elif defined(__aarch64__)
	"/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
#endif
	"/usr/lib64/libnvidia-ml.so.1",
	"/usr/lib/libnvidia-ml.so.1",
	"/usr/lib/wsl/lib/libnvidia-ml.so.1",
	"/usr/local/nvidia/lib64/libnvidia-ml.so.1",
	"/run/opengl-driver/lib/libnvidia-ml.so.1",
};

#pragma GCC visibility push(default)
const char *nvmlErrorString(nvmlReturn_t result);
#pragma GCC visibility pop

static void *try_library(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), *mark;

	if (!handle)
		return NULL;
	mark = dlsym(handle, "nvmlErrorString");
	if (mark && mark != (void *)nvmlErrorString)
		return handle;
	dlclose(handle);
	return NULL;
}

static void *open_library(void)
{
	const char *chosen = setting_get("METE_NVML");
	void *handle = NULL;

	if (chosen && *chosen) {
		if (*chosen == '/')
			handle = try_library(chosen);
		if (!handle)
			log_line("METE_NVML=%s is not the absolute path of a driver's libnvidia-ml; correct it or "
				 "unset it",
				 chosen);
		return handle;
	}
	for (size_t i = 0; !handle && i < sizeof usual_places / sizeof *usual_places; i++)
		handle = try_library(usual_places[i]);
	if (!handle)
		log_line("no driver's libnvidia-ml.so.1 in the usual places; install the driver, or name it in "
			 "METE_NVML");
	return handle;
}

static nvmlReturn_t missing(void)
{
	return NVML_ERROR_FUNCTION_NOT_FOUND;
}

static void *find_symbol(void *handle, const char *symbol)
{
	void *f = dlsym(handle, symbol);

	return f ? f : (void *)missing;
}

/* Outside a grant nothing is filtered: the driver's own functions, one jump away. */
static void pass_all(void)
{
	void **table = (void **)&shim_table, **real = (void **)&shim_real;

	for (unsigned int i = 0; i < NVML_CALL_COUNT; i++)
		__atomic_store_n(&table[i], real[i], __ATOMIC_RELEASE);
}

void **shim_start(void)
{
	int saved = errno;
	void *library;

	pthread_mutex_lock(&lock);
	if (!bound) {
		library = open_library();
		attach_init(ATTACH_NVML, NULL);
		if (!library)
			shim_refuse(NVML_ERROR_LIBRARY_NOT_FOUND);
		else
			shim_bind(find_symbol, library);
		if (library && !attach_wanted())
			pass_all();
		bound = true;
	}
	pthread_mutex_unlock(&lock);
	errno = saved;
	return (void **)&shim_table;
}

/* driver.c: see driver.h. */
#include "remote/worker/driver.h"

#include "cuda_table.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef METE_LIBDIR_FROM_LIBEXECDIR
#define METE_LIBDIR_FROM_LIBEXECDIR "../../lib/mete"
#endif

/* Called with any arguments: the caller takes them away again, on all processors that we build for. */
static CUresult lacking(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

bool driver_open(const char *path, struct cuda_table *ret, char *why, size_t why_bytes)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *at;

	if (!library) {
		snprintf(why, why_bytes, "%s", dlerror());
		return false;
	}
	for (unsigned int i = 0; i < CUDA_CALL_COUNT; i++) {
		at = dlsym(library, cuda_call_name[i]);
		((void **)ret)[i] = at ? at : (void *)lacking;
	}
	if (dlsym(library, "cuInit") && dlsym(library, "cuCtxSetCurrent"))
		return true;
	snprintf(why, why_bytes, "%s is no driver library: it has no cuInit", path);
	return false;
}

bool driver_find_shim(char *path, size_t size)
{
	static const char *const places[] = { METE_LIBDIR_FROM_LIBEXECDIR "/shim", "../../lib/mete/shim", "../shim",
					      "../../shim", "../../../lib/mete/shim" };
	const char *libdir = getenv("METE_LIBDIR");
	char self[PATH_MAX - 64], *slash;
	ssize_t n;

	if (libdir && *libdir) {
		snprintf(path, size, "%s/shim/libcuda.so.1", libdir);
		return !access(path, R_OK);
	}
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return false;
	self[n] = 0;
	slash = strrchr(self, '/');
	if (slash)
		*slash = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char tried[PATH_MAX * 2], real[PATH_MAX];

		snprintf(tried, sizeof(tried), "%s/%s/libcuda.so.1", self, places[i]);
		if (!realpath(tried, real))
			continue;
		return (size_t)snprintf(path, size, "%s", real) < size;
	}
	return false;
}

/* soft_driver.c: see soft_driver.h. */
#include "cli/soft_driver.h"

#include "client/place.h"

#include <dlfcn.h>
#include <errno.h>

static int open_library(struct soft_driver *d, const struct place *p, struct fault *f)
{
	static const char *const names[] = { "cuInit",
					     "cuDeviceGetCount",
					     "cuDeviceGetName",
					     "cuDeviceGetUuid_v2",
					     "cuDeviceTotalMem_v2",
					     "cuDeviceGetAttribute",
					     "cuGetExportTable" };
	void **entry = (void **)d;
	char path[PATH_MAX];
	void *library;

	library = path_join(path, "%s/libcuda.so.1", p->soft_dir) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	for (size_t i = 0; library && i < sizeof(names) / sizeof(*names); i++)
		if (!(entry[i] = dlsym(library, names[i])))
			library = NULL;
	return library ? 0 : fault_set(f, -ENOENT, "%s: it cannot be used; install all of mete", path);
}

int soft_driver_open(struct soft_driver *ret, int *ret_init, struct fault *f)
{
	struct place place;
	int r;

	*f->text = 0;
	r = place_find_soft(&place, f);
	if (!r)
		r = open_library(ret, &place, f);
	if (r)
		return r;
	*ret_init = (int)ret->init(0);
	return *ret_init && *ret_init != CUDA_ERROR_NO_DEVICE ? -EINVAL : 0;
}

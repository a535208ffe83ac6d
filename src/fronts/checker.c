/* checker.c: see checker.h. */
#include "fronts/checker.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

bool checker_open(struct checker *ret, const char *folder)
{
	char path[PATH_MAX];
	void *library;

	if (snprintf(path, sizeof(path), "%s/libmete-ptx.so", folder) >= PATH_MAX)
		return false;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
	ret->check = (__typeof__(ret->check))dlsym(library, "mete_ptx_check");
	ret->version = (__typeof__(ret->version))dlsym(library, "mete_ptx_version");
	return ret->check && ret->version;
}

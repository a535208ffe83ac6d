/* vendor_library.c: see vendor_library.h. */
#include "daemon/health/vendor_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is in a folder that is sticky only its owner can replace. */
static bool is_roots(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !st.st_uid &&
	       (!(st.st_mode & (S_IWGRP | S_IWOTH)) || (S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX));
}

bool vendor_library_is_safe(const char *path)
{
	char real[PATH_MAX], *slash;

	if (geteuid())
		return true;
	if (!realpath(path, real))
		return false;
	while (is_roots(real)) {
		slash = strrchr(real, '/');
		if (slash == real)
			return is_roots("/");
		*slash = 0;
	}
	return false;
}

void *vendor_library_open(const char *const *places, unsigned int count, const char **ret_unsafe)
{
	void *library = NULL;

	*ret_unsafe = NULL;
	for (unsigned int i = 0; !library && i < count && places[i]; i++) {
		if (*places[i] != '/' || vendor_library_is_safe(places[i]))
			library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
		else if (!access(places[i], F_OK) && !*ret_unsafe)
			*ret_unsafe = places[i];
	}
	return library;
}

/* vendor_library.c: see vendor_library.h. */
#include "daemon/health/vendor_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
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

bool vendor_library_real(const char *path, char ret[PATH_MAX])
{
	char at[PATH_MAX], *slash;

	if (geteuid())
		return snprintf(ret, PATH_MAX, "%s", path) < PATH_MAX;
	if (!realpath(path, ret))
		return false;
	strcpy(at, ret);
	while (is_roots(at)) {
		slash = strrchr(at, '/');
		if (slash == at)
			return is_roots("/");
		*slash = 0;
	}
	return false;
}

void *vendor_library_open(const char *const *places, unsigned int count, const char **ret_unsafe)
{
	char real[PATH_MAX];
	void *library = NULL;

	*ret_unsafe = NULL;
	for (unsigned int i = 0; !library && i < count && places[i]; i++) {
		if (*places[i] != '/')
			library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
		else if (vendor_library_real(places[i], real))
			library = dlopen(real, RTLD_NOW | RTLD_LOCAL);
		else if (!access(places[i], F_OK) && !*ret_unsafe)
			*ret_unsafe = places[i];
	}
	return library;
}

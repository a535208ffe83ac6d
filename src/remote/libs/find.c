/* find.c: see find.h. */
#include "remote/libs/find.h"

#include "base/cleanup.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS (RTLD_LAZY | RTLD_LOCAL)

/* The newest of those that match, which is the last; NULL: none can be opened. */
static void *open_newest(const char *pattern)
{
	void *library = NULL;
	glob_t g;

	if (glob(pattern, 0, NULL, &g))
		return NULL;
	for (size_t k = g.gl_pathc; !library && k; k--)
		library = dlopen(g.gl_pathv[k - 1], FLAGS);
	globfree(&g);
	return library;
}

/* What a folder has by that name, itself or in packages. */
static void *open_in(const char *folder, size_t length, const char *name)
{
	static const char *const layouts[] = { "%.*s/%s", "%.*s/nvidia/*/lib/%s" };
	void *library = NULL;

	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts) && !library; i++) {
		_cleanup_free_ char *pattern = NULL;

		if (asprintf(&pattern, layouts[i], (int)length, folder, name) < 0) {
			pattern = NULL;
			return NULL;
		}
		library = open_newest(pattern);
	}
	return library;
}

static void *open_in_list(const char *list, const char *name)
{
	void *library = NULL;
	size_t length;

	for (const char *p = list; p && *p && !library; p += length + (p[length] == ':')) {
		length = strcspn(p, ":");
		if (*p == '/')
			library = open_in(p, length, name);
	}
	return library;
}

void *library_find(const char *name)
{
	static const char usual[] = "/usr/local/cuda/lib64:/usr/local/cuda/lib:/usr/local/cuda-*/lib64:/opt/cuda/lib64:"
				    "/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64";
	void *library = NULL;

	if (!strchr(name, '/'))
		library = open_in_list(getenv("METE_LIBRARIES"), name);
	if (!library)
		library = dlopen(name, FLAGS);
	if (library || strchr(name, '/'))
		return library;
	library = open_in_list(usual, name);
	if (!library)
		dlopen(name, FLAGS); /* for dlerror() */
	return library;
}

void library_open_beside(void *library, const char *pattern)
{
	_cleanup_free_ char *whole = NULL;
	const struct link_map *map;
	const char *slash;
	glob_t g;

	if (dlinfo(library, RTLD_DI_LINKMAP, (void *)&map) || !(slash = strrchr(map->l_name, '/')) ||
	    asprintf(&whole, "%.*s/%s", (int)(slash - map->l_name), map->l_name, pattern) < 0) {
		whole = NULL;
		return;
	}
	if (glob(whole, 0, NULL, &g))
		return;
	for (size_t k = 0; k < g.gl_pathc; k++)
		dlopen(g.gl_pathv[k], FLAGS);
	globfree(&g);
}

void library_open_compilers(void)
{
	static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvJitLink.so.13",
					     "libnvJitLink.so.12" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *library = library_find(names[i]);

		if (library)
			library_open_beside(library, "libnvrtc-builtins.so.1[0-9]*");
	}
}

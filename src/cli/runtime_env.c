/* runtime_env.c: see runtime_env.h. */
#include "cli/runtime_env.h"

#include "cli/place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The newest first: it answers whoever asks for a name without a version. */
static const char *const libraries[] = { "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0" };

enum { LIBRARY_COUNT = sizeof(libraries) / sizeof(*libraries) };

bool runtime_env_dir(char ret[PATH_MAX], const char *beside)
{
	char folder[PATH_MAX], path[PATH_MAX], *slash;

	if (!path_join(folder, "%s", beside))
		return false;
	slash = strrchr(folder, '/');
	if (!slash)
		return false;
	*slash = 0;
	return path_join(ret, "%s/runtime", folder) && path_join(path, "%s/%s", ret, libraries[0]) &&
	       !access(path, R_OK);
}

char *runtime_env_preload(const char *dir)
{
	size_t bytes = LIBRARY_COUNT * (strlen(dir) + 32) + 1;
	char *list = malloc(bytes), path[PATH_MAX];

	if (!list)
		return NULL;
	*list = 0;
	for (size_t i = 0; i < LIBRARY_COUNT; i++) {
		/* The linker would complain in every process about a file that is not there. */
		if (!path_join(path, "%s/%s", dir, libraries[i]) || access(path, R_OK))
			continue;
		if (*list)
			strcat(list, ":");
		strcat(list, path);
	}
	return list;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t n = strlen(end);

	return length >= n && !memcmp(text + length - n, end, n);
}

bool runtime_env_is_entry(const char *entry, size_t length)
{
	char end[64];

	for (size_t i = 0; i < LIBRARY_COUNT; i++) {
		snprintf(end, sizeof(end), "/runtime/%s", libraries[i]);
		if (ends_with(entry, length, end))
			return true;
	}
	return ends_with(entry, length, "/mete/runtime") || ends_with(entry, length, "/src/runtime");
}

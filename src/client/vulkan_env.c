/* vulkan_env.c: see vulkan_env.h. */
#include "client/vulkan_env.h"
#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDERS "XDG_DATA_DIRS"
#define USUAL "/usr/local/share/:/usr/share/"
#define OURS "/shim/data"
#define MANIFEST "vulkan/implicit_layer.d/mete.json"

/* The shim's folder may be called by another path (tenant_env_detour()), but ends so. */
static bool is_ours(const char *folder, size_t length)
{
	return length >= strlen(OURS) && !memcmp(folder + length - strlen(OURS), OURS, strlen(OURS));
}

/* The list without folders of ours; the usual one where nothing is left. NULL: no memory. */
static char *others(const char *list)
{
	char *rest = calloc(1, strlen(list) + sizeof(USUAL)), *to = rest;

	for (const char *p = list; rest && *p;) {
		size_t length = strcspn(p, ":");

		if (length && !is_ours(p, length)) {
			if (to != rest)
				*to++ = ':';
			memcpy(to, p, length);
			to += length;
		}
		p += length + (p[length] == ':');
	}
	if (rest && to == rest)
		strcpy(rest, USUAL);
	return rest;
}

bool vulkan_env_enter(const char *shim_dir)
{
	const char *old = getenv(FOLDERS);
	_cleanup_free_ char *rest = others(old ? old : ""), *manifest = NULL, *value = NULL;

	if (!rest || asprintf(&manifest, "%s/data/%s", shim_dir, MANIFEST) < 0) {
		manifest = NULL;
		return false;
	}
	if (access(manifest, R_OK))
		return true;
	if (asprintf(&value, "%s/data:%s", shim_dir, rest) < 0) {
		value = NULL;
		return false;
	}
	return !setenv(FOLDERS, value, 1) && !setenv("METE_VULKAN", "1", 1);
}

bool vulkan_env_leave(void)
{
	const char *old = getenv(FOLDERS);
	_cleanup_free_ char *rest = NULL;

	unsetenv("METE_VULKAN");
	if (!old || !strstr(old, OURS))
		return true;
	rest = others(old);
	if (!rest)
		return false;
	return strcmp(rest, USUAL) ? !setenv(FOLDERS, rest, 1) : !unsetenv(FOLDERS);
}

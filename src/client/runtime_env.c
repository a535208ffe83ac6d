/* runtime_env.c: see runtime_env.h. */
#include "client/runtime_env.h"

#include "client/place.h"
#include "client/program.h"
#include "client/tenant_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * What goes into LD_PRELOAD, by the folder beside the shim's that it lies in. The newest first: it answers whoever asks
 * for a name without a version.
 */
static const struct {
	const char *folder, *name;
} libraries[] = {
	{ "runtime", "libcudart.so.13" },   { "runtime", "libcudart.so.12" },	{ "runtime", "libcudart.so.11.0" },
	{ "fronts", "libnvJitLink.so.13" }, { "fronts", "libnvJitLink.so.12" }, { "fronts", "libnvrtc.so.13" },
	{ "fronts", "libnvrtc.so.12" },
};

enum { LIBRARY_COUNT = sizeof(libraries) / sizeof(*libraries) };

/* Programs that frameworks start, found by these variables unless the user has set them. */
static const struct {
	const char *variable, *name;
} tools[] = {
	{ "TRITON_PTXAS_PATH", "ptxas" },
	{ "TRITON_PTXAS_BLACKWELL_PATH", "ptxas" },
};

enum { TOOL_COUNT = sizeof(tools) / sizeof(*tools) };

/* "LIB/fronts" of "LIB/runtime". */
static bool beside_runtime(char ret[PATH_MAX], const char *runtime_dir, const char *folder)
{
	const char *slash = strrchr(runtime_dir, '/');

	return slash && path_join(ret, "%.*s/%s", (int)(slash - runtime_dir), runtime_dir, folder);
}

bool runtime_env_dir(char ret[PATH_MAX], const char *beside)
{
	char folder[PATH_MAX], path[PATH_MAX], *slash;

	if (!path_join(folder, "%s", beside))
		return false;
	slash = strrchr(folder, '/');
	if (!slash)
		return false;
	*slash = 0;
	return path_join(ret, "%s/runtime", folder) && path_join(path, "%s/%s", ret, libraries[0].name) &&
	       !access(path, R_OK);
}

char *runtime_env_preload(const char *dir, bool fronts)
{
	size_t bytes = LIBRARY_COUNT * (strlen(dir) + 32) + 1;
	char *list = malloc(bytes), folder[PATH_MAX], path[PATH_MAX];

	if (!list)
		return NULL;
	*list = 0;
	for (size_t i = 0; i < LIBRARY_COUNT; i++) {
		bool front = strcmp(libraries[i].folder, "runtime");

		/* The linker would complain in every process about a file that is not there. */
		if ((front && !fronts) || !beside_runtime(folder, dir, libraries[i].folder) ||
		    !path_join(path, "%s/%s", front ? folder : dir, libraries[i].name) || access(path, R_OK))
			continue;
		if (*list)
			strcat(list, ":");
		strcat(list, path);
	}
	return list;
}

/* Before what is in PATH, where an empty entry means the current folder and has to stay. */
static bool path_with(const char *folder)
{
	const char *now = getenv("PATH");
	char *value = NULL;
	bool done;

	if (asprintf(&value, "%s:%s", folder, now && *now ? now : "/usr/local/bin:/usr/bin:/bin") < 0)
		return false;
	done = !setenv("PATH", value, 1);
	free(value);
	return done;
}

static bool set_tool(const char *variable, const char *path)
{
	const char *now = getenv(variable);

	return (now && *now) || !setenv(variable, path, 1);
}

bool runtime_env_tools(const char *dir)
{
	char folder[PATH_MAX], path[PATH_MAX];
	struct fault none;

	if (!beside_runtime(folder, dir, "fronts/bin"))
		return true;
	for (size_t i = 0; i < TOOL_COUNT; i++)
		if (path_join(path, "%s/%s", folder, tools[i].name) && !access(path, X_OK) &&
		    !set_tool(tools[i].variable, path))
			return false;
	if (!path_join(path, "%s/ptxas", folder) || access(path, X_OK) || strpbrk(folder, ":"))
		return true;
	return path_with(folder) &&
	       (program_find("nvcc", path, &none) || !beside_runtime(folder, dir, "fronts/nvcc") || path_with(folder));
}

void runtime_env_leave_tools(void)
{
	for (size_t i = 0; i < TOOL_COUNT; i++) {
		const char *now = getenv(tools[i].variable);

		if (now && runtime_env_is_entry(now, strlen(now)))
			unsetenv(tools[i].variable);
	}
	if (getenv("PATH") && (strstr(getenv("PATH"), "/fronts/bin") || strstr(getenv("PATH"), "/fronts/nvcc")))
		tenant_env_put_first("PATH", "", ":");
}

void runtime_env_say(const char *dir, runtime_env_say_t *say)
{
	char folder[PATH_MAX], path[PATH_MAX];

	if (!beside_runtime(folder, dir, "fronts") || !path_join(path, "%s/%s", folder, libraries[3].name) ||
	    access(path, R_OK))
		return;
	say("in the program's environment: LD_PRELOAD has %s/libcudart.so.* and %s/libnvrtc.so.*, "
	    "libnvJitLink.so.*; "
	    "PATH has %s/bin and, where there is an nvcc, %s/nvcc",
	    dir, folder, folder, folder);
	for (size_t i = 0; i < TOOL_COUNT; i++) {
		const char *now = getenv(tools[i].variable);

		if (now && *now && !runtime_env_is_entry(now, strlen(now)))
			say("%s=%s stays as it is set", tools[i].variable, now);
		else
			say("%s=%s/bin/%s", tools[i].variable, folder, tools[i].name);
	}
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
		snprintf(end, sizeof(end), "/%s/%s", libraries[i].folder, libraries[i].name);
		if (ends_with(entry, length, end))
			return true;
	}
	return ends_with(entry, length, "/mete/runtime") || ends_with(entry, length, "/src/runtime") ||
	       ends_with(entry, length, "/mete/fronts/bin") || ends_with(entry, length, "/src/fronts/bin") ||
	       ends_with(entry, length, "/mete/fronts/nvcc") || ends_with(entry, length, "/src/fronts/nvcc") ||
	       ends_with(entry, length, "/fronts/bin/ptxas");
}

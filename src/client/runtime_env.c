/* runtime_env.c: see runtime_env.h. */
#include "client/runtime_env.h"

#include "client/place.h"
#include "client/program.h"
#include "client/tenant_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Libraries of NVIDIA's whose names programs ask for. On the remote path they are those that forward. */
#define BLAS "libs/blas"
#define LIBRARIES "libs"
/* Works in the program on every way. */
#define NCCL "libs/nccl"

/*
 * What goes into LD_PRELOAD, by the folder beside the shim's that it lies in. The newest first: it answers whoever asks
 * for a name without a version.
 */
static const struct {
	const char *folder, *name;
} libraries[] = {
	{ "runtime", "libcudart.so.13" },
	{ "runtime", "libcudart.so.12" },
	{ "runtime", "libcudart.so.11.0" },
	{ "fronts", "libnvJitLink.so.13" },
	{ "fronts", "libnvJitLink.so.12" },
	{ "fronts", "libnvrtc.so.13" },
	{ "fronts", "libnvrtc.so.12" },
	{ LIBRARIES, "libcudnn.so.9" },
	{ BLAS, "libcublas.so.13" },
	{ BLAS, "libcublasLt.so.13" },
	{ BLAS, "libcublas.so.12" },
	{ BLAS, "libcublasLt.so.12" },
	{ LIBRARIES, "libcurand.so.10" },
	{ LIBRARIES, "libcufft.so.12" },
	{ LIBRARIES, "libcufft.so.11" },
	{ LIBRARIES, "libcusolver.so.12" },
	{ LIBRARIES, "libcusolver.so.11" },
	{ LIBRARIES, "libcusparse.so.12" },
	{ NCCL, "libnccl.so.2" },
};

enum { LIBRARY_COUNT = sizeof(libraries) / sizeof(*libraries) };

/*
 * What frameworks look at beside their libraries. An `entry` lies in the folder of the fronts, `word` is a value as it
 * is. Those that are `first` come before what is in a list; the others are set unless the user has set them.
 */
static const struct {
	const char *variable, *entry, *word;
	bool first;
} tools[] = {
	{ "TRITON_PTXAS_PATH", "bin/ptxas", NULL, false },
	{ "TRITON_PTXAS_BLACKWELL_PATH", "bin/ptxas", NULL, false },
	/* JAX looks for plugins there, and takes ours to learn of a device without a node in /dev. */
	{ "PYTHONPATH", "python", NULL, true },
	/* Else JAX asks CUPTI for its version, which it has on NVIDIA's driver only, and stays on the processor. */
	{ "JAX_SKIP_CUDA_CONSTRAINTS_CHECK", NULL, "mete", false },
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

char *runtime_env_preload(const char *dir, bool fronts, const char *client)
{
	size_t bytes = LIBRARY_COUNT * (strlen(dir) + (client ? strlen(client) : 0) + 32) + 1;
	char *list = malloc(bytes), folder[PATH_MAX], path[PATH_MAX];

	if (!list)
		return NULL;
	*list = 0;
	for (size_t i = 0; i < LIBRARY_COUNT; i++) {
		bool library = !strncmp(libraries[i].folder, LIBRARIES, strlen(LIBRARIES));
		bool front = strcmp(libraries[i].folder, "runtime"), stays = !strcmp(libraries[i].folder, NCCL);
		const char *from = !front ? dir : library && client && !stays ? client : folder;

		/* The linker would complain in every process about a file that is not there. */
		if ((front && !fronts && !(library && client)) ||
		    !beside_runtime(folder, dir, libraries[i].folder) ||
		    !path_join(path, "%s/%s", from, libraries[i].name) || access(path, R_OK))
			continue;
		if (*list)
			strcat(list, ":");
		strcat(list, path);
	}
	return list;
}

/* Before what is in a list. An empty entry, which means the current folder, stays. */
static bool list_with(const char *variable, const char *folder, const char *otherwise)
{
	const char *now = getenv(variable);
	char *value = NULL;
	bool done;

	if (!now || !*now)
		now = otherwise;
	if (asprintf(&value, "%s%s%s", folder, now ? ":" : "", now ? now : "") < 0)
		return false;
	done = !setenv(variable, value, 1);
	free(value);
	return done;
}

/* The value that a tool's variable gets. False: what it names is not there. */
static bool tool_value(size_t i, const char *dir, char ret[PATH_MAX])
{
	char folder[PATH_MAX];

	if (!beside_runtime(folder, dir, "fronts"))
		return false;
	if (tools[i].word)
		return !access(folder, R_OK) && path_join(ret, "%s", tools[i].word);
	return path_join(ret, "%s/%s", folder, tools[i].entry) && !access(ret, R_OK) &&
	       (!tools[i].first || !strpbrk(ret, ":"));
}

/* Is it the user's? */
static bool tool_stays(size_t i)
{
	const char *now = getenv(tools[i].variable);

	return !tools[i].first && now && *now && !runtime_env_is_entry(now, strlen(now)) &&
	       !(tools[i].word && !strcmp(now, tools[i].word));
}

bool runtime_env_tools(const char *dir)
{
	char folder[PATH_MAX], path[PATH_MAX];
	struct fault none;

	for (size_t i = 0; i < TOOL_COUNT; i++) {
		if (!tool_value(i, dir, path) || tool_stays(i))
			continue;
		if (tools[i].first ? !list_with(tools[i].variable, path, NULL) : setenv(tools[i].variable, path, 1))
			return false;
	}
	if (!beside_runtime(folder, dir, "fronts/bin") || !path_join(path, "%s/ptxas", folder) || access(path, X_OK) ||
	    strpbrk(folder, ":"))
		return true;
	return list_with("PATH", folder, "/usr/local/bin:/usr/bin:/bin") &&
	       (program_find("nvcc", path, &none) || !beside_runtime(folder, dir, "fronts/nvcc") ||
		list_with("PATH", folder, "/usr/local/bin:/usr/bin:/bin"));
}

/* A list that we have put something into loses it; a program's own stays as it is written. */
static void list_leave(const char *variable)
{
	const char *now = getenv(variable);

	if (now && strstr(now, "/fronts/"))
		tenant_env_put_first(variable, "", ":");
}

void runtime_env_leave_tools(void)
{
	for (size_t i = 0; i < TOOL_COUNT; i++) {
		if (tools[i].first)
			list_leave(tools[i].variable);
		else if (!tool_stays(i))
			unsetenv(tools[i].variable);
	}
	list_leave("PATH");
}

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t n = strlen(end);

	return length >= n && !memcmp(text + length - n, end, n);
}

bool runtime_env_is_entry(const char *entry, size_t length)
{
	static const char *const clients[] = { "remote", "remote/client", "mete/client" };
	/* installed, and in a build */
	static const char *const folders[] = { "/mete/runtime",	      "/src/runtime",	    "/mete/fronts/bin",
					       "/src/fronts/bin",     "/mete/fronts/nvcc",  "/src/fronts/nvcc",
					       "/mete/fronts/python", "/src/fronts/python", "/fronts/bin/ptxas" };
	char end[64];

	for (size_t i = 0; i < LIBRARY_COUNT; i++) {
		snprintf(end, sizeof(end), "/%s/%s", libraries[i].folder, libraries[i].name);
		if (ends_with(entry, length, end))
			return true;
		if (strncmp(libraries[i].folder, LIBRARIES, strlen(LIBRARIES)) != 0)
			continue;
		for (size_t k = 0; k < sizeof(clients) / sizeof(*clients); k++) {
			snprintf(end, sizeof(end), "/%s/%s", clients[k], libraries[i].name);
			if (ends_with(entry, length, end))
				return true;
		}
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (ends_with(entry, length, folders[i]))
			return true;
	return false;
}

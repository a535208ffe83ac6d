/* guarded.c: see guarded.h. */
#include "verb/guarded.h"

#include "base/cleanup.h"
#include "guard/drivers.h"
#include "verb/choose.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool find_helper(const struct place *place, char path[PATH_MAX])
{
	static const char *const beside[] = { "mete-guard", "../sbin/mete-guard", "../guard/mete-guard" };

	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
		if (path_join(path, "%s/%s", place->exe_dir, beside[i]) && !access(path, X_OK))
			return true;
	return false;
}

/* The helper's own line is what the user reads when it fails: it goes to standard error. */
static int ask_helper(const char *helper, char *const argv[], struct fault *f)
{
	int status, r;
	pid_t p;

	r = posix_spawn(&p, helper, NULL, NULL, argv, environ);
	if (r)
		return fault_set(f, -r, "--guard: %s cannot be started (%s)", helper, strerror(r));
	while (waitpid(p, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return fault_set(
			f, -EPERM,
			"--guard: the program is not started, for the guard cannot limit it (%s %s, see above)", helper,
			argv[1]);
	return 0;
}

/* The minor number of a GPU's device node, as NVIDIA's driver says it. -1: it does not. */
static int minor_of(const char *uuid)
{
	glob_t g = { 0 };
	int minor = -1;

	if (glob("/proc/driver/nvidia/gpus/*/information", 0, NULL, &g))
		return -1;
	for (size_t i = 0; i < g.gl_pathc && minor < 0; i++) {
		_cleanup_fclose_ FILE *file = fopen(g.gl_pathv[i], "re");
		char line[256], is[64] = "";
		int n = -1;

		while (file && fgets(line, sizeof line, file)) {
			sscanf(line, "GPU UUID: %63s", is);
			sscanf(line, "Device Minor: %d", &n);
		}
		if (!strcmp(is, uuid))
			minor = n;
	}
	globfree(&g);
	return minor;
}

/* "0,1"; "" where a device's number is not known: then all are let through. */
static void list_minors(json_t *devices, char *text, size_t size)
{
	json_t *device;
	size_t i, at = 0;

	*text = 0;
	json_array_foreach(devices, i, device)
	{
		int minor = minor_of(device_text(device, "uuid"));

		if (minor < 0) {
			*text = 0;
			return;
		}
		at += (size_t)snprintf(text + at, at < size ? size - at : 0, "%s%d", i ? "," : "", minor);
		if (at >= size)
			return;
	}
}

static int set(const char *helper, const char *tenant, json_t *grant, pid_t pid, struct fault *f)
{
	json_t *devices = json_object_get(grant, "devices"), *device;
	char bytes[32], minors[256], process[16];
	char number[24];
	const char *argv[16] = { "mete-guard", "set", tenant, "--memory", bytes, "--grant", number };
	uint64_t sum = 0;
	size_t i, n = 7;

	json_array_foreach(devices, i, device) sum +=
		(uint64_t)device_number(device, "quota_bytes") + GUARDED_RESERVE_BYTES;
	snprintf(bytes, sizeof bytes, "%" PRIu64, sum);
	snprintf(number, sizeof number, "%lld", (long long)device_number(grant, "id"));
	list_minors(devices, minors, sizeof minors);
	if (*minors) {
		argv[n++] = "--devices";
		argv[n++] = minors;
	}
	if (pid) {
		snprintf(process, sizeof process, "%d", (int)pid);
		argv[n++] = "--process";
		argv[n++] = process;
	}
	return ask_helper(helper, (char *const *)argv, f);
}

static void name_tenant(json_t *grant, char *text, size_t size)
{
	snprintf(text, size, "grant:%lld", (long long)device_number(grant, "id"));
}

int guarded_begin(const struct place *place, json_t *grant, pid_t pid, const char *cgroup, struct fault *f)
{
	char helper[PATH_MAX], why[256], tenant[64];
	struct guard_kernel k;

	if (!strcmp(device_text(json_object_get(grant, "driver"), "kind"), "soft"))
		return fault_set(
			f, -ENODEV,
			"--guard: the software device is in the program and has no kernel driver; leave --guard away");
	if (strcmp(device_text(json_object_get(grant, "driver"), "kind"), "nvidia"))
		return fault_set(f, -ENODEV,
				 "--guard: a device that has HIP or OpenCL alone is not NVIDIA's, whose driver the "
				 "guard knows; leave --guard away");
	if (!find_helper(place, helper))
		return fault_set(f, -ENOENT,
				 "--guard: mete-guard is not beside mete; build mete where libbpf and clang are");
	if (geteuid())
		return fault_set(f, -EPERM,
				 "--guard: only root may have the kernel limit a program; in a container the runtime's "
				 "hook is root");
	guard_kernel_look(&k);
	if (guard_kernel_doubt(&k, why, sizeof why))
		return fault_set(f, -ENOTSUP, "--guard: %s", why);
	name_tenant(grant, tenant, sizeof tenant);
	return set(helper, cgroup ? cgroup : tenant, grant, cgroup ? 0 : pid, f);
}

void guarded_end(const struct place *place, json_t *grant)
{
	char helper[PATH_MAX], tenant[64];
	const char *argv[] = { "mete-guard", "drop", tenant, NULL };
	struct fault f;

	name_tenant(grant, tenant, sizeof tenant);
	if (find_helper(place, helper))
		ask_helper(helper, (char *const *)argv, &f);
}

bool guarded_state(const struct place *place, char *text, size_t size)
{
	char helper[PATH_MAX], why[256];
	struct guard_kernel k;

	guard_kernel_look(&k);
	if (guard_kernel_doubt(&k, why, sizeof why)) {
		snprintf(text, size, "none: %s%s", why,
			 k.dmem ? "; this kernel limits device memory of cgroups itself (dmem.max), which mete does "
				  "not set yet"
				: "");
		return false;
	}
	if (!find_helper(place, helper)) {
		snprintf(text, size, "none: mete-guard is not installed beside mete");
		return false;
	}
	snprintf(text, size,
		 "eBPF can hold a quota against any program here (driver %s, branch %u)%s; `mete run --guard` asks for "
		 "it; not proven on hardware",
		 k.driver->module, k.branch,
		 k.locked ? ", and cannot rewrite what a program is told of memory (the kernel is locked down)" : "");
	return true;
}

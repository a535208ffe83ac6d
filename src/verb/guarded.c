/* guarded.c: see guarded.h. */
#include "verb/guarded.h"

#include "base/cleanup.h"
#include "guard/counts.h"
#include "guard/dmem.h"
#include "guard/drivers.h"
#include "guard/notify/filter.h"
#include "verb/choose.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A program of the guard's: beside mete, in sbin, in the build's folder. */
static bool find_helper(const struct place *place, const char *name, char path[PATH_MAX])
{
	static const char *const beside[] = { "%s", "../sbin/%s", "../guard/%s" };

	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
		char relative[64];

		snprintf(relative, sizeof relative, beside[i], name);
		if (path_join(path, "%s/%s", place->exe_dir, relative) && !access(path, X_OK))
			return true;
	}
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

/* What NVIDIA's driver says of a GPU: its device node's number (-1: nothing) and its bus address. */
static int minor_of(const char *uuid, char bus[32])
{
	glob_t g = { 0 };
	int minor = -1;

	*bus = 0;
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
		if (strcmp(is, uuid))
			continue;
		minor = n;
		sscanf(g.gl_pathv[i] + strlen("/proc/driver/nvidia/gpus/"), "%31[^/]", bus);
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
		char bus[32];
		int minor = minor_of(device_text(device, "uuid"), bus);

		if (minor < 0) {
			*text = 0;
			return;
		}
		at += (size_t)snprintf(text + at, at < size ? size - at : 0, "%s%d", i ? "," : "", minor);
		if (at >= size)
			return;
	}
}

/* What the guard gives: the quotas of all devices, and a reserve for each. */
static uint64_t sum_bytes(json_t *grant)
{
	json_t *device;
	uint64_t sum = 0;
	size_t i;

	json_array_foreach(json_object_get(grant, "devices"), i, device) sum +=
		(uint64_t)device_number(device, "quota_bytes") + GUARDED_RESERVE_BYTES;
	return sum;
}

/* The words that both helpers take. */
struct words {
	const char *argv[20];
	size_t count;
	char bytes[32], minors[256], grant[24], process[16], socket[16];
};

static void add(struct words *w, const char *option, const char *value)
{
	w->argv[w->count++] = option;
	if (value)
		w->argv[w->count++] = value;
}

static void add_limits(struct words *w, json_t *grant)
{
	snprintf(w->bytes, sizeof w->bytes, "%" PRIu64, sum_bytes(grant));
	snprintf(w->grant, sizeof w->grant, "%lld", (long long)device_number(grant, "id"));
	list_minors(json_object_get(grant, "devices"), w->minors, sizeof w->minors);
	add(w, "--memory", w->bytes);
	add(w, "--grant", w->grant);
	if (*w->minors)
		add(w, "--devices", w->minors);
}

static void name_tenant(json_t *grant, char *text, size_t size)
{
	snprintf(text, size, "grant:%lld", (long long)device_number(grant, "id"));
}

/* ---- bpf ---- */

/* Why the programs in the kernel cannot hold this one. False: they can. */
static bool doubt_bpf(const struct place *place, const struct guard_kernel *k, char *text, size_t size)
{
	char helper[PATH_MAX];

	if (guard_kernel_doubt(k, text, size))
		return true;
	if (!find_helper(place, "mete-guard", helper))
		snprintf(text, size,
			 "mete-guard is not beside mete: install it, or build mete where libbpf and clang are");
	else if (geteuid())
		snprintf(text, size, "only root may have the kernel's programs limit another");
	else if (access("/sys/fs/bpf/mete-guard/maps", F_OK))
		snprintf(text, size,
			 "the guard's programs are not loaded: systemctl start mete-guard, or mete-guard load");
	else
		return false;
	return true;
}

static int begin_bpf(const struct place *place, json_t *grant, pid_t pid, const char *cgroup, struct fault *f)
{
	char helper[PATH_MAX], tenant[64];
	struct words w = { .argv = { "mete-guard", "set" }, .count = 2 };

	find_helper(place, "mete-guard", helper);
	name_tenant(grant, tenant, sizeof tenant);
	add(&w, cgroup ? cgroup : tenant, NULL);
	add_limits(&w, grant);
	if (!cgroup) {
		snprintf(w.process, sizeof w.process, "%d", (int)pid);
		add(&w, "--process", w.process);
	}
	return ask_helper(helper, (char *const *)w.argv, f);
}

/* ---- notify ---- */

static bool doubt_notify(const struct place *place, const struct guard_kernel *k, const char *cgroup, bool shared,
			 char *text, size_t size)
{
	char helper[PATH_MAX];

	if (cgroup)
		snprintf(text, size, "a supervisor holds the processes of one program, not a container");
	else if (shared)
		snprintf(text, size,
			 "a supervisor counts one program, and each of a grant would have all its quota (--grant)");
	else if (guard_notify_doubt(k, text, size))
		return true;
	else if (!find_helper(place, "mete-guard-notify", helper))
		snprintf(text, size, "mete-guard-notify is not beside mete: install it");
	else
		return false;
	return true;
}

static int begin_notify(const struct place *place, json_t *grant, int *ret_socket, struct fault *f)
{
	struct words w = { .argv = { "mete-guard-notify" }, .count = 1 };
	posix_spawn_file_actions_t actions;
	char helper[PATH_MAX];
	int ends[2], third, r;
	pid_t p;

	find_helper(place, "mete-guard-notify", helper);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return fault_set(f, -errno, "--guard: socketpair: %s", strerror(errno));
	add(&w, "--socket", "3");
	add_limits(&w, grant);
	posix_spawn_file_actions_init(&actions);
	/* The same number twice would keep its mark to be closed. */
	if (ends[1] == 3) {
		third = ends[1];
		ends[1] = fcntl(third, F_DUPFD_CLOEXEC, 4);
		close(third);
	}
	posix_spawn_file_actions_adddup2(&actions, ends[1], 3);
	r = posix_spawn(&p, helper, &actions, NULL, (char *const *)w.argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	*ret_socket = ends[0];
	return r ? fault_set(f, -r, "--guard: %s cannot be started (%s)", helper, strerror(r)) : 0;
}

/* ---- dmem ---- */

/* On each device of the grant: by NVML where it has the call, else by the kernel's files. */
static int limit_cgroup(json_t *grant, const char *cgroup, char *why)
{
	const char *nvml = device_text(json_object_get(grant, "driver"), "nvml");
	json_t *device;
	int r = -ENOTSUP;
	size_t i;

	snprintf(why, DMEM_WHY, "the grant has no device");
	json_array_foreach(json_object_get(grant, "devices"), i, device)
	{
		uint64_t quota = (uint64_t)device_number(device, "quota_bytes");
		char bus[32];

		minor_of(device_text(device, "uuid"), bus);
		r = dmem_limit_nvml(*nvml ? nvml : "libnvidia-ml.so.1", device_text(device, "uuid"), cgroup, quota,
				    quota + GUARDED_RESERVE_BYTES, why);
		if (r && *bus && dmem_there(bus))
			r = dmem_limit(cgroup, bus, quota + GUARDED_RESERVE_BYTES, why);
		if (r)
			return r;
	}
	return r;
}

/* The driver's own limit, beside another front end or alone. `ret->cgroup`: what the program is to enter. */
static int begin_dmem(json_t *grant, const char *cgroup, struct guarded *ret, char *why)
{
	struct guard_count count = { .front = GUARD_FRONT_DMEM,
				     .grant = (uint64_t)device_number(grant, "id"),
				     .quota = sum_bytes(grant) };
	char name[32];
	int r;

	if (geteuid()) {
		snprintf(why, DMEM_WHY, "only root may limit a cgroup");
		return -EPERM;
	}
	snprintf(name, sizeof name, "%llu", (unsigned long long)count.grant);
	r = cgroup ? 0 : dmem_cgroup(name, ret->cgroup, why);
	if (!r)
		r = limit_cgroup(grant, cgroup ? cgroup : ret->cgroup, why);
	if (r) {
		if (*ret->cgroup)
			rmdir(ret->cgroup);
		*ret->cgroup = 0;
		return r;
	}
	if (!ret->front) {
		ret->front = "dmem";
		snprintf(count.cgroup, sizeof count.cgroup, "%s", cgroup ? cgroup : ret->cgroup);
		if (!counts_begin())
			counts_put(&count);
	}
	return 0;
}

/* ---- */

static int check_kind(json_t *grant, struct fault *f)
{
	const char *kind = device_text(json_object_get(grant, "driver"), "kind");

	if (!strcmp(kind, "soft"))
		return fault_set(
			f, -ENODEV,
			"--guard: the software device is in the program and has no kernel driver; leave --guard away");
	if (strcmp(kind, "nvidia"))
		return fault_set(f, -ENODEV,
				 "--guard: a device of kind %s is not NVIDIA's, whose driver the guard knows; leave "
				 "--guard away",
				 kind);
	return 0;
}

int guarded_begin(const struct place *place, json_t *grant, bool shared, pid_t pid, const char *cgroup,
		  struct guarded *ret, struct fault *f)
{
	char bpf[256], notify[256], dmem[DMEM_WHY];
	struct guard_kernel k;
	int r = check_kind(grant, f);

	*ret = GUARDED_NONE;
	ret->shared = shared;
	if (r)
		return r;
	guard_kernel_look(&k);
	if (!doubt_bpf(place, &k, bpf, sizeof bpf)) {
		r = begin_bpf(place, grant, pid, cgroup, f);
		ret->front = "bpf";
	} else if (!doubt_notify(place, &k, cgroup, shared, notify, sizeof notify)) {
		r = begin_notify(place, grant, &ret->socket, f);
		ret->front = "notify";
		snprintf(ret->note, sizeof ret->note,
			 "--guard: held by a supervisor (notify), not in the kernel: %.180s", bpf);
	}
	/* Where the rule only prefers it, the program goes on without: nothing of it is to be entered or ended. */
	if (r) {
		if (ret->socket >= 0)
			close(ret->socket);
		*ret = GUARDED_NONE;
		return r;
	}
	if (!begin_dmem(grant, cgroup, ret, dmem) || ret->front)
		return 0;
	return fault_set(f, -ENOTSUP, "--guard: bpf: %s; notify: %s; dmem: %s", bpf, notify, dmem);
}

enum guarding_wish guarded_wish(json_t *grant, bool asked, bool walled)
{
	/* A meted of before has no rule. */
	int rule = guarding_find(device_text(grant, "guard_rule"));

	return guarding_wish(rule < 0 ? GUARDING_ASKED : (enum guarding)rule, asked,
			     device_text(json_object_get(grant, "driver"), "kind"), walled);
}

int guarded_unheld(enum guarding_wish wish, bool asked, int r, char note[256], struct fault *f)
{
	static const char option[] = "--guard: ";
	char why[sizeof(f->text)];

	if (asked)
		return r;
	/* Nobody has written --guard. */
	snprintf(why, sizeof(why), "%s", f->text + (strncmp(f->text, option, strlen(option)) ? 0 : strlen(option)));
	if (wish == GUARDING_IF_IT_HOLDS) {
		snprintf(note, 256, "the shim alone limits it (guard.grants: preferred); the guard: %.190s", why);
		return 0;
	}
	return fault_set(f, r, "this node guards every grant (guard.grants: required, in meted.yaml): %s", why);
}

int guarded_enter(const struct guarded *g)
{
	char path[160];

	if (*g->cgroup) {
		int fd, r;

		snprintf(path, sizeof path, "%s/cgroup.procs", g->cgroup);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		r = fd < 0 || write(fd, "0", 1) != 1 ? -errno : 0;
		if (fd >= 0)
			close(fd);
		if (r)
			return r;
	}
	return g->socket < 0 ? 0 : notify_enter(g->socket);
}

static void tenant_end(const struct place *place, json_t *grant, const char *front)
{
	char helper[PATH_MAX], tenant[64];
	const char *argv[] = { "mete-guard", "drop", tenant, NULL };
	struct fault f;

	name_tenant(grant, tenant, sizeof tenant);
	if (!strcmp(front, "bpf") && find_helper(place, "mete-guard", helper))
		ask_helper(helper, (char *const *)argv, &f);
	else
		counts_drop((uint64_t)device_number(grant, "id"));
}

void guarded_end(const struct place *place, json_t *grant, struct guarded *g)
{
	if (!g->front)
		return;
	/* Others of the grant are limited by the same account, which mete-guard forgets when all have ended. */
	if (!g->shared)
		tenant_end(place, grant, g->front);
	if (g->socket >= 0)
		close(g->socket);
	if (*g->cgroup)
		rmdir(g->cgroup);
	*g = GUARDED_NONE;
}

bool guarded_state(const struct place *place, char *text, size_t size)
{
	char bpf[256], notify[256];
	struct guard_kernel k;
	bool no_bpf, no_notify;

	guard_kernel_look(&k);
	no_bpf = doubt_bpf(place, &k, bpf, sizeof bpf);
	no_notify = doubt_notify(place, &k, NULL, false, notify, sizeof notify);
	if (!no_bpf)
		snprintf(text, size,
			 "bpf: programs in the kernel hold a quota against any program here (driver %s, branch %u)%s; "
			 "`mete run --guard` asks for it; not proven on hardware",
			 k.driver->module, k.branch,
			 k.locked ? ", and cannot rewrite what a program is told of memory (the kernel is locked down)"
				  : "");
	else if (!no_notify)
		snprintf(text, size,
			 "notify: `mete run --guard` puts a supervisor before the driver (%s, branch %u), slower and "
			 "for programs alone, not containers; not proven on hardware. bpf does not hold here: %s",
			 k.driver->module, k.branch, bpf);
	else if (k.dmem)
		snprintf(text, size,
			 "dmem: the kernel limits device memory of cgroups (dmem.max), which --guard sets. bpf: %s; "
			 "notify: %s",
			 bpf, notify);
	else
		snprintf(text, size, "none. bpf: %s; notify: %s; dmem: this kernel counts no device memory of cgroups",
			 bpf, notify);
	return !no_bpf || !no_notify || k.dmem;
}

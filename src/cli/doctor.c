/*
 * doctor.c: `mete doctor`: what works on this machine, what is missing and the remedy.
 *
 * One function per check; each adds one line or a few. Libraries are opened in a child with a time limit, so that a
 * broken driver cannot take mete with it. The daemon is checked by asking it, started if need be, as `mete run` would.
 */
#include "base/cleanup.h"
#include "base/opencl_card.h"
#include "base/size.h"
#include "verb/choose.h"
#include "client/control.h"
#include "cli/doctor.h"
#include "cli/doctor_program.h"
#include "client/grants.h"
#include "cli/keys.h"
#include "client/place.h"
#include "client/requests.h"
#include "cli/probe.h"
#include "verb/connector.h"
#include "verb/guarded.h"
#include "verb/output.h"
#include "verb/say.h"
#include "client/tenant_env.h"
#include "client/tier.h"
#include "verb/verb.h"
#include "cli/wall_env.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DETAIL_COLUMN 9	 /* behind the status */
#define REMEDY_COLUMN 12 /* behind the arrow */

static void check_parts(struct doctor *d)
{
	struct fault f;

	if (place_find(&d->place, &f))
		doctor_add(d, "shim", STATUS_FAILED, "install all of mete, or set METE_LIBDIR", "%s", f.text);
}

static void check_library(struct doctor *d, const char *name, const char *dir, const char *library,
			  enum probe_kind kind)
{
	char path[PATH_MAX];
	struct probe p;

	if (!path_join(path, "%s/%s", dir, library))
		return;
	probe_library(path, kind, &p);
	if (!p.loaded)
		doctor_add(d, name, STATUS_FAILED, "install all of mete, built for this machine", "%s", p.error);
	else if (p.missing)
		doctor_add(d, name, STATUS_FAILED, "install all of mete; this copy was built or installed wrongly",
			   "%s lacks %u of %u functions, %s among them", path, p.missing, p.functions, p.first_missing);
	else
		doctor_add(d, name, STATUS_OK, NULL, "%s, all %u functions", path, p.functions);
}

static void check_shim(struct doctor *d)
{
	if (!*d->place.shim_dir)
		return;
	check_library(d, "shim", d->place.shim_dir, "libcuda.so.1", PROBE_CUDA_EXPORTS);
	check_library(d, "shim", d->place.shim_dir, "libnvidia-ml.so.1", PROBE_NVML_EXPORTS);
}

static void check_vulkan(struct doctor *d)
{
	char layer[PATH_MAX];

	if (!*d->place.shim_dir || !path_join(layer, "%s/libmete-vulkan.so", d->place.shim_dir))
		return;
	if (!access(layer, R_OK))
		doctor_add(d, "vulkan", STATUS_OK, NULL, "programs that use Vulkan are metered by %s", layer);
	else
		doctor_add(d, "vulkan", STATUS_NOTE,
			   "build mete on a machine with Vulkan's headers (Debian: libvulkan-dev)",
			   "Vulkan programs are not metered: this build lacks the layer libmete-vulkan.so");
}

static bool read_line(const char *path, char *text, size_t size)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	if (!f || !fgets(text, (int)size, f))
		return false;
	text[strcspn(text, "\n")] = 0;
	return true;
}

static void check_driver(struct doctor *d)
{
	const char *forced = getenv("METE_SOCKET") ? NULL : getenv("METE_DRIVER");
	bool named = forced && *forced;
	char module[64] = "";
	struct probe p;

	read_line("/sys/module/nvidia/version", module, sizeof(module));
	probe_library(named ? forced : "libcuda.so.1", PROBE_DRIVER, &p);
	d->has_driver = p.loaded && !p.result && p.devices > 0;
	if (!p.loaded && *module)
		doctor_add(d, "driver", STATUS_WARNING, "install the driver's libraries of the same version (libcuda1)",
			   "the kernel has NVIDIA's module %s, but libcuda.so.1 cannot be opened: %s", module, p.error);
	else if (!p.loaded)
		doctor_add(d, "driver", named ? STATUS_FAILED : STATUS_NOTE,
			   named ? "unset METE_DRIVER, or correct it"
				 : "install NVIDIA's driver to use a GPU; until then programs use the software device",
			   named ? "METE_DRIVER: %s" : "no NVIDIA driver here (%s)", p.error);
	else if (p.result)
		doctor_add(d, "driver", STATUS_WARNING,
			   p.result == 100
				   ? "the driver finds no GPU: check the hardware, or pass its nodes into the container"
				   : "check that the kernel has the driver's module, of the same version (dmesg)",
			   "%s: cuInit returns %d%s", p.path, p.result,
			   *module ? "" : "; the kernel's module is not loaded");
	else
		doctor_add(d, "driver", STATUS_OK, NULL, "%s: %s, CUDA %d.%d, %d devices%s%s", p.path,
			   p.soft ? "software device" : "real driver", p.cuda_version / 1000,
			   p.cuda_version % 1000 / 10, p.devices, *module ? ", kernel module " : "", module);
}

/* uvm_disable_hmm: a parameter of NVIDIA's open kernel module nvidia-uvm. */
static void check_pageable(struct doctor *d)
{
	char word[8] = "";

	if (d->has_driver && read_line("/sys/module/nvidia_uvm/parameters/uvm_disable_hmm", word, sizeof(word)) &&
	    *word == 'N')
		doctor_add(d, "walls", STATUS_NOTE,
			   "`options nvidia-uvm uvm_disable_hmm=1` in /etc/modprobe.d disables it for all programs",
			   "nvidia-uvm may let kernels access all memory of a process (HMM); each worker disables this "
			   "for itself, and meted's log names the workers that could not");
}

static void check_soft(struct doctor *d)
{
	char path[PATH_MAX];
	struct probe p;

	if (!*d->place.soft_dir || !path_join(path, "%s/libcuda.so.1", d->place.soft_dir)) {
		doctor_add(d, "software device", STATUS_WARNING, "install all of mete", "not installed beside mete");
		return;
	}
	probe_library(path, PROBE_DRIVER, &p);
	d->has_soft = p.loaded && !p.result && p.devices > 0;
	if (!p.loaded)
		doctor_add(d, "software device", STATUS_WARNING, "install all of mete, built for this machine", "%s",
			   p.error);
	else if (p.result)
		doctor_add(d, "software device", STATUS_WARNING,
			   "check METE_SOFT_DEVICES, METE_SOFT_MEMORY and that /dev/shm is writable",
			   "%s: cuInit returns %d", p.path, p.result);
	else
		doctor_add(d, "software device", STATUS_OK, NULL, "%s: CUDA %d.%d, %d devices", p.path,
			   p.cuda_version / 1000, p.cuda_version % 1000 / 10, p.devices);
}

static void check_some_driver(struct doctor *d)
{
	if (!d->has_driver && !d->has_soft)
		doctor_add(d, "device", STATUS_FAILED, "install all of mete (software device), or NVIDIA's driver",
			   "neither a GPU nor the software device can be used");
}

static void check_nodes(struct doctor *d)
{
	static const char *const nodes[] = { "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm" };
	unsigned int there = 0;

	for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++) {
		if (access(nodes[i], F_OK))
			continue;
		there++;
		if (access(nodes[i], R_OK | W_OK))
			doctor_add(d, "device nodes", STATUS_WARNING,
				   "give this user access (a group, or udev), or pass the nodes in", "%s: %s", nodes[i],
				   strerror(errno));
	}
	if (!there)
		doctor_add(d, "device nodes", STATUS_NOTE, NULL,
			   "no /dev/nvidia*: this machine, or this container, has no GPU");
	else if (there < sizeof(nodes) / sizeof(*nodes))
		doctor_add(d, "device nodes", STATUS_WARNING,
			   "run nvidia-modprobe -u -c=0, or pass all nodes into the container",
			   "only %u of /dev/nvidiactl, /dev/nvidia0 and /dev/nvidia-uvm exist", there);
	else
		doctor_add(d, "device nodes", STATUS_OK, NULL, "/dev/nvidiactl, /dev/nvidia0, /dev/nvidia-uvm");
}

/* Turns last milliseconds: the priority of meted's thread that schedules them. */
static void check_turns(struct doctor *d, struct control *control)
{
	json_t *answer = NULL;
	const char *priority;
	struct fault f;

	if (control_ask(control, request_plain("hello"), &answer, NULL, &f))
		return;
	priority = device_text(answer, "turns");
	if (!strcmp(priority, "normal"))
		doctor_add(d, "turns", STATUS_NOTE,
			   "allow meted real-time priority: run it as root, or give its user rtprio (limits.conf)",
			   "meted schedules them at normal priority: shares are less exact while the cores are busy");
	else if (*priority)
		doctor_add(d, "turns", STATUS_OK, NULL, "meted schedules them at priority: %s", priority);
	json_decref(answer);
}

static void check_meted(struct doctor *d, struct control *control)
{
	json_t *hello = NULL;
	struct fault f;

	if (!control_ask(control, request_plain("hello"), &hello, NULL, &f))
		doctor_check_meted(d, control, hello);
	json_decref(hello);
}

/* A meted of another release works with this mete; but what is installed should be what runs. */
static void check_versions(struct doctor *d, struct control *control)
{
	const char *own = help_version_line + strlen("mete "), *version;
	json_t *answer;
	struct fault f;

	if (control_ask(control, request_plain("hello"), &answer, NULL, &f))
		return;
	version = device_text(answer, "version");
	if (strcmp(version, own))
		doctor_add(d, "versions", STATUS_WARNING, "`mete upgrade` replaces it while programs run",
			   "this is mete %s, the running meted is %s", own, version);
	else if (json_is_true(json_object_get(answer, "replaced")))
		doctor_add(d, "versions", STATUS_WARNING, "`mete upgrade` starts the new one while programs run",
			   "meted's file has been replaced since meted was started");
	else
		doctor_add(d, "versions", STATUS_OK, NULL, "mete and the running meted are both %s", own);
	json_decref(answer);
}

/* Calls that programs of its grants asked for by name and this release does not know. */
static void check_unknown_calls(struct doctor *d, struct control *control)
{
	json_t *answer = NULL, *grant;
	const char *name = NULL;
	json_int_t calls = 0;
	struct fault f;
	size_t i;

	if (control_ask(control, request_plain("grants"), &answer, NULL, &f))
		return;
	json_array_foreach(json_object_get(answer, "grants"), i, grant)
	{
		json_int_t n = device_number(grant, "unknown_calls");

		calls += n;
		if (n && !name)
			name = device_text(grant, "name");
	}
	if (calls)
		doctor_add(d, "unknown calls", STATUS_WARNING,
			   "install a newer mete; `mete run --strict` refuses what it cannot meter",
			   "programs requested %lld calls that this release does not know; `mete show %s` names them",
			   (long long)calls, name);
	json_decref(answer);
}

static void check_daemon(struct doctor *d)
{
	struct control control = CONTROL_CLOSED;
	json_t *answer = NULL;
	struct fault f;
	size_t count;
	int r;

	if (!*d->place.meted)
		doctor_add(d, "daemon", STATUS_WARNING, "install all of mete", "no meted beside mete (%s) nor in PATH",
			   d->place.exe_dir);
	r = control_ask_again(&control, CONTROL_START, request_plain("devices"), &answer, NULL, &f);
	if (r) {
		doctor_add(d, "daemon", STATUS_FAILED,
			   r == -EHOSTDOWN ? "correct that error, then `systemctl restart meted`; after too many "
					     "attempts run `systemctl reset-failed meted.service meted.socket` "
					     "first"
					   : "see the line above; METE_RUNTIME_DIR names another folder",
			   "%s", f.text);
		control_close(&control);
		return;
	}
	check_turns(d, &control);
	check_meted(d, &control);
	check_versions(d, &control);
	check_unknown_calls(d, &control);
	count = json_array_size(json_object_get(answer, "devices"));
	doctor_add(d, "daemon", count ? STATUS_OK : STATUS_FAILED, count ? NULL : "see the rows of drivers above",
		   "%s meted, process %d, in %s: %zu devices%s", control.system ? "the system's" : "a private",
		   (int)control.daemon_pid, control.dir, count,
		   control.started ? " (started for this check, exits by itself)" : "");
	doctor_check_drivers(d, json_object_get(answer, "drivers"));
	doctor_check_devices(d, json_object_get(answer, "devices"));
	d->guarding = guarding_find(device_text(answer, "guard"));
	json_decref(answer);
	control_close(&control);
	for (const struct connector *const *c = connectors; count && *c; c++)
		(*c)->check_grants(d);
}

static void check_runtime_dir(struct doctor *d)
{
	char dir[PATH_MAX], free_text[SIZE_TEXT_BYTES];
	struct statvfs vfs;
	struct fault f;
	struct stat st;
	bool system;
	int r = control_dir(dir, &system, &f);

	if (r == -EHOSTDOWN) /* said of the daemon */
		return;
	if (r) {
		doctor_add(d, "runtime directory", STATUS_FAILED, "set METE_RUNTIME_DIR to a folder of your own", "%s",
			   f.text);
		return;
	}
	if (system || stat(dir, &st) || statvfs(dir, &vfs)) {
		doctor_add(d, "runtime directory", STATUS_OK, NULL, "%s", dir);
		return;
	}
	size_format((uint64_t)vfs.f_bavail * vfs.f_frsize, free_text);
	if (access(dir, W_OK))
		doctor_add(d, "runtime directory", STATUS_FAILED, "set METE_RUNTIME_DIR to a folder that you can write",
			   "%s: %s", dir, strerror(errno));
	else if ((uint64_t)vfs.f_bavail * vfs.f_frsize < (1u << 20))
		doctor_add(d, "runtime directory", STATUS_FAILED, "free space on it, or set METE_RUNTIME_DIR",
			   "%s: its file system is full (%s left)", dir, free_text);
	else
		doctor_add(d, "runtime directory", STATUS_OK, NULL, "%s, mode %03o, %s free", dir,
			   (unsigned int)st.st_mode & 0777, free_text);
}

static void check_limits(struct doctor *d)
{
	char text[SIZE_TEXT_BYTES] = "unlimited";
	struct rlimit files, locked;

	getrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_MEMLOCK, &locked);
	if (locked.rlim_cur != RLIM_INFINITY)
		size_format(locked.rlim_cur, text);
	if (files.rlim_cur < 256)
		doctor_add(d, "limits", STATUS_WARNING, "raise the limit: ulimit -n 1024",
			   "only %llu open files are allowed", (unsigned long long)files.rlim_cur);
	else if (d->has_driver && locked.rlim_cur < (64u << 20))
		doctor_add(d, "limits", STATUS_NOTE,
			   "raise the limit (ulimit -l) if programs use RDMA or register host memory",
			   "locked memory: %s; open files: %llu", text, (unsigned long long)files.rlim_cur);
	else
		doctor_add(d, "limits", STATUS_OK, NULL, "open files: %llu; locked memory: %s",
			   (unsigned long long)files.rlim_cur, text);
}

static void check_surroundings(struct doctor *d)
{
	const char *preload = getenv("LD_PRELOAD"), *visible = getenv("CUDA_VISIBLE_DEVICES");

	if (getenv("METE_SOCKET"))
		doctor_add(d, "surroundings", STATUS_NOTE, NULL,
			   "this runs inside `mete run`; the rows above show the drivers through its shim");
	else if (preload && *preload)
		doctor_add(d, "surroundings", STATUS_NOTE, NULL, "LD_PRELOAD=%s: mete puts the shim before it",
			   preload);
	if (opencl_card_is_misnamed())
		doctor_add(d, "surroundings", STATUS_WARNING,
			   "write a device's UUID as `mete devices` shows it, or unset it",
			   "METE_OPENCL_CARD=%s: it is no GPU-UUID and names no card", getenv("METE_OPENCL_CARD"));
	if (visible)
		doctor_add(d, "surroundings", STATUS_NOTE, NULL,
			   "CUDA_VISIBLE_DEVICES=%s: `mete run` uses the first of these devices", visible);
}

static void count_key(void *user, const char *name, const char *path)
{
	unsigned int *count = user; /* all, and those that cannot be used */
	char text[RELAY_TEXT_BYTES];
	struct relay_key key;

	count[0]++;
	count[1] += relay_key_read(path, &key, text) || strcmp(key.name, name);
	explicit_bzero(&key, sizeof(key));
}

/* Devices of other machines, and this machine's for others. */
static void check_remote(struct doctor *d)
{
	unsigned int count[2] = { 0, 0 };
	struct keys keys;
	struct fault f;

	if (!*d->place.remote_dir)
		doctor_add(
			d, "remote", STATUS_NOTE, "install all of mete",
			"the client's library (remote/libcuda.so.1) is not installed: --remote and --wall do not work");
	else if (!*d->place.runtime_dir)
		doctor_add(
			d, "remote", STATUS_WARNING, "install all of mete",
			"mete's CUDA runtime library is not installed: with --remote and --wall only programs that do "
			"not use the CUDA runtime work");
	else
		doctor_add(d, "remote", STATUS_OK, NULL, "`mete run --remote HOST` works: %s", d->place.remote_dir);
	if (keys_open(&keys, NULL, false, &f) || keys_each(&keys, count_key, count, &f) <= 0)
		doctor_add(d, "serve", STATUS_NOTE, "`mete key new NAME` makes a key for a client",
			   "`mete serve` has no clients: there is no key in %s",
			   *keys.dir ? keys.dir : "the folder of keys");
	else if (count[1])
		doctor_add(d, "serve", STATUS_WARNING, "`mete key list` names them and the reasons",
			   "%u of %u keys in %s cannot be used", count[1], count[0], keys.dir);
	else
		doctor_add(d, "serve", STATUS_OK, NULL, "`mete serve` has the keys of %u client(s), in %s", count[0],
			   keys.dir);
}

/* What meted knows of tier T3 in the grants that there are: the last word of each. */
static void tier_news(struct doctor *d)
{
	struct control control = CONTROL_CLOSED;
	json_t *grants = NULL, *grant, *event;
	struct fault f;
	size_t i, j;

	if (control_open(&control, CONTROL_START, &f) || grants_get(&control, NULL, &grants, &f))
		goto out;
	json_array_foreach(grants, i, grant)
	{
		const char *word = NULL;

		json_array_foreach(json_object_get(grant, "events"), j,
				   event) if (strstr(device_text(event, "text"), "tier T3")) word =
			device_text(event, "text");
		if (word)
			doctor_add(d, "tier", strstr(word, "given up") ? STATUS_WARNING : STATUS_OK, NULL,
				   "grant %s: %s", device_text(grant, "name"), word);
	}
out:
	json_decref(grants);
	control_close(&control);
}

static void check_tier(struct doctor *d)
{
	char doubt[200];

	if (!*d->place.shim_dir)
		return;
	if (!tier_installed(d->place.shim_dir))
		doctor_add(d, "tier", STATUS_NOTE, "install all of mete to use tier T3", "T2; %s is not installed",
			   TIER_LIBRARY);
	else if (tier_doubt(doubt, sizeof(doubt)))
		doctor_add(d, "tier", STATUS_NOTE, NULL, "T2; T3 (hardware time slices) is not available: %s", doubt);
	else
		doctor_add(
			d, "tier", STATUS_NOTE, NULL,
			"T2; `mete run --tier T3` tries hardware time slices, and uses T2 if the driver refuses them; "
			"not yet tested on hardware (docs/tiers.md)");
	tier_news(d);
}

/* Whether `mete run --wall` works: workers, their sandbox, their user. */
static void check_wall(struct doctor *d)
{
	const char *remedy = NULL;
	char doubt[200];

	if (wall_doubt(&d->place, doubt, sizeof(doubt), &remedy))
		doctor_add(d, "wall", STATUS_WARNING, remedy, "`mete run --wall` cannot work: %s", doubt);
	else
		doctor_add(d, "wall", STATUS_OK, NULL,
			   "workers cannot open files or sockets nor start processes (seccomp), and %s; docs/remote.md "
			   "says "
			   "what this protects against and what it does not",
			   geteuid() ? "run as this user if meted is private"
				     : "run without root in an empty root folder");
}

/* Whether --guard works, and if not, what the kernel lacks. */
static void check_guard(struct doctor *d)
{
	bool required = d->guarding == GUARDING_REQUIRED, holds;
	char text[400];

	holds = guarded_state(&d->place, text, sizeof(text));
	doctor_add(d, "guard", required && !holds && d->has_driver ? STATUS_FAILED : STATUS_NOTE,
		   holds ? NULL : "docs/guard.md lists what it needs", "%s%s", text,
		   required			       ? "; this node requires it of every grant (guard.grants)"
		   : d->guarding == GUARDING_PREFERRED ? "; this node prefers it for every grant (guard.grants)"
						       : "");
}

static void say_enforcement(struct doctor *d)
{
	doctor_add(
		d, "memory", STATUS_NOTE, NULL,
		"the shim enforces quotas: it charges meted before it calls the driver. Quotas are exact on every "
		"allocation path for programs that use the driver's interface, but a program that is written to bypass "
		"the shim can exceed them (use --wall or --guard)");
	doctor_add(
		d, "compute", STATUS_NOTE, NULL,
		"--cores and --policy share the device's time by turns at the shim's gate, measured by the device's "
		"clock (tier T2). A running kernel is not interrupted: one that is longer than a turn runs to its end, "
		"and its tenant pays afterwards. Work that bypasses the shim is not held to turns (static linking, "
		"direct ioctl, a page that the program has written)");
	doctor_add(
		d, "programs", STATUS_NOTE, NULL,
		"mete meters programs that are dynamically linked with glibc, and the programs that they start. It "
		"does not meter statically linked, musl and 32-bit programs, nor those that gain privileges when they "
		"start (`mete run` warns)");
	if (!d->has_driver)
		doctor_add(d, "programs", STATUS_NOTE, NULL,
			   "on the software device a program that uses the CUDA runtime gets mete's runtime library. "
			   "Build "
			   "one that has NVIDIA's linked in with nvcc -cudart shared, because NVIDIA's accepts only "
			   "NVIDIA's driver");
}

static void print_checks(json_t *checks)
{
	static const char *const colours[] = { "\033[32m", "\033[36m", "\033[33m", "\033[31m" };
	int columns = isatty(STDOUT_FILENO) ? output_columns() : INT_MAX;
	bool colour = colour_wanted(stdout);
	char text[1400];
	json_t *check;
	size_t i;

	json_array_foreach(checks, i, check)
	{
		const char *status = device_text(check, "status"), *remedy = device_text(check, "remedy");
		size_t s = 0;

		while (s < STATUS_FAILED && strcmp(doctor_status_name[s], status))
			s++;
		snprintf(text, sizeof(text), "%s: %s", device_text(check, "name"), device_text(check, "detail"));
		printf("%s%-8s%s ", colour ? colours[s] : "", status, colour ? "\033[0m" : "");
		output_words(text, DETAIL_COLUMN, DETAIL_COLUMN, columns);
		if (!*remedy)
			continue;
		printf("%*s-> ", DETAIL_COLUMN, "");
		output_words(remedy, REMEDY_COLUMN, REMEDY_COLUMN, columns);
	}
}

/* --image: by the connector that knows images. */
static int check_image(const struct command_line *line)
{
	for (const struct connector *const *c = connectors; *c; c++)
		if ((*c)->check_image)
			return (*c)->check_image(line);
	say_error("--image: this mete has no connector for containers; install one that has");
	return EXIT_USAGE;
}

VERB(doctor)
{
	struct doctor d = { 0 };

	if (option_value(line, "image"))
		return check_image(line);
	if (option_value(line, "program") || line->arg_count)
		return doctor_program(line);
	d.checks = json_array();
	check_parts(&d);
	check_shim(&d);
	doctor_check_opencl(&d);
	doctor_check_hip(&d);
	doctor_check_shapes(&d);
	doctor_check_npus(&d);
	doctor_check_levelzero(&d);
	check_vulkan(&d);
	check_driver(&d);
	check_pageable(&d);
	check_nodes(&d);
	check_soft(&d);
	check_some_driver(&d);
	doctor_check_node(&d);
	check_daemon(&d);
	check_runtime_dir(&d);
	check_limits(&d);
	check_surroundings(&d);
	check_tier(&d);
	check_wall(&d);
	check_guard(&d);
	check_remote(&d);
	for (const struct connector *const *c = connectors; *c; c++)
		(*c)->check_machine(&d);
	say_enforcement(&d);
	if (option_given(line, "json")) {
		json_t *o = json_pack("{s:b, s:O}", "ok", !d.failed, "checks", d.checks);

		json_dumpf(o, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		putchar('\n');
		json_decref(o);
	} else {
		print_checks(d.checks);
		printf("\n%s\n", d.failed ? "mete run does not work here yet." : "mete run works here.");
	}
	json_decref(d.checks);
	return d.failed ? EXIT_FAILED : EXIT_DONE;
}

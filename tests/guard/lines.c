/*
 * lines.c: what the kernel or the caller lacks, one after the other, in a guest: one line each from mete-guard and from
 * mete doctor, and nothing loaded or made. What a kernel has not is hidden by what is mounted above it.
 */
#include "ground.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool hide(const char *path)
{
	return !mount("empty", path, "tmpfs", 0, NULL);
}

static bool show_instead(const char *path, const char *text)
{
	int fd = open("/tmp/instead", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return written && !mount("/tmp/instead", path, NULL, MS_BIND, NULL);
}

static bool no_btf(void)
{
	return hide("/sys/kernel/btf");
}

static bool no_kprobes(void)
{
	return hide("/sys/bus/event_source/devices");
}

static bool no_cgroups(void)
{
	return hide("/sys/fs/cgroup");
}

static bool no_driver(void)
{
	return hide("/sys/module");
}

static bool other_branch(void)
{
	return show_instead("/sys/module/mete_standin/version", "700.12\n");
}

static bool no_devices(void)
{
	return show_instead("/proc/devices", "Character devices:\n  1 mem\n");
}

static bool no_functions(void)
{
	return show_instead("/proc/kallsyms", "ffffffff00000000 T register_ftrace_direct\n");
}

/* All but the one by which another driver maps memory. */
static bool no_mapping(void)
{
	return show_instead("/proc/kallsyms", "0 t standin_ioctl\n0 t standin_copy_to_user\n0 t standin_cleanup\n"
					      "0 t standin_free_dup\n0 T register_ftrace_direct\n");
}

static bool no_way_to_attach(void)
{
	return show_instead("/sys/kernel/security/lsm", "lockdown,yama") &&
	       show_instead("/proc/kallsyms", "ffffffff00000000 T standin_ioctl\n");
}

/* Root still, without what loading needs. */
static bool no_capability(void)
{
	static const unsigned long dropped[] = { CAP_SYS_ADMIN, CAP_BPF, CAP_PERFMON };

	for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
		if (prctl(PR_CAPBSET_DROP, dropped[i], 0, 0, 0))
			return false;
	return true;
}

/* What a program says, in a world of its own that lacks something. Value: its status; -1: the world was not made. */
static int said(bool (*lack)(void), const char *const *argv, char text[4096])
{
	int ends[2], status;
	size_t n = 0;
	ssize_t r;
	pid_t p;

	if (pipe(ends))
		exit(1);
	p = fork();
	if (!p) {
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || (lack && !lack()))
			_exit(120);
		dup2(ends[1], 1);
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		unsetenv("METE_GUARD_DEBUG");
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(ends[1]);
	while (n < 4095 && (r = read(ends[0], text + n, 4095 - n)) > 0)
		n += (size_t)r;
	text[n] = 0;
	close(ends[0]);
	waitpid(p, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) != 120 ? WEXITSTATUS(status) : -1;
}

static bool one_line(const char *text)
{
	const char *end = strchr(text, '\n');

	return end && !end[1];
}

static const struct {
	const char *name;
	bool (*lack)(void);
	const char *says;
	bool load_alone; /* of the one who calls, not of the kernel */
} rows[] = {
	{ "no BTF", no_btf, "no BTF", false },
	{ "no kprobes", no_kprobes, "no kprobes", false },
	{ "no cgroup version 2", no_cgroups, "cgroup version 2 is not mounted", false },
	{ "no driver", no_driver, "kernel module is not loaded", false },
	{ "another branch of the driver", other_branch, "branch 700 is not one that this version knows", false },
	{ "no devices of the driver", no_devices, "no devices in /proc/devices", false },
	{ "a driver without the functions", no_functions, "has no function", false },
	{ "a driver without a function for what others map", no_mapping, "has no function standin_dup_memory", false },
	{ "no BPF LSM, and nothing else to attach to", no_way_to_attach,
	  "bpf is not among this kernel's security modules", false },
	{ "no capability", no_capability, "not allowed", true },
};

static void row(size_t i)
{
	static const char *const load[] = { "/mete-guard", "load", NULL },
				 *const check[] = { "/mete-guard", "check", NULL },
				 *const doctor[] = { "/mete", "doctor", NULL };
	char loads[4096], checks[4096], advice[4096] = "", *at = NULL;
	int r = said(rows[i].lack, load, loads), s = rows[i].load_alone ? 1 : said(rows[i].lack, check, checks);

	if (rows[i].load_alone)
		snprintf(checks, sizeof checks, "%s", loads);
	ok(r == 1 && s == 1 && one_line(loads) && one_line(checks) && strstr(loads, rows[i].says) &&
		   strstr(checks, rows[i].says),
	   "%s: %.*s (%d %d)", rows[i].name, (int)strcspn(loads, "\n"), loads, r, s);
	if (access("/mete", X_OK) || rows[i].load_alone)
		return;
	said(rows[i].lack, doctor, advice);
	at = strstr(advice, rows[i].says);
	ok(at, "... and mete doctor says so");
}

/* At the end, for there is no way back: nothing can be loaded any more, and what was loaded holds. */
static void locked_for_good(void)
{
	static const char *const load[] = { "/mete-guard", "load", NULL };
	int fd = open("/sys/kernel/security/lockdown", O_WRONLY), r;
	char text[4096];

	if (fd < 0 || write(fd, "confidentiality", 15) != 15)
		exit(1);
	close(fd);
	r = said(NULL, load, text);
	ok(r == 1 && one_line(text) && strstr(text, "locked down (confidentiality)"), "locked down for good: %.*s (%d)",
	   (int)strcspn(text, "\n"), text, r);
	ok(!as("c", body_grab), "... and what was loaded before holds");
}

void case_lines(void)
{
	static const char *const gone[] = { "/mete-guard", "set", "/sys/fs/cgroup/gone", "--memory", "1G", NULL };
	char text[4096];
	int r;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		row(i);
	mkdir("/sys/fs/cgroup/gone", 0755);
	rmdir("/sys/fs/cgroup/gone");
	r = said(NULL, gone, text);
	ok(r == 1 && one_line(text) && strstr(text, "No such file"), "a cgroup that vanished: %.*s (%d)",
	   (int)strcspn(text, "\n"), text, r);
	ok(!as("c", body_grab), "the quota holds after all of this");
	locked_for_good();
	clean("lines");
}

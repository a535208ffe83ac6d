/* drivers.c: see drivers.h. Reads files of /proc and /sys, and changes nothing. */
#include "guard/drivers.h"

#include "base/cleanup.h"
#include "rm/interface.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAP_SYS_PTRACE_BIT 19
#define CAP_SYS_ADMIN_BIT 21
#define CAP_PERFMON_BIT 38
#define CAP_BPF_BIT 39

static const struct guard_driver drivers[] = {
	{ .module = "nvidia",
	  .devices = "nvidia-frontend",
	  .call = "rm_ioctl",
	  .copy_out = "os_memcpy_to_user",
	  .cleanup = "rm_cleanup_file_private",
	  .dup = "rm_gpu_ops_dup_memory",
	  .free_dup = "rm_gpu_ops_free_duped_handle",
	  .uvm = "nvidia-uvm",
	  .graphics = "nvidia_drm",
	  .node = "/dev/nvidia",
	  .notify = false },
	{ .module = "mete_standin",
	  .devices = "mete-standin",
	  .call = "standin_ioctl",
	  .copy_out = "standin_copy_to_user",
	  .cleanup = "standin_cleanup",
	  .dup = "standin_dup_memory",
	  .free_dup = "standin_free_dup",
	  .uvm = "mete-standin-uvm",
	  .graphics = "mete_standin",
	  .node = "/dev/standin",
	  .notify = true },
};
#define DRIVERS (sizeof drivers / sizeof *drivers)

static bool path_exists(const char *form, const char *name)
{
	char path[256];

	snprintf(path, sizeof path, form, name);
	return !access(path, F_OK);
}

/* A word of a short file, among others. */
static bool file_has(const char *path, const char *word)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char text[1024];
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

	text[n] = 0;
	return strstr(text, word);
}

const struct guard_driver *guard_driver_find(const char *module)
{
	for (size_t i = 0; i < DRIVERS; i++)
		if (!strcmp(drivers[i].module, module))
			return &drivers[i];
	return NULL;
}

const struct guard_driver *guard_driver_loaded(void)
{
	for (size_t i = 0; i < DRIVERS; i++)
		if (path_exists("/sys/module/%s", drivers[i].module))
			return &drivers[i];
	return NULL;
}

/* 0: there is none. */
static unsigned int major_of(const char *name)
{
	_cleanup_fclose_ FILE *f = name ? fopen("/proc/devices", "re") : NULL;
	char line[128], is[100];
	unsigned int major;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%u %99s", &major, is) == 2 && !strcmp(is, name))
			return major;
	return 0;
}

static unsigned int branch_of(const char *module)
{
	char path[128];
	unsigned int branch = 0;

	snprintf(path, sizeof path, "/sys/module/%s/version", module);
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	return f && fscanf(f, "%u", &branch) == 1 ? branch : 0;
}

/* By which the kernel attaches programs to its own functions; its name goes on in some versions. */
#define DIRECT_CALLS "register_ftrace_direct"

static void functions_look(struct guard_kernel *k)
{
	const char *want[] = { k->driver->call, k->driver->copy_out, k->driver->cleanup, k->driver->dup,
			       k->driver->free_dup };
	const size_t count = sizeof want / sizeof *want;
	_cleanup_fclose_ FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], name[256];
	bool have[sizeof want / sizeof *want] = { false };

	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%*s %*s %255s", name) != 1)
			continue;
		for (size_t i = 0; i < count; i++)
			have[i] |= !strcmp(name, want[i]);
		k->traces |= !strncmp(name, DIRECT_CALLS, strlen(DIRECT_CALLS));
	}
	k->functions = true;
	for (size_t i = 0; i < count; i++)
		if (!have[i]) {
			k->functions = false;
			snprintf(k->missing_function, sizeof k->missing_function, "%s", want[i]);
		}
}

static unsigned long long capabilities(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/status", "re");
	unsigned long long caps = 0;
	char line[256];

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	return caps;
}

static bool capable(void)
{
	unsigned long long caps = capabilities();

	return caps >> CAP_SYS_ADMIN_BIT & 1 || (caps >> CAP_BPF_BIT & 1 && caps >> CAP_PERFMON_BIT & 1);
}

/* A supervisor is not above its program: Yama's 1 and 2 want CAP_SYS_PTRACE of it, 3 lets nobody. */
static bool reaches(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	unsigned int scope = 0;

	if (!f || fscanf(f, "%u", &scope) != 1)
		return true;
	return !scope || (scope < 3 && capabilities() >> CAP_SYS_PTRACE_BIT & 1);
}

/* User notification is of Linux 5.0, pidfd_getfd of 5.6. */
static bool notifies(void)
{
	unsigned int action = SECCOMP_RET_USER_NOTIF;

	return !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) &&
	       (syscall(SYS_pidfd_getfd, -1, -1, 0) >= 0 || errno != ENOSYS);
}

void guard_driver_look(struct guard_kernel *ret)
{
	*ret = (struct guard_kernel){ .driver = guard_driver_loaded(), .notify = notifies(), .reaches = reaches(),
				      .tries = getenv("METE_GUARD_NOTIFY") };
	if (!ret->driver)
		return;
	ret->branch = branch_of(ret->driver->module);
	ret->branch_known = rm_branch_known(ret->branch);
	ret->major = major_of(ret->driver->devices);
	if (!ret->major && !strcmp(ret->driver->module, "nvidia"))
		ret->major = RM_MAJOR; /* registered under other names too */
	ret->uvm_major = major_of(ret->driver->uvm);
}

void guard_kernel_look(struct guard_kernel *ret)
{
	guard_driver_look(ret);
	ret->btf = path_exists("%s", "/sys/kernel/btf/vmlinux");
	ret->lsm = file_has("/sys/kernel/security/lsm", "bpf");
	ret->cgroup2 = path_exists("%s", "/sys/fs/cgroup/cgroup.controllers") ||
		       path_exists("%s", "/sys/fs/cgroup/unified/cgroup.controllers");
	ret->kprobes = path_exists("%s", "/sys/bus/event_source/devices/kprobe/type");
	ret->dmem = path_exists("%s", "/sys/fs/cgroup/dmem.capacity");
	ret->capable = capable();
	ret->locked_more = file_has("/sys/kernel/security/lockdown", "[confidentiality]");
	ret->locked = ret->locked_more || file_has("/sys/kernel/security/lockdown", "[integrity]");
	if (ret->driver)
		functions_look(ret);
}

/* What every front end needs of the driver. */
static bool driver_doubt(const struct guard_kernel *k, char *text, size_t size)
{
	if (!k->branch_known)
		snprintf(text, size, "the driver's branch %u is not one that this version knows (%u to %u, %u)",
			 k->branch, RM_BRANCH_FIRST, RM_BRANCH_LAST, RM_BRANCH_LATER);
	else if (!k->major)
		snprintf(text, size, "the driver %s has no devices in /proc/devices", k->driver->module);
	else
		return false;
	return true;
}

bool guard_kernel_doubt(const struct guard_kernel *k, char *text, size_t size)
{
	const struct {
		bool bad;
		const char *why;
	} rows[] = {
		{ !k->btf, "this kernel has no BTF (/sys/kernel/btf/vmlinux): use one that is built with "
			   "CONFIG_DEBUG_INFO_BTF" },
		{ !k->kprobes, "this kernel has no kprobes, and nothing else reaches the calls of the driver's core: "
			       "use one that is built with CONFIG_KPROBES" },
		{ !k->cgroup2, "cgroup version 2 is not mounted at /sys/fs/cgroup" },
		{ k->locked_more, "this kernel is locked down (confidentiality): its programs may not read what the "
				  "driver has copied" },
		{ !k->driver, "NVIDIA's kernel module is not loaded" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].bad) {
			snprintf(text, size, "%s", rows[i].why);
			return true;
		}
	if (driver_doubt(k, text, size))
		return true;
	if (!k->lsm && !k->traces)
		snprintf(text, size,
			 "bpf is not among this kernel's security modules (/sys/kernel/security/lsm), and programs "
			 "cannot be attached to its functions (CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS): boot with "
			 "lsm=...,bpf");
	else if (!k->functions)
		snprintf(text, size, "the driver %s has no function %s in /proc/kallsyms", k->driver->module,
			 k->missing_function);
	else
		return false;
	return true;
}

bool guard_notify_doubt(const struct guard_kernel *k, char *text, size_t size)
{
	if (!k->notify)
		snprintf(text, size, "this kernel has no seccomp user notification or no pidfd_getfd (Linux 5.6)");
	else if (!k->reaches)
		snprintf(text, size,
			 "no supervisor may reach into programs of its user (kernel.yama.ptrace_scope): be root, "
			 "or set that to 0");
	else if (!k->driver)
		snprintf(text, size, "NVIDIA's kernel module is not loaded");
	else if (driver_doubt(k, text, size))
		return true;
	else if (!k->driver->notify && !k->tries)
		snprintf(text, size,
			 "NVIDIA's driver makes no context for a program whose calls another process makes (tried with "
			 "580.159; METE_GUARD_NOTIFY=1 tries it all the same)");
	else
		return false;
	return true;
}

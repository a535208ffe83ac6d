/* drivers_test.c: what is said of each thing that a kernel or a driver lacks: one line, and never silence. */
#include "guard/drivers.h"

#include "base/tap.h"

#include <string.h>

static const struct guard_driver *driver;

static struct guard_kernel good(void)
{
	return (struct guard_kernel){
		.btf = true,
		.lsm = true,
		.cgroup2 = true,
		.kprobes = true,
		.capable = true,
		.notify = true,
		.reaches = true,
		.tries = true,
		.driver = driver,
		.branch = 570,
		.branch_known = true,
		.functions = true,
		.major = 195,
	};
}

static void check(struct guard_kernel k, const char *bpf, const char *notify, const char *what)
{
	char said_bpf[256] = "", said_notify[256] = "";
	bool no_bpf = guard_kernel_doubt(&k, said_bpf, sizeof said_bpf);
	bool no_notify = guard_notify_doubt(&k, said_notify, sizeof said_notify);

	tap_ok(no_bpf == !!bpf && (!bpf || strstr(said_bpf, bpf)) && !strchr(said_bpf, '\n'), "%s: bpf: %s", what,
	       no_bpf ? said_bpf : "holds");
	tap_ok(no_notify == !!notify && (!notify || strstr(said_notify, notify)) && !strchr(said_notify, '\n'),
	       "%s: notify: %s", what, no_notify ? said_notify : "holds");
}

#define WITHOUT(field, value, bpf, notify, what)                                                                       \
	{                                                                                                              \
		struct guard_kernel k = good();                                                                        \
		k.field = value;                                                                                       \
		check(k, bpf, notify, what);                                                                           \
	}

int main(void)
{
	struct guard_kernel here;

	tap_begin();
	driver = guard_driver_find("nvidia");
	check(good(), NULL, NULL, "all is there");
	WITHOUT(btf, false, "no BTF", NULL, "a kernel without BTF");
	WITHOUT(lsm, false, "security modules", NULL, "a kernel without the BPF LSM, whose functions take no programs");
	{
		struct guard_kernel k = good();

		k.lsm = false;
		k.traces = true;
		check(k, NULL, NULL, "a kernel without the BPF LSM, whose functions take programs");
	}
	WITHOUT(kprobes, false, "no kprobes", NULL, "a kernel without kprobes");
	WITHOUT(cgroup2, false, "cgroup version 2", NULL, "cgroups of version 1");
	WITHOUT(locked_more, true, "locked down (confidentiality)", NULL, "a kernel that is locked down");
	WITHOUT(locked, true, NULL, NULL, "lockdown of integrity, where replies stay");
	WITHOUT(notify, false, NULL, "user notification", "a kernel without seccomp notification");
	WITHOUT(tries, false, NULL, "makes no context", "NVIDIA's driver and a supervisor");
	WITHOUT(reaches, false, NULL, "ptrace_scope", "Yama, and no right to reach into processes");
	WITHOUT(driver, NULL, "not loaded", "not loaded", "no driver");
	WITHOUT(branch_known, false, "branch 570", "branch 570", "another branch");
	WITHOUT(functions, false, "no function", NULL, "a driver whose functions have other names");
	WITHOUT(major, 0, "no devices", "no devices", "a driver without devices");
	guard_kernel_look(&here);
	tap_ok(!here.driver || here.branch, "this kernel can be looked at");
	return tap_end();
}

/*
 * drivers.h: the drivers that the guard knows, and what a kernel has for it.
 *
 * A driver is named by its kernel module. The functions are of the interface between NVIDIA's Linux layer and its core
 * (kernel-open/ nvidia/nv.c calls rm_ioctl and rm_cleanup_file_private; the core's copies come back by
 * os_memcpy_to_user of os-interface.c), so they have the same names in the open and in the proprietary flavour, in the
 * branches 515 to 595. The core's functions, `call` and `cleanup`, are reached where they are called (bpf/sites.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guard_driver {
	const char *module, *devices; /* in /sys/module, in /proc/devices */
	const char *call, *copy_out, *cleanup;
	const char *uvm;  /* in /proc/devices; NULL: it has none */
	const char *node; /* of a device: before its minor number */
	bool notify;	  /* programs work when a supervisor makes their calls */
};

/* NULL: there is no driver of that name. */
const struct guard_driver *guard_driver_find(const char *module);
/* The first that is loaded; NULL: none. */
const struct guard_driver *guard_driver_loaded(void);

struct guard_kernel {
	bool btf, lsm, cgroup2, kprobes;
	bool traces;	  /* programs can be attached to the kernel's own functions */
	bool locked;	  /* lockdown: replies cannot be rewritten */
	bool locked_more; /* lockdown=confidentiality: no program may read the kernel's memory */
	bool dmem;	  /* the kernel has device memory in cgroups */
	const struct guard_driver *driver;
	unsigned int branch, major, uvm_major;
	bool branch_known, functions;
	bool capable; /* this process may load programs */
	bool notify;  /* seccomp brings calls to another process, which can fetch descriptors */
	bool tries;   /* METE_GUARD_NOTIFY: also where a driver's programs are known not to work so */
	bool reaches; /* a process started by this one may reach into another (Yama's ptrace_scope) */
	char missing_function[40];
};

void guard_kernel_look(struct guard_kernel *ret);
/* Of these the driver and `notify` alone: all that a supervisor needs, without the list of the kernel's functions. */
void guard_driver_look(struct guard_kernel *ret);
/* The first reason why the guard does not hold here. False: it does. */
bool guard_kernel_doubt(const struct guard_kernel *k, char *text, size_t size);
/* The same for the front end by seccomp notification. */
bool guard_notify_doubt(const struct guard_kernel *k, char *text, size_t size);

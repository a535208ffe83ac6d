/*
 * drivers.h: the drivers that the guard knows, and what a kernel provides for it.
 *
 * A driver is named by its kernel module. The functions are those of the interface between NVIDIA's Linux layer and its
 * core (kernel-open/nvidia/nv.c calls rm_ioctl and rm_cleanup_file_private; the core copies results by
 * os_memcpy_to_user of os-interface.c; nv_uvm_interface.c calls rm_gpu_ops_dup_memory and
 * rm_gpu_ops_free_duped_handle), so they have the same names in the open and in the proprietary flavour, in the
 * branches 515 to 595. The core's functions, all but `copy_out`, are probed where they are called (bpf/sites.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guard_driver {
	const char *module, *devices; /* in /sys/module, in /proc/devices */
	const char *call, *copy_out, *cleanup;
	const char *dup, *free_dup; /* of memory that another driver maps */
	const char *uvm;	    /* in /proc/devices */
	const char *graphics;	    /* the module of its nodes below /dev/dri */
	const char *node; /* of a device, without its minor number */
	bool notify;	  /* programs work if a supervisor makes their calls */
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
	bool dmem;	  /* the kernel has a cgroup controller of device memory */
	const struct guard_driver *driver;
	unsigned int branch, major, uvm_major;
	bool branch_known, functions;
	bool capable; /* this process may load programs */
	bool notify;  /* seccomp passes calls to another process, which can fetch descriptors */
	bool tries;   /* METE_GUARD_NOTIFY: uses it also with a driver whose programs do not work that way */
	bool reaches; /* a process started by this one may access another one (Yama's ptrace_scope) */
	char missing_function[40];
};

void guard_kernel_look(struct guard_kernel *ret);
/*
 * Determines only the driver and `notify`, all that a supervisor needs, without reading the list of the kernel's
 * functions.
 */
void guard_driver_look(struct guard_kernel *ret);
/* The first reason that the guard does not work here. False: it works. */
bool guard_kernel_doubt(const struct guard_kernel *k, char *text, size_t size);
/* The same for the front end by seccomp notification. */
bool guard_notify_doubt(const struct guard_kernel *k, char *text, size_t size);

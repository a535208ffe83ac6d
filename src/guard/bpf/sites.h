/*
 * sites.h: finds where the part of a driver that the kernel's build compiled calls its core.
 *
 * NVIDIA compiles its core (rm_ioctl, rm_cleanup_file_private) apart from the kernel's build. The core's functions have
 * no entry for the kernel's tracing: fentry and fprobe cannot attach, and a kprobe event is refused with EINVAL
 * (within_notrace_func() of kernel/trace/trace_kprobe.c, unless the kernel is built with
 * CONFIG_KPROBE_EVENTS_ON_NOTRACE, which Debian and Ubuntu are not). The functions that call them have such an entry,
 * and within these a probe may be at any instruction: at the call, where the registers are those at the callee's entry,
 * and at the instruction after it, where the value is available.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SITES_MOST 8
#define SITES_WHY 256

struct site {
	uint64_t call, next; /* addresses of the call and of the instruction after it */
};

/* Reads the kernel's memory. Value: 0 or -errno. */
typedef int (*sites_read)(void *of, uint64_t at, void *to, size_t size);

/*
 * Finds the calls of `callee` in the functions of `module` that have an entry for tracing; `kallsyms` is a file like
 * /proc/kallsyms. Value: their number, at least one; or -errno and a line in `why`. -ENOTSUP: a function jumps to
 * `callee` instead of calling it, so there is no instruction after the call.
 */
int sites_find(const char *kallsyms, const char *module, const char *callee, sites_read read, void *of,
	       struct site ret[SITES_MOST], char *why);

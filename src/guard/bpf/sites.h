/*
 * sites.h: where the layer of a driver that the kernel's build compiled calls its core.
 *
 * NVIDIA compiles its core (rm_ioctl, rm_cleanup_file_private) apart from the kernel's build. The core's functions have
 * no entry for the kernel's tracing: fentry and fprobe have nothing to attach to, and a kprobe event is refused with
 * EINVAL (within_notrace_func() of kernel/trace/trace_kprobe.c, unless the kernel is built with
 * CONFIG_KPROBE_EVENTS_ON_NOTRACE, which Debian and Ubuntu are not). The functions that call them have one, and
 * within these a probe may be at any instruction: at the call, where the registers are as at the callee's entry, and
 * at the instruction behind it, where the value is there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SITES_MOST 8
#define SITES_WHY 256

struct site {
	uint64_t call, next; /* addresses of the call and of the instruction behind it */
};

/* Reads the kernel's memory: 0 or -errno. */
typedef int (*sites_read)(void *of, uint64_t at, void *to, size_t size);

/*
 * The calls of `callee` in the functions of `module` that have an entry for tracing; `kallsyms` is a file like
 * /proc/kallsyms. Value: how many there are, at least one; or -errno and a line in `why`. A function that jumps to
 * `callee` instead of calling it has no place behind: -ENOTSUP.
 */
int sites_find(const char *kallsyms, const char *module, const char *callee, sites_read read, void *of,
	       struct site ret[SITES_MOST], char *why);

/*
 * dmem.h: limits of device memory that others keep: the kernel's controller of cgroups (Linux 6.14, CONFIG_CGROUP_DMEM:
 * amdgpu, xe, NVIDIA since driver 610), or NVIDIA's own for a cgroup, set by NVML (nvmlDeviceSetMemoryLimits_v1, driver
 * 615), which takes the kernel's where it is there.
 *
 * Sources: Documentation/admin-guide/cgroup-v2.rst, "DMEM"; NVIDIA's "GPU memory partitioning" and nvml.h of 13.4
 * (nvmlDeviceSetMemoryLimits_v1_t: nameSpace, softLimit, hardLimit). Tried against a folder of files and a library of
 * ours alone: no kernel of Debian's has the option, and no driver here the call.
 *
 * A limit holds for what is taken after it was set. Functions return 0 or -errno, with a line in `why`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DMEM_WHY 256

/* The folder of the root cgroup: /sys/fs/cgroup, or what METE_GUARD_CGROUP names for tests (not with more rights). */
const char *dmem_root(void);
/* Whether the kernel has a region for the device at this bus address ("0000:01:00.0"); NULL: any device. */
bool dmem_there(const char *bus);
/*
 * Limits the cgroup (a whole path) on all regions of a device, and reads back that it was taken. -ENOTSUP: there is no
 * region of it, or the controller cannot be had below the cgroups above.
 */
int dmem_limit(const char *cgroup, const char *bus, uint64_t bytes, char *why);
/* What the cgroup has of all regions. */
int dmem_current(const char *cgroup, uint64_t *ret);
/* A cgroup of this name below the root's, with the controller where it is there. `path` has 128 bytes. */
int dmem_cgroup(const char *name, char *path, char *why);
/*
 * By NVML, in a child: soft 0 and hard UINT64_MAX clear it. -ENOSYS: the library has no such call, -ENOTSUP: the driver
 * does not, -EPERM: it needs root.
 */
int dmem_limit_nvml(const char *library, const char *uuid, const char *cgroup, uint64_t soft, uint64_t hard, char *why);

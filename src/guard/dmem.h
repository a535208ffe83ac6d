/*
 * dmem.h: limits of device memory that others enforce: the kernel's cgroup controller (Linux 6.14, CONFIG_CGROUP_DMEM:
 * amdgpu, xe, NVIDIA since driver 610), or NVIDIA's own limit for a cgroup, set by NVML (nvmlDeviceSetMemoryLimits_v1,
 * driver 615), which uses the kernel's controller if it exists.
 *
 * Sources: Documentation/admin-guide/cgroup-v2.rst, "DMEM"; NVIDIA's "GPU memory partitioning" and nvml.h of 13.4
 * (nvmlDeviceSetMemoryLimits_v1_t: nameSpace, softLimit, hardLimit). Tested only with a folder of files and a library
 * made for the test: no Debian kernel has the option, and no driver here has the call.
 *
 * A limit applies to memory that is taken after it was set. Functions return 0 or -errno, with a line in `why`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DMEM_WHY 256

/*
 * The folder of the root cgroup: /sys/fs/cgroup, or the value of METE_GUARD_CGROUP for tests (not with more rights than
 * the user's).
 */
const char *dmem_root(void);
/* True if the kernel has a region for the device at this bus address ("0000:01:00.0"); NULL: any device. */
bool dmem_there(const char *bus);
/*
 * Limits the cgroup (a whole path) on all regions of a device, and reads the limit back. -ENOTSUP: the device has no
 * region, or the cgroups above do not pass the controller on.
 */
int dmem_limit(const char *cgroup, const char *bus, uint64_t bytes, char *why);
/* The use of all regions by the cgroup. */
int dmem_current(const char *cgroup, uint64_t *ret);
/* Creates a cgroup of this name below the root's, with the controller if it exists. `path` has 128 bytes. */
int dmem_cgroup(const char *name, char *path, char *why);
/*
 * Limits by NVML, in a child; soft 0 and hard UINT64_MAX remove the limit. -ENOSYS: the library has no such call,
 * -ENOTSUP: the driver does not support it, -EPERM: it needs root.
 */
int dmem_limit_nvml(const char *library, const char *uuid, const char *cgroup, uint64_t soft, uint64_t hard, char *why);

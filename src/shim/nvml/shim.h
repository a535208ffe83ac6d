/*
 * shim.h: what the files of the NVML shim share.
 *
 * The shim stands before the driver's NVML and shows a tenant its own share of a machine: its devices, its quota as
 * their memory, its processes. Every other call is the driver's own function behind one indirect jump.
 *
 * start.c   finds and opens the driver's library and fills the tables (shim_start() of the generated nvml_shim.h)
 * tenant.c  what meted says: the grant's devices, what is held, by which processes
 * calls.c   the bodies of the calls that are filtered
 * usage.c   those of them that say what processes did
 */
#pragma once

#include "nvml_shim.h"
#include "base/cleanup.h"
#include "core/attach.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A device of the grant, with the handle of the driver's NVML. */
struct tenant_device {
	nvmlDevice_t handle;
	uint32_t grant_index; /* of the device in meted's messages */
};

struct tenant_devices {
	unsigned int count;
	struct tenant_device device[WIRE_MAX_DEVICES]; /* in the driver's order, which is also that of the driver API */
};

struct tenant_memory {
	uint64_t quota_bytes;
	uint64_t held_bytes; /* limited to the quota here, so that free + used = total */
};

struct tenant_process {
	unsigned int pid;
	uint64_t held_bytes;
};

struct tenant_processes {
	unsigned int count;
	struct tenant_process process[WIRE_MAX_PROCESSES];
};

/* True: this process runs under a grant and its NVML is filtered. False: everything is passed through. */
bool tenant_is(void);

/*
 * Attaches to meted if this process runs under a grant. Value: NVML_SUCCESS also if it does not, or if the operator
 * lets programs run unlimited; otherwise the result for nvmlInit.
 */
nvmlReturn_t tenant_attach(void);

/* Drops the driver's handles, which are valid from one nvmlInit or nvmlShutdown to the next. */
void tenant_forget_handles(void);

/* The grant's devices that the driver's NVML has. An error is the driver's, usually "not initialised". */
nvmlReturn_t tenant_devices_get(struct tenant_devices *ret);

/*
 * The grant's device of `handle`. NVML_SUCCESS: *ret_grant_index is set, with TENANT_PART for a partition of that
 * device, whose own figures are a hardware share already. NVML_ERROR_INVALID_ARGUMENT: not the tenant's.
 */
#define TENANT_PART (1u << 31)
nvmlReturn_t tenant_device_find(nvmlDevice_t handle, uint32_t *ret_grant_index);

/* While meted is away: the last known quota, and what this process itself holds. */
void tenant_memory_get(uint32_t grant_index, struct tenant_memory *ret);
void tenant_processes_get(uint32_t grant_index, struct tenant_processes *ret);

/* NULL: none. */
const struct tenant_process *tenant_process_find(const struct tenant_processes *p, unsigned int pid);

/* Preserves errno across a call. */
static inline void errno_restore(int *saved)
{
	errno = *saved;
}
#define KEEP_ERRNO _cleanup_(errno_restore) __attribute__((unused)) int saved_errno_ = errno

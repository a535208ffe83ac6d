/*
 * watch.h: what an NVML beside the remote client asks a worker: how the tenant's share of a device stands.
 *
 * Request CALL_WATCH: int32_t, the device as the worker numbers it. It carries no context, takes nothing and reports no
 * older call's error, so that monitoring disturbs no program.
 */
#pragma once

#include <stdint.h>

#define WATCH_VERSION_BYTES 40u

struct watch_figures {
	uint64_t total_bytes, free_bytes; /* as cuMemGetInfo says it to the tenant */
	/* of the driver there, "570.86.15"; "": it has none of its own (the software device) */
	char driver_version[WATCH_VERSION_BYTES];
};

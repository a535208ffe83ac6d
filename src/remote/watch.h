/*
 * watch.h: what an NVML beside the remote client asks a worker: how the tenant's share of a device stands.
 *
 * Request CALL_WATCH: int32_t, the device as the worker numbers it. It carries no context, takes nothing and reports no
 * older call's error, so that monitoring disturbs no program.
 */
#pragma once

#include <stdint.h>

#define WATCH_VERSION_BYTES 40u

/* A PCIe link: its generation and how many lanes it has, now and at most. All 0: not known. */
struct watch_link {
	uint32_t generation, lanes, generation_most, lanes_most;
};

struct watch_figures {
	uint64_t total_bytes, free_bytes; /* as cuMemGetInfo says it to the tenant */
	/* of the driver there, "570.86.15"; "": it has none of its own (the software device) */
	char driver_version[WATCH_VERSION_BYTES];
	struct watch_link link;
};

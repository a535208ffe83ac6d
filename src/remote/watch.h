/*
 * watch.h: what an NVML beside the remote client asks a worker: the state of the tenant's share of a device.
 *
 * Request CALL_WATCH: int32_t, the worker's ordinal of the device. It carries no context, changes nothing and returns
 * no error of an earlier call, so that monitoring disturbs no program.
 */
#pragma once

#include <stdint.h>

#define WATCH_VERSION_BYTES 40u
#define WATCH_UNKNOWN UINT64_MAX

/* A PCIe link: its generation and how many lanes it has, now and at most. All 0: not known. */
struct watch_link {
	uint32_t generation, lanes, generation_most, lanes_most;
};

struct watch_figures {
	uint64_t total_bytes, free_bytes; /* as cuMemGetInfo reports them to the tenant */
	/* of the driver there, "570.86.15"; "": it has no version of its own (the software device) */
	char driver_version[WATCH_VERSION_BYTES];
	struct watch_link link;
	/*
	 * What the worker's process, which stands for the program, is charged. WATCH_UNKNOWN: it has no account. A
	 * worker of an older release does not send it.
	 */
	uint64_t own_bytes;
};

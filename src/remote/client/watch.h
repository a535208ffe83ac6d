/*
 * watch.h: what the NVML beside the remote client (nvml/) takes from it: the sessions, without a cuInit.
 *
 * It is a library of its own in the program; it finds the one table by name in the libcuda.so.1 that the program has,
 * as the forwarded libraries do (forward.h). Sessions that were opened for watching are those that a later cuInit uses.
 * A child made by fork opens its own; whether it may call cuInit is decided by the program's own cuInit alone.
 */
#pragma once

#include "cuda_table.h"
#include "remote/snapshot.h"
#include "remote/watch.h"

#include <stdbool.h>
#include <stdint.h>

#define WATCH_SYMBOL "mete_remote_watch"

struct watch_facts { /* of a device; they do not change */
	char name[SNAPSHOT_NAME_BYTES], bus_id[SNAPSHOT_NAME_BYTES];
	uint8_t uuid[16];
	int32_t major, minor; /* compute capability */
};

/* Devices are numbered as the servers have them; CUDA_VISIBLE_DEVICES is not NVML's matter. */
struct watch_calls {
	uint32_t size;	      /* of this struct */
	uint32_t fingerprint; /* CUDA_REMOTE_FINGERPRINT */
	CUresult (*open)(void);
	int (*count)(void);
	CUresult (*facts)(int device, struct watch_facts *ret);
	CUresult (*figures)(int device, struct watch_figures *ret);
	CUresult (*version)(int *ret); /* of CUDA; the oldest of the drivers */
	/* Whether this process has a context on it. */
	bool (*computes)(int device);
	void (*log)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

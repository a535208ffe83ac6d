/*
 * watch.h: the interface of the remote client for the NVML beside it (nvml/): the sessions, without a cuInit.
 *
 * NVML is a separate library in the program; it finds the table by name in the libcuda.so.1 that the program has, as
 * the forwarded libraries do (forward.h). A later cuInit uses the sessions that were opened for watching. A child
 * created by fork opens its own; whether it may call cuInit depends only on the program's own cuInit.
 */
#pragma once

#include "cuda_table.h"
#include "remote/snapshot.h"
#include "remote/watch.h"

#include <stdbool.h>
#include <stdint.h>

#define WATCH_SYMBOL "mete_remote_watch"

struct watch_facts { /* of a device; constant */
	char name[SNAPSHOT_NAME_BYTES], bus_id[SNAPSHOT_NAME_BYTES];
	uint8_t uuid[16];
	int32_t major, minor; /* compute capability */
};

/* Devices are numbered as the servers number them; CUDA_VISIBLE_DEVICES does not apply to NVML. */
struct watch_calls {
	uint32_t size;	      /* of this struct */
	uint32_t fingerprint; /* CUDA_REMOTE_FINGERPRINT */
	CUresult (*open)(void);
	int (*count)(void);
	CUresult (*facts)(int device, struct watch_facts *ret);
	CUresult (*figures)(int device, struct watch_figures *ret);
	CUresult (*version)(int *ret); /* of CUDA; the oldest of the drivers */
	/* True if this process has a context on the device. */
	bool (*computes)(int device);
	void (*log)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

/*
 * warm.h: the driver before there is a client: started, with a context on each device, everything open that it opens
 * late.
 *
 * The driver is used directly here. When a client comes, the shim is started in front of it, under the client's grant,
 * and finds the contexts: it is charged for them then (shim/contexts.c).
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WARM_DEVICES 16u

struct warm {
	struct cuda_table driver, shim;
	CUdevice device[WARM_DEVICES]; /* the driver's */
	unsigned int count;
	uint64_t context_bytes[WARM_DEVICES]; /* what the contexts take; 0: the driver does not say */
};

/*
 * `shim`: driver_find_shim()'s, asked before the worker had mounts of its own: in a chroot /proc/self/exe names nothing
 * afterwards. `devices`: UUIDs, separated by ",". False: `why` says it in one line.
 */
bool warm_up(struct warm *warm, const char *shim, const char *devices, char *why, size_t why_bytes);
/*
 * Starts the shim under the grant of METE_SOCKET, which is charged for the contexts. CUDA_ERROR_OUT_OF_MEMORY: the
 * quota has no room for them.
 */
CUresult warm_take(struct warm *warm);

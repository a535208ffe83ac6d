/*
 * warm.h: prepares the driver before there is a client: started, with a context on each device, and with all late files
 * open.
 *
 * The driver is used directly here. When a client comes, the shim is started in front of it, under the client's grant,
 * and finds the contexts, which are charged then (shim/contexts.c).
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WARM_DEVICES 16u

struct warm {
	struct cuda_table driver, shim;
	CUdevice device[WARM_DEVICES]; /* the driver's ordinals */
	unsigned int count;
	uint64_t context_bytes[WARM_DEVICES]; /* size of the contexts; 0: the driver does not report it */
};

/*
 * `shim`: the result of driver_find_shim(), determined before the worker had its own mounts: in a chroot,
 * /proc/self/exe names nothing. `devices`: UUIDs, separated by ",". False: `why` gives the reason in one line.
 */
bool warm_up(struct warm *warm, const char *shim, const char *devices, char *why, size_t why_bytes);
/*
 * Starts the shim under the grant of METE_SOCKET, which is charged for the contexts. CUDA_ERROR_OUT_OF_MEMORY: the
 * quota has no room for them.
 */
CUresult warm_take(struct warm *warm);

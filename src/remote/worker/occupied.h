/*
 * occupied.h: what this process occupies of a device, according to the driver's own NVML (METE_NVML).
 *
 * NVML is opened before there is a client, because it opens files at its start; the shim queries it later.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

void occupied_open(void);
/*
 * On the device with this UUID, `length` characters as the pool names it ("GPU-..."). 0: not reported, or not for this
 * process: a container may hide process ids.
 */
uint64_t occupied_bytes(const char *uuid, size_t length);

/*
 * occupied.h: what this process occupies of a device, by the driver's own library of figures (NVML, METE_NVML).
 *
 * Asked before there is a client, and opened by then: the library opens files when it starts, and the shim asks it
 * later.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

void occupied_open(void);
/*
 * On the device of this UUID, `length` characters as the pool names it ("GPU-..."). 0: it does not say, or not of this
 * process: a container may hide process ids.
 */
uint64_t occupied_bytes(const char *uuid, size_t length);

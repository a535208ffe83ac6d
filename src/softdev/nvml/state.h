/*
 * state.h: what the files of the software device's NVML share.
 *
 * state.c   start, end, handles, words
 * device.c  what a device is: names, identity, address
 * usage.c   how it is used: memory, processes, utilisation
 * event.c   errors of devices, as events
 *
 * NVML only watches: it takes an observer's place in the segment (segment.h) between nvmlInit and nvmlShutdown, holds
 * no memory and starts nothing. What the software device has not (temperature, power, clocks, fans, ECC, links,
 * partitions) is answered with NVML_ERROR_NOT_SUPPORTED, never with a made-up figure.
 */
#pragma once

#include "nvml_soft.h"
#include "softdev/segment.h"

#include <stdint.h>

/*
 * Between these two the segment is attached and state.c's lock is held, so the work between them is short and calls
 * nobody. enter(): NVML_SUCCESS, or what the caller answers (then no leave()).
 */
nvmlReturn_t state_enter(struct segment_place **ret);
void state_leave(void);

/* The device behind a handle. NVML_ERROR_INVALID_ARGUMENT: none; NVML_ERROR_GPU_IS_LOST. Inside enter and leave. */
nvmlReturn_t state_device(const struct segment_place *p, nvmlDevice_t handle, uint32_t *ret_index);
nvmlDevice_t state_handle(uint32_t index);

/* Copies a text as NVML does: room for less than all of it is an error, and writes nothing. */
nvmlReturn_t state_text(const char *text, char *ret, unsigned int room);

void state_uuid(const uint8_t uuid[16], char ret[41]);

/* usage.c: forgets earlier readings. At the first nvmlInit and in a forked child. */
void usage_reset(struct segment_place *p);

/*
 * devices.h: maps the devices of the library to devices of the grant and to the program's numbers.
 *
 * A program sees the devices of its grant alone, numbered from 0 in the library's order (core/ordinals.h). Numbers that
 * do not mean a device (hipCpuDeviceId, -1) stay as they are.
 */
#pragma once

#include "core/face.h"
#include "hip/start.h"

#include <stdbool.h>

/* Compares the library's devices with the grant; the process is attached. */
void devices_match(void);
/* For a process that is not metered: the program sees all devices. */
void devices_keep(void);

/* Converts the program's number to the library's, and an invalid one to one that the library refuses; and back. */
hip_ordinal devices_in(hip_ordinal seen);
hip_ordinal devices_out(hip_ordinal real);
/* Converts, in place, a number that the library returned, for the program. */
void devices_tell(hipError_t r, hip_ordinal *device);
hipMemLocation devices_location(hipMemLocation location);

/* Finds the index in the grant of a device of the library. False: not granted. */
bool devices_find(hip_ordinal real, unsigned int *ret_device);
/* Finds the library's number of a device of the grant. False: the library does not show it. */
bool devices_real(unsigned int device, hip_ordinal *ret_real);
/* Finds the index in the grant of the current device. False: not granted. */
bool devices_current(unsigned int *ret_device);

/* Return the core's context for queues on a device of the grant, and the device of such a context. */
face_context devices_place(unsigned int device);
bool devices_placed(face_context context, unsigned int *ret_device);

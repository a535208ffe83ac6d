/*
 * devices.h: which device of the grant a device of the library is, and how the program numbers them.
 *
 * A program sees the devices of its grant alone, numbered from 0 in the library's order (core/ordinals.h). Numbers that
 * are none of a device (hipCpuDeviceId, -1) pass as they are.
 */
#pragma once

#include "core/face.h"
#include "hip/start.h"

#include <stdbool.h>

/* Attached: compares the library's devices with the grant. */
void devices_match(void);
/* Not metered: the program sees all. */
void devices_keep(void);

/* The library's number of what the program calls so; of none that it sees one that the library refuses. */
hip_ordinal devices_in(hip_ordinal seen);
hip_ordinal devices_out(hip_ordinal real);
/* What the library wrote becomes what the program is told. */
void devices_tell(hipError_t r, hip_ordinal *device);
hipMemLocation devices_location(hipMemLocation location);

/* The grant's index of the library's device. False: not granted. */
bool devices_find(hip_ordinal real, unsigned int *ret_device);
/* The library's number of the grant's device. False: the library does not show it. */
bool devices_real(unsigned int device, hip_ordinal *ret_real);
/* The current device, if it is granted. */
bool devices_current(unsigned int *ret_device);

/* What the core calls the context of a queue on this device of the grant, and back. */
face_context devices_place(unsigned int device);
bool devices_placed(face_context context, unsigned int *ret_device);

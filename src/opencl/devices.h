/*
 * devices.h: maps OpenCL devices to devices of the grant, and finds the devices of a context.
 *
 * A program sees the devices of its grant alone. A part of a device (clCreateSubDevices) is charged as the whole
 * device. A buffer of a context with several devices may be on each of them, so it is charged on each.
 */
#pragma once

#include "core/face.h"
#include "opencl/types.h"

#include <stdbool.h>
#include <stdint.h>

/* Finds the index in the grant of a device. False: not granted, or the driver does not say. */
bool devices_find(cl_device_id device, unsigned int *ret_device);

/* Returns the devices of the grant in a context, one bit each; 0: none. */
uint32_t devices_of_context(cl_context context);
/* Notes the devices of a new context. */
void devices_note(cl_context context, cl_uint count, const cl_device_id *devices);

/* True if all devices of the mask use the host's memory: then the program's own memory is not charged. */
bool devices_unified(uint32_t mask);

/* Return the core's context for queues on a device of the grant, and the device of such a context. */
face_context devices_place(unsigned int device);
bool devices_placed(face_context context, unsigned int *ret_device);

/* In the child of fork(). */
void devices_forget(void);

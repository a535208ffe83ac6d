/*
 * devices.h: which device of the grant an OpenCL device is, what of it the program sees, and where a context lies.
 *
 * A program sees the devices of its grant alone. A part of a device (clCreateSubDevices) is charged as the whole one. A
 * buffer of a context with several devices may lie on each of them: it is charged on each.
 */
#pragma once

#include "core/face.h"
#include "opencl/types.h"

#include <stdbool.h>
#include <stdint.h>

/* The grant's index of a device. False: not granted, or the driver does not say. */
bool devices_find(cl_device_id device, unsigned int *ret_device);

/* The devices of the grant on which a context lies, one bit each; 0: none. */
uint32_t devices_of_context(cl_context context);
/* The context is new. */
void devices_note(cl_context context, cl_uint count, const cl_device_id *devices);

/* Memory of the program itself is the device's as well: nothing is taken for it. Of all devices of the mask. */
bool devices_unified(uint32_t mask);

/* What the core calls the context of a queue on this device of the grant, and back. */
face_context devices_place(unsigned int device);
bool devices_placed(face_context context, unsigned int *ret_device);

/* In the child of fork(). */
void devices_forget(void);

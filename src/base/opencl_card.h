/*
 * opencl_card.h: identifies the card of an OpenCL device: the UUID that meted and a program's layer use for it.
 *
 * If the device returns a UUID (cl_khr_device_uuid; NVIDIA's driver returns the one of CUDA), that is used. Otherwise
 * the UUID is made from the device's name, its vendor, and its place among the devices of the same name in its
 * platform. METE_OPENCL_CARD=GPU-... replaces the UUID that is made for the first device of a name: for an operator
 * who knows that two APIs name one card differently.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPENCL_CARD_DEVICES 64u

/* clGetDeviceInfo() and clGetDeviceIDs(), with their handles as plain pointers. */
struct opencl_ask {
	int (*device_info)(void *device, unsigned int what, size_t size, void *value, size_t *ret_size);
	int (*device_ids)(void *platform, uint64_t type, unsigned int most, void **ids, unsigned int *ret_count);
};

/* True if METE_OPENCL_CARD is set, but is not "GPU-" with a UUID. */
bool opencl_card_is_misnamed(void);

/* Returns the UUID of a device, or of the device of which it is a part. 0, or -1: the driver does not say. */
int opencl_card_uuid(const struct opencl_ask *ask, void *device, uint8_t ret_uuid[16]);

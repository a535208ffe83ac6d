/*
 * opencl_card.h: which card an OpenCL device is: the same for meted, which looks for devices, and for a program's
 * layer.
 *
 * A device that tells its UUID (cl_khr_device_uuid; on NVIDIA's driver the one that CUDA tells) is that card. One that
 * does not is named by what it is called, its vendor, and its place among those of its platform that are called the
 * same. METE_OPENCL_CARD=GPU-... says that the first device of that sort is the card with this UUID: where the operator
 * knows that two APIs name one card differently.
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

/* METE_OPENCL_CARD is set, and is no "GPU-" with a UUID: it names no card. */
bool opencl_card_is_misnamed(void);

/* Of a device, or of the device that it is a part of. 0, or -1: the driver does not say. */
int opencl_card_uuid(const struct opencl_ask *ask, void *device, uint8_t ret_uuid[16]);

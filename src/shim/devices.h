/*
 * devices.h: which devices the program sees, and their indices in the grant.
 *
 * The numberings and the table are those of core/ordinals.h: the driver's CUdevice belongs to shim_real, the program's
 * to shim_table. If every visible device is in the grant, the two are equal, and the calls of devices.c are passed
 * through.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>

/*
 * Called after the driver's cuInit and account_attach(). Value: the number of devices that the program sees, or -1: it
 * cannot be determined.
 */
int devices_match(void);
/* True if the program sees all devices that the driver shows. */
bool devices_same(void);

/* The grant's index of a driver's device. False: it is not in the grant. */
bool devices_find(CUdevice real, unsigned int *ret_device);
int devices_seen_count(void);
/* The driver's device with this index in the grant. False: not visible. */
bool devices_real(unsigned int device, CUdevice *ret_real);

/*
 * Converts the program's number to the driver's; a number that the program cannot know becomes one that the driver
 * refuses.
 */
CUdevice devices_in(CUdevice seen);
/*
 * Converts the driver's number to the program's. CU_DEVICE_INVALID and other negative numbers are unchanged; a hidden
 * device becomes CU_DEVICE_INVALID.
 */
CUdevice devices_out(CUdevice real);

/* The same for a device that a call with the result `r` has written. */
static inline void devices_tell(CUresult r, CUdevice *device)
{
	if (r == CUDA_SUCCESS && device)
		*device = devices_out(*device);
}

/*
 * devices.h: which devices the program sees, and which device of the grant each is.
 *
 * The numberings and the table are those of core/ordinals.h: the driver's CUdevice is one of shim_real, the program's
 * one of shim_table. When every visible device is in the grant both are the same, and the calls of devices.c are passed
 * through.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>

/* After the driver's cuInit and account_attach(). The number of devices that the program sees, or -1: cannot be told.
 */
int devices_match(void);
/* The program sees all that the driver shows. */
bool devices_same(void);

/* The grant's index of a device of the driver. False: it is not in the grant. */
bool devices_find(CUdevice real, unsigned int *ret_device);
int devices_seen_count(void);
/* The driver's device with this index in the grant. False: not visible. */
bool devices_real(unsigned int device, CUdevice *ret_real);

/* What the program calls it -> what the driver calls it; a number that the program cannot know becomes one that the
 * driver refuses. */
CUdevice devices_in(CUdevice seen);
/* The driver's -> the program's; CU_DEVICE_INVALID and other negatives as they are; a device that is not shown becomes
 * CU_DEVICE_INVALID. */
CUdevice devices_out(CUdevice real);

/* The same for what a call that answered `r` wrote. */
static inline void devices_tell(CUresult r, CUdevice *device)
{
	if (r == CUDA_SUCCESS && device)
		*device = devices_out(*device);
}

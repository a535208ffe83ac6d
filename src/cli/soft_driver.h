/* soft_driver.h: opens the software device's driver in mete itself. */
#pragma once

#include "client/fault.h"
#include "cuda_types.h"

#include <stddef.h>

struct soft_driver {
	CUresult (*init)(unsigned int);
	CUresult (*count)(int *);
	CUresult (*name)(char *, int, CUdevice);
	CUresult (*uuid)(CUuuid *, CUdevice);
	CUresult (*total)(size_t *, CUdevice);
	CUresult (*attribute)(int *, CUdevice_attribute, CUdevice);
	CUresult (*table)(const void **, const CUuuid *);
};

/*
 * Opens and initialises it. Value: 0, or -errno with the fault; an empty fault: the device itself has reported an error
 * in its configuration. *ret_init: CUDA_SUCCESS, or CUDA_ERROR_NO_DEVICE, which is not an error here.
 */
int soft_driver_open(struct soft_driver *ret, int *ret_init, struct fault *f);

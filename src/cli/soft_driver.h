/* soft_driver.h: the software device's driver, opened by mete itself. */
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
 * Opens and initialises it. Value: 0, or -errno with the fault; an empty one: the device itself has said what is wrong
 * with its configuration. *ret_init: CUDA_SUCCESS, or CUDA_ERROR_NO_DEVICE, which is none.
 */
int soft_driver_open(struct soft_driver *ret, int *ret_init, struct fault *f);

/*
 * soft_fault.h: how an error of a software device is brought about from outside, through cuGetExportTable() of its
 * driver with SOFT_FAULT_ID: for tests, and for trying out what meted does about it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* clang-format off */
#define SOFT_FAULT_ID { 'm', 'e', 't', 'e', 's', 'o', 'f', 't', 'f', 'a', 'u', 'l', 't', 0, 0, 1 }
/* clang-format on */

struct soft_fault_table {
	size_t bytes; /* of this struct */
	/*
	 * The device reports the error `xid`, as its own or, with a pid, as that process's: then the process's contexts
	 * on the device fail, as after a fault of a kernel. A CUresult; CUDA_ERROR_INVALID_VALUE: no such process has a
	 * context there.
	 */
	int (*report)(int device, uint32_t xid, int32_t pid);
	/* The device is lost, or is there again. A CUresult. */
	int (*lose)(int device, int lost);
	/* Value: whether it is lost. */
	int (*lost)(int device);
};

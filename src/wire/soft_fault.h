/*
 * soft_fault.h: causes an error of a software device from outside, through cuGetExportTable() of its driver with
 * SOFT_FAULT_ID: for tests, and to try out meted's reaction.
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
	 * Makes the device report the error `xid`: as its own, or as that of the process `pid`, whose contexts on the
	 * device then fail as after a fault of a kernel. Value: a CUresult; CUDA_ERROR_INVALID_VALUE: no such process
	 * has a context there.
	 */
	int (*report)(int device, uint32_t xid, int32_t pid);
	/* Makes the device lost, or available again. Value: a CUresult. */
	int (*lose)(int device, int lost);
	/* Value: true if it is lost. */
	int (*lost)(int device);
};

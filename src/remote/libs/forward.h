/*
 * forward.h: the definitions that both halves of a forwarded library share, beside the order of the arguments, which is
 * generated.
 *
 * Each library has its own number for its requests. A request begins with the call's number in the library's table and
 * the id of the object that it names, or 0. Then come the arguments, one word each. A scalar is preceded by its place,
 * and an array by whether there is one. The reply's result is 0, or FORWARD_STATUS and the library's status. A failed
 * call without an answer becomes an error of the driver's API, returned by a later call of the driver.
 */
#pragma once

#include "ring/call.h"

#include <stddef.h>
#include <stdint.h>

enum forward_number {
	FORWARD_NUMBER_CUBLAS = CALL_LIBRARY, /* and cuBLASLt */
	FORWARD_NUMBER_CURAND,
	FORWARD_NUMBER_CUFFT,
	FORWARD_NUMBER_CUSOLVER,
	FORWARD_NUMBER_CUSPARSE,
	FORWARD_NUMBER_CUDNN,
	FORWARD_NUMBER_END
};

#define FORWARD_STATUS 1000

enum forward_place {
	FORWARD_IN_HOST = 1,   /* the value follows, or has its space in the reply */
	FORWARD_IN_DEVICE = 2, /* an address follows */
};

enum forward_direction {
	FORWARD_IN = 1 << 0,
	FORWARD_OUT = 1 << 1,
};

#define FORWARD_SCALAR_BYTES 16u
#define FORWARD_LIST_MOST 64u /* elements of an array in host memory */

/* A library's statuses for errors of the remote path. Success is 0 in all of them. */
struct forward_statuses {
	int not_initialized, alloc_failed, invalid, failed, internal, not_supported;
};

/* The size of an element, by its number in every library's cudaDataType; 0: not a type of scalars. */
static inline size_t forward_type_bytes(unsigned int type)
{
	static const uint8_t bytes[] = {
		[0] = 4, [1] = 8, [2] = 2, [4] = 8, [5] = 16, [6] = 4, [10] = 4, [14] = 2, [15] = 4, [24] = 8
	};

	return type < sizeof(bytes) ? bytes[type] : 0;
}

/*
 * forward.h: what both halves of a forwarded library agree on, beside the order of the arguments, which is generated.
 *
 * Each library has a number of its own for its requests. A request begins with the call's number in the library's table
 * and the id of the object that it is about, or 0. Then come the arguments, one word each but for scalars, which say
 * first where they stand, and arrays, which say first whether there is one. The reply's result is 0, or FORWARD_STATUS
 * and the library's status; of a call that nobody waits for it is an error of the driver's API, as it comes with one of
 * its calls.
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
	FORWARD_IN_HOST = 1,   /* the value follows, or has its room in the reply */
	FORWARD_IN_DEVICE = 2, /* an address follows */
};

enum forward_direction {
	FORWARD_IN = 1 << 0,
	FORWARD_OUT = 1 << 1,
};

#define FORWARD_SCALAR_BYTES 16u
#define FORWARD_LIST_MOST 64u /* elements of an array in the program's memory */

/* A library's words for what goes wrong on the way. Success is 0 in all of them. */
struct forward_statuses {
	int not_initialized, alloc_failed, invalid, failed, internal, not_supported;
};

/* The bytes of an element, by its number in every library's cudaDataType; 0: no type that has scalars. */
static inline size_t forward_type_bytes(unsigned int type)
{
	static const uint8_t bytes[] = {
		[0] = 4, [1] = 8, [2] = 2, [4] = 8, [5] = 16, [6] = 4, [10] = 4, [14] = 2, [15] = 4, [24] = 8
	};

	return type < sizeof(bytes) ? bytes[type] : 0;
}

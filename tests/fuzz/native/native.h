/* native.h: what the parts of native_fuzz.c share: the kernels of each library, and what their parameters are made of.
 */
#pragma once

#include "libs/common/device.h"

#include <string.h>

/* The numbers from which sound parameters are made. */
struct plain {
	int64_t m, n, k, ld; /* 1 to 24; ld 24 or more */
	unsigned int type, choice, more;
};

/* Of a field: where it is, and how long. */
struct field {
	uint16_t offset;
	uint8_t bytes;
};

#define F(type, member)                                                                                                \
	{                                                                                                              \
		offsetof(type, member), sizeof(((type *)0)->member)                                                    \
	}

struct native_kernel {
	void (*make)(void *to, const struct plain *p);
	soft_native_function run;
	const struct field *fields;
	unsigned int count;
};

#define NATIVE_KERNEL(name, run)                                                                                       \
	const struct native_kernel native_##name = { make_##name, run, name##_fields,                                  \
						     sizeof(name##_fields) / sizeof(*name##_fields) };

extern const struct native_kernel native_product, native_routine, native_transform, native_fft, native_rand,
	native_solver, native_sparse, native_dnn, native_conv, native_pool, native_rnn;

/* In one of the pieces of the device's memory. */
uint64_t address(unsigned int which, int64_t from_begin);

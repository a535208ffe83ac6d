/*
 * extensions.h: calls that are not in the loader's table: the program asks a driver for their address by name, and
 * would go past a layer. It gets our body instead, where the driver has the call.
 */
#pragma once

#include "opencl_face.h"

struct extension {
	const char *name;
	void *body;
};

/* Generated, by enum opencl_call. */
extern const struct extension extensions[OPENCL_EXTENSIONS];

/*
 * The driver's function for a call on one of its objects. Every object of a driver begins with the address of its
 * dispatch table (cl_khr_icd), which tells drivers apart. NULL: nobody has asked for it.
 */
void *extensions_real(enum opencl_call call, const void *object);

/*
 * extensions.h: calls that are not in the loader's table. A program asks a driver for their address by name, and the
 * call would bypass the layer. The program gets the address of mete's function instead, if the driver has the call.
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
 * dispatch table (cl_khr_icd), which identifies the driver. NULL: no program has asked for the call.
 */
void *extensions_real(enum opencl_call call, const void *object);

/*
 * layer.h: how OpenCL's face comes to life: as a layer of the ICD loader (OPENCL_LAYERS), which puts our table before
 * that of the drivers. Without METE_SOCKET the loader gets the drivers' own table back, and nothing costs anything.
 *
 * A loader without layers, and a program that is linked with a driver's library itself, do not come here:
 * docs/protection.md.
 */
#pragma once

#include "core/faces.h"
#include "opencl/types.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The drivers' functions, or the next layer's. */
extern struct _cl_icd_dispatch opencl_real;

/* Generated: our bodies into the table. */
void layer_fill(struct _cl_icd_dispatch *table);

extern _Atomic bool layer_metered;

/*
 * Attaches to meted if that has not been done. From FACES_REFUSED on nothing may be made now; the log says why, and a
 * later call tries again.
 */
enum faces_state layer_start(void);

static inline bool layer_is_metered(void)
{
	/* Acquire: pairs with the release in layer_start(); accounts are filled before. */
	return atomic_load_explicit(&layer_metered, memory_order_acquire);
}

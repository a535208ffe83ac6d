/*
 * layer.h: how OpenCL's face comes to life: as a layer of the ICD loader (OPENCL_LAYERS), which puts our table before
 * that of the drivers. Without METE_SOCKET the loader gets the drivers' own table back, and nothing costs anything.
 *
 * A loader without layers does not ask: there the face stands in front of the loader (front.h). A program that is
 * linked with a driver's library itself does not come here: docs/protection.md.
 */
#pragma once

#include "core/faces.h"
#include "opencl/types.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The drivers' functions, or the next layer's. */
extern struct _cl_icd_dispatch opencl_real;

/* What programs reach through the front, which has asked the loader for its platforms: the loader's own table where it
 * took the layer then. */
const struct _cl_icd_dispatch *layer_front(const struct _cl_icd_dispatch *loader);

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

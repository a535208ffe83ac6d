/*
 * layer.h: starts OpenCL's face as a layer of the ICD loader (OPENCL_LAYERS). The loader calls mete's table, which
 * calls that of the drivers. Without METE_SOCKET the loader gets the drivers' own table back, at no cost per call.
 *
 * With a loader that does not support layers, the face replaces the loader (front.h). A program that is linked with a
 * driver's library directly is not metered: docs/protection.md.
 */
#pragma once

#include "core/faces.h"
#include "opencl/types.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The drivers' functions, or the next layer's. */
extern struct _cl_icd_dispatch opencl_real;

/*
 * Returns the table that the front uses after it has asked the loader for its platforms: the loader's own if that has
 * loaded the layer.
 */
const struct _cl_icd_dispatch *layer_front(const struct _cl_icd_dispatch *loader);

/* Generated: writes the addresses of mete's functions into the table. */
void layer_fill(struct _cl_icd_dispatch *table);

extern _Atomic bool layer_metered;

/*
 * Attaches to meted unless the process is attached. With FACES_REFUSED and FACES_SHUT_OUT calls are refused now; the
 * log says why, and a later call tries again.
 */
enum faces_state layer_start(void);

static inline bool layer_is_metered(void)
{
	/* Acquire: pairs with the release in layer_start(); accounts are filled before. */
	return atomic_load_explicit(&layer_metered, memory_order_acquire);
}

/* kfd.h: finds the render node of each part of a card of AMD, from the kernel's driver (amdkfd). */
#pragma once

#include <stdbool.h>

struct kfd_place {
	unsigned int domain, bus, device, function; /* function: the number of the part, as HIP reports it */
};

/* The number N of renderDN, for a part without an address of its own on the bus. METE_KFD_DIR replaces the folder. */
bool kfd_render_minor(const struct kfd_place *place, unsigned int *ret);

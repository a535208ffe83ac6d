/* kfd.h: where the kernel's driver of AMD's cards (amdkfd) has the render node of each part of a card. */
#pragma once

#include <stdbool.h>

struct kfd_place {
	unsigned int domain, bus, device, function; /* function: the number of the part, as HIP tells it */
};

/* The number of renderD..., for a part that has no place of its own on the bus. METE_KFD_DIR: in place of the folder.
 */
bool kfd_render_minor(const struct kfd_place *place, unsigned int *ret);

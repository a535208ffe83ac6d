/* chain.h: the pNext chains of Vulkan's structures. */
#pragma once

#include "vulkan/vulkan_types.h"

#include <stddef.h>

/* Returns the structure of the type in the chain that begins at `first`; NULL: none. */
static inline const void *chain_find(const void *first, VkStructureType type)
{
	for (const VkBaseInStructure *s = first; s; s = s->pNext)
		if (s->sType == type)
			return s;
	return NULL;
}

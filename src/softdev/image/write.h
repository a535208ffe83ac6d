/* write.h: an image of PTX texts: the same container that image.h reads, for what a linker of ours makes. */
#pragma once

#include "softdev/image/image.h"

#define IMAGE_REGISTERS_PRAGMA "\n.pragma \"mete registers %u\";\n" /* what the engine reads: ptx/ptx.h */

/*
 * A fat binary with an entry per text, for devices from `arch` (90) on. Entries are named "mete linked 0" and so on:
 * openly not a vendor's. With `max_registers` (0: none) the texts end in the pragma that limits what kernels are said
 * to take. Allocated; NULL: no memory.
 */
void *image_write(const struct image_text *text, size_t count, uint32_t arch, uint32_t max_registers,
		  size_t *ret_bytes);

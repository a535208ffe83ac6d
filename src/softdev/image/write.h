/* write.h: an image of PTX texts: the same container that image.h reads, for what a linker of ours makes. */
#pragma once

#include "softdev/image/image.h"

/*
 * A fat binary with an entry per text, for devices from `arch` (90) on. Entries are named "mete linked 0" and so on:
 * openly not a vendor's. Allocated; NULL: no memory.
 */
void *image_write(const struct image_text *text, size_t count, uint32_t arch, size_t *ret_bytes);

/*
 * image.h: the device memory of a module image's variables, as far as the image states it uncompressed.
 *
 * Understands PTX text, ELF, and fat binaries of those (both wrappers). A compressed member states nothing. The
 * caller's image has no length other than the one in its format.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_need {
	bool known;	      /* false: a member is compressed, or the format is not known */
	uint64_t least_bytes; /* the minimum over the members that the driver may choose: plain sums */
	uint64_t most_units;  /* each variable rounded up to a unit, as the software device allocates them */
	uint64_t least_units;
};

void image_read(const void *image, struct image_need *ret);

/* Called for each variable that kernels can write, with its name (without a NUL). */
typedef void (*image_variable)(void *arg, const char *name, size_t length);

/* Lists those of PTX text. False: it is not PTX, or not all of them are understood. */
bool image_ptx_variables(const char *text, image_variable found, void *arg);

/*
 * image.h: how much device memory the variables of a module image take, as far as the image says so in the clear.
 *
 * PTX text, ELF, and fat binaries of those (both wrappers). A compressed member says nothing. The caller's image has no
 * length of its own besides what its format says.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_need {
	bool known;	      /* false: a member is compressed, or the image is of no known kind */
	uint64_t least_bytes; /* over the members that the driver may choose from: plain sums */
	uint64_t most_units;  /* each variable rounded up to a unit, as the software device takes them */
	uint64_t least_units;
};

void image_read(const void *image, struct image_need *ret);

/* Told of each variable that kernels can write, by its name (without a NUL). */
typedef void (*image_variable)(void *arg, const char *name, size_t length);

/* Those of PTX text. False: it is none, or not all of them are understood. */
bool image_ptx_variables(const char *text, image_variable found, void *arg);

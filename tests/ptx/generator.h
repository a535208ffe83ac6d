/* generator.h: random PTX kernels, see generator.c. */
#pragma once

#include "catalogue.h"

/* What every kernel gets: "generated(out, in, own, cells, k0, k1, st)". */
#define GENERATED_REGISTERS 28u	   /* 8-byte places per thread in `out` and `in` */
#define GENERATED_TRACES 12u	   /* more places in `out` */
#define GENERATED_OWN_BYTES 128u   /* per thread in `own` */
#define GENERATED_CELL_BYTES 1024u /* atomics of all threads */
#define GENERATED_PARAM_BYTES 72u

struct generated {
	char **line; /* "//{" and "//}" enclose what can be left out together */
	size_t lines, room;
	uint32_t grid, block;
};

/* Instructions that kernels are made of: exact ones that the reference knows. */
struct catalogue generator_catalogue(void);
struct generated generate(const struct catalogue *c, uint64_t seed);
void generated_free(struct generated *g);

/*
 * shapes.h: vendors' libraries that have the calls of CUDA or HIP, most under other names (api/shapes/): which there
 * are, where they lie, and which nodes their cards have. The name of a shape is that of its devices' kind and of an
 * option.
 */
#pragma once

#include "model/device.h"

#include <stdbool.h>
#include <stddef.h>

#define SHAPES_MAX 8u

struct shape_row {
	const char *name;    /* "musa" */
	const char *vendor;  /* "Moore Threads" */
	const char *api;     /* "cuda" or "hip" */
	const char *prefix;  /* of its calls' names: "mu" */
	bool own_names;	     /* they are the API's own: its face serves */
	const char *setting; /* the variable that names the library behind the face */
	const char *remedy;
	const char *places[12];	   /* of the library, the likeliest first; without a folder: the loader's to find */
	const char *management[4]; /* of its NVML, if any */
	const char *nodes[4];	   /* patterns; the first tells that such a card is there */
	unsigned int pci_vendor;   /* whose nodes of /dev/dri are the vendor's; 0: it has none there */
};

extern const struct shape_row shape_rows[];
extern const size_t shape_row_count;

/* NULL: no shape has this name. */
const struct shape_row *shape_named(const char *name);

/* The kind of a shape's devices. */
enum device_kind shape_kind(const struct shape_row *row);

/*
 * shape.h: the names that a face exports, and the vendor's library that it replaces.
 *
 * Some vendors' libraries have the calls of CUDA or HIP under other names (api/shapes/). Their faces share the code of
 * the API's face; only the exported names, and the names by which the driver's functions are found, differ. Each face
 * has one struct shape: CUDA's and HIP's are written by hand, the others are generated. Each face compiles shape.c in.
 */
#pragma once

#include "core/behind.h"

#include <stdbool.h>
#include <stddef.h>

#define SHAPE_NAME_BYTES 128u

/* Another name of a call, for a library that lacks the first. */
struct shape_alias {
	const char *name, *other;
};

struct shape {
	const char *library;		   /* the face's file, for the log */
	const char *plain, *prefix;	   /* how names begin in the API, and in this library */
	int first;			   /* calls that were replaced before this version of the API do not exist */
	const char *visible;		   /* the environment variable that hides devices from programs */
	const struct behind *behind;	   /* NULL: the face finds its library itself */
	void *init;			   /* an export of the face, by which it recognises itself */
	const struct shape_alias *aliases; /* ended by a NULL name; NULL: none */
	const char *const *refused;	   /* calls of the library that programs do not get; likewise */
	const char *const *passed; /* exports outside the API, which jump to the library; likewise */
	void **passed_slots;
	void *missing; /* the target of a name that the library lacks */
};

extern const struct shape shape __attribute__((visibility("hidden")));

/* Finds the driver's function for a call, by its name in this library. NULL: none, or programs do not get it. */
void *shape_find(void *(*find)(void *arg, const char *name), void *arg, const char *name);

/* True if programs do not get the call of this name. */
bool shape_refuses(const char *name);

/* Returns the call's name in the API ("cuMemAlloc" for "muMemAlloc"): `text`, or `name` if it is none of ours. */
const char *shape_plain(const char *name, char text[SHAPE_NAME_BYTES]);

/* Fills passed_slots; call once, when the library is known. `find` NULL: there is no library. */
void shape_pass(void *(*find)(void *arg, const char *name), void *arg);

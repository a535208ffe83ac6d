/*
 * shape.h: the names under which a face is reached, and the library behind it.
 *
 * Some vendors' libraries have the calls of CUDA or HIP under other names (api/shapes/). The bodies are those of the
 * API's face; only its exports, and the names by which it finds the driver's functions, are other ones. Each face has
 * one struct shape: CUDA's and HIP's are written by hand, the others are generated. A face compiles shape.c in.
 */
#pragma once

#include "core/behind.h"

#include <stdbool.h>
#include <stddef.h>

#define SHAPE_NAME_BYTES 128u

/* A library that lacks the call under this name may have it under the other one. */
struct shape_alias {
	const char *name, *other;
};

struct shape {
	const char *library;		   /* the face's file, for the log */
	const char *plain, *prefix;	   /* how names begin: in the API, and here */
	int first;			   /* the API's version below which calls that got successors are not there */
	const char *visible;		   /* the variable that hides devices from programs */
	const struct behind *behind;	   /* NULL: the face looks in its own way */
	void *init;			   /* the face's own export, by which it knows itself */
	const struct shape_alias *aliases; /* ended by a NULL; or NULL: none */
	const char *const *refused;	   /* what the library has and programs do not get; likewise */
	const char *const *passed; /* exports that are no calls of the API: they lead to the library; likewise */
	void **passed_slots;
	void *missing; /* what a name leads to that the library lacks */
};

extern const struct shape shape __attribute__((visibility("hidden")));

/* The driver's function for a call, by its name here. NULL: it has none, or programs do not get it. */
void *shape_find(void *(*find)(void *arg, const char *name), void *arg, const char *name);

/* Programs do not get what has this name. */
bool shape_refuses(const char *name);

/* The name in the API: "muMemAlloc" is "cuMemAlloc". Value: `name` itself where it is none of ours, or `text`. */
const char *shape_plain(const char *name, char text[SHAPE_NAME_BYTES]);

/* Once, when the library is known. `find` NULL: there is none. */
void shape_pass(void *(*find)(void *arg, const char *name), void *arg);

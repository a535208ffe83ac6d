/*
 * symbols.h: the variables of a module that kernels can write, as its image names them: those of PTX, and objects in
 * the sections .nv.global and .nv.global.init of machine code, also of what is packed in a fat binary.
 *
 * An image is its maker's word: nothing outside of it is read, and what it unpacks to is bounded.
 */
#pragma once

#include "remote/image.h"

#define SYMBOL_NAME_MOST 4096u /* with its NUL */

struct symbol {
	const char *name;
	uint64_t bytes;		/* 0: the image does not say, or it takes none */
	uint64_t at;		/* in its section */
	uint32_t section;	/* 0: nobody knows where it comes to lie beside others */
	bool shared;		/* others of this entry have its name, too: variables of files that were linked */
	const uint8_t *initial; /* what it holds in the beginning; NULL: zeroes */
};

/* One entry of the image: PTX or machine code for one target. */
struct symbols {
	struct symbol *symbol; /* sorted by name */
	size_t count, room;
	uint64_t name_bytes; /* of all names, with their NULs */
	unsigned int member; /* of several that are linked together, from 0: of each a driver takes one entry */
	bool complete;	     /* all of them are here */
};

enum symbols_outcome {
	SYMBOLS_ALL,
	SYMBOLS_UNKNOWN, /* of an entry that could be the one taken nobody knows the variables */
	SYMBOLS_HEAP,	 /* kernels of a packed entry take memory by themselves */
};

/* What is told lives until it returns. */
typedef void (*symbols_found)(void *arg, const struct symbols *s);

enum symbols_outcome symbols_read(const struct image_view *v, symbols_found found, void *arg);

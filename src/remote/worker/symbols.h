/*
 * symbols.h: the variables of a module that kernels can write, according to its image: those of PTX, and objects in the
 * sections .nv.global and .nv.global.init of machine code, also in packed entries of a fat binary.
 *
 * An image is not trusted: nothing outside it is read, and its unpacked size is bounded.
 */
#pragma once

#include "remote/image.h"

#define SYMBOL_NAME_MOST 4096u /* including its NUL */

struct symbol {
	const char *name;
	uint64_t bytes;		/* 0: the image does not give a size, or it is 0 */
	uint64_t at;		/* offset in its section */
	uint32_t section;	/* 0: its location relative to others is not known */
	bool shared;		/* others of this entry have the same name: variables of files that were linked */
	const uint8_t *initial; /* initial contents; NULL: zeroes */
};

/* One entry of the image: PTX or machine code for one target. */
struct symbols {
	struct symbol *symbol; /* sorted by name */
	size_t count, room;
	uint64_t name_bytes; /* of all names, with their NULs */
	unsigned int member; /* for entries that are linked together, the index of the member, from 0: a driver takes
			      * one entry of each */
	bool complete;	     /* all variables are listed */
};

enum symbols_outcome {
	SYMBOLS_ALL,
	SYMBOLS_UNKNOWN, /* the variables of an entry that may be chosen are not known */
	SYMBOLS_HEAP,	 /* kernels of a packed entry allocate memory */
};

/* The argument is valid until the function returns. */
typedef void (*symbols_found)(void *arg, const struct symbols *s);

enum symbols_outcome symbols_read(const struct image_view *v, symbols_found found, void *arg);

/*
 * symbols.h: finds the functions that a driver exports by the hash table of its ELF file.
 *
 * dlsym() takes a quarter of a microsecond per name; with more than six hundred names that is half of the cost of
 * attaching a process. Names that are not found here (no GNU hash table, an indirect function, a name of a library that
 * the driver needs) are looked up by dlsym().
 */
#pragma once

#include <stdint.h>

struct symbols {
	void *handle; /* of dlopen() */
	uintptr_t base;
	const uint32_t *hash; /* DT_GNU_HASH; NULL: only dlsym() */
	const void *table; /* DT_SYMTAB */
	const char *names; /* DT_STRTAB */
};

void symbols_open(struct symbols *s, void *handle);
/* NULL: the driver does not export it. */
void *symbols_find(const struct symbols *s, const char *name);

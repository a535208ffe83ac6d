/*
 * symbols.h: the functions that a driver exports, found by the hash table of its ELF file.
 *
 * dlsym() would do, at a quarter of a microsecond a name; with more than six hundred names that is half of what
 * attaching a process costs. What is not found here (no GNU hash table, an indirect function, a name of a library that
 * the driver needs) is asked of dlsym().
 */
#pragma once

#include <stdint.h>

struct symbols {
	void *handle; /* of dlopen() */
	uintptr_t base;
	const uint32_t *hash; /* DT_GNU_HASH; NULL: dlsym() alone */
	const void *table; /* DT_SYMTAB */
	const char *names; /* DT_STRTAB */
};

void symbols_open(struct symbols *s, void *handle);
/* NULL: the driver does not export it. */
void *symbols_find(const struct symbols *s, const char *name);

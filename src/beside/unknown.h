/*
 * unknown.h: calls of the vendor's that this release does not know, and that take memory or start work, as their names
 * say.
 *
 * A face exports what it meters and cannot see another call pass. But what a library of the process asks of the
 * vendor's is in its table of symbols, in which the linker finds it: these tables are read. A name that is looked up by
 * hand (dlsym) is in none.
 */
#pragma once

#include <stdbool.h>

/* Reads the tables of what is loaded, and reports each name once (core/attach.h). True: `mete run --strict` refuses. */
bool unknown_refused(void);

/*
 * unknown.h: finds calls of the vendor that this release does not know and whose names say that they allocate memory or
 * start work.
 *
 * A face exports only the calls that it meters, so it does not see other calls. But the calls that a library of the
 * process uses are in that library's symbol table, and these tables are read. A name that is looked up with dlsym() is
 * in none of them.
 */
#pragma once

#include <stdbool.h>

/* Reads the tables of all loaded libraries and reports each name once (core/attach.h). True: --strict refuses. */
bool unknown_refused(void);

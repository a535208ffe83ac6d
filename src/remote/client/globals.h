/* globals.h: variables of modules and libraries: each is requested once. */
#pragma once

#include "remote/client/functions.h"

void globals_free(struct global *first);
/*
 * A variable whose address the program has requested. `context`: an id, or 0 for a module's; `name` lives as long as
 * the code.
 */
struct global_known {
	uint64_t context, address, bytes;
	const char *name;
};
void globals_each(const struct code *code, void (*fn)(void *arg, const struct global_known *known), void *arg);

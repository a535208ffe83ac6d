/* globals.h: variables of modules and libraries: each is asked for once. */
#pragma once

#include "remote/client/functions.h"

void globals_free(struct global *first);
/* Each that the program has asked for. `context`: an id, or 0 of a module's; `name` lives as long as the code does. */
struct global_known {
	uint64_t context, address, bytes;
	const char *name;
};
void globals_each(const struct code *code, void (*fn)(void *arg, const struct global_known *known), void *arg);

/* globals.h: variables of modules and libraries: each is asked for once. */
#pragma once

#include "remote/client/functions.h"

void globals_free(struct global *first);

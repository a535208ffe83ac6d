/* tier.h: which tier enforces compute shares, as the user chooses it: --tier, else METE_TIER, else T2. */
#pragma once

#include "client/fault.h"

#include <stdbool.h>
#include <stddef.h>

#define TIER_LIBRARY "libmete-rm.so" /* in the shim's folder */

/* `word`: the option's value; NULL: not given. 0 or a negative errno. */
int tier_choose(const char *word, bool *ret_t3, struct fault *f);
/* T3's library is in the shim's folder. */
bool tier_installed(const char *shim_dir);
/*
 * What stands against T3 on this machine's driver, in a line; false: nothing that can be seen from here. What the
 * driver accepts shows only in the program.
 */
bool tier_doubt(char *text, size_t size);

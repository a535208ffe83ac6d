/* tier.h: the user's choice of the tier that enforces compute shares: --tier, else METE_TIER, else T2. */
#pragma once

#include "client/fault.h"

#include <stdbool.h>
#include <stddef.h>

#define TIER_LIBRARY "libmete-rm.so" /* in the shim's folder */

/* Chooses the tier. `word`: the option's value; NULL: not given. Returns 0 or a negative errno. */
int tier_choose(const char *word, bool *ret_t3, struct fault *f);
/* True if T3's library is in the shim's folder. */
bool tier_installed(const char *shim_dir);
/*
 * Writes a line with the obstacle to T3 on this machine's driver. False: no obstacle is visible here; whether the
 * driver accepts it shows only in the program.
 */
bool tier_doubt(char *text, size_t size);

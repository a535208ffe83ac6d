/* generate.h: what `mete cdi generate` writes, for those who compare. */
#pragma once

#include "client/fault.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * The CDI file of a kind (SPEC_DEVICE_KIND, SPEC_SHARE_KIND) as this machine and its named shares stand now; a new
 * reference. Asks meted. Value: 0, a negative errno or an enum control_outcome, with a fault.
 */
int generate_now(const char *kind, bool soft, json_t **ret, struct fault *f);

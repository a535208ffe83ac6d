/* generate.h: the output of `mete cdi generate`, for comparisons. */
#pragma once

#include "client/fault.h"

#include <jansson.h>
#include <stdbool.h>

/*
 * The CDI file of a kind (SPEC_DEVICE_KIND, SPEC_SHARE_KIND) for the current state of this machine and its named
 * shares; a new reference. Queries meted. Value: 0, a negative errno or an enum control_outcome, with a fault.
 */
int generate_now(const char *kind, bool soft, json_t **ret, struct fault *f);

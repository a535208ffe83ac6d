/* verbs.h: the verbs of containers: `mete cdi ...` and `mete oci`. */
#pragma once

#include "verb/verb.h"

extern const struct verb cdi_verbs[];

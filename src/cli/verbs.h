/* verbs.h: mete's own verbs, but for those of connectors. */
#pragma once

#include "verb/verb.h"

extern const struct verb verbs[];

/* usage.h: the table of wire/soft_usage.h. */
#pragma once

#include "cuda_soft.h"

/* NULL: another id. */
const void *usage_table(const CUuuid *id);

/* segment_time.h: what segment.c and segment_time.c have in common, and nobody else. */
#pragma once

#include "softdev/segment.h"

/* All contexts of the process at this place go. */
void segment_time_clear(struct segment_place *p, uint32_t place);

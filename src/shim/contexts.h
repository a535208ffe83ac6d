/* contexts.h: contexts take device memory themselves (measured), and take what was allocated in them along when they
 * go. */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* In the child of fork(). */
void contexts_reset(void);

/*
 * single.h: a few lanes of a group, one after the other.
 *
 * A gather of the host takes as long for one lane as for all. So a stretch of operations that compute and load at
 * scattered addresses has a second code: a loop over the lanes of the group, of which each goes through the whole
 * stretch with scalars. It is taken when the group is small. Nothing in a stretch writes to memory, so that the loop
 * can stop at an address that it does not know, and the code for vectors begins the stretch anew.
 */
#pragma once

#include "compile/plan.h"
#include "compile/value.h"

/* Makes an operation as vectors, and what is known behind it. */
typedef bool single_other(struct emit *e);

/* How many operations from e->at on, before `end`, are a stretch with a code of its own; 0: none. */
uint32_t single_count(const struct emit *e, uint32_t end);
/* Makes them; `live`: of each of them, and of the one behind. `other` makes one for vectors. */
void single_run(struct emit *e, uint32_t count, uint8_t *live, single_other *other);

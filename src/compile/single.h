/*
 * single.h: executes a few lanes of a group one after the other.
 *
 * A gather of the host takes as long for one lane as for all. A sequence of operations that compute and load at
 * scattered addresses therefore has a second version of code: a loop over the lanes of the group, each of which runs
 * the whole sequence with scalars. It is used if the group is small. No operation of a sequence writes to memory, so
 * the loop can stop at an unknown address, and the vector code then starts the sequence again.
 */
#pragma once

#include "compile/plan.h"
#include "compile/value.h"

/* Compiles an operation with vectors, and updates the known state. */
typedef bool single_other(struct emit *e);

/* The number of operations from e->at on, before `end`, that form such a sequence; 0: none. */
uint32_t single_count(const struct emit *e, uint32_t end);
/* Compiles them; `live`: for each of them, and for the one after. `other` compiles one with vectors. */
void single_run(struct emit *e, uint32_t count, uint8_t *live, single_other *other);

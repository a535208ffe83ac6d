/*
 * loop.h: loops whose lanes run one after the other.
 *
 * Lanes that leave a loop at different times, and load at scattered addresses meanwhile, gain nothing from running
 * together: each round costs the same until the last lane has left, and a gather takes as long for one lane as for
 * all. An innermost loop therefore has a second version of code, in which one lane after the other runs up to
 * COMPILE_ROUNDS rounds with scalars. What a lane writes to memory is written behind the last one, in the order in
 * which lanes together write it (loop_effect.c), so that none can tell in which order they ran. Behind the last lane
 * everything is as if they had run together: memory, registers, the lanes that wait at each exit and since when, the
 * numbers of instructions, lanes and pieces of memory (loop_log.c, softdev/ptx/rounds.h).
 *
 * A loop may write to the lane's own local memory at once: what was there is saved in front of the first lane, and put
 * back where the loop is given up. A loop that has loops inside runs like this too, as one (loop_find_nest); to other
 * memory it may write outside of those.
 */
#pragma once

#include "compile/value.h"

/* At the start of block b, of all lanes or of a group: where such a loop begins there, makes its code. The builder goes
 * on where the block is executed with vectors. */
void loop_begin(struct emit *e, uint32_t b);

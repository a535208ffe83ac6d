/*
 * rounds.h: the memory that a warp touches in a loop whose lanes have run one after the other.
 *
 * The interpreter counts the pieces of memory of each access by the lanes that make it together: those at one place
 * touch one piece, those in a row as many as it covers (find_access() in mem.h). Compiled code counts one for each
 * lane, and then asks here about the rounds of the loop in which lanes may have been at one place or in a row.
 */
#pragma once

#include "softdev/ptx/compile.h"

/* See compiled_env. */
int64_t rounds_alike(const uint64_t *at, uint32_t lanes, uint32_t bytes);

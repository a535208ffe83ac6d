/*
 * strip.h: arithmetic on many registers, for a few of the lanes at a time.
 *
 * The host has registers for 16 or 32 vectors, and one of a function's takes two, of pairs of f32 or f64 four. A
 * product of matrices with 32 sums in each thread therefore reads and writes every sum in memory. A sequence of
 * operations that only compute is instead done for as many lanes as one vector of the host holds, from its begin to its
 * end, and then for the next ones.
 */
#pragma once

#include "compile/plan.h"
#include "compile/value.h"

/* The number of operations from e->at on, before `end`, that form such a sequence; 0: none. */
uint32_t strip_count(struct emit *e, uint32_t end);
/* Compiles them, and goes on behind them. False: no memory, and nothing was done. */
bool strip_run(struct emit *e, uint32_t count);

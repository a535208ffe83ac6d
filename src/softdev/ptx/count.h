/*
 * count.h: counts the forms of instructions that a launch executes. Nothing here is called unless a launch requests it.
 */
#pragma once

#include "softdev/ptx/engine.h"

/* Adds `n` operations from `o` on, and what they execute under a guard, to the launch's counters. */
void count_operations(const struct warp *w, const struct op *o, uint32_t n);
/* The row whose function executes an operation, guarded or not, by its number (isa_row()); UINT32_MAX: none. */
uint32_t count_row(const struct isa *isa, const struct op *o);

/*
 * priority.h: while no turns are given, between one meted and the next, the thread in charge runs before all others,
 * where that is permitted, because other programs may occupy every core.
 */
#pragma once

#include <jansson.h>

/* The calling thread goes first from now on. Value: how it ran before, for the handover; null: it stays as it is. */
json_t *priority_raise(void);
/* It runs as it did before; `before` may be NULL. */
void priority_restore(const json_t *before);

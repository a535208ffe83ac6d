/*
 * priority.h: while no turns are given, between one meted and the next, the thread in charge runs before all others,
 * where that is permitted, because other programs may occupy every core.
 */
#pragma once

#include <jansson.h>

/*
 * Raises the calling thread above all others. Value: its previous scheduling, for the handover; null: it is unchanged.
 */
json_t *priority_raise(void);
/* Restores the previous scheduling; `before` may be NULL. */
void priority_restore(const json_t *before);

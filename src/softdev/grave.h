/*
 * grave.h: memory that has been freed, remembered while the checker is on.
 *
 * A freed range gives back its charge and its contents at once, but its addresses are kept for a while: who still uses
 * them is caught, and told what was there. The oldest go first. The caller holds memory_mutex.
 */
#pragma once

#include "softdev/memory.h"

/* Takes the range over; its addresses stay in use by it, and `freed` marks it. */
void grave_bury_locked(struct range *r);
/* Everything goes: address space is needed. Value: whether there was anything. */
bool grave_empty_locked(void);

/*
 * grave.h: freed memory that is remembered while the checker is on.
 *
 * A freed range returns its charge and its contents at once, but its addresses are kept for a while, so that a later
 * access is detected and described. The oldest ranges are dropped first. The caller holds memory_mutex.
 */
#pragma once

#include "softdev/memory.h"

/* Takes the range over; its addresses stay in use, and `freed` marks it. */
void grave_bury_locked(struct range *r);
/* Drops everything because address space is needed. Value: true if there was anything. */
bool grave_empty_locked(void);

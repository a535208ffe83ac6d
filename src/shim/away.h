/*
 * away.h: what a program does when meted is gone: it waits for a while, and then paces itself by what its tenant is
 * guaranteed, until meted is back. So nothing stops, and nobody gets everything.
 *
 * The pace is a bucket of time: filled at the guarantee's rate, emptied by what the device was measured to be busy with
 * this process's work. Processes of one tenant do not know of each other then: each keeps to the tenant's guarantee.
 */
#pragma once

#include "shim/pace.h"

/* Is meted there? Asked at most every few milliseconds; connects again when it can. No lock is held. */
void away_look(struct pace *p);

/* meted is gone for long enough: this process paces itself. */
bool away_is(const struct pace *p);
/* ... and may launch now. */
bool away_open(struct pace *p, uint64_t now_ns);
/* How long to sleep until away_look() or away_open() have something new to say, at most `most_ns`. */
uint64_t away_nap(const struct pace *p, uint64_t now_ns, uint64_t most_ns);

/* In the child of fork(). */
void away_reset(void);

/*
 * away.h: what a program does when meted is gone: it paces itself by what its tenant is guaranteed, until meted is
 * back. So nothing stops, and nobody gets everything.
 *
 * The pace is a bucket of time: filled at the guarantee's rate, emptied by what the device was measured to be busy with
 * this process's work. Processes of one tenant do not know of each other then: each keeps to the tenant's guarantee.
 */
#pragma once

#include "core/pace.h"

/* From now on the end of meted is noticed within milliseconds, and its return. Starts a thread, once. */
void away_keep(void);

/* meted is gone: this process paces itself. */
bool away_is(void);
/* ... and may launch now. With the lock of the pace held. */
bool away_open(struct pace *p, uint64_t now_ns);
/* How long to sleep until away_open() may have something new to say, at most `most_ns`. */
uint64_t away_nap(uint64_t most_ns);

/* In the child of fork(). */
void away_reset(void);

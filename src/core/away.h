/*
 * away.h: how a program limits its own rate while meted is away: to its tenant's guarantee. So programs do not stop,
 * and none takes the whole device.
 *
 * The limit is a bucket of device time. It is filled at the guarantee's rate and emptied by the measured busy time of
 * this process. Processes of one tenant do not know of each other then; each keeps to the tenant's guarantee.
 */
#pragma once

#include "core/pace.h"

/* Starts a thread, once, that notices within milliseconds when meted ends and when it returns. */
void away_keep(void);

/* True while meted is away and this process limits its own rate. */
bool away_is(void);
/* True if the process may launch now although meted is away. The caller holds the pace's lock. */
bool away_open(struct pace *p, uint64_t now_ns);
/* Returns the time to sleep until the result of away_open() may change, at most `most_ns`. */
uint64_t away_nap(uint64_t most_ns);

/* In the child of fork(): resets the state. */
void away_reset(void);

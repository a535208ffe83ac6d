/* hand.h: how meted hands a client to a waiting worker (wire/worker.h). */
#pragma once

#include "wire/worker.h"

#include <stdbool.h>

/*
 * Tells meted that this worker waits, with what its fence has (WORKER_FENCE_*) and what its contexts take on each of
 * `count` devices; or, with `why`, that it cannot wait. False: meted is gone.
 */
bool hand_ready(const char *why, uint32_t fence, const uint64_t *context_bytes, unsigned int count);
/*
 * Waits for a client, and enters the cgroup of its grant: when meted guesses whose it will be, else now. Value: its
 * connection; -1: there will be none, meted is gone.
 */
int hand_wait(struct worker_word *ret);
/*
 * From now on a restarted meted is let in: its connection takes the place of the last one's. To be called when
 * WORKER_LISTEN_FD can be read.
 */
void hand_accept(void *unused);

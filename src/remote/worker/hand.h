/* hand.h: how meted hands a client to a waiting worker (wire/worker.h). */
#pragma once

#include "wire/worker.h"

#include <stdbool.h>

/*
 * Reports to meted that this worker waits, with the measures of its fence (WORKER_FENCE_*) and the size of its contexts
 * on each of `count` devices; or, with `why`, that it cannot. False: meted is gone.
 */
bool hand_ready(const char *why, uint32_t fence, const uint64_t *context_bytes, unsigned int count);
/*
 * Waits for a client, and enters the cgroup of its grant: early, if meted expects whose client it will be, otherwise
 * now. Value: its connection; -1: there will be none, because meted is gone.
 */
int hand_wait(struct worker_word *ret);
/*
 * Accepts the connection of a restarted meted, which replaces the previous one. Must be called when WORKER_LISTEN_FD is
 * readable.
 */
void hand_accept(void *unused);

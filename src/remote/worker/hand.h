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
 * Waits for a client. Value: its connection; -1: there will be none, meted is gone. `ret_cgroup`: of the cgroup that is
 * to be entered, -1: none.
 */
int hand_wait(struct worker_word *ret, int *ret_cgroup);
/*
 * Enters it, with all threads; takes the descriptor. The kernel takes its time for that, some ms: a thread waits for
 * it, and hand_entered() for that thread, before anything of the client's is executed. Says in a line when it cannot.
 */
void hand_enter(int take_cgroup);
void hand_entered(void);
/*
 * From now on a restarted meted is let in: its connection takes the place of the last one's. To be called when
 * WORKER_LISTEN_FD can be read.
 */
void hand_accept(void *unused);

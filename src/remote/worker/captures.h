/*
 * captures.h: stream captures of a client whose requests are executed by whichever thread of the worker has the turn.
 *
 * To the driver every capture is relaxed, because it would compare threads of ours otherwise. What the client asked for
 * is kept here: a capture that is not relaxed ends in the client's thread that began it. What the modes forbid in the
 * meantime (calls that are potentially unsafe during a capture) the client refuses by itself.
 */
#pragma once

#include "cuda_table.h"

#include <stdint.h>

/* A copy of the driver's table whose capture calls go through here. */
void captures_wrap(struct cuda_table *ret, const struct cuda_table *driver);
/* Which of the client's threads this thread executes for. */
void captures_thread(uint32_t thread);
/* In tests: the next session begins anew. */
void captures_forget(void);

/*
 * captures.h: stream captures of a client whose requests are executed by whichever thread of the worker is the
 * executor.
 *
 * To the driver every capture is relaxed, because otherwise it would compare the worker's threads. The mode that the
 * client requested is recorded here: a capture that is not relaxed must end in the client's thread that began it. The
 * client itself refuses what the modes forbid meanwhile (calls that are potentially unsafe during a capture).
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

/*
 * captures.h: stream captures of a client whose requests are executed by whichever thread of the worker is the
 * executor.
 *
 * For the driver every capture is relaxed, because otherwise it would compare the worker's threads. The mode that the
 * client requested is recorded here: a capture that is not relaxed must end in the client's thread that began it. The
 * client itself refuses calls that the modes forbid meanwhile (potentially unsafe ones).
 */
#pragma once

#include "cuda_table.h"

#include <stdint.h>

/* Copies the driver's table, with the capture calls replaced by those of this file. */
void captures_wrap(struct cuda_table *ret, const struct cuda_table *driver);
/* Sets the client's thread for which this thread executes. */
void captures_thread(uint32_t thread);
/* In tests: resets the state for the next session. */
void captures_forget(void);

/*
 * textures.h: texture and surface objects of the program. Kernels are given them as the numbers that the driver chose,
 * so another worker has to give the same numbers (move.h). Kept with each is what it was made of.
 */
#pragma once

#include "cuda_table.h"
#include "remote/client/session.h"

#include <stdint.h>

/* The context has ended, and with it what was made in it. */
void textures_drop_context(uint64_t context);
void textures_forget(void);
/*
 * All of the session's are made anew at another worker. CUDA_ERROR_NOT_FOUND: it gives other numbers. What lay in an
 * array or in memory that has ended is no object there.
 */
CUresult textures_again(struct session *session);
/* That worker has the session: what is no object there ends here when the program ends it. */
void textures_settle(const struct session *session);

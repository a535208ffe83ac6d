/*
 * textures.h: texture and surface objects of the program. Kernels receive them as the numbers that the driver chose, so
 * another worker must return the same numbers (move.h). Each is kept with its description.
 */
#pragma once

#include "cuda_table.h"
#include "remote/client/session.h"

#include <stdint.h>

/* Drops the objects that were created in a context that has ended. */
void textures_drop_context(uint64_t context);
void textures_forget(void);
/*
 * Creates all objects of the session again at another worker. CUDA_ERROR_NOT_FOUND: it returns other numbers. An object
 * whose array or memory has ended is not created there.
 */
CUresult textures_again(struct session *session);
/*
 * Called when that worker has the session: objects that were not created there end here when the program destroys them.
 */
void textures_settle(const struct session *session);

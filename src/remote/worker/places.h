/*
 * places.h: device memory at addresses that the client has from an earlier worker, which it has left (client/move.h).
 * It is built with the driver's virtual memory management, because no driver allocates ordinary memory at a requested
 * address. Blocks that the earlier driver had packed together share a place, which is freed with the last of them.
 */
#pragma once

#include "remote/worker/worker.h"

/* CALL_MOVE_PLACE */
int places_add(struct work *work);
/* True if a block begins there. */
bool places_has(CUdeviceptr at);
/*
 * Frees the block at this address if it is in such a place, after the device, or the current work of the stream, has
 * completed. The block must have been removed from the session's ranges. False: it is not in one, and the driver must
 * free it. `block`: one of the session's ranges began there; nothing else in a place can be freed.
 */
bool places_free(struct work *work, CUdeviceptr at, bool block);
bool places_free_ordered(struct work *work, CUdeviceptr at, bool block, CUstream stream);
/* Releases places whose last block is free. Called before memory is allocated. */
void places_reap(const struct cuda_table *driver);
/* Called when the context has ended, with the places in it. */
void places_context_gone(const struct cuda_table *driver, uint64_t context);

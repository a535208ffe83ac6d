/*
 * places.h: device memory at addresses that the client has from another worker, which it has left (client/move.h):
 * built of the driver's virtual memory management, because no driver gives plain memory at a wanted address. Blocks
 * that the other driver had packed together share a place, which goes when the last of them is freed.
 */
#pragma once

#include "remote/worker/worker.h"

/* CALL_MOVE_PLACE */
int places_add(struct work *work);
/* Whether one lies there. */
bool places_has(CUdeviceptr at);
/*
 * The block at this address, which is in the session's ranges no more, was in such a place: it is freed when the
 * device, or what is on the stream now, has ended. False: it was not; the driver is to be told. `block`: one of the
 * session's ranges begins there; nothing else in a place can be freed.
 */
bool places_free(struct work *work, CUdeviceptr at, bool block);
bool places_free_ordered(struct work *work, CUdeviceptr at, bool block, CUstream stream);
/* Gives back what such frees have left by now. Called where memory is asked for. */
void places_reap(const struct cuda_table *driver);
/* The context has gone, with what was in it. */
void places_context_gone(const struct cuda_table *driver, uint64_t context);

/*
 * bounce.h: memory of the program that copies in graphs read or write and that the device cannot reach: pieces of the
 * arena replace it. A host function fills a piece before the copy, or reads it out afterwards.
 */
#pragma once

#include "remote/client/session.h"
#include "remote/graph.h"

/*
 * Returns a host function's token (hosts.h) that does this, and the offset of the piece. `write`: the copy writes. 0:
 * out of memory.
 */
uint64_t bounce_new(struct session *session, void *host, uint64_t bytes, bool write, const CUDA_MEMCPY3D *copy,
		    uint64_t *ret_offset);
/* The same for the program's pinned memory, of which the worker has a copy: only the bytes are transferred. */
uint64_t bounce_pinned(struct session *session, uint64_t offset, uint64_t bytes, bool write);

/*
 * bounce.h: memory of the program's that copies in graphs are to read or write, and that the device cannot reach:
 * pieces of the arena stand in for it. A host function fills a piece before the copy, or empties it afterwards.
 */
#pragma once

#include "remote/client/session.h"
#include "remote/graph.h"

/*
 * A token for hosts that does it, and where the piece lies; `write`: the copy writes. 0: c->result would be no memory.
 */
uint64_t bounce_new(struct session *session, void *host, uint64_t bytes, bool write, const CUDA_MEMCPY3D *copy,
		    uint64_t *ret_offset);
/* The same for the program's pinned memory, which the worker has a copy of: only bytes travel. */
uint64_t bounce_pinned(struct session *session, uint64_t offset, uint64_t bytes, bool write);

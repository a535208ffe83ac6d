/*
 * arena.h: assigns parts of the arena (ring/wall.h); only the client decides.
 *
 * Staging is assigned in pieces of up to ARENA_PIECE bytes, lowest offset first, so that data copied through it stays
 * in the processor's caches. A piece towards the device is sent with a payload's serial and returns with the notice
 * RETIRED of that serial; a piece from the device returns when its bytes have been read. The heap is the program's
 * pinned memory: whole pages, first fit, returned to the system when they are freed.
 */
#pragma once

#include "remote/client/link.h"

#include <pthread.h>
#include <stdint.h>

#define ARENA_UNIT 65536u
#define ARENA_PIECE (4 * ARENA_UNIT)
#define ARENA_UNITS_MOST 256u

enum arena_way { ARENA_IN, ARENA_OUT };

struct arena_piece {
	uint64_t offset; /* in the arena */
	uint8_t *at; /* in this process */
	uint32_t bytes; /* as requested */
	enum arena_way way;
};

struct arena_stage {
	uint64_t offset;
	uint32_t units;
	uint64_t busy[ARENA_UNITS_MOST / 64];
	uint64_t serial[ARENA_UNITS_MOST]; /* at the first unit of a piece that was sent; 0: none */
	uint8_t length[ARENA_UNITS_MOST]; /* in units */
};

struct arena_block; /* of the heap */

struct arena {
	struct link *link;
	pthread_mutex_t lock; /* guards all fields below */
	struct arena_stage stage[2]; /* by enum arena_way */
	uint32_t freed; /* number of pieces freed; also read without the lock */
	struct arena_block *heap; /* in order of offset: all of the heap, free or not */
};

/* Called after link_open(), whose handler `retired` must call arena_retired(). Value: 0 or -ENOMEM. */
int arena_init(struct arena *arena, struct link *link);
void arena_deinit(struct arena *arena);

/*
 * Takes a piece of 1 to ARENA_PIECE bytes, and waits for one if necessary. Not between link_begin() and link_send().
 * Value: 0; -EPIPE: the connection is lost.
 */
int arena_take(struct arena *arena, enum arena_way way, size_t bytes, struct arena_piece *ret);
/* The same without waiting: -EAGAIN. */
int arena_try(struct arena *arena, enum arena_way way, size_t bytes, struct arena_piece *ret);
/*
 * Assigns the piece to the request with this serial, before link_send(). The piece belongs to the worker until it
 * retires.
 */
void arena_sent(struct arena *arena, const struct arena_piece *piece, uint64_t serial);
/* Returns a piece that neither side needs any more. */
void arena_give(struct arena *arena, const struct arena_piece *piece);
/* Handles the notice. A serial without a piece is ignored: its payload was not staged. */
void arena_retired(struct arena *arena, uint64_t serial);
/*
 * Returns all sent pieces when the session moves to another worker, since the previous one sends no more notices. No
 * other thread calls meanwhile.
 */
void arena_left(struct arena *arena);

/* Takes pinned memory: zeroed and page-aligned. Value: 0 or -ENOMEM. */
int arena_heap_take(struct arena *arena, uint64_t bytes, uint64_t *ret_offset);
/* Frees the block at this offset; the worker must not use it any more. Value: its size; 0: no block begins there. */
uint64_t arena_heap_give(struct arena *arena, uint64_t offset);
/* Finds the offset of an address in the heap, and the block around it. False: it is in no block. */
bool arena_heap_find(struct arena *arena, const void *at, uint64_t *ret_offset, uint64_t *ret_begin,
		     uint64_t *ret_bytes);

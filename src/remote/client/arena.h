/*
 * arena.h: who has which part of the arena (ring/wall.h); the client alone decides.
 *
 * Staging is given out in pieces of up to ARENA_PIECE bytes, lowest place first, so that what is copied through it
 * stays in the processor's caches. A piece towards the device goes with a payload's serial and comes back by the
 * notice RETIRED of that serial; one from the device comes back when its bytes have been read. The heap is the
 * program's pinned memory: by the page, first fit, given back to the system when it is freed.
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
	uint8_t *at; /* here */
	uint32_t bytes; /* as asked for */
	enum arena_way way;
};

struct arena_stage {
	uint64_t offset;
	uint32_t units;
	uint64_t busy[ARENA_UNITS_MOST / 64];
	uint64_t serial[ARENA_UNITS_MOST]; /* first unit of a piece that was sent; 0: none */
	uint8_t length[ARENA_UNITS_MOST]; /* its units */
};

struct arena_block; /* of the heap */

struct arena {
	struct link *link;
	pthread_mutex_t lock; /* guards all below */
	struct arena_stage stage[2]; /* by enum arena_way */
	uint32_t freed; /* counts; also read without the lock */
	struct arena_block *heap; /* in order of offset: all of it, free or not */
};

/* After link_open(), whose handler `retired` is to call arena_retired(). 0 or -ENOMEM. */
int arena_init(struct arena *arena, struct link *link);
void arena_deinit(struct arena *arena);

/*
 * Room for 1 to ARENA_PIECE bytes; waits for it. Not between link_begin() and link_send(). 0; -EPIPE: the line is
 * lost.
 */
int arena_take(struct arena *arena, enum arena_way way, size_t bytes, struct arena_piece *ret);
/* The same without waiting: -EAGAIN. */
int arena_try(struct arena *arena, enum arena_way way, size_t bytes, struct arena_piece *ret);
/* It goes with a request that carries this serial: before link_send(). It is the worker's until it retires. */
void arena_sent(struct arena *arena, const struct arena_piece *piece, uint64_t serial);
/* Not needed any more, by nobody. */
void arena_give(struct arena *arena, const struct arena_piece *piece);
/* Of the notice. A serial that belongs to no piece is ignored: it was no staged payload. */
void arena_retired(struct arena *arena, uint64_t serial);
/* Another worker comes: of what was sent to the one before no notice does. Nobody else calls meanwhile. */
void arena_left(struct arena *arena);

/* Pinned memory: zero, aligned to the page. 0 or -ENOMEM. */
int arena_heap_take(struct arena *arena, uint64_t bytes, uint64_t *ret_offset);
/* What begins at this offset; the worker must be done with it. Value: its bytes; 0: nothing begins there. */
uint64_t arena_heap_give(struct arena *arena, uint64_t offset);
/* Offset of an address in the heap, and what the block around it is. False: it is not in one that was taken. */
bool arena_heap_find(struct arena *arena, const void *at, uint64_t *ret_offset, uint64_t *ret_begin,
		     uint64_t *ret_bytes);

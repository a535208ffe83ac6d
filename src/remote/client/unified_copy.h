/*
 * unified_copy.h: the bytes of one place of unified.h, from the program's copy to the device's and back. The caller
 * holds unified.c's lock, and the place's context is current but for memory that both sides share.
 */
#pragma once

#include "remote/client/copy.h"
#include "remote/client/unified.h"

#define UNIFIED_PIECE (UINT64_C(1) << 20)
#define UNIFIED_TOGETHER 64u
#define UNIFIED_TOGETHER_BYTES (UINT64_C(4) << 20)

struct unified {
	struct unified *next;
	struct unified_place place;
	CUstream stream;  /* NULL: shared */
	CUevent gone_out; /* recorded in it behind what goes out; NULL: not made yet */
	CUstream waits;	  /* the last stream that waits for it, while `going_out` */
	bool going_out;
	uint8_t *known;	       /* what the device had */
	uint8_t *aside;	       /* of a session that moves: what the device has; or NULL */
	struct advice *advice; /* owned */
};

static inline uint8_t *unified_at(const struct unified *u, uint64_t offset)
{
	return (uint8_t *)(uintptr_t)u->place.host + offset;
}

/* The device's copy, where this process reaches it. NULL: it does not. */
static inline uint8_t *unified_shared(const struct unified *u)
{
	const struct session *s = u->place.session;

	return s->coherent && u->place.start == UNIFIED_FROM_HOST ? s->link.wall.arena + u->place.copy : NULL;
}

/* A copy of the place's bytes in its stream, to the device (`out`) or from it. */
struct copy unified_copy_of(const struct unified *u, uint64_t offset, void *here, uint64_t bytes, bool out);
CUresult unified_move(const struct unified *u, uint64_t offset, void *here, uint64_t bytes, bool out);
/* Copies what the program has written to the device. True: something goes out that has to be waited for. */
bool unified_push(struct unified *u);
/* Copies what the device has written to the program. */
CUresult unified_pull(struct unified *u);
/*
 * The same two for memory that both sides share, which is at `there`. Pinned memory of a program that came from another
 * machine may lie in the arena itself: it is one.
 */
void unified_push_shared(struct unified *u, uint8_t *there);
void unified_pull_shared(struct unified *u, const uint8_t *there);

/* Places that come back together. */
struct unified_together {
	struct unified *place[UNIFIED_TOGETHER];
	unsigned int count;
	uint64_t bytes;
};

/* As unified_pull(), for all of them; empties the list. */
CUresult unified_pull_together(struct unified_together *t);

/*
 * outgoing.h: payloads that wait for the lanes: a queue of places in the arena, not of bytes.
 *
 * One thread adds, the lanes' threads take pieces, in order. The bytes remain in place until they are sent: their owner
 * does not reuse the space before the other end has reported that it is done with it. The queue is bounded: a thread
 * that adds to a full queue waits, and with it the ring's writer.
 */
#pragma once

#include "remote/relay/frame.h"

#include <pthread.h>

#define OUTGOING_MOST 1024u

struct outgoing {
	pthread_mutex_t mutex;
	pthread_cond_t filled, emptied;
	/* guarded by mutex */
	struct frame_piece queue[OUTGOING_MOST]; /* offset: of the remaining part */
	uint64_t left;				 /* remaining bytes of the first one */
	unsigned int first, count, takers;
	bool over;
};

void outgoing_init(struct outgoing *o);
void outgoing_deinit(struct outgoing *o);
/* p: number, serial, offset, total. Waits for room. Value: 0, or -EPIPE: the session is over. */
int outgoing_add(struct outgoing *o, const struct frame_piece *p);
/*
 * Takes the next piece, of at most FRAME_PIECE_BYTES. Waits for `ns` at most. Value: 1; 0: none came; -EPIPE. The last
 * piece of a payload counts as taken when it is returned, not when it is sent.
 */
int outgoing_take(struct outgoing *o, uint64_t ns, struct frame_piece *ret, uint32_t *ret_bytes);
bool outgoing_empty(struct outgoing *o);
/* Wakes all threads; no more pieces are returned. */
void outgoing_end(struct outgoing *o);

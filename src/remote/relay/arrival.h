/*
 * arrival.h: which payloads have arrived.
 *
 * Pieces arrive on several lanes, so a later payload may be complete before an earlier one; what counts is the last one
 * up to which all are complete. A lane that runs too far ahead waits for the others. Pure except for the lock and the
 * waiting.
 */
#pragma once

#include "remote/relay/frame.h"

#include <pthread.h>

#define ARRIVAL_WINDOW 256u /* payloads that have begun and are not complete, at most */

struct arrival_open {
	uint64_t number; /* the payload in this slot; 0: none */
	uint64_t serial, total, left;
};

struct arrival {
	pthread_mutex_t mutex;
	pthread_cond_t moved;
	/* guarded by mutex */
	struct arrival_open open[ARRIVAL_WINDOW];
	uint64_t number; /* all up to this one are complete */
	bool over;
	/*
	 * The serial of the last complete payload. Written under the mutex with release order; read with acquire order
	 * by any thread.
	 */
	uint64_t serial;
	/* The same for the other side of an arena, or NULL. Release order; its partner is the worker's wait. */
	uint64_t *board;
};

void arrival_init(struct arrival *a, uint64_t *board);
void arrival_deinit(struct arrival *a);
/*
 * Called before the bytes of a checked piece are read into their place. Waits while the piece is ARRIVAL_WINDOW ahead.
 * Value: 0; -EPROTO: it contradicts earlier pieces; -EPIPE: the session is over.
 */
int arrival_begin(struct arrival *a, const struct frame_piece *p, uint32_t bytes);
/*
 * Called when the bytes have been read. Value: 1: one more payload is complete; 0: not; -EPROTO: serials do not grow.
 */
int arrival_end(struct arrival *a, const struct frame_piece *p, uint32_t bytes);
uint64_t arrival_serial(const struct arrival *a);
void arrival_stop(struct arrival *a);

/*
 * arrival.h: which payloads are here.
 *
 * Pieces come by several lanes, so a later payload may be complete before an earlier one; what counts is up to where
 * all are complete. A lane that runs too far ahead waits for the others. Pure but for the lock and the waiting.
 */
#pragma once

#include "remote/relay/frame.h"

#include <pthread.h>

#define ARRIVAL_WINDOW 256u /* payloads that are begun and not complete, at most */

struct arrival_open {
	uint64_t number; /* which payload uses this place; 0: none */
	uint64_t serial, total, left;
};

struct arrival {
	pthread_mutex_t mutex;
	pthread_cond_t moved;
	/* guarded by mutex */
	struct arrival_open open[ARRIVAL_WINDOW];
	uint64_t number; /* all up to this one are complete */
	bool over;
	/* written under the mutex: release; read by anyone: acquire. The last payload's serial. */
	uint64_t serial;
	/* The same for the other side of an arena, or NULL: release; partner: the worker's wait. */
	uint64_t *board;
};

void arrival_init(struct arrival *a, uint64_t *board);
void arrival_deinit(struct arrival *a);
/*
 * Before the bytes of a checked piece are read into their place. 0; -EPROTO: it contradicts what came before; -EPIPE:
 * it is over. Waits while the piece is ARRIVAL_WINDOW ahead.
 */
int arrival_begin(struct arrival *a, const struct frame_piece *p, uint32_t bytes);
/* When they are there. Value: 1 more is complete than before; 0 not; -EPROTO: serials that do not grow. */
int arrival_end(struct arrival *a, const struct frame_piece *p, uint32_t bytes);
uint64_t arrival_serial(const struct arrival *a);
void arrival_stop(struct arrival *a);

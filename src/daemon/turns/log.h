/*
 * log.h: notes of the arbitration for traces: turns that were given and ended, edges that were taken.
 *
 * The arbitration thread must not wait, allocate or know of traces. It writes its notes to a ring of fixed length, and
 * the loop's thread reads them (trace.c). Writers hold the lock of the arbitration; there is one reader. A note costs
 * one load while no trace runs.
 */
#pragma once

#include "model/arbiter.h"
#include "wire/turn.h"

#include <stdbool.h>
#include <stdint.h>

enum turn_note_kind {
	TURN_NOTE_BEGINS, /* an edge */
	TURN_NOTE_ENDS,
	TURN_NOTE_OPENED,
	TURN_NOTE_OVER,	  /* closed: its time was over */
	TURN_NOTE_TAKEN,  /* closed early: a tenant with a higher claim came */
	TURN_NOTE_IDLE,	  /* closed: it had no more work */
	TURN_NOTE_FROZEN, /* closed: the tenant is frozen */
};

struct turn_note {
	const struct wire_turn *turn; /* identifies client, device and engine */
	enum turn_note_kind kind;
	uint64_t at_ns, until_ns, bound_ns;
	int64_t lag_ns;
};

/* True while there is a reader. */
bool turn_log_on(void);

/* Notes an edge that was taken from a client's page, or that ended with the client. */
void turn_log_edge(const struct wire_turn *turn, uint64_t at_ns, bool begins);

/*
 * Notes that a tenant's turn was given, extended or taken away; `turn` is of one of its clients. The previous turn
 * should have lasted until planned_ns; `wants`: the tenant has work.
 */
void turn_log_turn(const struct wire_turn *turn, const struct arbiter_turn *now, uint64_t planned_ns, bool frozen,
		   bool wants, int64_t lag_ns);

/* For the reader. Notes from before the first start are not returned; starts and stops are counted. */
void turn_log_start(void);
void turn_log_stop(void);
/* Takes the oldest note; *ret_lost: the number lost before it. False: there is none. */
bool turn_log_take(struct turn_note *ret, uint32_t *ret_lost);

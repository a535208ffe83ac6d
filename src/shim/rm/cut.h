/*
 * cut.h: when a process's channels are switched off and on again. Pure: state and time in, a decision out.
 *
 * Tier T2 lets what is in flight at the end of a turn end by itself. Where it does not end soon, T3 takes it off the
 * device: the channels are switched off until the gate opens again. Whoever cannot hear from meted (its connection is
 * lost, or it has said nothing for CUT_SILENCE_NS above the turn's bound) switches them on: nobody stays off because
 * somebody else has died.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What is in flight when the gate closes may end by itself for so long: about what two calls to switch cost. */
#define CUT_SPARE_NS 500000u
#define CUT_SILENCE_NS 250000000u
/* How often to look: while the gate is open with work in flight and no end of the turn, ... while there is none. */
#define CUT_LOOK_NS 500000u
#define CUT_IDLE_NS 5000000u
/* ... while nothing is limited, and while all is off. */
#define CUT_FREE_NS 50000000u
#define CUT_OFF_NS 2000000u

/* What the page says, and what is known of meted. */
struct cut_view {
	uint32_t gate;
	uint64_t until_ns, bound_ns;
	uint64_t busy_since_ns, done_by_ns;
	uint64_t news_ns; /* when meted last gave a sign of life */
	bool lost;	  /* there is no connection to it */
};

struct cut {
	bool off;
	uint64_t off_since_ns;
	uint64_t closed_ns; /* when the gate was first seen closed; 0: it is not */
};

enum cut_action { CUT_NOTHING, CUT_OFF, CUT_ON };

/* What to do, and when to look again. The caller sets off and off_since_ns as it succeeded. */
enum cut_action cut_decide(struct cut *c, const struct cut_view *v, uint64_t now_ns, uint64_t *ret_look_ns);

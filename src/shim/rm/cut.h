/*
 * cut.h: when a process's channels are switched off and on again. Pure: state and time in, a decision out.
 *
 * Tier T2 lets work that is in flight at the end of a turn complete. If it does not complete soon, T3 takes it off the
 * device: the channels are switched off until the gate opens again. A process that cannot hear from meted (its
 * connection is lost, or meted has been silent for CUT_SILENCE_NS above the turn's bound) switches them on: the death
 * of another process leaves none switched off.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The time that work in flight gets to complete when the gate closes: about the cost of two switches. */
#define CUT_SPARE_NS 500000u
#define CUT_SILENCE_NS 250000000u
/*
 * How often to check: while the gate is open with work in flight and the turn has no end; ... while there is no work.
 */
#define CUT_LOOK_NS 500000u
#define CUT_IDLE_NS 5000000u
/* ... while nothing is limited; and while all channels are off. */
#define CUT_FREE_NS 50000000u
#define CUT_OFF_NS 2000000u

/* The state of the page, and what is known of meted. */
struct cut_view {
	uint32_t gate;
	uint64_t until_ns, bound_ns;
	uint64_t busy_since_ns, done_by_ns;
	uint64_t news_ns; /* time of meted's last sign of life */
	bool lost;	  /* the connection to meted is lost */
};

struct cut {
	bool off;
	uint64_t off_since_ns;
	uint64_t closed_ns; /* when the gate was first seen closed; 0: it is not */
};

enum cut_action { CUT_NOTHING, CUT_OFF, CUT_ON };

/* Decides what to do, and when to check again. The caller sets off and off_since_ns according to its success. */
enum cut_action cut_decide(struct cut *c, const struct cut_view *v, uint64_t now_ns, uint64_t *ret_look_ns);

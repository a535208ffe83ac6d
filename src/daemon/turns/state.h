/*
 * state.h: an engine's own state, for the files that implement it: seat.c (a client's turn, on its page), place.c (a
 * tenant's share, and which of its clients has its turn), engine.c (the engine, and when each is done). No other file
 * includes it.
 */
#pragma once

#include "daemon/turns/engine.h"

struct seat {
	struct seat *next; /* in its place */
	struct place *place;
	struct wire_turn *turn;
	uint32_t gate; /* as it stands on the page, and so the others */
	uint32_t listen;
	uint64_t until_ns, bound_ns, charged_ns;
	uint32_t beside;
	uint64_t told_until_ns, told_bound_ns; /* when the gate last changed */
	int64_t lag_ns;
	bool begun;   /* the last edge was a begin */
	bool waiting; /* somebody stands at the gate */
	bool active;  /* that, or something is in flight */
	bool deaf;
	uint64_t edge_ns;  /* the last edge */
	uint64_t since_ns; /* it waits */
	uint64_t idle_ns;  /* it has had nothing in flight */
	uint64_t sat_ns;   /* it was given its tenant's turn */
	struct window *window;
};

struct place {
	struct engine *engine;
	struct place *next;
	int at; /* the arbiter's number */
	struct arbiter_terms terms;
	struct seat *seats;
	struct seat *sits;		/* who has the tenant's turn; NULL: all of them */
	struct seat *hears;		/* whose edges are taken first; NULL: those of the first seat */
	uint64_t together_ns;		/* all of them until then */
	uint64_t opened_ns;		/* the tenant's turn has been open since; 0: it is closed */
	bool follows_own;		/* the turn before it was the tenant's, too */
	unsigned int pauses;		/* of PAUSES times that it was passed on, lately: because who had it paused */
	unsigned int active;		/* seats */
	unsigned int crowd;		/* seats, all of them */
	uint64_t look_ns;		/* its seats are looked at then, or later */
	bool looked;			/* they have been in this run */
	bool begun;			/* of one of them the last edge was a begin, by the last look */
	bool turned;			/* its turn has changed in this run */
	struct arbiter_demand told;	/* what the arbiter knows */
	struct window *second, *minute; /* the last one, in steps of 0.1 s and of 1 s */
	uint64_t longest_ns, bypassed;	/* of clients that have gone */
	uint64_t resumed_ns, away_ns;	/* charged by a predecessor, and used since */
	uint64_t absent_ns;		/* for so long there was no meted */
	int64_t resumed_lag_ns, resumed_arrears_ns;
	bool handed_over; /* by a predecessor, and not read from pages */
	uint64_t counted_ns[WINDOW_TOTALS]; /* of the totals: so much is in the counters */
	uint64_t known_ns[WINDOW_TOTALS];   /* so much of them was counted by the meted before this one */
};

struct engine {
	uint8_t uuid[DEVICE_UUID_BYTES];
	enum wire_engine kind;
	struct arbiter *arbiter;
	struct place *places;
	const struct place *last; /* whose turn was opened last; NULL: nobody's */
	unsigned int seats, deaf;
	uint64_t hold_ns; /* turns of an earlier meted last until then */
	uint64_t sampled_ns;
	bool still; /* all totals are as they were then, unless it is in use now */
};

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#define SAMPLE_NS 100000000ull	    /* of a tenant's windows */
#define SAMPLE_SLACK_NS 20000000ull /* by so much a sample may be nearer to the one before */

/* seat.c */
void seat_write_shares(const struct place *p, struct seat *s);
void seat_sample(struct seat *s, uint64_t now_ns);
/* What the client has noted since goes to the arbiter, up to so many edges. Value: how many. */
unsigned int seat_take_edges(struct seat *s, unsigned int most, uint64_t now_ns);
/* What it wants is added to `d`. */
void seat_add_demand(struct seat *s, uint64_t now_ns, struct arbiter_demand *d);
/* Value: the gate has taken another serial. */
bool seat_write_turn(struct seat *s, const struct arbiter_turn *turn, uint64_t bound_ns);
void seat_write_beside(struct seat *s, uint32_t beside);
/* Value: more is listened for than before. */
bool seat_write_listen(struct seat *s, uint32_t listen);

/* place.c */
/* The totals have moved on by what is no new use, from what they were before. */
void place_count_skip(struct place *p, uint64_t charged_before_ns, uint64_t now_ns);
/* They have been resumed: what the meted before this one has counted is not counted again. */
void place_count_known(struct place *p, uint64_t now_ns);
void place_sample(struct place *p, uint64_t now_ns, bool force);
/* Takes edges of its seats, by turns, up to so many. False: there are more. */
bool place_take_edges(struct place *p, unsigned int most, uint64_t now_ns);
/* Value: true when it has begun to want or to do something that the arbiter does not know of. */
bool place_take_demand(struct place *p, uint64_t now_ns);
void place_write_account(const struct place *p, const struct arbiter_reading *r, uint64_t now_ns);
/* Which of its clients has the turn. Value: when to look again; UINT64_MAX: not necessary. */
uint64_t place_choose_seat(struct place *p, const struct arbiter_turn *turn, uint64_t now_ns);
/* Writes turns: those that close and what to listen for, or those that open. Value: somebody has to be looked at. */
bool place_write(struct place *p, bool opening);
/* Whether its seats are looked at now; if so, the next time is not before all of them may be again. */
bool place_due(struct place *p, uint64_t now_ns);

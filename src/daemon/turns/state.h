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
	uint32_t gate; /* the value on the page; so are the following fields */
	uint32_t listen;
	uint64_t until_ns, bound_ns, charged_ns;
	uint32_t beside;
	uint64_t told_until_ns, told_bound_ns; /* at the last change of the gate */
	int64_t lag_ns;
	bool begun;   /* the last edge was a begin */
	bool waiting; /* the client waits at the gate */
	bool active;  /* it waits, or has something in flight */
	bool deaf;
	bool found;	      /* it existed before meted was started, and no edge of it has been taken since */
	uint64_t edge_ns;     /* time of the last edge */
	unsigned int odd;     /* edges in a row of impossible times */
	uint64_t odd_from_ns; /* the time of the edge before them */
	bool skewed;	      /* its clock is not the machine's */
	uint64_t since_ns;    /* since when it waits */
	uint64_t idle_ns;     /* since when it has had nothing in flight */
	uint64_t sat_ns;      /* when it was given its tenant's turn */
	bool asks;	      /* a launch asks to pass the closed gate */
	uint64_t let_ns;      /* since when one that was let pass has not been measured; 0: there is none */
	uint64_t passed_ns;   /* as its page told last */
	struct window *window;
};

struct place {
	struct engine *engine;
	struct place *next;
	int at; /* the arbiter's number */
	struct arbiter_terms terms;
	struct seat *seats;
	struct seat *sits;		/* the seat that has the tenant's turn; NULL: all of them */
	struct seat *hears;		/* the seat whose edges are taken first; NULL: the first one */
	uint64_t together_ns;		/* until then all seats have the turn */
	uint64_t opened_ns;		/* since when the tenant's turn has been open; 0: it is closed */
	bool follows_own;		/* the previous turn was also this tenant's */
	unsigned int pauses;		/* of the last PAUSES times that the turn was passed on: those in which its
					 * holder had paused */
	unsigned int active;		/* the number of active seats */
	unsigned int crowd;		/* the number of all seats */
	uint64_t look_ns;		/* the earliest time at which its seats are checked */
	bool looked;			/* they have been checked in this run */
	bool begun;			/* at the last check, some seat's last edge was a begin */
	bool turned;			/* its turn has changed in this run */
	struct arbiter_demand told;	/* the demand that the arbiter knows */
	struct window *second, *minute; /* of the last second and minute, in steps of 0.1 s and of 1 s */
	uint64_t longest_ns, bypassed;	/* of clients that have ended */
	/* launches that were let pass the closed gate: since when, what they took of the engine, and the last one */
	uint64_t pass_since_ns, pass_took_ns, pass_at_ns;
	uint64_t resumed_ns, away_ns; /* charged by a predecessor, and used since then */
	uint64_t absent_ns, found_ns; /* the time without a meted, and its end */
	int64_t resumed_lag_ns;
	struct arbiter_rights resumed;
	bool handed_over;		    /* the totals were handed over by a predecessor, and not read from pages */
	uint64_t counted_ns[WINDOW_TOTALS]; /* the part of the totals that is in the counters */
	uint64_t known_ns[WINDOW_TOTALS];   /* the part of the totals that the previous meted counted */
};

struct engine {
	uint8_t uuid[DEVICE_UUID_BYTES];
	enum wire_engine kind;
	struct arbiter *arbiter;
	struct place *places;
	const struct place *last; /* the place whose turn was opened last; NULL: none */
	unsigned int seats, deaf;
	uint64_t hold_ns; /* turns of an earlier meted last until then */
	uint64_t sampled_ns;
	uint64_t excused_ns, excused_at_ns; /* of late, not charged to clients that were stopped; as of this time */
	bool still;			    /* no total has changed since then, unless it is in use now */
};

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#define SAMPLE_NS 100000000ull	    /* the period of a tenant's windows */
#define SAMPLE_SLACK_NS 20000000ull /* the tolerance by which a sample may come early */

/* seat.c */
void seat_write_shares(const struct place *p, struct seat *s);
void seat_sample(struct seat *s, uint64_t now_ns);
/* Passes up to `most` edges that the client has noted to the arbiter. Value: their number. */
unsigned int seat_take_edges(struct seat *s, unsigned int most, uint64_t now_ns);
/* Adds the client's demand to `d`. */
void seat_add_demand(struct seat *s, uint64_t now_ns, struct arbiter_demand *d);
/* Value: true if the gate has a new serial. */
bool seat_write_turn(struct seat *s, const struct arbiter_turn *turn, uint64_t bound_ns);
void seat_write_beside(struct seat *s, uint32_t beside);
/* A launch that asks passes the closed gate. */
void seat_let_pass(struct seat *s, uint64_t now_ns);
/* Value: what those that passed have taken of the engine since it was asked last. */
uint64_t seat_take_passed(struct seat *s, bool gone, uint64_t now_ns);
/* Value: true if it listens for more than before. */
bool seat_write_listen(struct seat *s, uint32_t listen);

/* place.c */
/* Skips a change of the totals that is not new use. */
void place_count_skip(struct place *p, uint64_t charged_before_ns, uint64_t now_ns);
/* Marks resumed totals: what the previous meted has counted is not counted again. */
void place_count_known(struct place *p, uint64_t now_ns);
void place_sample(struct place *p, uint64_t now_ns, bool force);
/* Corrects the windows: what is charged now was used, or was not, between from_ns and to_ns. */
void place_learn(struct place *p, uint64_t from_ns, uint64_t to_ns, int64_t charged_ns);
/* Takes up to `most` edges of its seats, in turn. False: there are more. */
bool place_take_edges(struct place *p, unsigned int most, uint64_t now_ns);
/* Value: true if it has begun to want or do something that the arbiter does not know of. */
bool place_take_demand(struct place *p, uint64_t now_ns);
void place_write_account(const struct place *p, const struct arbiter_reading *r, uint64_t now_ns);
/* Chooses the client that has the turn. Value: when to check again; UINT64_MAX: not necessary. */
uint64_t place_choose_seat(struct place *p, const struct arbiter_turn *turn, uint64_t now_ns);
/* Lets one launch pass the closed gate, if some ask and the tenant may. Value: when to check again; UINT64_MAX: no
 * need. */
uint64_t place_let_pass(struct place *p, uint64_t now_ns);
/* Those that passed have taken so much. */
void place_note_passed(struct place *p, uint64_t took_ns);
/* Writes turns: those that close and what to listen for, or those that open. Value: true if a seat must be checked. */
bool place_write(struct place *p, bool opening);
/* True if its seats are to be checked now; the next time is then not before all of them may be checked again. */
bool place_due(struct place *p, uint64_t now_ns);

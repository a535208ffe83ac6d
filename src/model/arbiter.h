/*
 * arbiter.h: who may use an engine of a device, and for how long: the turns, decided from measured time alone.
 *
 * One arbiter per device and engine. State and time go in, turns come out; nothing here reads a clock, waits or knows
 * of processes. meted drives it with what clients measure (src/daemon), a simulator drives the same code in virtual
 * time.
 *
 * A share is the fraction of wall time in which the tenant's work occupies the engine, over windows in which it has
 * work waiting. What is charged is what was measured: an instant in which the work of n tenants was in flight costs
 * each of them 1/n of it, so that the charges add up to the time in which the engine was busy.
 *
 * All times are nanoseconds of one monotonic clock, shares are parts per million of the engine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ARBITER_TENANTS 256u
#define ARBITER_WHOLE 1000000u /* ppm */

enum arbiter_class {
	ARBITER_HIGH, /* preempts low within one bounded batch */
	ARBITER_NORMAL,
	ARBITER_LOW, /* gets what the others leave */
	ARBITER_CLASSES,
};

/* What a tenant is entitled to. policy.h makes it from a policy's name and a user's words. */
struct arbiter_terms {
	bool gated;  /* false: native, the tenant is neither measured nor held up */
	bool frozen; /* gets no turn at all */
	enum arbiter_class class;
	uint32_t guarantee_ppm; /* of the engine, while it has work waiting */
	uint32_t limit_ppm;	/* never more than this; ARBITER_WHOLE: no limit */
	uint32_t weight;	/* in what is left after the guarantees; 0: nothing of it */
	uint64_t turn_ns;	/* length of a turn; 0: as the arbiter thinks best. Long ones: policy exclusive */
};

/* What the processes of a tenant say of themselves, added up by the caller. */
struct arbiter_demand {
	bool waiting;	     /* somebody stands at its gate */
	uint64_t since_ns;   /* since when */
	uint64_t needs_ns;   /* predicted length of what waits; 0: not known */
	bool busy;	     /* something is in flight */
	uint64_t began_ns;   /* since when; 0: since it is told */
	uint64_t done_by_ns; /* when that should have ended, as predicted */
};

/* What the tenant may do now. */
struct arbiter_turn {
	bool open;
	uint64_t until_ns; /* 0: until closed */
	uint64_t bound_ns; /* predicted work in flight at most, all its processes together */
	uint32_t listen;   /* enum wire_listen: what the arbiter wants to be told of at once */
};

/* What a tenant has had; for display and tests. */
struct arbiter_reading {
	uint64_t charged_ns; /* time of the engine, in all */
	uint64_t wanted_ns;  /* time in which it had work waiting or in flight, in all */
	uint64_t waited_ns;  /* time in which it had work waiting and no turn, in all */
	int64_t lag_ns;	     /* above 0: the engine owes it time; below: it has had more than its share */
	uint64_t turns;
};

/* What the turns of a tenant on other devices ask of its turns here (gang.h). Zeros: nothing. */
struct arbiter_gang {
	bool held;	  /* it is not opened: elsewhere it is not its turn yet */
	bool called;	  /* it has its turn elsewhere, or will have it: it goes before others, whose turns end */
	uint64_t from_ns; /* of one that is called: then */
	bool stays; /* its turn does not end because nothing of it is in flight: it may be waiting for elsewhere */
	bool wants;	   /* it waits elsewhere, and would use this engine as well: what it is owed counts */
	uint64_t until_ns; /* its turn ends then; 0: as it would */
};

/* How a tenant stands, for gang.h. */
struct arbiter_view {
	bool wants;	    /* it has work waiting or in flight */
	bool holds;	    /* it has the turn */
	bool may;	    /* it is owed time and its limit allows it */
	bool soon;	   /* it is owed time, or nearly so, and its limit allows it */
	bool beside;	   /* somebody else wants the engine */
	bool waits;	   /* it stands at the gate */
	bool free;	   /* nobody has the turn, and nothing of others is in flight */
	bool next;	   /* it would have the next turn */
	uint64_t from_ns;   /* when that is to be: the end of the present turn; 0: not known, or at once */
	uint64_t flight_ns; /* what others have in flight should have ended then */
};

struct arbiter;

/* How the arbiter behaves; zeros stand for the defaults, which arbiter.c explains. */
struct arbiter_params {
	uint64_t quantum_min_ns, quantum_max_ns;
	uint64_t bound_ns;     /* B: predicted work in flight */
	uint64_t low_bound_ns; /* and of low class while high is active */
	uint64_t lag_bound_ns;
	uint64_t burst_ns; /* capacity of the token bucket of a limit */
	uint64_t idle_ns;  /* a holder without work in flight for so long gives its turn up to those who wait */
	uint64_t early_ns; /* the first turns are opened so long before the work before should have ended (leads.h) */
};

/* NULL: no memory. */
struct arbiter *arbiter_new(const struct arbiter_params *params);
void arbiter_free(struct arbiter *a);

/* A tenant comes: its place, or -1 when all are taken. */
int arbiter_join(struct arbiter *a, const struct arbiter_terms *terms, uint64_t now_ns);
void arbiter_leave(struct arbiter *a, int tenant, uint64_t now_ns);
/* New terms while it runs; what it is owed and owes stays within the bounds. */
void arbiter_change(struct arbiter *a, int tenant, const struct arbiter_terms *terms, uint64_t now_ns);

/*
 * One of the tenant's processes began or ceased to occupy the engine. May come late and out of order between processes;
 * what is later than arbiter.c's patience counts from the end of that patience.
 */
void arbiter_begins(struct arbiter *a, int tenant, uint64_t at_ns);
void arbiter_ends(struct arbiter *a, int tenant, uint64_t at_ns);
/* What it wants now. */
void arbiter_demands(struct arbiter *a, int tenant, const struct arbiter_demand *demand, uint64_t now_ns);

/* Until the next such call. Counts with the next step. Value: something else is asked than before. */
bool arbiter_gang(struct arbiter *a, int tenant, const struct arbiter_gang *gang);
struct arbiter_view arbiter_view(const struct arbiter *a, int tenant);

/* Takes up what a predecessor wrote down (after a restart of meted). */
void arbiter_resume(struct arbiter *a, int tenant, uint64_t charged_ns, int64_t lag_ns);
/* The same for the time in which it had work, and had work and no turn: its totals go on from these. */
void arbiter_resume_wants(struct arbiter *a, int tenant, uint64_t wanted_ns, uint64_t waited_ns);

/*
 * Moves time on and decides. Value: when to call again at the latest, if nothing happens before. Turns that changed
 * since the last call have arbiter_changed().
 */
uint64_t arbiter_step(struct arbiter *a, uint64_t now_ns);
bool arbiter_changed(const struct arbiter *a, int tenant);
const struct arbiter_turn *arbiter_turn(const struct arbiter *a, int tenant);
struct arbiter_reading arbiter_read(const struct arbiter *a, int tenant, uint64_t now_ns);

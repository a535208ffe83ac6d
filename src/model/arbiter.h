/*
 * arbiter.h: decides which tenant may use an engine of a device, and for how long, from measured time alone.
 *
 * There is one arbiter per device and engine. State and time go in, turns come out. It reads no clock, does not wait,
 * and knows nothing of processes. meted calls it with the measurements of clients (src/daemon); a simulator drives the
 * same code in virtual time.
 *
 * A share is the fraction of wall time in which the tenant's work occupies the engine, over windows in which it has
 * work waiting. Measured time is charged: while the work of n processes is in flight, each one's tenant is charged 1/n
 * of the time. The charges therefore add up to the time in which the engine was busy.
 *
 * All times are nanoseconds of one monotonic clock; shares are parts per million of the engine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ARBITER_TENANTS 256u
#define ARBITER_WHOLE 1000000u /* ppm */

enum arbiter_class {
	ARBITER_HIGH, /* preempts low within one bounded batch */
	ARBITER_NORMAL,
	ARBITER_LOW, /* gets the time that the others leave */
	ARBITER_CLASSES,
};

/* The terms of a tenant. policy.h derives them from a policy and the words of a request. */
struct arbiter_terms {
	bool gated;  /* false: native, neither measured nor gated */
	bool frozen; /* gets no turn at all */
	enum arbiter_class class;
	uint32_t guarantee_ppm; /* of the engine, while it has work waiting */
	uint32_t limit_ppm;	/* the most of the engine; ARBITER_WHOLE: no limit */
	uint32_t weight;	/* for the time left after the guarantees; 0: none of it */
	uint64_t turn_ns;	/* length of a turn; 0: the arbiter decides. Long turns: policy exclusive */
};

/* The demand of a tenant's processes, summed by the caller. */
struct arbiter_demand {
	bool waiting;	     /* a thread waits at its gate */
	uint64_t since_ns;   /* since when */
	uint64_t needs_ns;   /* predicted length of the waiting launch; 0: unknown */
	bool busy;	     /* work is in flight */
	uint64_t began_ns;   /* since when; 0: since this call */
	uint64_t done_by_ns; /* predicted end of the work in flight */
	bool unknown;	     /* of the work in flight nobody knows how long it takes */
};

/* The turn of a tenant. */
struct arbiter_turn {
	bool open;
	uint64_t until_ns; /* 0: until closed */
	uint64_t bound_ns; /* most predicted work in flight, all its processes together */
	uint32_t listen;   /* enum wire_listen: events that the arbiter wants to learn of at once */
	bool beside;	   /* others have work of unknown length in flight: the engine's time slices divide it */
};

/* The totals of a tenant, for display and tests. */
struct arbiter_reading {
	uint64_t charged_ns; /* time of the engine */
	uint64_t wanted_ns;  /* time with work waiting or in flight */
	uint64_t waited_ns;  /* time with work waiting and no turn */
	int64_t lag_ns;	     /* above 0: the tenant is behind its share; below 0: ahead of it */
	int64_t arrears_ns;  /* what it is behind its guarantee by */
	uint64_t turns;
};

/* What the turns of a tenant on other devices require of its turns here (gang.h). Zeros: nothing. */
struct arbiter_gang {
	bool held;	   /* it gets no turn, because it has none elsewhere yet */
	bool called;	   /* it has or gets its turn elsewhere: it precedes others, whose turns end */
	uint64_t from_ns;  /* when a called tenant's turn begins */
	bool stays;	   /* its turn does not end when it has no work in flight: it may wait elsewhere */
	bool wants;	   /* it waits elsewhere and would use this engine too: it accrues lag */
	uint64_t until_ns; /* the end of its turn; 0: as without a gang */
};

/* The state of a tenant, for gang.h. */
struct arbiter_view {
	bool wants;	    /* it has work waiting or in flight */
	bool holds;	    /* it has the turn */
	bool may;	    /* it is behind its share, and its limit allows a turn */
	bool soon;	    /* it is nearly behind its share, and its limit allows a turn */
	bool beside;	    /* another tenant wants the engine */
	bool waits;	    /* it waits at its gate */
	bool free;	    /* no tenant has the turn, and no work of others is in flight */
	bool next;	    /* it gets the next turn */
	uint64_t from_ns;   /* when: the end of the present turn; 0: unknown, or at once */
	uint64_t flight_ns; /* predicted end of what others have in flight */
};

struct arbiter;

/* The parameters of an arbiter; zeros: the defaults of arbiter_state.h. */
struct arbiter_params {
	uint64_t quantum_min_ns, quantum_max_ns;
	uint64_t bound_ns;     /* B: most predicted work in flight */
	uint64_t low_bound_ns; /* the same for low class while high is active */
	uint64_t lag_bound_ns;
	uint64_t burst_ns; /* capacity of the token bucket of a limit */
	uint64_t idle_ns;  /* a holder without work in flight for this time loses its turn to waiting tenants */
	uint64_t early_ns; /* how long before the predicted end of other work the first turns open (leads.h) */
};

/* Returns NULL without memory. */
struct arbiter *arbiter_new(const struct arbiter_params *params);
void arbiter_free(struct arbiter *a);

/* Adds a tenant. Returns its place, or -1 if all are taken. */
int arbiter_join(struct arbiter *a, const struct arbiter_terms *terms, uint64_t now_ns);
/*
 * Whose it is; 0: root, or nobody knows. Users take turns in bringing work of unknown length. Beside a guarantee, more
 * such work of a user's waits for what of his is in flight. All of 0 are one user in the one, and none in the other.
 */
void arbiter_user(struct arbiter *a, int i, uint32_t user);
void arbiter_leave(struct arbiter *a, int tenant, uint64_t now_ns);
/* Changes the terms of a tenant; its lag stays within the bounds. */
void arbiter_change(struct arbiter *a, int tenant, const struct arbiter_terms *terms, uint64_t now_ns);

/*
 * One of the tenant's processes began or ceased to occupy the engine. Reports may be late, and out of order between
 * processes. A report later than busy.h keeps edges counts from the oldest edge kept.
 */
void arbiter_begins(struct arbiter *a, int tenant, uint64_t at_ns);
void arbiter_ends(struct arbiter *a, int tenant, uint64_t at_ns);
/* Sets the tenant's present demand. */
void arbiter_demands(struct arbiter *a, int tenant, const struct arbiter_demand *demand, uint64_t now_ns);

/*
 * Sets the requirements of the tenant's gang until the next call; they take effect with the next step. True: they
 * differ from the previous ones.
 */
bool arbiter_gang(struct arbiter *a, int tenant, const struct arbiter_gang *gang);
struct arbiter_view arbiter_view(const struct arbiter *a, int tenant);

/* What the next arbiter has to know of a tenant, beside its charges and its lag. */
struct arbiter_rights {
	int64_t arrears_ns;	  /* what it is behind its guarantee by */
	int64_t by_clock_ns;	  /* the same by the time of its turns */
	int64_t tokens_ns;	  /* what its limit has left for it; 0: not told */
	uint64_t put_off_ns;	  /* had beside work that was not measured yet, and not taken from the arrears */
	uint64_t put_off_free_ns; /* the same of time that nobody else needed */
	uint64_t put_off_from_ns; /* since when it was put off */
};

void arbiter_rights(const struct arbiter *a, int tenant, struct arbiter_rights *ret);

/* Restores the account that the previous meted wrote. No more is owed to the tenant than there can be; a debt stays. */
void arbiter_resume(struct arbiter *a, int tenant, uint64_t charged_ns, int64_t lag_ns);
void arbiter_resume_rights(struct arbiter *a, int tenant, const struct arbiter_rights *rights, uint64_t now_ns);
/*
 * Work that was in flight when the tenant's account was restored has been measured now: it began at at_ns. Value: the
 * time that the tenant is charged for that.
 */
uint64_t arbiter_began(struct arbiter *a, int tenant, uint64_t at_ns);
/* Restores the totals of wanted and waited time, which continue from these values. */
void arbiter_resume_wants(struct arbiter *a, int tenant, uint64_t wanted_ns, uint64_t waited_ns);

/*
 * Advances the time and decides. Returns the latest time of the next call if nothing happens before. arbiter_changed()
 * is true for turns that changed since the last call.
 */
uint64_t arbiter_step(struct arbiter *a, uint64_t now_ns);
bool arbiter_changed(const struct arbiter *a, int tenant);
const struct arbiter_turn *arbiter_turn(const struct arbiter *a, int tenant);
struct arbiter_reading arbiter_read(const struct arbiter *a, int tenant, uint64_t now_ns);

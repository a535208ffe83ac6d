/*
 * arbiter_state.h: the arbiter's own state, for the files that it is made of: rights.c (accounts, and who may be next),
 * turns.c (the turns of one pool), classes.c (high, normal and low beside each other), arbiter.c (its interface and
 * the step). Nobody else includes it.
 */
#pragma once

#include "model/arbiter.h"

#include "model/arrears.h"
#include "model/belief.h"
#include "model/bucket.h"
#include "model/busy.h"
#include "model/ceiling.h"
#include "model/gaps.h"
#include "model/lags.h"
#include "model/leads.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/*
 * In one cycle each of those who want the engine has had its quantum. A change of hands costs some 75 us of the
 * device's time (facts of hardware and of the software device alike), so cycles of a few ms would cost percents of it;
 * long ones show in windows of 1 s: by share * (1 - share) of a cycle. CYCLE_NS is for two tenants; each further one
 * makes it longer by CYCLE_MORE_NS, so that changes of hands take about 1 % of the device however many there are.
 *
 * Where each tenant's turn has its place in the cycle (places_turn_ns()), a cycle is a whole part of WINDOW_NS, over
 * which shares are judged: a window holds the same of all turns then, whenever it begins. Such cycles may be longer.
 */
#define CYCLE_NS (25 * MS)
#define CYCLE_MORE_NS (6 * MS)
#define CYCLE_MOST_NS (100 * MS)
#define WINDOW_NS (1000 * MS)
#define CHANGE_NS (100 * US) /* a change of hands that takes longer makes them longer still */
#define CHANGE_MOST_NS (400 * US)
#define ALIKE 16u	       /* so many launches in a row are about as long: its kernels are all alike */
#define ALIKE_PART 8u	       /* to so small a part */
#define TURN_MOST_NS (45 * MS) /* where turns are rounded to whole kernels */
#define QUANTUM_MIN_NS (2 * MS)
#define QUANTUM_MAX_NS (20 * MS)
#define BOUND_NS (4 * MS)
#define LOW_BOUND_NS (500 * US)
#define LAG_BOUND_NS (50 * MS)
#define BURST_NS (4 * MS)
#define DRAIN_NS (250 * MS)
#define IDLE_NS (300 * US)
#define EARLY_NS (60 * US)
#define READMIT_NS (100 * US)  /* low class comes back after a pause of high so long at least */
#define SHORT_GAP_NS (2 * MS)  /* a longer pause is the end of something */
#define PRESENT_NS (2000 * MS) /* high class that has done nothing for so long is not about */
#define GUARD_NS (100 * MS)
#define GUARD_HIGH_NS (20 * MS) /* of high class, at least, to judge by */
#define GUARD_MOST_NS (2000 * MS)
#define EPSILON_NS (1.0 * US)
#define HEARTBEAT_NS (1000 * MS)
#define LINGER_NS (50 * MS)	 /* so long who has nothing to do keeps its place, where turns are rounded */
#define WORK_NS (10 * MS)	 /* edges are taken so often while there is work: a client keeps WIRE_EDGES of them */
#define ABSENT_NS (1 * MS)	 /* who is opened and does nothing for so long is asleep, for all we know */
#define ABSENT_MOST 2u		 /* and is given twice as long each time, so many times */
#define ABSENT_REST 25u		 /* and left alone for so many times as long */
#define ABSENT_FIRST_NS (4 * MS) /* at first for so long: its processor stood still for a moment, perhaps */
#define CLAIM_IDLE_NS (10 * MS)	 /* so long who has a claim may pause in its turn: it is its own time */
#define CLAIM_BUSY_NS (50 * MS)	 /* and while others have work of unknown length in flight: the engine is busy */
#define VAIN_MOST 4u		 /* who has not used it is not given the next 1, 2, 4 ... of them: so many doublings */
#define UNKNOWN_NS (400 * MS)	 /* work of unknown length is waited for */
#define UNKNOWN_BESIDE_NS (2000 * MS) /* by other work of unknown length: two at once would leave others a third */
#define UNKNOWN_MOST_NS (20000 * MS)  /* with what is believed beyond that (belief.h): nobody waits for longer */
#define WASTED_NS (100 * (int64_t)MS) /* who lets the engine idle for so long, and asks for it, is not behind */
#define UNHEARD_NS (4000.0 * MS)      /* for so long a kernel may be asked for before it is measured */
#define DOUBT_NS (1000 * (int64_t)MS) /* so much of such pauses is remembered */
#define OUTLASTS_NS (1 * MS)	     /* a holder whose work outlasts its turn, and who goes on, is looked at so often */
#define STARVED_NS (1000 * MS)	     /* who has waited so long for its first turn goes before others without a claim */
#define CLAIMED_MOST 0.9	     /* of the engine, for what guarantees are behind */
#define UNCLAIMED_LEAST 0.05	     /* of the time in which others go first by a claim is owed to those who wait */
#define UNCLAIMED_DUE_NS (25 * MS)   /* when it is so much, one of them goes next */
#define UNCLAIMED_MOST_NS (400 * MS) /* they may have had in advance */
#define UNCLAIMED_PRICE_NS (2000 * MS) /* more is not saved for one of them, however long its work is */
#define GONE_NS (16000 * MS)	       /* for so long it is remembered how long kernels of those who left were */
#define ARREARS_CYCLES 3u	       /* who is behind its guarantee by what it has in so many cycles has a claim */
#define LATE_NS (5000 * MS)	       /* an edge of somebody who has left comes no later */
#define INBOX 4096u
#define NOBODY (-1)

#define HANDED_NS (2000 * MS) /* within so long clients are back at the next arbiter with what they have in flight */

/* Put off under the arbiter before, beside work of which this one may hear when it began. */
struct handed {
	double ns, free_ns;
	uint64_t from_ns, at_ns; /* it was put off between these */
	uint64_t covered_ns;	 /* of them such work was measured for so long */
};

#define PLACES_KEPT 32u /* cycles in WINDOW_NS, at most */

/* What a tenant was off by in a cycle, when its turn had begun and when it was over (rounding.h). */
struct places_was {
	uint32_t cycle; /* its number */
	bool over;
	float begun_ns, ended_ns;
};

#define USERS_KEPT 16u

/* Last it has brought work of unknown length. */
struct brought {
	uint32_t user;
	uint64_t at_ns; /* 0: nobody */
};

enum pool {
	MAIN, /* high and normal class */
	REST, /* low */
	POOLS,
};

struct tenant {
	bool used;
	uint64_t joined_ns;
	uint64_t left_ns; /* when the place became free */
	struct arbiter_terms terms;
	struct arbiter_demand demand;
	struct arbiter_gang gang;
	uint64_t heard_ns;     /* the demand is from then */
	uint64_t busy_from_ns; /* something has been in flight since */
	uint64_t idle_from_ns; /* nothing has */
	struct arbiter_turn turn;
	bool changed;
	bool over; /* its terms are others than those of its turn */
	uint64_t opened_ns, closed_ns;
	/* What it had in flight when it was closed is waited for from then: it had begun and was to end at these. */
	uint64_t drain_ns, drain_began_ns, drain_done_ns;
	uint64_t passed_ns;	  /* it is next, and others have gone before it since; 0: they have not */
	uint64_t quantum_from_ns; /* the present quantum began */
	uint64_t quantum_ns;	  /* and lasts so long */
	double before;		  /* of a cycle, before its place there: the shares of those whose place comes first */
	uint64_t least_until_ns;  /* the launch that the turn was made for must find room */
	bool fresh;		  /* came back after an absence, and has not had a turn since */
	uint64_t seen_charged_ns, seen_idled_ns;
	int64_t turn_cost_ns;  /* of the present turn */
	int64_t turn_idled_ns; /* of these idled away */
	uint64_t longest_ns;   /* the costliest turn of late */
	struct arrears arrears;
	double by_clock_ns; /* the same by the time of its turns: what others' pages say does not change it */
	uint64_t seen_wanted_ns;
	uint64_t stood_ns;	  /* waited without work in flight, since its arrears were settled */
	double unheard_ns;	  /* had or waited for beyond what was heard of as asked for; below 0: so much less */
	double silent_ns;	  /* of late it seemed to ask for nothing for so long */
	int64_t doubtful_ns;	  /* of late it paused for so long while others had work in flight */
	double unspent_ns;	  /* had beside work that has not been measured yet: not taken from the arrears yet */
	double unspent_free_ns;	  /* the same of what was nobody's */
	uint64_t unspent_from_ns; /* since then */
	struct handed handed;
	uint64_t resumed_ns;	  /* its account was restored then */
	unsigned int vain;	  /* pauses in a row by a claim after which it did not go on */
	unsigned int hasty;	  /* so many of its turns end at a pause as if it had no claim */
	int64_t wasted_ns;	  /* of late it let the engine idle for so long while it asked, less what it worked */
	bool claimed;		  /* its quantum is by its claim */
	double paid_ns;		  /* without a guarantee: paid for at the beginning of its turn, and not used yet */
	bool behind;		  /* it has a claim, and waits or works */
	uint32_t user;		  /* whose it is; 0: nobody knows */
	uint64_t work_from_ns;	  /* what is measured of it now began then */
	uint64_t unknown_from_ns; /* what it had in flight last is of unknown length, as is known since then; 0: it is
				     not */
	bool noted;		  /* an edge of what is in flight has come */
	bool lied;		  /* it told of work of unknown length, which ended, and nothing of it was measured */
	struct bucket bucket;
	struct ceiling *ceiling; /* NULL: it has no limit, or there was no memory for it: the bucket alone holds it */
	struct gaps gaps;
	struct lead lead; /* of its turns */
	int after;	  /* who had the engine before its turn, and nothing of its turn has been seen yet; or NOBODY */
	int beside;	  /* who was still at work when its turn's work began, or NOBODY */
	uint64_t beside_ns;    /* since then */
	uint64_t next_ns;      /* predicted length of what it had waiting last */
	uint64_t unit_ns;      /* its last launches were all about so long */
	unsigned int alike;    /* so many of them in a row */
	unsigned int unlike;   /* and then so many were not, in a row */
	uint64_t last_end_ns;  /* its last work ended */
	unsigned int absences; /* turns in a row that it did not take up */
	uint64_t absent_until_ns;
	struct places_was was[PLACES_KEPT];
	uint64_t cycle;	  /* the number of that of its last turn */
	uint64_t base_ns; /* charged by a predecessor */
	uint64_t wanted_ns, waited_ns, turns;
};

struct note {
	uint64_t at_ns;
	uint16_t tenant, number;
	bool begins;
};

struct arbiter {
	struct arbiter_params params;
	struct tenant tenant[ARBITER_TENANTS];
	uint16_t list[ARBITER_TENANTS]; /* places in use */
	unsigned int count;
	struct busy *busy;
	struct lags lags[POOLS];
	struct lead_floor floor; /* of the gaps between one tenant's work and the next one's */
	int holder[POOLS];
	int last[POOLS]; /* who held the turn before; pays while it drains */
	uint64_t now_ns;
	bool started;
	uint64_t next_ns;	   /* when to be called again */
	uint64_t quiet_from_ns;	   /* nobody of the main pool has wanted anything since; 0: somebody does */
	uint64_t readmit_ns;	   /* low class comes after so long a quiet */
	uint64_t high_seen_ns;	   /* high class was about */
	uint64_t longest_ns;	   /* the costliest turn of all, of late */
	double gone_ns;		   /* of those who have left */
	double promised[POOLS];	   /* to those who want the engine */
	double divided[POOLS];	   /* the sum of their shares */
	bool changed[POOLS];	   /* the terms of one of them, since they were divided */
	bool placed[POOLS];	   /* turns keep to their places in the cycle */
	bool units_changed[POOLS]; /* whether kernels are alike, since it was looked whether turns are rounded */
	bool rounded[POOLS];	   /* their turns are rounded to whole kernels */
	uint64_t whole_ns[POOLS];  /* a cycle in which they are whole kernels nearly (cycle.h); 0: none */
	uint64_t change_ns;	   /* a change of hands takes so long, about */
	uint64_t ganged_ns;	   /* last, something was required of a turn here by those on other devices */
	struct brought brought[USERS_KEPT];
	struct belief belief; /* in work of unknown length, beside a guarantee */
	bool believes;	      /* somebody waits for such work, and would not without it */
	unsigned int behind;  /* so many have a claim, and wait or work */
	double unclaimed_ns;  /* what is owed to those without one */
	uint64_t guard_from_ns, guard_high_ns, guard_overlap_ns;
	double low_scale; /* of low_bound_ns, as the guard has it */
	struct note inbox[INBOX];
	unsigned int notes;
};

static inline enum pool pool_of(const struct tenant *t)
{
	return t->terms.class == ARBITER_LOW ? REST : MAIN;
}

/* rights.c */
void rights_tell_time(struct tenant *t, uint64_t now_ns);
bool rights_competes(const struct tenant *t);
bool rights_absent(const struct arbiter *a, const struct tenant *t);
void rights_settle(struct arbiter *a, uint64_t now_ns);
void rights_take_wants(struct arbiter *a);
void rights_pay_unclaimed(struct arbiter *a, int i);
unsigned int rights_unmeasured(const struct arbiter *a, int except);
double rights_slack(const struct arbiter *a, int i);
double rights_guaranteed(const struct arbiter *a, int i);
double rights_lag(const struct arbiter *a, int i);
double rights_tokens(const struct arbiter *a, int i);
bool rights_limited(const struct tenant *t);
bool rights_has_tokens(const struct arbiter *a, int i);
bool rights_tokens_out(const struct arbiter *a, int i);
uint64_t rights_ceiling_ns(const struct arbiter *a, int i);
/* Returns the time until what it has in flight ends, as its pages foretell. */
uint64_t rights_foretold_ns(const struct arbiter *a, const struct tenant *t);
bool rights_candidate(const struct arbiter *a, int i);
void rights_remember(struct arbiter *a, const struct tenant *t);
bool rights_claims(const struct arbiter *a, int i);
bool rights_precedes(const struct arbiter *a, int i, int j);
bool rights_eligible(const struct arbiter *a, int i);
bool rights_before(const struct arbiter *a, int i, int j);
bool rights_brings_unknown(const struct tenant *t);
void rights_note_brought(struct arbiter *a, uint32_t user);
int rights_pick(const struct arbiter *a, enum pool p);
int rights_pick_known(const struct arbiter *a, enum pool p);
uint64_t rights_next_refill(const struct arbiter *a, enum pool p);

/* places.c */
uint64_t places_base_ns(const struct arbiter *a, enum pool p);
uint64_t places_cycle_ns(const struct arbiter *a, enum pool p);
double places_share(const struct arbiter *a, int i);
void places_lay_out(struct arbiter *a, enum pool p);
void places_fit(struct arbiter *a, enum pool p);
bool places_kept(const struct arbiter *a, enum pool p);
bool places_has(const struct arbiter *a, int i);
double places_after_ns(const struct arbiter *a, int i, uint64_t at_ns);
uint64_t places_quantum_ns(const struct arbiter *a, int i);
uint64_t places_turn_ns(const struct arbiter *a, int i, uint64_t from_ns);
void places_note(struct arbiter *a, int i, uint64_t from_ns);
bool places_due(const struct arbiter *a, int i);
double places_behind_last(const struct arbiter *a, int i);

/* handed.c */
void handed_spend(struct arbiter *a, int i);

/* turns.c */
uint64_t turns_overdue_at(const struct arbiter *a, const struct tenant *t);
void turns_wake_at(struct arbiter *a, uint64_t at_ns);
bool turns_high_about(const struct arbiter *a);
uint64_t turns_bound(const struct arbiter *a, const struct tenant *t);
void turns_set(const struct arbiter *a, struct tenant *t, bool open, uint64_t until_ns, uint64_t bound_ns);
void turns_close(struct arbiter *a, int i);
void turns_begin_quantum(struct arbiter *a, int i, uint64_t from_ns);
void turns_serve(struct arbiter *a, enum pool p);
uint64_t turns_drained_at(const struct arbiter *a, int c, uint64_t patient_ns);

/* classes.c */
bool classes_main_at_work(struct arbiter *a);
void classes_stand_open(struct arbiter *a, bool work);
void classes_promote(struct arbiter *a);
void classes_serve_low(struct arbiter *a, bool work);
void classes_guard(struct arbiter *a);

/*
 * ledger.h: the account of one device of one grant: the quota, and how much of it each client has been granted.
 *
 * Units granted to a client are charged whether it holds memory with them or keeps them as credit. The safety argument
 * is therefore one invariant, which does not depend on the clients: the sum of grants and shared objects never exceeds
 * the quota. Credit is only lent: ledger_ask() decides when to recall it from the tenant's other processes.
 *
 * Pure: no I/O, no clock. Amounts are units of WIRE_UNIT_BYTES. The caller moves the units on the clients' pages and
 * books here what it did; src/daemon/tenants/account.c documents the order that keeps both consistent when meted is
 * killed in between.
 *
 * Invariant: granted + objects <= quota, except while a shrink is pending (ledger_shrink_soon).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ledger {
	uint64_t quota_units;	/* most that the tenant may hold; promised of the device */
	uint64_t target_units;	/* the target of a pending shrink; else equal to quota_units */
	uint64_t granted_units; /* granted to all clients: held and credit */
	uint64_t object_units;	/* of shared objects, charged to the grant itself */
	uint64_t peak_units;	/* most that the tenant was seen to hold */
	uint64_t refused;	/* requests answered with "no room" */
};

/* One client's request for credit. */
struct ledger_request {
	uint64_t credit_units; /* present credit */
	uint64_t need_units;   /* credit that it needs; 0 with `all` */
	uint64_t want_units;   /* credit that it would like to have, for later requests */
	bool all;	       /* all that is left of the quota */
	bool recalled;	       /* no credit is left to recall from other clients */
	bool settling; /* another reservation of unknown size is being settled: its rest returns soon */
};

enum ledger_answer {
	LEDGER_GRANT = 0, /* grant `units` more (may be 0: the credit suffices) */
	LEDGER_RECALL,	  /* recall other clients' credit, book it, and ask again */
	LEDGER_WAIT,	  /* ask again after a change */
	LEDGER_NO_ROOM,
};

void ledger_init(struct ledger *l, uint64_t quota_units);

/* Returns the units that may still be granted. */
uint64_t ledger_room(const struct ledger *l);

/*
 * Returns by how much grants and objects exceed the quota, or the target of a pending shrink: credit to recall. 0
 * unless a shrink is pending.
 */
uint64_t ledger_excess(const struct ledger *l);

struct ledger_units {
	uint64_t units;		/* GRANT: to grant; RECALL: to recall, if available */
	uint64_t comfort_units; /* RECALL: more that would serve the next requests */
};

/* Decides one request without changing anything. */
enum ledger_answer ledger_ask(const struct ledger *l, const struct ledger_request *request, struct ledger_units *ret);

/* Books units granted to a client; units taken back or lost with the client. */
void ledger_grant(struct ledger *l, uint64_t units);
void ledger_ungrant(struct ledger *l, uint64_t units);

/*
 * Books units that move from a client's grant to a shared object (the sum is the same); an object that appears or ends
 * by itself.
 */
void ledger_grant_to_object(struct ledger *l, uint64_t units);
void ledger_object_add(struct ledger *l, uint64_t units);
void ledger_object_remove(struct ledger *l, uint64_t units);

/* Updates the peak with the present amount held. */
void ledger_saw_held(struct ledger *l, uint64_t held_units);

/* Sets the quota. False: grants and objects do not fit (recall credit first); nothing changed. */
bool ledger_resize(struct ledger *l, uint64_t quota_units);

/*
 * Begins a shrink: nothing is granted above `target_units` any more. The quota follows when ledger_shrink_done()
 * returns true.
 */
void ledger_shrink_soon(struct ledger *l, uint64_t target_units);
bool ledger_shrink_pending(const struct ledger *l);

/* True once, when a pending shrink has reached its target, which is then the quota. */
bool ledger_shrink_done(struct ledger *l);

/*
 * Plans a recall: takes want->units out of the clients' credit, the largest credit first, so that few processes lose
 * credit. It also takes comfort, but at most half of what is then left, so that two processes that grow by turns do not
 * take all of each other's new credit. credit[i]: available at client i; ret_take[i]: to take there. Returns the sum of
 * ret_take.
 */
uint64_t ledger_recall_plan(const uint64_t *credit, unsigned int count, const struct ledger_units *want,
			    uint64_t *ret_take);

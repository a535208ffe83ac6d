/*
 * ledger.h: the account of one device of one grant: how much the tenant may hold, and who has been granted how much.
 *
 * Idea: what a client has been granted is charged whether it holds memory for it or keeps it as credit. So the sum of
 * grants and shared objects never exceeding the quota is the whole safety argument, and it does not depend on what the
 * clients do in between. Credit is only lent: ledger_ask() says when to recall it from a tenant's other processes.
 *
 * Pure: no I/O, no clock. Units of WIRE_UNIT_BYTES. The caller moves the units on the clients' pages and books here
 * what it did; see src/daemon/tenants/account.c for the order that keeps both right when meted is killed in between.
 * Invariant: granted + objects <= quota, except while a shrink is pending (ledger_shrink_soon).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ledger {
	uint64_t quota_units;	/* what the tenant may hold; promised against the device */
	uint64_t target_units;	/* where a pending shrink goes; else equal to quota_units */
	uint64_t granted_units; /* to all clients: held and credit */
	uint64_t object_units;	/* of shared objects, charged to the grant itself */
	uint64_t peak_units;	/* the most the tenant was seen to hold */
	uint64_t refused;	/* requests answered with "no room" */
};

/* One client's request for credit. */
struct ledger_request {
	uint64_t credit_units; /* that it has */
	uint64_t need_units;   /* credit that it must have; 0 with all */
	uint64_t want_units;   /* credit that it would like to have */
	bool all;	       /* everything that is left */
	bool recalled;	       /* there is no more credit to recall from other clients */
	bool settling; /* another reservation of unknown size is being settled: what it leaves comes back soon */
};

enum ledger_answer {
	LEDGER_GRANT = 0, /* grant `units` more (may be 0: the credit is enough) */
	LEDGER_RECALL,	  /* recall other clients' credit, book it, ask again */
	LEDGER_WAIT,	  /* ask again when something has changed */
	LEDGER_NO_ROOM,
};

void ledger_init(struct ledger *l, uint64_t quota_units);

/* What may still be granted. */
uint64_t ledger_room(const struct ledger *l);

/* By how much grants and objects exceed what the tenant may have: credit to recall. 0 but for a pending shrink. */
uint64_t ledger_excess(const struct ledger *l);

struct ledger_units {
	uint64_t units;		/* GRANT: to grant; RECALL: to recall, where there is as much */
	uint64_t comfort_units; /* RECALL: what else would be good to have for the next requests */
};

/* Decides one request; changes nothing. */
enum ledger_answer ledger_ask(const struct ledger *l, const struct ledger_request *request, struct ledger_units *ret);

/* Booking. Units granted to a client; taken back, or lost with the client. */
void ledger_grant(struct ledger *l, uint64_t units);
void ledger_ungrant(struct ledger *l, uint64_t units);

/* Units move from a client's grant to a shared object (the sum stays); an object appears or ends by itself. */
void ledger_grant_to_object(struct ledger *l, uint64_t units);
void ledger_object_add(struct ledger *l, uint64_t units);
void ledger_object_remove(struct ledger *l, uint64_t units);

/* The tenant was seen holding this much. */
void ledger_saw_held(struct ledger *l, uint64_t held_units);

/* Sets the quota. Value: true, or false when grants and objects do not fit in it (recall first), nothing changed. */
bool ledger_resize(struct ledger *l, uint64_t quota_units);

/* Nothing is granted above `target_units` any more; the quota follows when ledger_shrink_done() says so. */
void ledger_shrink_soon(struct ledger *l, uint64_t target_units);
bool ledger_shrink_pending(const struct ledger *l);

/* True once, when a pending shrink has reached its target: the quota is the target now. */
bool ledger_shrink_done(struct ledger *l);

/*
 * From whom to recall: takes want->units out of the clients' credit, the largest first, so that few processes lose
 * theirs. Comfort as well, but no more than half of what is left then: of two processes that grow by turns neither
 * takes from the other all that it has just got. credit[i] is what client i could give; ret_take[i] what it should.
 * Value: the sum of ret_take.
 */
uint64_t ledger_recall_plan(const uint64_t *credit, unsigned int count, const struct ledger_units *want,
			    uint64_t *ret_take);

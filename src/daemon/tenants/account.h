/*
 * account.h: a tenant's ledgers and its clients' pages, changed together.
 *
 * The page's account word is authoritative and outlives meted; the ledger is the sum on which decisions rest. Only
 * this file changes them, both in one step. After a kill between any two instructions, the pages alone determine what
 * is charged: a grant is one word, an object is complete or absent, and a move between the two is marked as done or
 * not done (WIRE_MOVED). The book (book.h), which is written here before and after each change, shows whether a page
 * still has the values that meted knew.
 */
#pragma once

#include "daemon/tenants/client.h"
#include "model/ledger.h"

/* One request for credit. */
struct account_request {
	uint32_t device;
	uint32_t need_units;
	uint32_t want_units;
	bool all;
	bool stays;	    /* for memory that cannot leave the device, in a grant whose other memory can */
	bool waiting;	    /* the request is in the tenant's list of waiting requests */
	bool before_return; /* it was made before the client's memory began to return */
};

/* Decides and carries out one request. Value: enum ledger_answer, but never LEDGER_RECALL. */
enum ledger_answer account_reserve(struct client *client, const struct account_request *request);

/* The units that the client may allocate without a request. */
uint32_t account_credit(const struct client *client, unsigned int device);

/* The units that the client holds, and those of the whole tenant with its shared objects. */
uint32_t account_held(const struct client *client, unsigned int device);
uint64_t account_tenant_held(struct tenant *tenant, unsigned int device);
/*
 * The units that meted has lent the client: without those that only the client itself has reported, where that matters
 * (client.h).
 */
uint32_t account_lent(const struct client *client, unsigned int device);
/*
 * The units charged to the tenant that count against other grants: what it was lent or promised, whatever it reports.
 */
uint64_t account_counted(const struct tenant *tenant, unsigned int device);
/* The values that account_tenant_held() adds up, within the same bounds. */
uint64_t account_counted_held(struct tenant *tenant, unsigned int device);
/* The same as account_tenant_held(); also updates the ledger's peak. */
uint64_t account_measure(struct tenant *tenant, unsigned int device);

/*
 * Takes back up to `units` of credit from all clients except `except` and those that are settling; *ret_settling (may
 * be NULL) says whether any are.
 */
uint64_t account_recall(struct tenant *tenant, unsigned int device, const struct ledger_units *want,
			const struct client *except, bool *ret_settling);

/*
 * True while a reservation of unknown size is being settled, a process that held memory is exiting, or its memory is
 * leaving.
 */
bool account_settling(struct tenant *tenant, unsigned int device, const struct client *asking, bool all);

/*
 * Charge the tenant with units before a client holds them (workers/pledge.h); return them; make them credit of the
 * client that has attached. Value: as account_reserve().
 */
enum ledger_answer account_pledge(struct tenant *tenant, unsigned int device, uint32_t units);
void account_unpledge(struct tenant *tenant, unsigned int device, uint32_t units);
void account_redeem(struct client *client, unsigned int device, uint32_t units);

/* Shared objects. Value: enum wire_status. ret_units: the object's size; ret_last: no client references it any more. */
enum wire_status account_share(struct client *client, const struct wire_object_request *request, uint32_t *ret_units);
enum wire_status account_import(struct client *client, const struct wire_object_request *request, uint32_t *ret_units,
				uint32_t *ret_device);
enum wire_status account_drop(struct client *client, const struct wire_object_request *request, uint32_t *ret_units,
			      uint32_t *ret_last);

/*
 * Charges what a client's page says, after a restart. A page that differs from the book is logged, and the larger of
 * the two values counts, all of it as held.
 */
void account_recover(struct client *client);
/* The same for a client whose page is lost: only the book counts. The other two apply the client's own report. */
void account_recover_lost(struct client *client);
void account_reclaim(struct client *client, const uint32_t held_units[WIRE_MAX_DEVICES]);
void account_claim(struct client *client, const uint32_t held_units[WIRE_MAX_DEVICES]);

/* Return all units of the client: its process has ended, or has executed another program. */
void account_close(struct client *client);
void account_empty(struct client *client);

/* Write the tenant's quota and tightness to the pages of its clients, or to one. */
void account_publish(struct tenant *tenant);
void account_publish_to(struct client *client);

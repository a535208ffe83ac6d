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
	bool stays;   /* it is for memory that cannot leave the device, of a grant whose other memory may */
	bool waiting; /* it is in the tenant's list of those who wait */
};

/* Decides and carries out one request. Value: enum ledger_answer, never LEDGER_RECALL. */
enum ledger_answer account_reserve(struct client *client, const struct account_request *request);

/* What the client may take without asking. */
uint32_t account_credit(const struct client *client, unsigned int device);

/* What the client holds, and the whole tenant with its shared objects. */
uint32_t account_held(const struct client *client, unsigned int device);
uint64_t account_tenant_held(struct tenant *tenant, unsigned int device);
/* What meted has lent the client: without what it has but said that it holds, where that matters (client.h). */
uint32_t account_lent(const struct client *client, unsigned int device);
/* What the tenant is charged, as far as it counts against others: what it was lent or promised, whatever it says. */
uint64_t account_counted(const struct tenant *tenant, unsigned int device);
/* What account_tenant_held() adds up, within the same bounds. */
uint64_t account_counted_held(struct tenant *tenant, unsigned int device);
/* The same as account_tenant_held(); the ledger's peak is brought up to date. */
uint64_t account_measure(struct tenant *tenant, unsigned int device);

/*
 * Takes back up to `units` of credit from all clients but `except`, and none from those that are settling;
 * *ret_settling (or NULL) says whether there were any.
 */
uint64_t account_recall(struct tenant *tenant, unsigned int device, const struct ledger_units *want,
			const struct client *except, bool *ret_settling);

/* True while a reservation of unknown size is being settled, or a process that held memory is just ending. */
bool account_settling(struct tenant *tenant, unsigned int device, const struct client *asking, bool all);

/*
 * Charges units to the tenant before there is a client that holds them (workers/pledge.h), or gives them back; or makes
 * them credit of the client that has come. Value: as account_reserve().
 */
enum ledger_answer account_pledge(struct tenant *tenant, unsigned int device, uint32_t units);
void account_unpledge(struct tenant *tenant, unsigned int device, uint32_t units);
void account_redeem(struct client *client, unsigned int device, uint32_t units);

/* Objects. Value: enum wire_status; ret_units is the object's, ret_last that nobody references it any more. */
enum wire_status account_share(struct client *client, const struct wire_object_request *request, uint32_t *ret_units);
enum wire_status account_import(struct client *client, const struct wire_object_request *request, uint32_t *ret_units,
				uint32_t *ret_device);
enum wire_status account_drop(struct client *client, const struct wire_object_request *request, uint32_t *ret_units,
			      uint32_t *ret_last);

/* Books what a page says, after a restart, or what a client says of itself whose page is lost. */
/* A page that is not as the book has it is logged, and counted as the larger of what the two say, all of it as held. */
void account_recover(struct client *client);
/* The same for a client whose page is lost: the book alone counts; and when it has said what it holds. */
void account_recover_lost(struct client *client);
void account_reclaim(struct client *client, const uint32_t held_units[WIRE_MAX_DEVICES]);
void account_claim(struct client *client, const uint32_t held_units[WIRE_MAX_DEVICES]);

/* Everything of the client goes back: its process has ended, or has become another program. */
void account_close(struct client *client);
void account_empty(struct client *client);

/* Writes the tenant's quota and tightness on its clients' pages, or on one. */
void account_publish(struct tenant *tenant);
void account_publish_to(struct client *client);

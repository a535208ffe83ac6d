/*
 * others.c: see others.h. A seqlock on each client's page; meted's loop is its only writer, so that what a client is
 * answered while it does not stand comes after the change.
 */
#include "daemon/tenants/others.h"

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/tenant.h"

#include <errno.h>

static struct wire_account *account_of(const struct client *client, unsigned int device)
{
	return &client->page.map->account[device];
}

static void change_of(struct client *client)
{
	for (unsigned int d = 0; d < client->tenant->grant.share_count; d++)
		atomic_fetch_or_explicit(&account_of(client, d)->others_serial, 1, memory_order_relaxed);
}

void others_change(struct tenant *tenant)
{
	if (tenant->others_known_not)
		return;
	tenant->others_known_not = true;
	for (struct client *c = tenant->clients; c; c = c->next)
		change_of(c);
	atomic_thread_fence(memory_order_seq_cst); /* before all that follows; pairs with the shim's others.c */
}

/* A page that was cut short says nothing, and what its process holds only meted guesses. */
static bool all_whole(const struct tenant *tenant)
{
	for (const struct client *c = tenant->clients; c; c = c->next)
		if (c->page.broken)
			return false;
	return true;
}

static void publish_to(struct client *client, unsigned int device, uint32_t count, bool crew)
{
	struct wire_account *account = account_of(client, device);
	const struct ledger *ledger = &client->tenant->grant.share[device].ledger;
	uint32_t serial = atomic_load_explicit(&account->others_serial, memory_order_relaxed) | 1;

	/* Begins anywhere: a client that is given another page does not find the same number on it. */
	if (crew && !atomic_load_explicit(&account->others_crew, memory_order_relaxed))
		atomic_store_explicit(&account->others_crew, (uint32_t)(clock_now_ns() >> 10) | 1,
				      memory_order_relaxed);
	else if (crew)
		atomic_fetch_add_explicit(&account->others_crew, 2, memory_order_relaxed); /* odd, so never 0 */
	atomic_store_explicit(&account->others_count, count, memory_order_relaxed);
	atomic_store_explicit(&account->object_units, (uint32_t)ledger->object_units, memory_order_relaxed);
	serial = serial == UINT32_MAX ? 2 : serial + 1; /* 0 is a page that was never told */
	atomic_store_explicit(&account->others_serial, serial, memory_order_release);
}

void others_publish(struct tenant *tenant, bool crew)
{
	uint32_t count = 0;

	others_change(tenant);
	for (const struct client *c = tenant->clients; c; c = c->next)
		count++;
	/* So many pages nobody reads; and whoever has come last may have one of the meted before. */
	if (count > WIRE_PEERS_MOST + 1)
		change_of(tenant->clients);
	if (count > WIRE_PEERS_MOST + 1 || !all_whole(tenant))
		return;
	tenant->others_known_not = false;
	for (struct client *c = tenant->clients; c; c = c->next)
		for (unsigned int d = 0; d < tenant->grant.share_count; d++)
			publish_to(c, d, count - 1, crew);
}

int others_open(const struct client *client, uint32_t index, uint32_t *ret_crew)
{
	const struct client *other = client->tenant->clients;

	*ret_crew = atomic_load_explicit(&account_of(client, 0)->others_crew, memory_order_relaxed);
	for (; other; other = other->next)
		if (other != client && !index--)
			break;
	return other ? page_open_to_read(&client->tenant->daemon->runtime, &other->page) : -ENOENT;
}

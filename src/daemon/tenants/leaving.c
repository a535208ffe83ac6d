/* leaving.c: see leaving.h. The drivers are asked every LOOK_MS while anything leaves. */
#include "daemon/tenants/leaving.h"

#include "base/clock.h"
#include "base/size.h"
#include "daemon/daemon.h"
#include "daemon/health/device_watch.h"
#include "daemon/log.h"
#include "daemon/tenants/account.h"
#include "daemon/tenants/others.h"
#include "daemon/tenants/tenant.h"

#include <stdlib.h>

#define LOOK_MS 20u
#define SECOND_NS 1000000000u
#define ASK_MOST 256u

struct leaving {
	struct leaving *next;
	pid_t pid;
	uint64_t began_ns;
	struct book_entry *entry; /* NULL: there is none */
	bool gone;
	uint64_t units[WIRE_MAX_DEVICES];
};

static const enum device_kind kinds[] = { DEVICE_NVIDIA, DEVICE_SOFT };

static bool lingers(enum device_kind kind)
{
	return kind == DEVICE_NVIDIA || (kind == DEVICE_SOFT && getenv("METE_SOFT_LINGER"));
}

static struct ledger *ledger_of(struct tenant *tenant, unsigned int device)
{
	return &tenant->grant.share[device].ledger;
}

uint64_t leaving_units(const struct tenant *tenant, unsigned int device)
{
	uint64_t units = 0;

	for (const struct leaving *l = tenant->leaving; l; l = l->next)
		units += l->units[device];
	return units;
}

/* Takes one out of the list, and gives its charge back. */
static void release(struct tenant *tenant, struct leaving **at)
{
	struct leaving *l = *at;

	*at = l->next;
	for (unsigned int d = 0; d < tenant->grant.share_count; d++)
		ledger_object_remove(ledger_of(tenant, d), l->units[d]);
	book_remove(l->entry);
	free(l);
}

static void complain(struct tenant *tenant, const struct leaving *l)
{
	uint64_t units = 0;
	char text[SIZE_TEXT_BYTES];

	for (unsigned int d = 0; d < tenant->grant.share_count; d++)
		units += l->units[d];
	size_format(units * WIRE_UNIT_BYTES, text);
	log_of_programs(tenant->grant.uid, tenant->grant.id,
			"grant %s: the driver still counts memory for pid %d, which ended %u s ago: its charge of %s "
			"is given back",
			tenant->grant.name, (int)l->pid, LEAVING_MOST_S, text);
	event_add(&tenant->events, "the driver still counts memory for pid %d, which ended %u s ago: %s", (int)l->pid,
		  LEAVING_MOST_S, text);
}

/* `hopeless`: nobody can tell, so nothing is waited for. */
static void sweep(struct tenant *tenant, bool hopeless)
{
	uint64_t now_ns = clock_now_ns();
	struct leaving **at = &tenant->leaving, *l;
	bool any = false;

	while ((l = *at)) {
		bool late = now_ns - l->began_ns >= LEAVING_MOST_S * (uint64_t)SECOND_NS;

		if (!l->gone && !hopeless && !late) {
			at = &l->next;
			continue;
		}
		if (!l->gone && !hopeless)
			complain(tenant, l);
		if (!any)
			others_change(tenant);
		any = true;
		release(tenant, at);
	}
	if (!any)
		return;
	others_publish(tenant, false);
	tenant_retry(tenant);
}

static unsigned int list(struct daemon *daemon, enum device_kind kind, pid_t pids[ASK_MOST])
{
	unsigned int n = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next)
		for (struct leaving *l = t->grant.kind == kind ? t->leaving : NULL; l && n < ASK_MOST; l = l->next)
			pids[n++] = l->pid;
	return n;
}

static void on_look(void *owner)
{
	struct daemon *daemon = owner;
	pid_t pids[ASK_MOST];
	unsigned int left = 0;

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		unsigned int n = list(daemon, kinds[i], pids);
		bool hopeless = n && device_watch_ask(daemon, kinds[i], pids, n);

		for (struct tenant *t = n ? daemon->tenants : NULL; t; t = t->next)
			if (t->grant.kind == kinds[i])
				sweep(t, hopeless);
		left += list(daemon, kinds[i], pids);
	}
	if (!left)
		timer_stop(daemon->leaving);
}

void leaving_told(struct daemon *daemon, enum device_kind kind, pid_t pid, uint64_t bytes)
{
	for (struct tenant *t = bytes ? NULL : daemon->tenants; t; t = t->next) {
		bool any = false;

		for (struct leaving *l = t->grant.kind == kind ? t->leaving : NULL; l; l = l->next)
			if (l->pid == pid)
				any = l->gone = true;
		if (any)
			sweep(t, false);
	}
}

/* Value: NULL: no memory, so it cannot be waited for. */
static struct leaving *add(struct tenant *tenant, pid_t pid, struct book_entry *entry)
{
	struct daemon *daemon = tenant->daemon;
	struct leaving *l;

	if (!daemon->leaving)
		daemon->leaving = timer_new(daemon->loop, on_look, daemon);
	l = daemon->leaving ? calloc(1, sizeof(*l)) : NULL;
	if (!l)
		return NULL;
	l->pid = pid;
	l->entry = entry;
	l->began_ns = clock_now_ns();
	l->next = tenant->leaving;
	tenant->leaving = l;
	if (!timer_running(daemon->leaving))
		timer_start(daemon->leaving, 0, LOOK_MS);
	return l;
}

static void charge(struct tenant *tenant, struct leaving *l, unsigned int device, uint64_t units)
{
	l->units[device] = units;
	ledger_object_add(ledger_of(tenant, device), units);
}

/* What the process has on a device, not what it was lent: a driver that took it off there has freed it. */
static uint64_t held_units(const struct client *client, unsigned int device)
{
	uint32_t held = client->residing.saved ? 0 : account_held(client, device);

	return held < client->granted_units[device] ? held : client->granted_units[device];
}

void leaving_close(struct client *client)
{
	struct tenant *tenant = client->tenant;
	uint64_t units[WIRE_MAX_DEVICES], all = 0;
	struct leaving *l;

	if (!lingers(tenant->grant.kind) || !process_ended(client->pidfd)) {
		account_close(client);
		return;
	}
	for (unsigned int d = 0; d < tenant->grant.share_count; d++)
		units[d] = held_units(client, d) + ledger_of(tenant, d)->object_units;
	account_close(client);
	for (unsigned int d = 0; d < tenant->grant.share_count; d++) {
		units[d] -= ledger_of(tenant, d)->object_units; /* those of others remain */
		all += units[d];
	}
	l = all ? add(tenant, client->process.pid, client->entry) : NULL;
	if (!l)
		return;
	client->entry = NULL;
	for (unsigned int d = 0; d < tenant->grant.share_count; d++) {
		charge(tenant, l, d, units[d]);
		book_set(l->entry, d, BOOK_GRANTED, (uint32_t)units[d]);
		book_set(l->entry, d, BOOK_OBJECTS, 0);
	}
}

bool leaving_restore(struct tenant *tenant, struct book_entry *entry)
{
	uint64_t units[WIRE_MAX_DEVICES], all = 0;
	struct leaving *l;

	for (unsigned int d = 0; d < tenant->grant.share_count; d++) {
		uint64_t room = ledger_room(ledger_of(tenant, d)), own = book_most(entry, d, BOOK_GRANTED);

		own += book_most(entry, d, BOOK_OBJECTS);
		units[d] = own < room ? own : room; /* others may have its objects, and be charged with them */
		all += units[d];
	}
	l = all && lingers(tenant->grant.kind) ? add(tenant, entry->pid, entry) : NULL;
	for (unsigned int d = 0; l && d < tenant->grant.share_count; d++)
		charge(tenant, l, d, units[d]);
	return l;
}

void leaving_forget(struct tenant *tenant, bool over)
{
	struct leaving *l;

	while ((l = tenant->leaving)) {
		tenant->leaving = l->next;
		if (over)
			book_remove(l->entry);
		free(l);
	}
}

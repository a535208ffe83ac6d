/*
 * residence.c: see residence.h.
 *
 * A timer looks at the pages of those clients whose memory moves, while there are any. What it takes for somebody to
 * leave is far more than its period.
 */
#include "daemon/tenants/residence.h"

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/owner.h"
#include "daemon/subordinate.h"
#include "daemon/tenants/account.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/disk.h"
#include "daemon/tenants/limit.h"
#include "daemon/tenants/residing.h"
#include "daemon/tenants/session.h"
#include "daemon/tenants/stores.h"
#include "daemon/tenants/suspension.h"
#include "daemon/tenants/tenant.h"
#include "daemon/tenants/yielding.h"
#include "daemon/workers/spare.h"
#include "daemon/workers/worker.h"
#include "model/offload.h"
#include "model/residence.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 10u
#define LOOK_SOON_MS 1u	   /* users bring that about, and not more often */
#define CLIENTS 512u	   /* of a device, whose memory moves: those beyond stay where they are */
#define CLIENTS_OF_ONE 64u /* of a tenant: the processes of one leave places for those of others */
#define USERS 64u	   /* who have parts of these places; all others share the last one */
#define HOPE_NS 200000000u
#define ROOM_HOPE_NS 1000000000u /* where others may be held up between what they take and what their page says */
#define STAY_NS 50000000u /* what was allowed is taken within it */

/* A grant whose memory moves has one device. */
bool residence_moves(const struct tenant *t)
{
	return t->grant.spill;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Of a user whom meted does not take at his word. */
static bool is_users(const struct tenant *t)
{
	return t->daemon->runtime.system && !owner_is(t->grant.uid);
}

/* Its memory may keep from others what they are promised: that of programs that do not let it leave does. */
static bool is_bounded(const struct tenant *t)
{
	return residence_moves(t) && is_users(t);
}

uint64_t residence_away(const struct tenant *tenant, unsigned int device, const struct client *except)
{
	uint64_t units = 0, quota = tenant->grant.share[device].ledger.quota_units;

	for (const struct client *c = tenant->clients; c && !device && residence_moves(tenant); c = c->next)
		if (c != except)
			units += residing_away(c);
	return units < quota ? units : quota; /* all of them together have no more either */
}

/* A device and those on it --------------------------------------------------------------------------------------- */

static struct view {
	struct residence_device device;
	struct residence_client list[CLIENTS];
	struct client *client[CLIENTS];
	unsigned int count;
	uint64_t unused_units; /* promised to somebody, and not taken */
	uint64_t stay_units;   /* of the device: what is held that cannot leave, and what may be */
} view;

static const struct residence_client *seen(const struct client *c)
{
	for (unsigned int i = 0; i < view.count; i++)
		if (view.client[i] == c)
			return &view.list[i];
	return NULL;
}

static bool wants(const struct client *c, uint64_t now)
{
	return c->residing.want_units && now - c->residing.want_ns < RESIDING_WANT_NS;
}

static bool same_user(uid_t a, uid_t b)
{
	return subordinate_user(a) == subordinate_user(b);
}

static uint64_t promised_units(const struct tenant *t, const struct grant_share *share)
{
	return t->grant.overcommit ? 0 : t->grant.spill ? t->grant.resident_units : share->ledger.quota_units;
}

/* What a driver has taken off the device is granted, and not there. */
static uint64_t unused_units(const struct tenant *t, const struct grant_share *share)
{
	uint64_t taken = share->ledger.granted_units + share->ledger.object_units;

	for (const struct client *c = t->clients; c; c = c->next)
		taken = less(taken, c->residing.saved ? c->granted_units[share - t->grant.share] : 0);
	return less(promised_units(t, share), taken);
}

/* What others were promised of the device, and have not taken: what cannot leave gets nothing of it either. */
static uint64_t barred_units(const struct client *c)
{
	const struct tenant *t = c->tenant;

	return is_bounded(t) || (residence_moves(t) && !residing_can_be_asked(c))
		       ? view.unused_units - unused_units(t, &t->grant.share[0])
		       : 0;
}

static uint64_t tenant_staying(struct tenant *t)
{
	uint64_t units = t->grant.share[0].ledger.object_units;

	for (const struct client *c = t->clients; c; c = c->next)
		units += residing_can_be_asked(c) ? residing_staying(c) : account_held(c, 0);
	return units;
}

uint64_t residence_occupied_bytes(const struct daemon *daemon, const uint8_t *uuid, uid_t uid)
{
	uint64_t units = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		uint64_t held;

		if (!residence_moves(t) || !grant_find_share(&t->grant, uuid))
			continue;
		held = account_counted_held(t, 0);
		if (!is_bounded(t) || same_user(t->grant.uid, uid))
			held = lesser(held, tenant_staying(t));
		units += less(held, promised_units(t, &t->grant.share[0]));
	}
	return units * WIRE_UNIT_BYTES;
}

/*
 * One whose memory stays, and that waits for more: it was promised the room, and goes before all whose memory moves.
 * But not one of a grant whose memory is to move (it was started without METE_SPILL=1): nothing is promised to that.
 */
static void see_waiting(struct client *c, uint64_t held_units)
{
	const struct tenant *t = c->tenant;

	view.list[view.count] =
		(struct residence_client){ .held_units = held_units,
					   .want_units = c->residing.want_units,
					   .barred_units = barred_units(c),
					   .class = residence_moves(t) ? t->grant.share[0].compute.terms.class + 1 : 0,
					   .waits_since_ns = c->residing.waits_since_ns };
	view.client[view.count++] = c;
}

static void see_client(struct client *c, uint64_t held_units, uint64_t now)
{
	const struct residing *r = &c->residing;
	struct residence_client *to = &view.list[view.count];
	const struct tenant *t = c->tenant;

	*to = (struct residence_client){
		.place = (enum residence_place)wire_place_state(r->place),
		.held_units = held_units,
		.movable_units = lesser(residing_movable(c), held_units),
		.away_units = residing_away(c),
		.want_units = wants(c, now) ? r->want_units : 0,
		.keeps_units = t->grant.resident_units,
		.barred_units = barred_units(c),
		.swap_ns = residence_swap(r->swap_ns, r->swap_before_ns),
		.class = t->grant.share[0].compute.terms.class + 1,
		.called = r->called || r->place & WIRE_PLACE_WAITED,
		.suspended = t->grant.suspended,
		.stays = now < r->stays_until_ns,
		.since_ns = r->since_ns,
		.arrived_ns = r->arrived_ns,
		.idle_since_ns = r->idle_since_ns,
		.waits_since_ns = r->waits_since_ns,
		.wish_away = residing_wishes_away(c),
	};
	view.client[view.count++] = c;
}

/* The same with what it was allowed a moment ago, and may not have taken yet. */
static uint64_t staying_soon(const struct client *c, uint64_t now)
{
	const struct residing *r = &c->residing;
	uint64_t units = residing_staying(c);

	return r->stay_units > units && now - r->stay_ns < STAY_NS ? r->stay_units : units;
}

static uint64_t all_unused_units(struct daemon *daemon, const uint8_t *uuid)
{
	uint64_t units = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		const struct grant_share *share = grant_find_share(&t->grant, uuid);

		units += share ? unused_units(t, share) : 0;
	}
	return units;
}

/* Where there are more clients than places each user has as many: those of one leave places for those of others. */
struct parts {
	unsigned int count; /* 0: nobody is bounded */
	struct {
		uid_t user; /* owners are one */
		unsigned int left;
	} of[USERS];
};

static unsigned int *part_of(struct parts *parts, const struct tenant *t)
{
	uid_t user = owner_is(t->grant.uid) ? 0 : subordinate_user(t->grant.uid);
	unsigned int i = 0;

	while (i < parts->count && parts->of[i].user != user)
		i++;
	if (i == parts->count && i < USERS)
		parts->of[parts->count++].user = user;
	return &parts->of[i < USERS ? i : USERS - 1].left;
}

static struct parts divide(struct daemon *daemon, const uint8_t *uuid)
{
	struct parts parts = { 0 };
	unsigned int all = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next)
		all += grant_find_share(&t->grant, uuid) ? t->client_count : 0;
	if (all <= CLIENTS)
		return parts;
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (t->clients && grant_find_share(&t->grant, uuid))
			part_of(&parts, t);
	for (unsigned int i = 0; i < parts.count; i++)
		parts.of[i].left = CLIENTS / parts.count;
	return parts;
}

static bool has_place(struct parts *parts, const struct tenant *t)
{
	unsigned int *left = parts->count ? part_of(parts, t) : NULL;

	if (left && !*left)
		return false;
	if (left)
		--*left;
	return view.count < CLIENTS;
}

/* Value: some tenant's memory moves there. */
static bool see(struct daemon *daemon, const uint8_t *uuid)
{
	uint64_t now = clock_now_ns(), left, held;
	struct parts parts = divide(daemon, uuid);
	unsigned int device, of_one;
	bool any = false;

	view.count = 0;
	view.device = (struct residence_device){ 0 };
	view.unused_units = all_unused_units(daemon, uuid);
	view.stay_units = 0;
	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		struct grant_share *share = grant_find_share(&t->grant, uuid);

		if (!share)
			continue;
		view.device.total_units = share->device.total_bytes / WIRE_UNIT_BYTES;
		any |= residence_moves(t);
		device = (unsigned int)(share - t->grant.share);
		left = account_counted(t, device);
		of_one = 0;
		for (struct client *c = t->clients; c && of_one < CLIENTS_OF_ONE; c = c->next) {
			if (!residing_can_be_asked(c) && !wants(c, now))
				continue;
			if (!has_place(&parts, t))
				break;
			of_one++;
			held = c->residing.saved ? 0 : lesser(account_lent(c, device), left);
			left -= held;
			view.stay_units += residing_can_be_asked(c)
						   ? lesser(staying_soon(c, now), share->ledger.quota_units)
						   : held;
			if (residing_can_be_asked(c))
				see_client(c, held, now);
			else
				see_waiting(c, held);
		}
		view.device.other_units += left;
	}
	/* No grant is charged for them, and the device has them. */
	view.device.other_units += spare_bytes(daemon, NULL, uuid) / WIRE_UNIT_BYTES;
	view.stay_units += view.device.other_units; /* those that are not asked to leave stay */
	view.device.turn_most_ns = daemon->memory->turn_most_ns;
	view.device.turn_ns = residence_turn(&view.device, daemon->memory->turn_ns, view.list, view.count);
	return any;
}

static void recall_all(struct daemon *daemon, const uint8_t *uuid, uint64_t units, const struct client *except)
{
	for (struct tenant *t = daemon->tenants; t && units; t = t->next) {
		struct grant_share *share = grant_find_share(&t->grant, uuid);
		uint64_t got;

		if (!share)
			continue;
		got = account_recall(t, (unsigned int)(share - t->grant.share), &(struct ledger_units){ units, 0 },
				     except, NULL);
		units -= got < units ? got : units;
	}
}

/* Of the device that was seen last. */
static uint64_t room_for(const struct client *client)
{
	const struct residence_client *who = seen(client);
	uint64_t room = residence_free(&view.device, view.list, view.count, who);

	return who ? room : less(room, barred_units(client));
}

uint64_t residence_room(struct client *client, unsigned int device, uint64_t need)
{
	const uint8_t *uuid = client->tenant->grant.share[device].device.uuid;
	struct daemon *daemon = client->tenant->daemon;
	uint64_t room;

	if (!daemon->residence || !see(daemon, uuid)) /* of those without a tenant like that it costs nothing */
		return UINT64_MAX;
	room = room_for(client);
	if (room >= need)
		return room;
	recall_all(daemon, uuid, need - room, client);
	see(daemon, uuid);
	return room_for(client);
}

bool residence_wait(struct client *client, unsigned int device, uint64_t units, bool before_return)
{
	struct residing *r = &client->residing;
	const struct residence_client *who;
	uint64_t now = clock_now_ns();

	/*
	 * One whose memory stays, and that has not asked for a while, waits anew: residing_look() sees to the others.
	 */
	if (!residence_moves(client->tenant) && !wants(client, now))
		r->waits_since_ns = r->late_ns = 0;
	if (now - r->want_ns >= ROOM_HOPE_NS) /* that was another request */
		r->hopeless_ns = 0;
	r->want_units = units;
	r->want_ns = now;
	if (!r->waits_since_ns)
		r->waits_since_ns = now;
	who = see(client->tenant->daemon, client->tenant->grant.share[device].device.uuid) ? seen(client) : NULL;
	if (who && who->place == RESIDENCE_RETURNING && before_return)
		return true;
	/* One on its way back is not waited for: without room it goes back to where it was, and is called again. */
	if (who && who->place != RESIDENCE_RETURNING &&
	    residence_can_hold(&view.device, view.list, view.count, who, units)) {
		r->hopeless_ns = 0;
		return true;
	}
	/* Clients that take or give something just now have it counted as what cannot leave, for a moment. */
	if (who && !r->hopeless_ns)
		r->hopeless_ns = r->want_ns;
	if (who && r->want_ns - r->hopeless_ns < ROOM_HOPE_NS)
		return true;
	r->hopeless_ns = 0;
	r->want_units = r->waits_since_ns = 0;
	return false;
}

void residence_has(struct client *client)
{
	yielding_has(client);
	client->residing.want_units = client->residing.hopeless_ns = 0;
	if (!residence_moves(client->tenant))
		client->residing.waits_since_ns = 0;
}

/* What others are promised and may request at any moment. Those that are not lent it are barred from it anyway. */
static uint64_t others_unused(const struct tenant *t, const struct grant_share *share)
{
	return is_bounded(t) ? 0 : view.unused_units - unused_units(t, share);
}

/* Memory that can leave makes room for what is promised: the device needs room for the larger of both. */
uint64_t residence_stay_room(struct client *client, unsigned int device)
{
	const struct grant_share *share = &client->tenant->grant.share[device];
	uint64_t promised, turns;

	if (!residing_can_be_asked(client) || !see(client->tenant->daemon, share->device.uuid))
		return UINT64_MAX;
	promised = others_unused(client->tenant, share);
	turns = residence_turns_need(view.list, view.count, seen(client));
	return less(view.device.total_units, view.stay_units + (promised > turns ? promised : turns));
}

bool residence_may_stay(struct client *client, unsigned int device, uint64_t units)
{
	struct residing *r = &client->residing;
	uint64_t room = residence_stay_room(client, device), now = clock_now_ns();

	if (room < units)
		return false;
	r->short_ns = 0;
	r->stay_units = staying_soon(client, now) + units;
	r->stay_ns = now;
	return true;
}

/* Those that take something that can leave hold it for a moment before their page says so. */
bool residence_stay_waits(struct client *client)
{
	struct residing *r = &client->residing;
	uint64_t now = clock_now_ns();

	if (!r->short_ns)
		r->short_ns = now;
	if (now - r->short_ns < HOPE_NS)
		return true;
	r->short_ns = 0;
	return false;
}

/* Where memory goes that leaves, in units. */

/*
 * A local program of another user's would have the file in its hands, and could make it as large as the disk: of users
 * only workers get one, which are mete's own.
 */
static bool may_have_disk(const struct client *c)
{
	return residing_place(c) & WIRE_PLACE_STORES &&
	       (!is_users(c->tenant) || worker_find(c->tenant->daemon, c->process.pid));
}

/* Of the host's memory (`host_units`) a user has the part that limits.mem says. */
static struct offload_owner owner_of(const struct tenant *t, uint64_t host_units, bool disk)
{
	return (struct offload_owner){ .owner = !is_users(t),
				       .user = subordinate_user(t->grant.uid),
				       .host_most = limit_part(t, host_units),
				       .disk = disk };
}

uint64_t residence_client_disk(const struct client *c)
{
	if (c->residing.disk_fd || c->residing.disk_ask)
		return c->residing.disk_units;
	/* A meted before this one has given it the file. */
	return residing_place(c) & WIRE_PLACE_DISK && may_have_disk(c) ? residing_away(c) : 0;
}

uint64_t residence_disk(const struct tenant *tenant)
{
	uint64_t units = 0;

	for (const struct client *c = tenant->clients; c && residence_moves(tenant); c = c->next)
		units += residence_client_disk(c);
	return units + stores_units(tenant);
}

/* `but`: what it has, or will have, is left out. */
static struct offload offload_now(const struct daemon *daemon, const struct client *but)
{
	const struct residence_options *o = daemon->memory;
	struct offload now = { .host_most = o->pool_bytes / WIRE_UNIT_BYTES };

	if (!now.host_most)
		now.host_most =
			(uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * (uint64_t)sysconf(_SC_PAGESIZE) / WIRE_UNIT_BYTES;
	now.disk_most = disk_there(daemon) ? o->disk_bytes / WIRE_UNIT_BYTES : 0;
	now.disk_user_most = o->disk_user_bytes ? o->disk_user_bytes / WIRE_UNIT_BYTES : now.disk_most / 2;
	for (const struct tenant *t = daemon->tenants; t; t = t->next) {
		const struct offload_owner whose = owner_of(t, now.host_most, true);
		uint64_t host = 0, disk = 0;

		/*
		 * Of each by itself: what one will have on the disk is not what another one has in the host's memory.
		 */
		for (const struct client *c = t->clients; c && residence_moves(t); c = c->next) {
			uint64_t units = residence_client_disk(c);

			host += less(residing_away(c), units);
			if (c == but)
				continue;
			if (units)
				disk += units;
			else if (residing_is_to_leave(c))
				offload_add(&now, &whose, OFFLOAD_HOST, residing_movable(c));
		}
		/* All of them together have no more than the quota away. */
		offload_add(&now, &whose, OFFLOAD_DISK, disk + stores_units(t));
		offload_add(&now, &whose, OFFLOAD_HOST,
			    lesser(host, t->grant.share[0].ledger.quota_units) +
				    less(moving_away_bytes(t) / WIRE_UNIT_BYTES, stores_units(t)));
	}
	return now;
}

uint64_t residence_disk_bytes(const struct daemon *daemon, uint64_t *ret_most_bytes)
{
	const struct offload now = offload_now(daemon, NULL);

	*ret_most_bytes = now.disk_most * WIRE_UNIT_BYTES;
	return now.disk * WIRE_UNIT_BYTES;
}

uint64_t residence_pool_room(const struct tenant *tenant)
{
	const struct offload now = offload_now(tenant->daemon, NULL);
	const struct offload_owner whose = owner_of(tenant, now.host_most, false);

	return offload_room(&now, &whose, OFFLOAD_HOST);
}

bool residence_takes(const struct tenant *tenant, uint64_t units)
{
	const struct offload now = offload_now(tenant->daemon, NULL);
	struct offload_owner whose = owner_of(tenant, now.host_most, false);
	uint64_t room = offload_room(&now, &whose, OFFLOAD_HOST);

	for (const struct client *c = tenant->clients; c && residence_moves(tenant); c = c->next)
		whose.disk |= may_have_disk(c);
	return units <= room || units - room <= offload_room(&now, &whose, OFFLOAD_DISK);
}

bool residence_is_owners(const struct tenant *tenant)
{
	return !is_users(tenant);
}

enum wall_stored_place residence_store_place(const struct tenant *tenant, uint64_t units)
{
	static const enum wall_stored_place places[] = { [OFFLOAD_HOST] = WALL_STORED_HOST,
							 [OFFLOAD_DISK] = WALL_STORED_DISK,
							 [OFFLOAD_NOWHERE] = WALL_STORED_NOWHERE };
	const struct offload now = offload_now(tenant->daemon, NULL);
	const struct offload_owner whose = owner_of(tenant, now.host_most, !is_users(tenant));

	if (units > tenant->grant.share[0].ledger.quota_units)
		return WALL_STORED_NOWHERE;
	return places[offload_choose(&now, &whose, units)];
}

void residence_unstore(struct client *client, bool leaving)
{
	struct residing *r = &client->residing;

	disk_forget(r->disk_ask);
	r->disk_ask = NULL;
	r->disk_asker = NULL;
	if (r->disk_fd && leaving)
		close(r->disk_fd);
	else if (r->disk_fd)
		disk_end(client->tenant->daemon, r->disk_fd);
	r->disk_fd = 0;
	r->disk_units = 0;
}

void residence_store_forget(struct client *client, const struct session *asker)
{
	if (client->residing.disk_asker == asker)
		client->residing.disk_asker = NULL;
}

static void on_made(void *owner, int fd, const char *why)
{
	struct client *client = owner;
	struct residing *r = &client->residing;

	r->disk_ask = NULL;
	if (fd >= 0) {
		r->disk_fd = fd;
		*r->why = 0;
	} else {
		r->disk_units = 0;
		snprintf(r->why, sizeof(r->why), "%s", why);
	}
	if (r->disk_asker)
		session_answer_stored(r->disk_asker, r->disk_serial, fd < 0 ? WIRE_NO_ROOM : WIRE_OK, fd);
	r->disk_asker = NULL;
}

/* The file is made while others are served. */
static int make_file(struct client *client, uint64_t units, struct session *asker, uint32_t serial)
{
	struct daemon *daemon = client->tenant->daemon;
	struct residing *r = &client->residing;

	r->disk_ask = disk_ask(daemon, client->tenant->grant.id, units * WIRE_UNIT_BYTES, on_made, client);
	if (!r->disk_ask) {
		snprintf(r->why, sizeof(r->why), "memory.disk %s: its disk does not answer", daemon->memory->disk);
		return WIRE_NO_ROOM;
	}
	r->disk_units = units;
	r->disk_asker = asker;
	r->disk_serial = serial;
	return RESIDENCE_LATER;
}

int residence_store(struct client *client, uint64_t units, struct session *asker, uint32_t serial, int *ret_fd)
{
	struct tenant *t = client->tenant;
	struct residing *r = &client->residing;
	struct offload_owner whose;
	struct offload now;

	*ret_fd = r->disk_fd ? r->disk_fd : -1;
	*r->why = 0;
	if (r->disk_fd && units == r->disk_units) /* it has lost the descriptor */
		return WIRE_OK;
	*ret_fd = -1;
	if (residing_place(client) & WIRE_PLACE_DISK && wire_place_state(residing_place(client)) != WIRE_LEAVING)
		return WIRE_NO_ROOM; /* the meted that had it as well is gone */
	if (!residence_moves(t) || wire_place_state(residing_place(client)) != WIRE_LEAVING ||
	    units > t->grant.share[0].ledger.quota_units)
		return WIRE_BAD;
	residence_unstore(client, false);
	now = offload_now(t->daemon, client);
	whose = owner_of(t, now.host_most, may_have_disk(client));
	switch (offload_choose(&now, &whose, units)) {
	case OFFLOAD_HOST:
		return WIRE_OK;
	case OFFLOAD_DISK:
		return make_file(client, units, asker, serial);
	case OFFLOAD_NOWHERE:
		break;
	}
	snprintf(r->why, sizeof(r->why), "memory.pool has no room for it%s",
		 !disk_there(t->daemon) ? ""
		 : whose.disk		? ", nor has memory.disk"
					: ", and memory.disk is not for it");
	return WIRE_NO_ROOM;
}

/* Who is asked ---------------------------------------------------------------------------------------------------- */

/* A program that loses more time by moving than it should has longer turns. */
static void tell_turn(struct tenant *t)
{
	struct suspension *s = &t->suspension;
	uint64_t turn = view.device.turn_ns;

	if (turn <= t->daemon->memory->turn_ns || turn == s->turn_told_ns ||
	    (s->turn_told_ns && turn < 2 * s->turn_told_ns))
		return;
	s->turn_told_ns = turn;
	tenant_note(t, 0, JOURNAL_ACTION,
		    "to leave and to return takes more than a fifth of a turn: turns are %.1f s now",
		    (double)turn / 1e9);
}

/* Of those who are to leave now, those whom the host takes no more stay. Value: there was one: it is decided anew. */
static bool beyond_pool(struct offload now)
{
	enum offload_place where;
	bool any = false;

	for (unsigned int i = 0; i < view.count; i++) {
		struct residence_client *c = &view.list[i];
		struct offload_owner whose;

		if (c->place != RESIDENCE_HERE || !c->wish_away || residing_wishes_away(view.client[i]))
			continue;
		whose = owner_of(view.client[i]->tenant, now.host_most, may_have_disk(view.client[i]));
		where = offload_choose(&now, &whose, c->movable_units);
		if (where == OFFLOAD_NOWHERE)
			c->stays = any = true;
		else
			offload_add(&now, &whose, where, c->movable_units);
	}
	return any;
}

/* Of those whose memory moves: asked to leave, or was just now, and has not. */
static bool is_in_the_way(unsigned int i, uint64_t now)
{
	const struct residence_client *c = &view.list[i];

	return residing_can_be_asked(view.client[i]) && c->held_units > c->keeps_units && c->place != RESIDENCE_AWAY &&
	       (residing_wishes_away(view.client[i]) || now < view.client[i]->residing.stays_until_ns);
}

/* Who is promised memory has waited for it as long as was stated. */
static void look_who_is_late(uint64_t now)
{
	for (unsigned int i = 0; i < view.count; i++) {
		if (!yielding_is_late(view.client[i], now))
			continue;
		for (unsigned int k = 0; k < view.count; k++)
			if (is_in_the_way(k, now))
				yielding_blame(view.client[k], view.client[i], now);
	}
}

/* For whom it leaves; NULL: for none of those on the device. */
static const struct client *needing(unsigned int i)
{
	return view.list[i].for_whom ? view.client[view.list[i].for_whom - 1] : NULL;
}

static void decide(struct daemon *daemon, const uint8_t *uuid, uint64_t now)
{
	const struct offload now_taken = offload_now(daemon, NULL);

	see(daemon, uuid);
	do {
		for (unsigned int i = 0; i < view.count; i++)
			view.list[i].wish_away = view.client[i]->residing.wish & WIRE_LEAVE;
		residence_decide(&view.device, view.list, view.count, now);
	} while (beyond_pool(now_taken));
	for (unsigned int i = 0; i < view.count; i++)
		if (residing_can_be_asked(view.client[i]))
			residing_wish(view.client[i], view.list[i].wish_away, needing(i), view.list[i].urgent);
	look_who_is_late(now);
	for (unsigned int i = 0; i < view.count; i++)
		if (view.client[i]->residing.swap_ns)
			tell_turn(view.client[i]->tenant);
}

/* The first tenant of its device whose memory moves: the device is treated with it, once. */
static bool is_first(const struct tenant *t)
{
	for (struct tenant *other = t->daemon->tenants; other && other != t; other = other->next)
		if (residence_moves(other) &&
		    !memcmp(other->grant.share[0].device.uuid, t->grant.share[0].device.uuid, DEVICE_UUID_BYTES))
			return false;
	return true;
}

static void on_look(void *owner)
{
	struct daemon *daemon = owner;
	uint64_t now = clock_now_ns();
	bool any = false;

	daemon->looks_soon = false;
	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		if (!residence_moves(t))
			continue;
		any = true;
		for (struct client *c = t->clients; c; c = c->next)
			if (c->page.map && !c->page.broken)
				residing_look(c, now);
	}
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (residence_moves(t) && is_first(t))
			decide(daemon, t->grant.share[0].device.uuid, now);
	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		if (residence_moves(t))
			suspension_follow(t);
		else
			any |= moving_follow(t) || checkpoint_follow(t);
		if (t->held_count)
			any |= session_let_begin(t);
	}
	if (!any)
		timer_stop(daemon->residence);
}

void residence_look_on(struct daemon *daemon)
{
	if (!daemon->residence)
		daemon->residence = timer_new(daemon->loop, on_look, daemon);
	if (daemon->residence && !timer_running(daemon->residence))
		timer_start(daemon->residence, LOOK_MS, LOOK_MS);
}

void residence_look_soon(struct daemon *daemon)
{
	if (daemon->looks_soon || !daemon->residence || !timer_running(daemon->residence))
		return;
	daemon->looks_soon = true;
	timer_start(daemon->residence, LOOK_SOON_MS, LOOK_MS);
}

void residence_begin(struct tenant *tenant)
{
	if (residence_moves(tenant))
		tenant->suspension.state = tenant->grant.suspended ? SUSPENSION_LEAVING : SUSPENSION_NONE;
	else
		moving_begin(tenant);
	checkpoint_begin(tenant);
	if (residence_moves(tenant) || tenant->moving.active || tenant->checkpointing.active)
		residence_look_on(tenant->daemon);
}

void residence_join(struct client *client, bool found)
{
	struct residing *r = &client->residing;

	if (found || client->lost)
		checkpoint_found(client);
	if (!residence_moves(client->tenant))
		return;
	if (found) {
		r->wish = atomic_load_explicit(&residing_account(client, 0)->wish, memory_order_relaxed);
		r->place = residing_place(client);
		r->since_ns = r->asked_ns = r->came_ns = clock_now_ns();
	}
	if (client->tenant->grant.suspended)
		residing_wish(client, true, NULL, false);
}

void residence_stop(struct daemon *daemon)
{
	timer_free(daemon->residence);
	daemon->residence = NULL;
	checkpoint_stop(daemon);
}

const char *residence_pool_bound(const struct tenant *tenant)
{
	const struct offload now = offload_now(tenant->daemon, NULL);
	const struct offload_owner whose = owner_of(tenant, now.host_most, false);

	return offload_is_users_part(&now, &whose) ? "memory.pool to its user (limits.mem)" : "memory.pool";
}

void residence_look_now(struct daemon *daemon)
{
	on_look(daemon);
}

uint64_t residence_left(const struct tenant *tenant)
{
	see(tenant->daemon, tenant->grant.share[0].device.uuid);
	return residence_free(&view.device, view.list, view.count, NULL);
}

uint64_t residence_disk_of_device(const struct daemon *daemon, const uint8_t *uuid, uint64_t *ret_away)
{
	uint64_t disk = 0;

	*ret_away = 0;
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (grant_find_share(&t->grant, uuid) && (residence_moves(t) || t->grant.share_count == 1)) {
			disk += residence_disk(t);
			*ret_away += residence_away(t, 0, NULL) + moving_away_bytes(t) / WIRE_UNIT_BYTES;
		}
	return disk;
}

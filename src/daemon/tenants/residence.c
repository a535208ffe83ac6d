/*
 * residence.c: see residence.h.
 *
 * A timer looks at the pages of those clients whose memory moves, while there are any. What it takes for somebody to
 * leave is far more than its period.
 *
 * A wish that a client has refused is taken back, so that it is not asked again with each turn of the timer.
 */
#include "daemon/tenants/residence.h"

#include "base/clock.h"
#include "base/size.h"
#include "daemon/daemon.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/owner.h"
#include "daemon/store/store.h"
#include "daemon/subordinate.h"
#include "daemon/tenants/account.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/tenant.h"
#include "model/residence.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_MS 10u
#define CLIENTS 512u	      /* of a device, whose memory moves: those beyond stay where they are */
#define CLIENTS_OF_ONE 64u    /* of a tenant: the processes of one leave places for those of others */
#define USERS 64u	      /* who have parts of these places; all others share the last one */
#define STAYS_NS 5000000000u  /* one that could not leave is left alone for so long */
#define SILENT_NS 5000000000u /* one that does not begin to leave within it does not answer */
#define STUCK_NS 10000000000u /* nor does one that comes no further on its way */
#define SILENCES 6u	      /* each in a row is believed half as often as the one before, so many times */
#define WANT_NS 2000000000u   /* one that waits for more asks again within this */
#define HOPE_NS 200000000u
#define STAY_NS 50000000u /* what was allowed is taken within it */
#define POOL_KEPT_PART 4u /* of the host's memory, for owners' grants, where others have some as well */

static struct wire_account *account_of(const struct client *c, unsigned int device)
{
	return &c->page.map->account[device];
}

/* A grant whose memory moves has one device. */
static bool moves(const struct tenant *t)
{
	return t->grant.spill;
}

static uint32_t place_of(const struct client *c)
{
	return c->page.map && !c->page.broken ? atomic_load_explicit(&account_of(c, 0)->place, memory_order_acquire)
					      : 0;
}

static bool can_be_asked(const struct client *c)
{
	return moves(c->tenant) && place_of(c) & WIRE_PLACE_MOVES;
}

/* What the client says; it writes the page, and is believed no more than it can have. */
static uint64_t away_of(const struct client *c)
{
	uint64_t units, quota = c->tenant->grant.share[0].ledger.quota_units;

	if (!can_be_asked(c))
		return 0;
	units = atomic_load_explicit(&account_of(c, 0)->away_units, memory_order_acquire);
	return units < quota ? units : quota;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t movable_of(const struct client *c)
{
	uint64_t units = atomic_load_explicit(&account_of(c, 0)->movable_units, memory_order_relaxed);

	return lesser(units, lesser(account_held(c, 0), account_lent(c, 0)));
}

/* What it holds that cannot leave. Its credit is no part of that: it asks for each such piece (WIRE_RESERVE_STAYS). */
static uint64_t staying_of(const struct client *c)
{
	uint64_t held = lesser(account_held(c, 0), account_lent(c, 0));

	return held - lesser(movable_of(c), held);
}

uint64_t residence_away(const struct tenant *tenant, unsigned int device, const struct client *except)
{
	uint64_t units = 0, quota = tenant->grant.share[device].ledger.quota_units;

	for (const struct client *c = tenant->clients; c && !device && moves(tenant); c = c->next)
		if (c != except)
			units += away_of(c);
	return units < quota ? units : quota; /* all of them together have no more either */
}

__attribute__((format(printf, 3, 4))) static void note(struct tenant *t, enum journal_kind kind, const char *fmt, ...)
{
	const struct device *device = &t->grant.share[0].device;
	char text[EVENT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	event_add(&t->events, "device %u: %s", device->index, text);
	journal_add(t->daemon, kind, t->grant.name, device->uuid, "%s", text);
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

static bool wishes_away(const struct client *c)
{
	return c->residing.wish & WIRE_LEAVE;
}

static bool wants(const struct client *c, uint64_t now)
{
	return c->residing.want_units && now - c->residing.want_ns < WANT_NS;
}

/* Of a user whom meted does not take at his word. */
static bool is_users(const struct tenant *t)
{
	return t->daemon->runtime.system && !owner_is(t->grant.uid);
}

/* Its memory may keep from others what they are promised: that of programs that do not let it leave does. */
static bool is_bounded(const struct tenant *t)
{
	return moves(t) && is_users(t);
}

static bool same_user(uid_t a, uid_t b)
{
	return subordinate_user(a) == subordinate_user(b);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t promised_units(const struct tenant *t, const struct grant_share *share)
{
	return t->grant.overcommit ? 0 : t->grant.spill ? t->grant.resident_units : share->ledger.quota_units;
}

static uint64_t unused_units(const struct tenant *t, const struct grant_share *share)
{
	return less(promised_units(t, share), share->ledger.granted_units + share->ledger.object_units);
}

/* What others were promised of the device, and have not taken: what cannot leave gets nothing of it either. */
static uint64_t barred_units(const struct client *c)
{
	const struct tenant *t = c->tenant;

	return is_bounded(t) || (moves(t) && !can_be_asked(c)) ? view.unused_units - unused_units(t, &t->grant.share[0])
							       : 0;
}

static uint64_t tenant_staying(struct tenant *t)
{
	uint64_t units = t->grant.share[0].ledger.object_units;

	for (const struct client *c = t->clients; c; c = c->next)
		units += can_be_asked(c) ? staying_of(c) : account_held(c, 0);
	return units;
}

uint64_t residence_occupied_bytes(const struct daemon *daemon, const uint8_t *uuid, uid_t uid)
{
	uint64_t units = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		uint64_t held;

		if (!moves(t) || !grant_find_share(&t->grant, uuid))
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
					   .class = moves(t) ? t->grant.share[0].compute.terms.class + 1 : 0,
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
		.movable_units = lesser(movable_of(c), held_units),
		.away_units = away_of(c),
		.want_units = wants(c, now) ? r->want_units : 0,
		.keeps_units = t->grant.resident_units,
		.barred_units = barred_units(c),
		.class = t->grant.share[0].compute.terms.class + 1,
		.called = r->called || r->place & WIRE_PLACE_WAITED,
		.suspended = t->grant.suspended,
		.stays = now < r->stays_until_ns,
		.since_ns = r->since_ns,
		.idle_since_ns = r->idle_since_ns,
		.waits_since_ns = r->waits_since_ns,
		.wish_away = wishes_away(c),
	};
	view.client[view.count++] = c;
}

/* The same with what it was allowed a moment ago, and may not have taken yet. */
static uint64_t staying_soon(const struct client *c, uint64_t now)
{
	const struct residing *r = &c->residing;
	uint64_t units = staying_of(c);

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
	uint64_t now = clock_now_ns(), swap = 0, left, held;
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
		any |= moves(t);
		device = (unsigned int)(share - t->grant.share);
		left = account_counted(t, device);
		of_one = 0;
		for (struct client *c = t->clients; c && of_one < CLIENTS_OF_ONE; c = c->next) {
			if (!can_be_asked(c) && !wants(c, now))
				continue;
			if (!has_place(&parts, t))
				break;
			of_one++;
			held = lesser(account_lent(c, device), left);
			left -= held;
			view.stay_units +=
				can_be_asked(c) ? lesser(staying_soon(c, now), share->ledger.quota_units) : held;
			if (can_be_asked(c))
				see_client(c, held, now);
			else
				see_waiting(c, held);
			if (c->residing.swap_ns > swap)
				swap = c->residing.swap_ns;
		}
		view.device.other_units += left;
	}
	view.stay_units += view.device.other_units; /* those that are not asked to leave stay */
	view.device.turn_ns = residence_turn(daemon->memory->turn_ns, swap);
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

bool residence_wait(struct client *client, unsigned int device, uint64_t units)
{
	struct residing *r = &client->residing;
	const struct residence_client *who;

	r->want_units = units;
	r->want_ns = clock_now_ns();
	if (!r->waits_since_ns)
		r->waits_since_ns = r->want_ns;
	who = see(client->tenant->daemon, client->tenant->grant.share[device].device.uuid) ? seen(client) : NULL;
	/* One on its way back is not waited for: without room it goes back to where it was, and is called again. */
	if (who && who->place != RESIDENCE_RETURNING &&
	    residence_can_hold(&view.device, view.list, view.count, who, units)) {
		r->hopeless_ns = 0;
		return true;
	}
	/* Clients that take or give something just now have it counted as what cannot leave, for a moment. */
	if (who && !r->hopeless_ns)
		r->hopeless_ns = r->want_ns;
	if (who && r->want_ns - r->hopeless_ns < HOPE_NS)
		return true;
	r->hopeless_ns = 0;
	r->want_units = r->waits_since_ns = 0;
	return false;
}

void residence_has(struct client *client)
{
	client->residing.want_units = client->residing.hopeless_ns = 0;
	if (!moves(client->tenant))
		client->residing.waits_since_ns = 0;
}

/* Lent what others are promised, because it can leave. */
static bool is_lent(const struct client *c)
{
	return can_be_asked(c) && !is_bounded(c->tenant);
}

uint64_t residence_stay_room(struct client *client, unsigned int device)
{
	const struct grant_share *share = &client->tenant->grant.share[device];

	if (!is_lent(client) || !see(client->tenant->daemon, share->device.uuid))
		return UINT64_MAX;
	return less(view.device.total_units,
		    view.stay_units + view.unused_units - unused_units(client->tenant, share));
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

/* Its memory has not left, and may at any moment. */
static bool is_to_leave(const struct client *c)
{
	uint32_t place = place_of(c);

	return wire_place_state(place) == WIRE_LEAVING ||
	       (place & WIRE_PLACE_MOVES && wire_place_state(place) == WIRE_RESIDENT && wishes_away(c));
}

/* The host's memory for what has left devices, and what is taken of it, in units. */
struct pool_state {
	uint64_t units;
	uint64_t owners, others; /* by grants of owners, and of all others */
};

static uint64_t *pool_part(struct pool_state *pool, const struct tenant *t)
{
	return is_users(t) ? &pool->others : &pool->owners;
}

static struct pool_state pool_now(const struct daemon *daemon)
{
	struct pool_state pool = { .units = daemon->memory->pool_bytes / WIRE_UNIT_BYTES };

	if (!pool.units)
		pool.units = (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * (uint64_t)sysconf(_SC_PAGESIZE) / WIRE_UNIT_BYTES;
	for (const struct tenant *t = daemon->tenants; t; t = t->next) {
		*pool_part(&pool, t) += residence_away(t, 0, NULL) + moving_away_bytes(t) / WIRE_UNIT_BYTES;
		for (const struct client *c = t->clients; c && moves(t); c = c->next)
			*pool_part(&pool, t) += is_to_leave(c) ? movable_of(c) : 0;
	}
	return pool;
}

/*
 * Units that it still takes of the tenant. A part is kept for owners' grants, which are lent what others are promised
 * and must be able to leave, whatever other users' programs say that they have away.
 */
static uint64_t pool_room(const struct pool_state *pool, const struct tenant *tenant)
{
	uint64_t most = pool->units - pool->units / POOL_KEPT_PART, left = less(pool->units, pool->owners);

	if (is_users(tenant))
		return less(left < most ? left : most, pool->others);
	return less(left, pool->others < most ? pool->others : most);
}

/* Wishes --------------------------------------------------------------------------------------------------------- */

static void wish(struct client *c, bool away)
{
	struct wire_account *account = account_of(c, 0);
	uint32_t serial = (wire_wish_serial(c->residing.wish) + 1) & WIRE_WISH_SERIALS;
	uint32_t drain = c->tenant->grant.suspended && c->tenant->suspension.drain
				 ? c->tenant->suspension.drain
				 : (uint32_t)(RESIDENCE_DRAIN_S * 1000000000ull / WIRE_DRAIN_NS);
	enum wire_place place;

	if (wishes_away(c) == away)
		return;
	c->residing.wish = serial * WIRE_WISH_SERIAL | (away ? WIRE_LEAVE : 0) | drain << WIRE_DRAIN_SHIFT;
	c->residing.asked_ns = c->residing.came_ns = clock_now_ns();
	c->residing.came_percent = 0;
	/* It is there, or goes there without having been asked. */
	place = wire_place_state(c->residing.place);
	if (away ? place == WIRE_AWAY : place != WIRE_AWAY && place != WIRE_LEAVING)
		c->residing.counted = c->residing.wish;
	atomic_store_explicit(&account->wish, c->residing.wish, memory_order_release);
	syscall(SYS_futex, &account->wish, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static const char *const reasons[] = {
	[WIRE_STAY_NOT] = "nothing is in its way",
	[WIRE_STAY_CALL] = "a call of the program did not return in time",
	[WIRE_STAY_WORK] = "its work on the device did not end in time",
	[WIRE_STAY_CAPTURE] = "it was capturing a stream all the time",
	[WIRE_STAY_FAULT] = "the driver answers an error: a context of the program has failed",
	[WIRE_STAY_HOST] = "the host has no memory to take it",
	[WIRE_STAY_DEVICE] = "the device has no room for it",
	"a reason that this meted does not know",
};

static void left(struct client *c, uint64_t now)
{
	struct suspension *s = &c->tenant->suspension;
	struct residing *r = &c->residing;
	char text[SIZE_TEXT_BYTES];
	uint64_t bytes = away_of(c) * WIRE_UNIT_BYTES;

	r->leave_ns = now - r->asked_ns;
	s->out_bytes += bytes;
	s->moves++;
	s->moving_ns += r->leave_ns;
	account_recall(c->tenant, 0, &(struct ledger_units){ account_credit(c, 0), 0 }, NULL, NULL);
	note(c->tenant, JOURNAL_ACTION, "%s: %s left the device in %.2f s", client_text(c), size_format(bytes, text),
	     (double)r->leave_ns / 1e9);
}

static void returned(struct client *c, uint64_t now)
{
	struct suspension *s = &c->tenant->suspension;
	struct residing *r = &c->residing;
	char text[SIZE_TEXT_BYTES];
	uint64_t bytes = movable_of(c) * WIRE_UNIT_BYTES, ns = now - r->asked_ns;

	/* What the user does costs no turn. */
	r->swap_ns = s->state == SUSPENSION_NONE ? r->leave_ns + ns : 0;
	r->called = false;
	s->in_bytes += bytes;
	s->moving_ns += ns;
	note(c->tenant, JOURNAL_ACTION, "%s: %s returned to the device in %.2f s", client_text(c),
	     size_format(bytes, text), (double)ns / 1e9);
}

/* It was asked to leave, and has answered that it cannot, or not at all. */
static void stayed(struct client *c, uint64_t now, const char *why, uint64_t for_ns)
{
	struct suspension *s = &c->tenant->suspension;
	struct residing *r = &c->residing;
	char error[512];

	s->refused++;
	r->stays_until_ns = now + for_ns;
	note(c->tenant, JOURNAL_ACTION, "%s stays on the device: %s", client_text(c), why);
	if (c->tenant->grant.suspended) {
		snprintf(s->why, sizeof(s->why), "%s: %s", client_text(c), why);
		s->state = SUSPENSION_REFUSED;
		c->tenant->grant.suspended = false;
		if (store_update(c->tenant->daemon->store, &c->tenant->grant, error, sizeof(error)))
			log_line("grant %s: %s", c->tenant->grant.name, error);
		for (struct client *other = c->tenant->clients; other; other = other->next)
			other->residing.called = true;
	}
	wish(c, false);
}

/* What is asked is done, or so the client says. */
static bool is_done(const struct client *c)
{
	return wire_place_state(c->residing.place) == (wishes_away(c) ? WIRE_AWAY : WIRE_RESIDENT);
}

/* It is on no way that anybody may wait for: it is stopped, or what it says is not true. */
static void look_whether_silent(struct client *c, uint64_t now)
{
	struct residing *r = &c->residing;
	enum wire_place place = wire_place_state(r->place);
	uint64_t patience = place == WIRE_RESIDENT ? SILENT_NS : STUCK_NS, for_ns;
	uint32_t percent = place == WIRE_LEAVING || place == WIRE_RETURNING ? wire_place_percent(r->place) : 0;

	if (percent > r->came_percent && percent <= 100) {
		r->came_percent = percent;
		r->came_ns = now;
	}
	if (place == WIRE_LEAVING && !r->came_percent)
		patience += (r->wish >> WIRE_DRAIN_SHIFT) * WIRE_DRAIN_NS;
	if (is_done(c) || now < r->stays_until_ns || now - r->came_ns < patience)
		return;
	for_ns = (uint64_t)STAYS_NS << (r->silences < SILENCES ? r->silences++ : SILENCES);
	if (wishes_away(c) && place != WIRE_RETURNING) {
		stayed(c, now, "it does not answer: its process is stopped, perhaps", for_ns);
		return;
	}
	r->stays_until_ns = now + for_ns;
	r->came_ns = now + for_ns;
	note(c->tenant, JOURNAL_ACTION, "%s does not come back to the device: others do not wait for it",
	     client_text(c));
}

/* What has become of what was asked. */
static void look(struct client *c, uint64_t now)
{
	struct residing *r = &c->residing;
	uint32_t was = r->place, is = place_of(c);
	enum wire_place from = wire_place_state(was), to = wire_place_state(is);

	r->place = is;
	if (!(is & WIRE_PLACE_MOVES))
		return;
	if (!r->since_ns || from != to)
		r->since_ns = now;
	/* Once for each wish: what the page says besides is not counted. */
	if (from != to && is_done(c) && r->counted != r->wish) {
		r->counted = r->wish;
		r->silences = 0;
		if (to == WIRE_AWAY && from != WIRE_RETURNING)
			left(c, now);
		if (to == WIRE_RESIDENT && from != WIRE_LEAVING)
			returned(c, now);
	}
	if (to == WIRE_RESIDENT && wishes_away(c) && wire_place_reason(is) &&
	    wire_place_serial(is) == wire_wish_serial(r->wish))
		stayed(c, now, reasons[wire_place_reason(is)], STAYS_NS);
	else
		look_whether_silent(c, now);
	/* What was not there could not be used. */
	if (to != WIRE_RESIDENT || from != to || is & WIRE_PLACE_USED)
		r->idle_since_ns = 0;
	else if (!r->idle_since_ns)
		r->idle_since_ns = now;
	if (!(is & WIRE_PLACE_WAITED) && !r->called && (!r->want_units || now - r->want_ns >= WANT_NS)) {
		r->waits_since_ns = 0;
		r->want_units = 0;
	} else if (!r->waits_since_ns) {
		r->waits_since_ns = now;
	}
}

/* The user's word ------------------------------------------------------------------------------------------------- */

/* Of the clients that can be asked: all are at this place. */
static bool all_at(const struct tenant *t, enum wire_place place, const struct client **ret_other)
{
	for (const struct client *c = t->clients; c; c = c->next)
		if (can_be_asked(c) && wire_place_state(c->residing.place) != place) {
			*ret_other = c;
			return false;
		}
	return true;
}

static void follow(struct tenant *t)
{
	struct suspension *s = &t->suspension;
	const struct client *other = NULL;
	enum wire_stay why;

	if (s->state == SUSPENSION_LEAVING && all_at(t, WIRE_AWAY, &other)) {
		s->state = SUSPENSION_AWAY;
		*s->why = 0;
	} else if (s->state == SUSPENSION_RETURNING && all_at(t, WIRE_RESIDENT, &other)) {
		s->state = SUSPENSION_NONE;
		*s->why = 0;
	} else if (s->state == SUSPENSION_RETURNING) {
		why = wire_place_reason(other->residing.place);
		snprintf(s->why, sizeof(s->why), "%s",
			 wire_place_state(other->residing.place) != WIRE_AWAY ? ""
			 : wishes_away(other) || why == WIRE_STAY_DEVICE ? "waits: the device has no room for it yet"
			 : why						 ? reasons[why]
									 : "");
	}
}

/* A program that loses more time by moving than it should has longer turns. */
static void tell_turn(struct tenant *t)
{
	struct suspension *s = &t->suspension;
	uint64_t turn = view.device.turn_ns;

	if (turn <= t->daemon->memory->turn_ns || turn == s->turn_told_ns ||
	    (s->turn_told_ns && turn < 2 * s->turn_told_ns))
		return;
	s->turn_told_ns = turn;
	note(t, JOURNAL_ACTION, "to leave and to return takes more than a fifth of a turn: turns are %.1f s now",
	     (double)turn / 1e9);
}

/* Of those who are to leave now, those whom the host takes no more stay. Value: there was one: it is decided anew. */
static bool beyond_pool(struct pool_state pool)
{
	bool any = false;

	for (unsigned int i = 0; i < view.count; i++) {
		struct residence_client *c = &view.list[i];

		if (c->place != RESIDENCE_HERE || !c->wish_away || wishes_away(view.client[i]))
			continue;
		if (c->movable_units > pool_room(&pool, view.client[i]->tenant))
			c->stays = any = true;
		else
			*pool_part(&pool, view.client[i]->tenant) += c->movable_units;
	}
	return any;
}

static void decide(struct daemon *daemon, const uint8_t *uuid, uint64_t now)
{
	const struct pool_state pool = pool_now(daemon);

	see(daemon, uuid);
	do {
		for (unsigned int i = 0; i < view.count; i++)
			view.list[i].wish_away = view.client[i]->residing.wish & WIRE_LEAVE;
		residence_decide(&view.device, view.list, view.count, now);
	} while (beyond_pool(pool));
	for (unsigned int i = 0; i < view.count; i++)
		if (can_be_asked(view.client[i]))
			wish(view.client[i], view.list[i].wish_away);
	for (unsigned int i = 0; i < view.count; i++)
		if (view.client[i]->residing.swap_ns)
			tell_turn(view.client[i]->tenant);
}

/* The first tenant of its device whose memory moves: the device is treated with it, once. */
static bool is_first(const struct tenant *t)
{
	for (struct tenant *other = t->daemon->tenants; other && other != t; other = other->next)
		if (moves(other) &&
		    !memcmp(other->grant.share[0].device.uuid, t->grant.share[0].device.uuid, DEVICE_UUID_BYTES))
			return false;
	return true;
}

static void on_look(void *owner)
{
	struct daemon *daemon = owner;
	uint64_t now = clock_now_ns();
	bool any = false;

	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		if (!moves(t))
			continue;
		any = true;
		for (struct client *c = t->clients; c; c = c->next)
			if (c->page.map && !c->page.broken)
				look(c, now);
	}
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (moves(t) && is_first(t))
			decide(daemon, t->grant.share[0].device.uuid, now);
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (moves(t))
			follow(t);
		else
			any |= moving_follow(t);
	if (!any)
		timer_stop(daemon->residence);
}

static void look_on(struct daemon *daemon)
{
	if (!daemon->residence)
		daemon->residence = timer_new(daemon->loop, on_look, daemon);
	if (daemon->residence && !timer_running(daemon->residence))
		timer_start(daemon->residence, LOOK_MS, LOOK_MS);
}

void residence_begin(struct tenant *tenant)
{
	if (moves(tenant))
		tenant->suspension.state = tenant->grant.suspended ? SUSPENSION_LEAVING : SUSPENSION_NONE;
	else
		moving_begin(tenant);
	if (moves(tenant) || tenant->moving.active)
		look_on(tenant->daemon);
}

void residence_join(struct client *client, bool found)
{
	struct residing *r = &client->residing;

	if (!moves(client->tenant))
		return;
	if (found) {
		r->wish = atomic_load_explicit(&account_of(client, 0)->wish, memory_order_relaxed);
		r->place = place_of(client);
		r->since_ns = r->asked_ns = r->came_ns = clock_now_ns();
	}
	if (client->tenant->grant.suspended)
		wish(client, true);
}

void residence_stop(struct daemon *daemon)
{
	timer_free(daemon->residence);
	daemon->residence = NULL;
}

static int keep(struct tenant *t, bool suspended, char *error, size_t size)
{
	int r;

	t->grant.suspended = suspended;
	r = store_update(t->daemon->store, &t->grant, error, size);
	if (r)
		t->grant.suspended = !suspended;
	return r;
}

/* It begins, from a state that allows it. */
static void begin(struct tenant *t, enum suspension_state state)
{
	t->suspension.serial++;
	t->suspension.state = state;
	*t->suspension.why = 0;
}

static int suspend_walled(struct tenant *t, uint32_t drain_s, char *error, size_t size)
{
	char held_text[SIZE_TEXT_BYTES], room[SIZE_TEXT_BYTES];
	struct pool_state pool = pool_now(t->daemon);
	uint64_t held = 0;
	int r;

	if (t->grant.suspended)
		return 0;
	for (const struct client *c = t->clients; c; c = c->next)
		held += account_held(c, 0);
	if (held > pool_room(&pool, t)) {
		snprintf(error, size,
			 "grant %s: the host has no room for its %s: %s are left of memory.pool: let others return, or "
			 "raise it in meted.yaml",
			 t->grant.name, size_format(held * WIRE_UNIT_BYTES, held_text),
			 size_format(pool_room(&pool, t) * WIRE_UNIT_BYTES, room));
		return -EBUSY;
	}
	r = moving_suspend(t, drain_s, error, size);
	if (r)
		return r;
	r = keep(t, true, error, size);
	begin(t, SUSPENSION_LEAVING);
	if (r) {
		t->moving.active = false;
		t->suspension.state = SUSPENSION_NONE;
		moving_resume(t);
		return r;
	}
	note(t, JOURNAL_ACTION, "suspended: its programs leave the device");
	look_on(t->daemon);
	return 0;
}

int residence_move(struct tenant *tenant, const struct device *to, uint32_t drain_s, char *error, size_t size)
{
	int r = suspend_walled(tenant, drain_s, error, size);

	if (r)
		return r;
	tenant->moving.goes = true;
	tenant->moving.to = *to;
	return 0;
}

static int resume_walled(struct tenant *t, char *error, size_t size)
{
	int r = keep(t, false, error, size);

	if (r)
		return r;
	begin(t, SUSPENSION_RETURNING);
	t->moving.active = true;
	moving_resume(t);
	note(t, JOURNAL_ACTION, "resumed: its programs return to the device");
	look_on(t->daemon);
	return 0;
}

int residence_suspend(struct tenant *tenant, uint32_t drain_s, char *error, size_t size)
{
	struct suspension *s = &tenant->suspension;
	char held[SIZE_TEXT_BYTES], room[SIZE_TEXT_BYTES];
	struct pool_state pool;
	uint64_t units = 0;
	int r;

	if (moving_takes(tenant))
		return suspend_walled(tenant, drain_s, error, size);
	if (!moves(tenant)) {
		snprintf(error, size,
			 "grant %s: its memory cannot leave the device: make the grant with --spill, or hold its work "
			 "up "
			 "with --freeze",
			 tenant->grant.name);
		return -ENOTSUP;
	}
	for (struct client *c = tenant->clients; c; c = c->next)
		if (account_held(c, 0) && !can_be_asked(c)) {
			snprintf(error, size,
				 "grant %s: %s holds %s that cannot leave the device: it was started without "
				 "METE_SPILL=1 "
				 "in its environment, as `mete run` sets it",
				 tenant->grant.name, client_text(c),
				 size_format((uint64_t)account_held(c, 0) * WIRE_UNIT_BYTES, held));
			return -EBUSY;
		}
	if (tenant->grant.suspended)
		return 0;
	for (struct client *c = tenant->clients; c; c = c->next)
		units += can_be_asked(c) ? movable_of(c) : 0;
	pool = pool_now(tenant->daemon);
	if (units > pool_room(&pool, tenant)) {
		snprintf(error, size,
			 "grant %s: the host has no room for its %s: %s are left of memory.pool: let others return, or "
			 "raise it "
			 "in meted.yaml",
			 tenant->grant.name, size_format(units * WIRE_UNIT_BYTES, held),
			 size_format(pool_room(&pool, tenant) * WIRE_UNIT_BYTES, room));
		return -EBUSY;
	}
	r = keep(tenant, true, error, size);
	if (r)
		return r;
	s->serial++;
	s->state = SUSPENSION_LEAVING;
	s->drain = drain_s ? (uint32_t)(drain_s * 1000000000ull / WIRE_DRAIN_NS) : 0;
	*s->why = 0;
	for (struct client *c = tenant->clients; c; c = c->next) {
		c->residing.called = false;
		c->residing.stays_until_ns = 0;
		if (can_be_asked(c))
			wish(c, true);
	}
	note(tenant, JOURNAL_ACTION, "suspended: its memory leaves the device");
	return 0;
}

int residence_resume(struct tenant *tenant, bool now, char *error, size_t size)
{
	struct suspension *s = &tenant->suspension;
	char away[SIZE_TEXT_BYTES], room[SIZE_TEXT_BYTES];
	uint64_t units, left_units;
	int r;

	if (!tenant->grant.suspended)
		return 0;
	if (moving_takes(tenant))
		return resume_walled(tenant, error, size);
	units = residence_away(tenant, 0, NULL);
	see(tenant->daemon, tenant->grant.share[0].device.uuid);
	left_units = residence_free(&view.device, view.list, view.count, NULL);
	if (now && units > left_units) {
		snprintf(error, size,
			 "grant %s: %s are away, and device %u has room for %s: ask without --now, and it returns as "
			 "soon "
			 "as there is room",
			 tenant->grant.name, size_format(units * WIRE_UNIT_BYTES, away),
			 tenant->grant.share[0].device.index, size_format(left_units * WIRE_UNIT_BYTES, room));
		return -EBUSY;
	}
	r = keep(tenant, false, error, size);
	if (r)
		return r;
	s->serial++;
	s->state = SUSPENSION_RETURNING;
	*s->why = 0;
	for (struct client *c = tenant->clients; c; c = c->next)
		c->residing.called = true;
	note(tenant, JOURNAL_ACTION, "resumed: its memory returns to the device");
	on_look(tenant->daemon);
	return 0;
}

/* What others are told -------------------------------------------------------------------------------------------- */

static const char *const place_words[] = { "resident", "leaving", "away", "returning" };

void residence_grant_json(const struct tenant *t, json_t *grant)
{
	static const char *const words[] = { "none", "leaving", "away", "returning", "refused" };
	const struct suspension *s = &t->suspension;

	json_object_set_new(grant, "spill", json_boolean(t->grant.spill));
	if (!moves(t) && !moving_takes(t))
		return;
	if (moves(t))
		json_object_set_new(grant, "resident_bytes",
				    json_integer((json_int_t)(t->grant.resident_units * WIRE_UNIT_BYTES)));
	json_object_set_new(grant, "suspended", json_boolean(t->grant.suspended));
	json_object_set_new(grant, "suspension",
			    json_pack("{s:I s:s s:o}", "serial", (json_int_t)s->serial, "state", words[s->state], "why",
				      *s->why ? json_string(s->why) : json_null()));
	json_object_set_new(grant, "moved",
			    json_pack("{s:I s:I s:I s:I s:f}", "out_bytes", (json_int_t)s->out_bytes, "in_bytes",
				      (json_int_t)s->in_bytes, "moves", (json_int_t)s->moves, "refused",
				      (json_int_t)s->refused, "seconds", (double)s->moving_ns / 1e9));
}

static void place_json(json_t *to, uint64_t away_units, uint64_t movable_units, enum wire_place place, uint32_t percent)
{
	json_object_set_new(to, "away_bytes", json_integer((json_int_t)(away_units * WIRE_UNIT_BYTES)));
	json_object_set_new(to, "movable_bytes", json_integer((json_int_t)(movable_units * WIRE_UNIT_BYTES)));
	json_object_set_new(to, "residence", json_string(place_words[place]));
	if (place == WIRE_LEAVING || place == WIRE_RETURNING)
		json_object_set_new(to, "moved_pct", json_integer(percent < 100 ? percent : 100));
}

void residence_client_json(const struct client *c, unsigned int device, json_t *process)
{
	uint32_t place = place_of(c);

	if (!device && can_be_asked(c))
		place_json(process, away_of(c), movable_of(c), wire_place_state(place), wire_place_percent(place));
}

/* Of several clients the one says it that is furthest from being there. */
void residence_share_json(const struct tenant *t, unsigned int device, json_t *share)
{
	static const int order[] = { [WIRE_RESIDENT] = 0, [WIRE_RETURNING] = 1, [WIRE_LEAVING] = 2, [WIRE_AWAY] = 3 };
	enum wire_place worst = WIRE_RESIDENT;
	uint64_t movable = 0;
	uint32_t percent = 0;

	if (device || !moves(t)) {
		moving_share_json(t, device, share);
		return;
	}
	for (const struct client *c = t->clients; c; c = c->next) {
		uint32_t place = place_of(c);

		if (!can_be_asked(c))
			continue;
		movable += movable_of(c);
		if (order[wire_place_state(place)] <= order[worst])
			continue;
		worst = wire_place_state(place);
		percent = wire_place_percent(place);
	}
	place_json(share, residence_away(t, 0, NULL), movable, worst, percent);
}

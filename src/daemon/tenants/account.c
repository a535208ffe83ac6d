/* account.c: ledgers and pages, moved together. */
#include "daemon/tenants/account.h"

#include "base/clock.h"
#include "daemon/log.h"
#include "daemon/daemon.h"
#include "daemon/tenants/leaving.h"
#include "daemon/tenants/objects.h"
#include "daemon/tenants/tenant.h"
#include "wire/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A process whose socket has closed, or that has ended, is believed to leave its account for this long. */
#define ENDING_NS 1000000000u
#define ALL_PART 32u /* a context and its modules are expected to take no more than this part of a device */

static struct ledger *ledger_of(struct tenant *tenant, unsigned int device)
{
	return &tenant->grant.share[device].ledger;
}

static struct wire_account *account_of(const struct client *client, unsigned int device)
{
	return &client->page.map->account[device];
}

static uint64_t word_of(const struct client *client, unsigned int device)
{
	return atomic_load_explicit(&account_of(client, device)->word, memory_order_acquire);
}

uint32_t account_held(const struct client *client, unsigned int device)
{
	/* a page that was cut short says nothing: what was granted is taken as held */
	return client->page.broken ? client->granted_units[device] : wire_held(word_of(client, device));
}

uint32_t account_credit(const struct client *client, unsigned int device)
{
	uint64_t word = word_of(client, device);

	if (client->page.broken || wire_held(word) > wire_granted(word))
		return 0;
	return wire_granted(word) - wire_held(word);
}

uint64_t account_tenant_held(struct tenant *tenant, unsigned int device)
{
	uint64_t held = ledger_of(tenant, device)->object_units;

	for (struct client *c = tenant->clients; c; c = c->next)
		held += c->residing.saved ? 0 : account_held(c, device);
	return held;
}

uint32_t account_lent(const struct client *client, unsigned int device)
{
	uint32_t granted = client->granted_units[device], said = device ? 0 : client->said_units;

	return said < granted ? granted - said : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A grant whose memory moves is promised less than its quota: what its clients only say counts within the promise. */
uint64_t account_counted(const struct tenant *tenant, unsigned int device)
{
	const struct ledger *ledger = &tenant->grant.share[device].ledger;
	uint64_t charged = ledger->granted_units + ledger->object_units, said = 0, lent, promised;

	for (const struct client *c = tenant->clients; c && !device; c = c->next)
		said += c->said_units;
	for (const struct client *c = tenant->clients; c; c = c->next)
		if (c->residing.saved)
			charged -= smaller(c->granted_units[device], charged);
	lent = charged - smaller(said, charged);
	promised = tenant->grant.resident_units;
	if (said)
		charged = lent + smaller(said, promised - smaller(lent, promised));
	return smaller(charged, ledger->quota_units);
}

uint64_t account_counted_held(struct tenant *tenant, unsigned int device)
{
	return smaller(account_tenant_held(tenant, device), account_counted(tenant, device));
}

uint64_t account_measure(struct tenant *tenant, unsigned int device)
{
	struct ledger *ledger = ledger_of(tenant, device);
	uint64_t held = account_tenant_held(tenant, device);

	for (struct client *c = tenant->clients; c; c = c->next)
		if (!c->page.broken && c->page.map->account[device].peak_units <= ledger->quota_units)
			ledger_saw_held(ledger, c->page.map->account[device].peak_units);
	ledger_saw_held(ledger, held);
	return held;
}

/* It matters where the quota is no promise: in grants whose memory moves, which have one device. */
static void say(struct client *client, unsigned int device, uint32_t units)
{
	if (device || !client->tenant->grant.spill)
		return;
	client->said_units = units;
	if (client->entry)
		client->entry->said_units = units;
}

/* Only meted raises the upper half. A client that did it itself is reported and charged with what it took. */
static void check(struct client *client, unsigned int device)
{
	uint32_t granted = wire_granted(word_of(client, device));

	if (!client->reported && (client->page.broken || granted != client->granted_units[device])) {
		client->reported = true;
		log_of_programs(client->tenant->grant.uid, client->tenant->grant.id,
				"grant %s: %s has written into its account: its page is %s", client->tenant->grant.name,
				client_text(client), client->page.broken ? "cut short" : "not as meted left it");
		event_add(&client->tenant->events, "%s has written into its account", client_text(client));
	}
	if (client->page.broken || granted <= client->granted_units[device])
		return;
	ledger_grant(ledger_of(client->tenant, device), granted - client->granted_units[device]);
	say(client, device, client->said_units + (granted - client->granted_units[device]));
	client->granted_units[device] = granted;
	book_set(client->entry, device, BOOK_GRANTED, granted);
}

/* The book is told before the page changes, and afterwards. */

static void granted_changes(struct client *client, unsigned int device, uint32_t less, uint32_t more)
{
	uint32_t now = client->granted_units[device];

	book_expect(client->entry, device, BOOK_GRANTED, now > less ? now - less : 0, now + more);
}

static void granted_changed(struct client *client, unsigned int device)
{
	book_set(client->entry, device, BOOK_GRANTED, client->granted_units[device]);
}

static void objects_change(struct client *client, unsigned int device, uint32_t less, uint32_t more)
{
	uint32_t now = book_most(client->entry, device, BOOK_OBJECTS);

	book_expect(client->entry, device, BOOK_OBJECTS, now > less ? now - less : 0, now + more);
}

static void objects_changed(struct client *client, unsigned int device, bool gone)
{
	uint32_t units =
		gone ? book_least(client->entry, device, BOOK_OBJECTS) : book_most(client->entry, device, BOOK_OBJECTS);

	book_set(client->entry, device, BOOK_OBJECTS, units);
}

static void grant(struct client *client, unsigned int device, uint32_t units)
{
	struct tenant *tenant = client->tenant;

	if (units) {
		granted_changes(client, device, 0, units);
		client->granted_units[device] += units;
		ledger_grant(ledger_of(tenant, device), units);
		wire_grant(account_of(client, device), units);
		granted_changed(client, device);
	}
	ledger_saw_held(ledger_of(tenant, device), account_tenant_held(tenant, device));
}

static void ungrant(struct client *client, unsigned int device, uint32_t units)
{
	uint32_t own = client->granted_units[device];

	if (units > own)
		units = own; /* more than was granted can only come out of a page that was written by the client */
	client->granted_units[device] = own - units;
	/* What it only said goes first: the rest it may still have. */
	say(client, device, client->said_units - (uint32_t)smaller(client->said_units, units));
	granted_changed(client, device);
	ledger_ungrant(ledger_of(client->tenant, device), units);
}

static bool client_settling(const struct client *client, unsigned int device, unsigned int asking)
{
	uint32_t measuring = atomic_load_explicit(&account_of(client, device)->measuring, memory_order_acquire);

	return measuring > tenant_waiting_all(client, device) + asking;
}

/* True while the memory of a process that is ending is about to come back. */
static bool client_ending(struct client *client, unsigned int device)
{
	uint64_t now = clock_now_ns();

	if (!client->granted_units[device] && !client->object)
		return false;
	/* Its death may have come in the same turn of the loop, behind the request that is being decided. */
	if (!client->ended_ns && process_ended(client->pidfd))
		client->ended_ns = now;
	if (client->ended_ns)
		return now - client->ended_ns < ENDING_NS;
	return !client->sessions && client->parted_ns && now - client->parted_ns < ENDING_NS;
}

/* What a call of unknown size is expected to need at most. */
static uint64_t part_units(const struct tenant *tenant, unsigned int device)
{
	return tenant->grant.share[device].device.total_bytes / WIRE_UNIT_BYTES / ALL_PART;
}

static bool clients_settling(struct tenant *tenant, unsigned int device, const struct client *asking, bool all)
{
	for (struct client *c = tenant->clients; c; c = c->next)
		if (client_settling(c, device, c == asking && all) || (c != asking && client_ending(c, device)))
			return true;
	return false;
}

static bool leaves_little(struct tenant *tenant, unsigned int device)
{
	return leaving_units(tenant, device) && ledger_room(ledger_of(tenant, device)) < part_units(tenant, device);
}

bool account_settling(struct tenant *tenant, unsigned int device, const struct client *asking, bool all)
{
	return clients_settling(tenant, device, asking, all) || leaving_units(tenant, device);
}

static unsigned int client_count(const struct tenant *tenant)
{
	unsigned int n = 0;

	for (struct client *c = tenant->clients; c; c = c->next)
		n++;
	return n;
}

static uint32_t recall_from(struct client *client, unsigned int device, uint32_t most)
{
	uint32_t got;

	granted_changes(client, device, most, 0);
	got = wire_recall(account_of(client, device), most);
	ungrant(client, device, got);
	return got;
}

uint64_t account_recall(struct tenant *tenant, unsigned int device, const struct ledger_units *want,
			const struct client *except, bool *ret_settling)
{
	unsigned int count = client_count(tenant), i = 0;
	uint64_t *credit, *take, taken = 0;

	if (!want->units || !count)
		return 0;
	credit = calloc(count, 2 * sizeof(*credit));
	if (!credit)
		return 0;
	take = credit + count;
	for (struct client *c = tenant->clients; c; c = c->next, i++) {
		if (c == except)
			continue;
		if (!client_settling(c, device, 0))
			credit[i] = account_credit(c, device);
		else if (ret_settling)
			*ret_settling = true;
	}
	ledger_recall_plan(credit, count, want, take);
	i = 0;
	for (struct client *c = tenant->clients; c; c = c->next, i++) {
		if (take[i])
			taken += recall_from(c, device, (uint32_t)take[i]);
	}
	free(credit);
	return taken;
}

/* A call whose size was not known has ended: what is beyond the comfort that is asked for is others' again. */
static void give_back(struct client *client, const struct account_request *request)
{
	uint32_t credit = account_credit(client, request->device);

	if (credit > request->want_units && !client_settling(client, request->device, 0))
		recall_from(client, request->device, credit - request->want_units);
}

static uint64_t less_units(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * The quota allows it; does the device have it? Comfort is given as far as it has. A call of unknown size goes on with
 * what there is, but not with next to nothing where others can make room.
 */
static bool fits_device(struct client *client, const struct account_request *request, struct ledger_units *units,
			uint64_t *ret_short)
{
	uint64_t must = less_units(request->need_units, account_credit(client, request->device)), room;
	uint64_t part = part_units(client->tenant, request->device);

	if (!units->units)
		return true;
	if (request->all)
		must = smaller(units->units, part);
	room = residence_room(client, request->device, must);
	if (request->all && room > residence_stay_room(client, request->device))
		room = residence_stay_room(client, request->device);
	if (units->units > room)
		units->units = room;
	*ret_short = must;
	if (units->units < must)
		return false;
	residence_has(client);
	return true;
}

/* Credit that may not become memory that stays. */
static uint64_t credit_beyond(struct client *client, unsigned int device)
{
	return less_units(account_credit(client, device), residence_stay_room(client, device));
}

enum ledger_answer account_reserve(struct client *client, const struct account_request *request)
{
	struct tenant *tenant = client->tenant;
	struct ledger *ledger = ledger_of(tenant, request->device);
	struct ledger_request q = {
		.need_units = request->need_units,
		.want_units = request->want_units,
		.all = request->all,
	};
	enum ledger_answer answer;
	struct ledger_units units;
	bool left_out = false;
	uint64_t away, missing = 0;

	check(client, request->device);
	if (client->page.broken)
		return LEDGER_NO_ROOM;
	/* Memory that could leave is to stay from now on, as the page says already. */
	if (request->stays && !request->need_units && !residence_may_stay(client, request->device, 1))
		return residence_stay_waits(client) ? LEDGER_WAIT : LEDGER_NO_ROOM;
	if (!request->need_units && !request->all) {
		give_back(client, request);
		return LEDGER_GRANT;
	}
	if (request->stays && !residence_may_stay(client, request->device, request->need_units))
		return residence_stay_waits(client) ? LEDGER_WAIT : LEDGER_NO_ROOM;
	/* Of what it has it may use no more for a call of unknown size than may stay. */
	if (request->all && credit_beyond(client, request->device))
		recall_from(client, request->device, credit_beyond(client, request->device));
	/* Above a shrinking quota nobody's credit is worth anything, the asker's own included. */
	if (ledger_excess(ledger))
		account_recall(tenant, request->device, &(struct ledger_units){ ledger_excess(ledger), 0 }, NULL, NULL);
	/* Looked at only where it matters: it looks at every client. */
	q.settling = request->all && (clients_settling(tenant, request->device, client, !request->waiting) ||
				      leaves_little(tenant, request->device));
	away = residence_away(tenant, request->device, client);
	for (;;) {
		struct ledger as_if = *ledger;

		/* What is away comes back: it is nobody else's. */
		as_if.object_units += away;
		q.credit_units = account_credit(client, request->device);
		answer = ledger_ask(&as_if, &q, &units);
		/*
		 * Who was settling when credit was recalled kept all of his, and may have settled since: only once
		 * nobody was left out is there no room.
		 */
		if (answer == LEDGER_NO_ROOM && (left_out || account_settling(tenant, request->device, client, false)))
			answer = LEDGER_WAIT;
		if (answer != LEDGER_RECALL)
			break;
		/* Others may take from their credit meanwhile: once none is left, the next answer is final. */
		q.recalled = !account_recall(tenant, request->device, &units, client, &left_out);
	}
	if (answer == LEDGER_GRANT && !fits_device(client, request, &units, &missing)) {
		if (residence_wait(client, request->device, missing, request->before_return))
			return LEDGER_WAIT;
		if (!request->all)
			return LEDGER_NO_ROOM;
	}
	if (answer == LEDGER_GRANT) {
		uint64_t most = WIRE_MAX_UNITS - client->granted_units[request->device];

		grant(client, request->device, (uint32_t)(units.units < most ? units.units : most));
	}
	return answer;
}

/* Pledges. */

enum ledger_answer account_pledge(struct tenant *tenant, unsigned int device, uint32_t units)
{
	struct ledger *ledger = ledger_of(tenant, device);
	struct ledger_request q = { .need_units = units };
	enum ledger_answer answer;
	struct ledger_units want;
	bool left_out = false;

	for (;;) {
		answer = ledger_ask(ledger, &q, &want);
		if (answer != LEDGER_RECALL)
			break;
		q.recalled = !account_recall(tenant, device, &want, NULL, &left_out);
	}
	if (answer == LEDGER_GRANT)
		ledger_grant(ledger, units);
	else if (left_out || account_settling(tenant, device, NULL, false))
		answer = LEDGER_WAIT;
	return answer;
}

void account_unpledge(struct tenant *tenant, unsigned int device, uint32_t units)
{
	ledger_ungrant(ledger_of(tenant, device), units);
}

void account_redeem(struct client *client, unsigned int device, uint32_t units)
{
	uint64_t most = WIRE_MAX_UNITS - client->granted_units[device];

	account_unpledge(client->tenant, device, units);
	grant(client, device, units < most ? units : (uint32_t)most);
}

/* Objects. */

static void object_unref(struct tenant *tenant, struct object *object)
{
	if (--object->references)
		return;
	ledger_object_remove(ledger_of(tenant, object->device), object->units);
	objects_remove(&tenant->objects, object);
}

/* The place of an object on the client's page (NULL: a free place). -1: none. */
static int place_find(struct client *client, const struct object *object)
{
	if (!client->object)
		client->object = calloc(WIRE_MAX_OBJECTS, sizeof(struct object *));
	if (!client->object)
		return -1;
	for (unsigned int i = 0; i < WIRE_MAX_OBJECTS; i++)
		if (client->object[i] == object)
			return (int)i;
	return -1;
}

/* Writes a place on the page. The units come last: with them the entry is there for a meted that reads it later. */
static void place_write(struct client *client, int place, struct object *object, uint32_t flags)
{
	struct wire_object *entry = &client->page.map->object[place];

	objects_change(client, object->device, 0, object->units);
	memcpy(entry->key, object->key, WIRE_KEY_BYTES);
	entry->device = object->device | flags;
	atomic_store_explicit(&entry->units, object->units, memory_order_release);
	if (!(flags & WIRE_OBJECT_MOVING))
		objects_changed(client, object->device, false);
	client->object[place] = object;
	object->references++;
}

/* A free place with room for it. -1: none. */
static int place_free(struct client *client)
{
	int place = place_find(client, NULL);

	return place >= 0 && client_reserve_place(client, (unsigned int)place) ? -1 : place;
}

static void place_clear(struct client *client, int place)
{
	struct object *object = client->object[place];

	objects_change(client, object->device, object->units, 0);
	atomic_store_explicit(&client->page.map->object[place].units, 0, memory_order_release);
	objects_changed(client, object->device, true);
	client->object[place] = NULL;
	object_unref(client->tenant, object);
}

static enum wire_status reference(struct client *client, struct object *object)
{
	int place = place_find(client, object);

	if (place >= 0)
		return WIRE_OK;
	place = place_free(client);
	if (place < 0)
		return WIRE_FULL;
	place_write(client, place, object, 0);
	return WIRE_OK;
}

/*
 * The move, in an order that a kill cannot part: the entry with the word's top bit as it will be; the word; the entry
 * without the mark. A restarted meted that finds the mark compares the bits: equal, the move has happened.
 */
static enum wire_status share_new(struct client *client, const struct wire_object_request *request)
{
	struct wire_account *account = account_of(client, request->device);
	uint32_t flags = WIRE_OBJECT_MOVING | (word_of(client, request->device) & WIRE_MOVED ? 0 : WIRE_OBJECT_MOVED);
	uint32_t said = client->said_units;
	struct object *object;
	int place = place_free(client);

	/* What is shared is charged whoever has it: only what was lent can be. */
	if (place < 0 || (client->tenant->grant.spill && request->units > account_lent(client, request->device)))
		return WIRE_FULL;
	object = objects_add(&client->tenant->objects, request->key, request->device, request->units);
	if (!object)
		return WIRE_FULL;
	place_write(client, place, object, flags);
	granted_changes(client, request->device, request->units, 0);
	if (!wire_move(account, request->units)) {
		objects_changed(client, request->device, true);
		object->units = 0; /* not charged yet */
		place_clear(client, place);
		granted_changed(client, request->device);
		return WIRE_BAD;
	}
	client->page.map->object[place].device = request->device;
	ungrant(client, request->device, request->units);
	say(client, request->device, said); /* it was of what had been lent */
	objects_changed(client, request->device, false);
	ledger_object_add(ledger_of(client->tenant, request->device), request->units);
	return WIRE_OK;
}

enum wire_status account_share(struct client *client, const struct wire_object_request *request, uint32_t *ret_units)
{
	struct object *object = objects_find(&client->tenant->objects, request->key);
	enum wire_status status;

	*ret_units = 0;
	if (request->device >= client->tenant->grant.share_count || wire_key_empty(request->key) || !request->units)
		return WIRE_BAD;
	check(client, request->device);
	if (client->page.broken)
		return WIRE_BAD;
	if (!object)
		status = share_new(client, request);
	else if (object->device != request->device || object->units != request->units)
		status = WIRE_BAD;
	else
		status = reference(client, object); /* asked again, or exported by one who imported it */
	if (status == WIRE_OK)
		*ret_units = request->units;
	return status;
}

enum wire_status account_import(struct client *client, const struct wire_object_request *request, uint32_t *ret_units,
				uint32_t *ret_device)
{
	struct object *object = objects_find(&client->tenant->objects, request->key);
	enum wire_status status;

	*ret_units = 0;
	if (wire_key_empty(request->key) || client->page.broken)
		return WIRE_BAD;
	if (!object)
		return WIRE_UNKNOWN_OBJECT;
	status = reference(client, object);
	*ret_device = object->device;
	if (status == WIRE_OK)
		*ret_units = object->units;
	return status;
}

enum wire_status account_drop(struct client *client, const struct wire_object_request *request, uint32_t *ret_units,
			      uint32_t *ret_last)
{
	struct object *object = objects_find(&client->tenant->objects, request->key);
	int place;

	*ret_units = 0;
	*ret_last = !object;
	if (wire_key_empty(request->key))
		return WIRE_BAD;
	place = object && client->object ? place_find(client, object) : -1;
	if (place < 0)
		return WIRE_OK; /* asked again */
	*ret_units = object->units;
	*ret_last = object->references == 1;
	place_clear(client, place);
	return WIRE_OK;
}

/* Recovery. */

/* A SHARE that was under way when meted was killed. True: the units have left the account word. */
static bool move_done(const struct client *client, struct wire_object *entry, uint32_t device)
{
	return !!(word_of(client, device) & WIRE_MOVED) == !!(entry->device & WIRE_OBJECT_MOVED);
}

/* The object of an entry on a page, made when this is its first reference. NULL: the entry is to be dropped. */
static struct object *recover_object(struct client *client, struct wire_object *entry, uint32_t units)
{
	struct tenant *tenant = client->tenant;
	uint32_t device = entry->device & WIRE_OBJECT_DEVICE;
	struct object *object;
	uint8_t key[WIRE_KEY_BYTES];

	memcpy(key, entry->key, WIRE_KEY_BYTES);
	if (device >= tenant->grant.share_count || units > WIRE_MAX_UNITS || wire_key_empty(key))
		return NULL;
	if (entry->device & WIRE_OBJECT_MOVING && !move_done(client, entry, device))
		return NULL; /* still in the account word; the client asks again */
	entry->device = device;
	object = objects_find(&tenant->objects, key);
	if (object)
		return place_find(client, object) < 0 ? object : NULL;
	object = objects_add(&tenant->objects, key, device, units);
	if (object)
		ledger_object_add(ledger_of(tenant, device), units);
	return object;
}

static void recover_place(struct client *client, unsigned int place)
{
	struct wire_object *entry = &client->page.map->object[place];
	uint32_t units = atomic_load_explicit(&entry->units, memory_order_acquire);
	struct object *object;

	if (!units)
		return;
	place_find(client, NULL); /* makes the list of places */
	object = client->object ? recover_object(client, entry, units) : NULL;
	if (!object) {
		atomic_store_explicit(&entry->units, 0, memory_order_release);
		return;
	}
	client->object[place] = object;
	object->references++;
}

static void report_damage(struct client *client, unsigned int device, uint32_t page_units, uint32_t units)
{
	const char *name = client->tenant->grant.name;

	log_of_programs(
		client->tenant->grant.uid, client->tenant->grant.id,
		"grant %s: the page of %s is not as meted left it: device %u: it says %llu bytes, and %llu count from "
		"now on, until that process ends",
		name, client_text(client), client->tenant->grant.share[device].device.index,
		(unsigned long long)page_units * WIRE_UNIT_BYTES, (unsigned long long)units * WIRE_UNIT_BYTES);
	event_add(&client->tenant->events, "the page of %s was damaged while meted was away", client_text(client));
}

static void set_held(struct client *client, unsigned int device, uint32_t units)
{
	uint64_t moved = word_of(client, device) & WIRE_MOVED;

	atomic_store_explicit(&account_of(client, device)->word, wire_word(units, units) | moved, memory_order_release);
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* What counts of a page's account word. A figure that the quota does not allow is noise. */
static uint32_t judge_word(struct client *client, unsigned int device)
{
	uint64_t word = word_of(client, device), quota = ledger_of(client->tenant, device)->quota_units;
	uint32_t granted = wire_granted(word), held = wire_held(word), units;

	if (!client->entry || (granted >= book_least(client->entry, device, BOOK_GRANTED) &&
			       granted <= book_most(client->entry, device, BOOK_GRANTED) && held <= granted))
		return granted;
	units = book_most(client->entry, device, BOOK_GRANTED);
	if (granted <= quota)
		units = larger(units, granted);
	if (held <= quota)
		units = larger(units, held);
	report_damage(client, device, granted, units);
	set_held(client, device, units);
	say(client, device, client->said_units + (units - book_most(client->entry, device, BOOK_GRANTED)));
	return units;
}

static uint32_t objects_found(const struct client *client, unsigned int device)
{
	uint64_t units = 0;

	for (unsigned int i = 0; client->object && i < WIRE_MAX_OBJECTS; i++)
		if (client->object[i] && client->object[i]->device == device)
			units += client->object[i]->units;
	return units < WIRE_MAX_UNITS ? (uint32_t)units : WIRE_MAX_UNITS;
}

/* Objects that the book has and the page has not stay charged, to the client. */
static void judge_objects(struct client *client, unsigned int device)
{
	uint32_t found = objects_found(client, device), most = book_most(client->entry, device, BOOK_OBJECTS);

	if (found < book_least(client->entry, device, BOOK_OBJECTS)) {
		report_damage(client, device, found, most);
		grant(client, device, most - found);
		wire_take(account_of(client, device), most - found);
	}
	if (client->entry && found > most)
		say(client, device, client->said_units + (found - most));
	book_set(client->entry, device, BOOK_OBJECTS, found);
}

/* From now on the book follows the page. */
static void begin_entry(struct client *client)
{
	const struct process *p = &client->process;

	if (!client->entry)
		client->entry = book_add(client->tenant->daemon->book, client->tenant->grant.id, p->pid, p->start_time);
}

static void recall_said(struct client *client)
{
	client->said_units = client->entry && client->tenant->grant.spill ? client->entry->said_units : 0;
}

void account_recover(struct client *client)
{
	struct tenant *tenant = client->tenant;

	recall_said(client);
	for (unsigned int d = 0; d < tenant->grant.share_count; d++) {
		client->granted_units[d] = judge_word(client, d);
		ledger_grant(ledger_of(tenant, d), client->granted_units[d]);
	}
	for (unsigned int i = 0; i < client->page.map->object_places && i < WIRE_MAX_OBJECTS; i++)
		recover_place(client, i);
	begin_entry(client);
	for (unsigned int d = 0; d < tenant->grant.share_count; d++) {
		granted_changed(client, d);
		judge_objects(client, d);
		ledger_saw_held(ledger_of(tenant, d), account_tenant_held(tenant, d));
	}
}

void account_recover_lost(struct client *client)
{
	struct tenant *tenant = client->tenant;

	log_of_programs(tenant->grant.uid, tenant->grant.id,
			"grant %s: the page of %s is lost: all that it may hold counts as held until it connects again",
			tenant->grant.name, client_text(client));
	event_add(&tenant->events, "the page of %s was lost while meted was away", client_text(client));
	recall_said(client);
	for (unsigned int d = 0; d < tenant->grant.share_count; d++) {
		uint32_t units = book_most(client->entry, d, BOOK_GRANTED);

		units += book_most(client->entry, d, BOOK_OBJECTS);
		if (units > WIRE_MAX_UNITS)
			units = WIRE_MAX_UNITS;
		client->granted_units[d] = units;
		ledger_grant(ledger_of(tenant, d), units);
		set_held(client, d, units);
		ledger_saw_held(ledger_of(tenant, d), account_tenant_held(tenant, d));
	}
}

/* The book keeps its two figures apart until now; objects stay charged, to the client, for nobody can drop them. */
void account_reclaim(struct client *client, const uint32_t held_units[WIRE_MAX_DEVICES])
{
	for (unsigned int d = 0; d < client->tenant->grant.share_count; d++) {
		uint64_t units = (uint64_t)held_units[d] + book_most(client->entry, d, BOOK_OBJECTS);
		uint32_t own = client->granted_units[d];

		if (units < own) {
			set_held(client, d, (uint32_t)units);
			ungrant(client, d, own - (uint32_t)units);
		}
		granted_changed(client, d);
		book_set(client->entry, d, BOOK_OBJECTS, 0);
	}
}

void account_claim(struct client *client, const uint32_t held_units[WIRE_MAX_DEVICES])
{
	for (unsigned int d = 0; d < client->tenant->grant.share_count; d++) {
		uint32_t units = held_units[d] < WIRE_MAX_UNITS ? held_units[d] : WIRE_MAX_UNITS;

		if (!units)
			continue;
		say(client, d, units);
		grant(client, d, units);
		wire_take(account_of(client, d), units);
	}
}

/* Ends. */

static void keep_peak(struct client *client, unsigned int device)
{
	struct ledger *ledger = ledger_of(client->tenant, device);
	uint64_t peak = atomic_load_explicit(&account_of(client, device)->peak_units, memory_order_relaxed);

	if (!client->page.broken && peak <= ledger->quota_units) /* the client wrote it: no more than it can be */
		ledger_saw_held(ledger, peak);
	ledger_saw_held(ledger, account_tenant_held(client->tenant, device));
}

void account_close(struct client *client)
{
	struct book_entry *entry = client->entry;

	client->entry = NULL; /* what stands in it is removed with it, or for the meted that comes */
	for (unsigned int d = 0; d < client->tenant->grant.share_count; d++) {
		keep_peak(client, d);
		ungrant(client, d, client->granted_units[d]);
	}
	for (unsigned int i = 0; client->object && i < WIRE_MAX_OBJECTS; i++)
		if (client->object[i])
			object_unref(client->tenant, client->object[i]);
	free(client->object);
	client->object = NULL;
	client->entry = entry;
}

void account_empty(struct client *client)
{
	if (client->object)
		for (unsigned int i = 0; i < WIRE_MAX_OBJECTS; i++)
			if (client->object[i])
				place_clear(client, (int)i);
	for (unsigned int d = 0; d < client->tenant->grant.share_count; d++) {
		struct wire_account *account = account_of(client, d);

		keep_peak(client, d);
		granted_changes(client, d, client->granted_units[d], 0);
		atomic_store_explicit(&account->word, 0, memory_order_release);
		atomic_store_explicit(&account->measuring, 0, memory_order_relaxed);
		atomic_store_explicit(&account->peak_units, 0, memory_order_relaxed);
		atomic_store_explicit(&account->place, 0, memory_order_relaxed);
		atomic_store_explicit(&account->away_units, 0, memory_order_relaxed);
		atomic_store_explicit(&account->movable_units, 0, memory_order_relaxed);
		ungrant(client, d, client->granted_units[d]);
	}
}

void account_publish_to(struct client *client)
{
	for (unsigned int d = 0; d < client->tenant->grant.share_count; d++) {
		const struct ledger *ledger = ledger_of(client->tenant, d);
		struct wire_account *account = account_of(client, d);

		atomic_store_explicit(&account->quota_bytes, ledger->target_units * WIRE_UNIT_BYTES,
				      memory_order_relaxed);
		atomic_store_explicit(&account->tight, ledger_excess(ledger) > 0, memory_order_relaxed);
	}
}

void account_publish(struct tenant *tenant)
{
	for (struct client *c = tenant->clients; c; c = c->next)
		account_publish_to(c);
}

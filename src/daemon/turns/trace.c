/*
 * trace.c: the recording of traces; see trace.h. What they answer stands in trace_ask.c.
 *
 * A ring belongs to its client, which may write what it likes there: a record is copied first, judged whether the
 * client has passed it meanwhile, and then believed in nothing but being a record: numbers are cut to what there is,
 * the name to what can be printed.
 */
#include "daemon/turns/trace.h"

#include "base/clean_text.h"
#include "base/clock.h"
#include "base/fnv.h"
#include "daemon/tenants/client.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/owner.h"
#include "daemon/turns/recorder.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS 5
#define UNREAD_NS 10000000000u /* a trace that nobody reads for so long is given up */
#define READ_NS 1000000000u    /* a reader that comes less often is not waited for */
#define OTHER_NAME 0xffffu

/* The queue. */

static struct trace_event *event_place(struct trace *t)
{
	if (t->event_head - t->event_tail == TRACE_EVENTS) {
		t->lost_full++;
		return NULL;
	}
	return &t->event[t->event_head++ % TRACE_EVENTS];
}

static void note(struct trace *t, json_t *take_text)
{
	if (take_text && json_array_size(t->notes) < 64)
		json_array_append(t->notes, take_text);
	json_decref(take_text);
}

/* Numbers. */

static uint32_t tenant_number(struct trace *t, const struct tenant *tenant)
{
	uint64_t *more;
	uint32_t i = 0;

	while (i < t->tenant_count && t->tenant[i] != tenant->grant.id)
		i++;
	if (i < t->tenant_count)
		return i;
	more = realloc(t->tenant, (i + 1) * sizeof(*more));
	if (!more)
		return 0;
	t->tenant = more;
	t->tenant[t->tenant_count++] = tenant->grant.id;
	json_array_append_new(t->tenants, json_pack("{s:i s:s}", "id", (int)i, "name", tenant->grant.name));
	return i;
}

static uint8_t device_number(struct trace *t, const struct device *device)
{
	char uuid[DEVICE_UUID_TEXT];
	unsigned int i = 0;

	while (i < t->device_count && memcmp(t->device[i], device->uuid, sizeof(t->device[i])))
		i++;
	if (i < t->device_count || i == TRACE_DEVICES)
		return (uint8_t)(i < TRACE_DEVICES ? i : 0);
	memcpy(t->device[i], device->uuid, sizeof(t->device[i]));
	t->device_count++;
	device_uuid_format(device->uuid, uuid);
	json_array_append_new(t->devices,
			      json_pack("{s:i s:i s:s s:s s:s}", "id", (int)i, "index", (int)device->index, "uuid",
					uuid, "driver", device_kind_name(device->kind), "name", device->name));
	return (uint8_t)i;
}

/* Names are compared by their 48 bytes, so what is behind the NUL is cleared; what cannot be printed is replaced. */
static void clean_name(char name[48])
{
	size_t n = strnlen(name, 47);

	memset(name + n, 0, 48 - n);
	clean_text_ascii(name);
}

static uint16_t name_number(struct trace *t, const char name[48])
{
	for (uint32_t hash = fnv_hash(name, strlen(name));; hash++) {
		uint16_t *at = &t->name_at[hash % (TRACE_NAMES * 2)];

		if (!*at) {
			if (t->name_count == TRACE_NAMES)
				return OTHER_NAME;
			memcpy(t->name[t->name_count], name, 48);
			*at = (uint16_t)++t->name_count;
			return (uint16_t)(*at - 1);
		}
		if (!strcmp(t->name[*at - 1], name))
			return (uint16_t)(*at - 1);
	}
}

/* Rings. */

static void take_record(struct traced *c, struct wire_record *r)
{
	struct trace *t = c->trace;
	struct trace_event *e;

	if (r->device >= c->client->tenant->grant.share_count || r->engine >= WIRE_ENGINES)
		return;
	e = event_place(t);
	if (!e)
		return;
	clean_name(r->name);
	*e = (struct trace_event){ .kind = TRACE_LAUNCH,
				   .who = c->number,
				   .device = c->device[r->device],
				   .engine = (uint8_t)r->engine,
				   .thread = r->thread,
				   .stream = r->stream,
				   .name = name_number(t, r->name),
				   .at = r->submitted_ns,
				   .until = r->passed_ns,
				   .length = r->predicted_ns,
				   .amount = r->bytes };
}

static void drain(struct traced *c)
{
	struct wire_trace *ring = &c->client->page.map->trace;
	struct wire_record record;
	uint32_t head, lost;

	if (!c->ring || c->client->page.broken)
		return;
	/* Acquire: pairs with the release with which the client raises it behind a filled place. */
	head = atomic_load_explicit(&ring->head, memory_order_acquire);
	if (head - c->tail >= WIRE_RECORDS) {
		lost = head - c->tail - (WIRE_RECORDS - 1);
		c->trace->lost_overwritten += lost;
		c->tail += lost;
	}
	for (; c->tail != head; c->tail++) {
		memcpy(&record, &ring->record[c->tail % WIRE_RECORDS], sizeof(record));
		atomic_thread_fence(memory_order_acquire);
		/* The client is about to write, or has written, this very place again. */
		if (atomic_load_explicit(&ring->head, memory_order_relaxed) - c->tail >= WIRE_RECORDS)
			c->trace->lost_overwritten++;
		else
			take_record(c, &record);
	}
}

/* What the arbitration noted. */

static enum trace_reason reason_of(enum turn_note_kind kind)
{
	switch (kind) {
	case TURN_NOTE_OVER:
		return TRACE_OVER;
	case TURN_NOTE_TAKEN:
		return TRACE_TAKEN;
	case TURN_NOTE_IDLE:
		return TRACE_IDLE;
	case TURN_NOTE_FROZEN:
		return TRACE_FROZEN;
	default:
		return TRACE_GIVEN;
	}
}

/* A note belongs to the client on whose page its turn lies. */
static void take_note(struct trace *t, const struct turn_note *note)
{
	struct traced *c = t->clients;
	struct trace_event *e;
	size_t at;

	while (c && ((uintptr_t)note->turn < (uintptr_t)c->client->page.map->turn ||
		     (uintptr_t)note->turn >= (uintptr_t)(c->client->page.map->turn + WIRE_MAX_DEVICES)))
		c = c->next;
	e = c ? event_place(t) : NULL;
	if (!e)
		return;
	at = (size_t)(note->turn - &c->client->page.map->turn[0][0]);
	*e = (struct trace_event){ .kind = TRACE_EDGE,
				   .who = c->number,
				   .device = c->device[at / WIRE_ENGINES],
				   .engine = (uint8_t)(at % WIRE_ENGINES),
				   .flag = note->kind == TURN_NOTE_BEGINS,
				   .at = note->at_ns };
	if (note->kind == TURN_NOTE_BEGINS || note->kind == TURN_NOTE_ENDS)
		return;
	e->kind = TRACE_TURN;
	e->who = tenant_number(t, c->client->tenant);
	e->flag = note->kind == TURN_NOTE_OPENED;
	e->until = note->until_ns;
	e->length = note->bound_ns;
	e->amount = (uint64_t)note->lag_ns;
	e->name = (uint16_t)reason_of(note->kind);
}

/* For all traces: a note is read once. */
static void drain_notes(struct daemon *daemon)
{
	struct turn_note note;
	uint32_t lost = 0;
	bool any = daemon->traces;

	while (any) {
		any = turn_log_take(&note, &lost);
		for (struct trace *t = daemon->traces; t; t = t->next) {
			if (t->ended)
				continue;
			t->lost_full += lost;
			if (any)
				take_note(t, &note);
		}
	}
}

void trace_drain(struct trace *t)
{
	drain_notes(t->daemon);
	for (struct traced *c = t->clients; c; c = c->next)
		drain(c);
}

/* Clients. */

static bool wants(const struct trace *t, const struct tenant *tenant)
{
	json_t *name;
	size_t i;

	if (t->uid && t->uid != geteuid() && t->uid != tenant->grant.uid)
		return false;
	json_array_foreach(t->wanted, i, name) if (!strcmp(json_string_value(name), tenant->grant.name)) return true;
	return !t->wanted;
}

/* How things stand when the trace begins to look at a client. */
static void take_state(struct traced *c)
{
	struct trace *t = c->trace;
	uint64_t now = clock_now_ns();

	for (unsigned int i = 0; i < c->client->tenant->grant.share_count; i++)
		for (unsigned int engine = 0; engine < WIRE_ENGINES; engine++) {
			struct wire_turn *turn = &c->client->page.map->turn[i][engine];
			uint32_t gate = atomic_load_explicit(&turn->gate, memory_order_relaxed);
			struct trace_event *e;

			if (gate & WIRE_GATED && gate & WIRE_OPEN && (e = event_place(t)))
				*e = (struct trace_event){ .kind = TRACE_TURN,
							   .who = tenant_number(t, c->client->tenant),
							   .device = c->device[i],
							   .engine = (uint8_t)engine,
							   .flag = true,
							   .at = now,
							   .until = atomic_load(&turn->until_ns),
							   .length = atomic_load(&turn->bound_ns),
							   .amount = (uint64_t)atomic_load(&turn->lag_ns),
							   .name = TRACE_BEFORE };
			if (atomic_load_explicit(&turn->busy_since_ns, memory_order_relaxed) && (e = event_place(t)))
				*e = (struct trace_event){ .kind = TRACE_EDGE,
							   .who = c->number,
							   .device = c->device[i],
							   .engine = (uint8_t)engine,
							   .flag = true,
							   .at = now };
		}
}

/* Who stands at the gate now has no record yet. */
static void take_waiting(struct traced *c)
{
	uint64_t now = clock_now_ns(), since;

	for (unsigned int i = 0; i < c->client->tenant->grant.share_count; i++)
		for (unsigned int engine = 0; engine < WIRE_ENGINES; engine++) {
			struct wire_turn *turn = &c->client->page.map->turn[i][engine];
			struct trace_event *e;

			since = atomic_load_explicit(&turn->waiting_since_ns, memory_order_relaxed);
			if (!atomic_load_explicit(&turn->waiting, memory_order_relaxed) || !since || since > now)
				continue;
			e = event_place(c->trace);
			if (e)
				*e = (struct trace_event){ .kind = TRACE_WAIT,
							   .who = c->number,
							   .device = c->device[i],
							   .engine = (uint8_t)engine,
							   .at = since,
							   .until = now };
		}
}

static void follow(struct trace *t, struct client *client)
{
	struct traced *c = calloc(1, sizeof(*c));
	struct tenant *tenant = client->tenant;
	char command[48];
	int r;

	if (!c)
		return;
	*c = (struct traced){ .trace = t, .client = client, .number = t->client_count++ };
	for (unsigned int i = 0; i < tenant->grant.share_count; i++)
		c->device[i] = device_number(t, &tenant->grant.share[i].device);
	c->next = t->clients;
	t->clients = c;
	c->of_client = client->traced;
	client->traced = c;
	snprintf(command, sizeof(command), "%.*s", (int)sizeof(client->process.command), client->process.command);
	clean_name(command);
	json_array_append_new(t->clients_new, json_pack("{s:i s:i s:i s:s}", "id", (int)c->number, "tenant",
							(int)tenant_number(t, tenant), "pid", (int)client->process.pid,
							"command", command));
	take_state(c);
	if (!owner_is(t->uid) && t->ring_count >= TRACE_RINGS) {
		note(t, json_sprintf("no launches of %s: a user's trace has those of %u programs", client_text(client),
				     TRACE_RINGS));
		return;
	}
	r = client_reserve_trace(client);
	if (r) {
		note(t, json_sprintf("no launches of %s: no room for them in %s: %s", client_text(client),
				     t->daemon->runtime.dir, strerror(-r)));
		return;
	}
	c->ring = true;
	t->ring_count++;
	c->tail = atomic_load_explicit(&client->page.map->trace.head, memory_order_acquire);
	/* Release: the room is there for whoever sees it set. */
	atomic_store_explicit(&client->page.map->trace.on, 1, memory_order_release);
}

/* Unlinks it from its client, and lets the ring rest when nobody else reads it. */
static void leave_client(struct traced *c)
{
	struct traced **at = &c->client->traced;
	bool others = false;

	while (*at != c)
		at = &(*at)->of_client;
	*at = c->of_client;
	for (struct traced *o = c->client->traced; o; o = o->of_client)
		others |= o->ring;
	if (!c->ring || others)
		return;
	atomic_store_explicit(&c->client->page.map->trace.on, 0, memory_order_release);
	page_release_trace(&c->client->page);
}

static void unfollow(struct traced *c)
{
	struct traced **at = &c->trace->clients;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->trace->ring_count -= c->ring;
	leave_client(c);
	free(c);
}

void trace_attach(struct client *client)
{
	for (struct trace *t = client->tenant->daemon->traces; t; t = t->next)
		if (!t->ended && wants(t, client->tenant))
			follow(t, client);
}

void trace_forget(struct client *client)
{
	if (client->traced)
		drain_notes(client->tenant->daemon);
	while (client->traced) {
		struct trace_event *e;

		drain(client->traced);
		e = event_place(client->traced->trace);
		if (e)
			*e = (struct trace_event){ .kind = TRACE_GONE,
						   .who = client->traced->number,
						   .at = clock_now_ns() };
		unfollow(client->traced);
	}
}

/* Lives. */

static void on_tick(void *owner)
{
	struct trace *t = owner;
	uint64_t now = clock_now_ns();

	if (now - t->read_ns > UNREAD_NS) {
		log_of(t->uid, "trace %llu of uid %u is not read any more: given up", (unsigned long long)t->id,
		       (unsigned int)t->uid);
		trace_free(t);
		return;
	}
	if (t->ended)
		return;
	trace_drain(t);
	if (now >= t->end_ns)
		trace_end(t);
}

struct trace *trace_new(struct daemon *daemon, uid_t uid, json_t *take_wanted, uint64_t length_ns)
{
	struct trace *t = calloc(1, sizeof(*t));

	if (!t) {
		json_decref(take_wanted);
		return NULL;
	}
	*t = (struct trace){ .daemon = daemon, .uid = uid, .wanted = take_wanted, .id = daemon_new_id(daemon) };
	t->begin_ns = t->read_ns = clock_now_ns();
	t->end_ns = t->begin_ns + length_ns;
	t->event = malloc(TRACE_EVENTS * sizeof(*t->event));
	t->name = malloc(TRACE_NAMES * sizeof(*t->name));
	t->devices = json_array();
	t->tenants = json_array();
	t->clients_new = json_array();
	t->notes = json_array();
	t->tick = timer_new(daemon->loop, on_tick, t);
	t->next = daemon->traces;
	daemon->traces = t;
	if (!t->event || !t->name || !t->devices || !t->tenants || !t->clients_new || !t->notes || !t->tick) {
		trace_free(t);
		return NULL;
	}
	for (struct tenant *tenant = daemon->tenants; tenant; tenant = tenant->next)
		for (struct client *c = wants(t, tenant) ? tenant->clients : NULL; c; c = c->next)
			follow(t, c);
	timer_start(t->tick, TICK_MS, TICK_MS);
	turn_log_start();
	t->begun = true;
	return t;
}

void trace_end(struct trace *t)
{
	uint64_t now = clock_now_ns();

	if (t->ended)
		return;
	trace_drain(t);
	while (t->clients) {
		take_waiting(t->clients);
		unfollow(t->clients);
	}
	t->ended = true;
	turn_log_stop();
	if (now < t->end_ns)
		t->end_ns = now;
	timer_start(t->tick, 1000, 1000);
}

void trace_free(struct trace *t)
{
	struct trace **at = &t->daemon->traces;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (t->begun && !t->ended)
		turn_log_stop();
	while (t->clients)
		unfollow(t->clients);
	timer_free(t->tick);
	json_decref(t->wanted);
	json_decref(t->devices);
	json_decref(t->tenants);
	json_decref(t->clients_new);
	json_decref(t->notes);
	free(t->tenant);
	free(t->event);
	free(t->name);
	free(t);
}

void trace_end_all(struct daemon *daemon, const char *why)
{
	for (struct trace *t = daemon->traces; t; t = t->next) {
		if (t->ended)
			continue;
		note(t, json_string(why));
		trace_end(t);
	}
}

bool trace_is_read(const struct daemon *daemon)
{
	uint64_t now = clock_now_ns();

	for (const struct trace *t = daemon->traces; t; t = t->next)
		if (now - t->read_ns < READ_NS)
			return true;
	return false;
}

void trace_close(struct daemon *daemon)
{
	while (daemon->traces)
		trace_free(daemon->traces);
}

/*
 * meters_keep.c: see meters_keep.h.
 *
 * An entry's key is a letter, 's' for a share, 'm' for memory of it that has moved, 'd' for a device, 'n' for what is
 * the node's, and what it is of: the grant's id, when it was made (another store begins with id 1 as well) and the
 * device; or a name.
 */
#include "daemon/store/meters_keep.h"

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/health/health.h"
#include "daemon/journal.h"
#include "daemon/store/meters.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/images.h"

#include <stdio.h>
#include <string.h>

#define JUMP_NS 2000000000ll /* the wall clock was set by more: nothing is known of what was between */

/* Values of an entry. */
enum {
	TIMES,
	LASTS = TIMES + METER_TIMES,
	DRAWN = LASTS + METER_TIMES,
	SAVED = DRAWN + METER_TIMES,
	REFUSED = SAVED + METER_TIMES,
	REMOTE = REFUSED + REFUSALS,
	FAULTS = REMOTE + TRAFFIC_WAYS * WORKER_COUNTS,
	UNKNOWN_CALLS,
	VALUES
};
_Static_assert(VALUES <= METERS_VALUES, "an entry has room for them");

static void key_of(uint8_t key[METERS_KEY_BYTES], char kind, const struct grant *grant, const uint8_t *uuid)
{
	memset(key, 0, METERS_KEY_BYTES);
	key[0] = (uint8_t)kind;
	if (grant) {
		memcpy(key + 8, &grant->id, sizeof(grant->id));
		memcpy(key + 16, &grant->created, sizeof(grant->created));
	}
	memcpy(key + 24, uuid, DEVICE_UUID_BYTES);
}

static void key_of_name(uint8_t key[METERS_KEY_BYTES], const char *what, const char *name)
{
	memset(key, 0, METERS_KEY_BYTES);
	snprintf((char *)key, METERS_KEY_BYTES, "n %s %s", what, name);
}

/* Writing. */

static void put_meter(struct meters_entry *e, const struct meter *m)
{
	memcpy(e->value + TIMES, m->time_ns, sizeof(m->time_ns));
	memcpy(e->value + LASTS, m->last_ns, sizeof(m->last_ns));
	memcpy(e->value + DRAWN, m->drawn_ns, sizeof(m->drawn_ns));
	memcpy(e->value + SAVED, m->saved_ns, sizeof(m->saved_ns));
}

static void put_share(struct meters *to, const struct tenant *t, unsigned int i)
{
	uint8_t key[METERS_KEY_BYTES];
	struct meters_entry *e;

	key_of(key, 's', &t->grant, t->grant.share[i].device.uuid);
	e = meters_add(to, key);
	if (!e)
		return;
	put_meter(e, &t->telemetry->share[i]);
	memcpy(e->value + REFUSED, t->telemetry->refused, sizeof(t->telemetry->refused));
	memcpy(e->value + REMOTE, t->telemetry->remote, sizeof(t->telemetry->remote));
	e->value[FAULTS] = t->faults;
	e->value[UNKNOWN_CALLS] = t->telemetry->unknown_calls;
}

/* Its memory that has moved; an entry of its own. */
enum { MOVED_OUT, MOVED_IN, MOVES, MOVES_REFUSED, MOVING_NS, MOVES_LATE };

static void put_moved(struct meters *to, const struct tenant *t)
{
	const struct suspension *s = &t->suspension;
	uint8_t key[METERS_KEY_BYTES];
	struct meters_entry *e;

	key_of(key, 'm', &t->grant, t->grant.share[0].device.uuid);
	e = meters_add(to, key);
	if (!e)
		return;
	e->value[MOVED_OUT] = s->out_bytes;
	e->value[MOVED_IN] = s->in_bytes;
	e->value[MOVES] = s->moves;
	e->value[MOVES_REFUSED] = s->refused;
	e->value[MOVING_NS] = s->moving_ns;
	e->value[MOVES_LATE] = s->late;
}

static void put_device(struct daemon *daemon, const struct device_meter *d)
{
	uint8_t key[METERS_KEY_BYTES];
	struct meters_entry *e;

	key_of(key, 'd', NULL, d->uuid);
	e = meters_add(daemon->meters, key);
	if (!e)
		return;
	put_meter(e, &d->meter);
	e->value[REFUSED] = d->refused;
	e->value[FAULTS] = health_faults(daemon, d->uuid);
}

static void put_named(struct meters *to, const char *what, const char *name, uint64_t value)
{
	uint8_t key[METERS_KEY_BYTES];
	struct meters_entry *e;

	key_of_name(key, what, name);
	e = meters_add(to, key);
	if (e)
		e->value[0] = value;
}

static void put_node(struct daemon *daemon)
{
	for (int i = 0; i < JOURNAL_KINDS; i++)
		put_named(daemon->meters, "event", journal_kind_name((enum journal_kind)i),
			  journal_count(daemon->journal, (enum journal_kind)i));
	for (unsigned int i = 0; i < daemon->meter.code_count; i++)
		put_named(daemon->meters, "request", daemon->meter.refused[i].code, daemon->meter.refused[i].count);
	put_named(daemon->meters, "image", "hits", images_hits(daemon));
	put_named(daemon->meters, "image", "saved", images_saved_bytes(daemon));
}

void meters_keep(struct daemon *daemon)
{
	const struct node_meter *n = &daemon->meter;
	struct meters_clock clock = { .ticked_ns = n->ticked_ns,
				      .offset_ns = n->offset_ns,
				      .drawn_s = n->drawn_s,
				      .saved_s = n->saved_s,
				      .saved_ns = n->saved_ns };

	if (!daemon->meters)
		return;
	meters_begin(daemon->meters);
	put_node(daemon);
	for (unsigned int i = 0; i < n->device_count; i++)
		put_device(daemon, &n->device[i]);
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		for (unsigned int i = 0; t->telemetry && i < t->grant.share_count; i++)
			put_share(daemon->meters, t, i);
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (t->grant.spill)
			put_moved(daemon->meters, t);
	meters_end(daemon->meters, &clock);
}

/* Reading. */

static void take_most(uint64_t *to, uint64_t value)
{
	*to = value > *to ? value : *to;
}

/* One that history.db has from a later time stays as it is: its file was lost, or is that of another one. */
static bool take_meter(struct meter *m, const struct meters_entry *e)
{
	for (unsigned int i = 0; i < METER_TIMES; i++)
		if (e->value[TIMES + i] < m->time_ns[i])
			return false;
	memcpy(m->time_ns, e->value + TIMES, sizeof(m->time_ns));
	memcpy(m->last_ns, e->value + LASTS, sizeof(m->last_ns));
	memcpy(m->drawn_ns, e->value + DRAWN, sizeof(m->drawn_ns));
	memcpy(m->saved_ns, e->value + SAVED, sizeof(m->saved_ns));
	memcpy(m->step_ns, e->value + SAVED, sizeof(m->step_ns));
	m->known = true;
	return true;
}

/* What history.db did not get any more was drawn with these means. Bytes of that time are not known. */
static void fill(struct meter *m, const struct meters_clock *clock, int64_t since_s)
{
	int64_t from_s = clock->saved_s > since_s ? clock->saved_s : since_s;
	uint64_t ns = from_s > clock->saved_s ? (uint64_t)(clock->drawn_s - from_s) * 1000000000u
					      : clock->ticked_ns - clock->saved_ns;
	uint64_t value[FIGURES] = { HISTORY_NONE, HISTORY_NONE };

	if (!m->history || !clock->saved_s || clock->drawn_s <= from_s || clock->ticked_ns <= clock->saved_ns)
		return;
	for (unsigned int i = 0; i < METER_TIMES; i++)
		value[FIGURE_GOT + i] = telemetry_part(m->drawn_ns[i] - m->saved_ns[i], ns);
	history_add_span(m->history, from_s + 1, clock->drawn_s, value);
}

static void restore_share(struct daemon *daemon, struct tenant *t, unsigned int i, const struct meters_clock *clock)
{
	uint8_t key[METERS_KEY_BYTES];
	const struct meters_entry *e;

	key_of(key, 's', &t->grant, t->grant.share[i].device.uuid);
	e = meters_find(daemon->meters, key);
	if (!e)
		return;
	if (take_meter(&t->telemetry->share[i], e) && clock)
		fill(&t->telemetry->share[i], clock, t->grant.created);
	for (unsigned int k = 0; k < REFUSALS; k++)
		take_most(&t->telemetry->refused[k], e->value[REFUSED + k]);
	for (unsigned int k = 0; k < TRAFFIC_WAYS * WORKER_COUNTS; k++)
		take_most(&t->telemetry->remote[k / WORKER_COUNTS][k % WORKER_COUNTS], e->value[REMOTE + k]);
	if (e->value[FAULTS] > t->faults)
		t->faults_unsaved = true;
	take_most(&t->faults, e->value[FAULTS]);
	take_most(&t->telemetry->unknown_calls, e->value[UNKNOWN_CALLS]);
}

static void restore_moved(struct daemon *daemon, struct tenant *t)
{
	struct suspension *s = &t->suspension;
	uint8_t key[METERS_KEY_BYTES];
	const struct meters_entry *e;

	key_of(key, 'm', &t->grant, t->grant.share[0].device.uuid);
	e = meters_find(daemon->meters, key);
	if (!e)
		return;
	take_most(&s->out_bytes, e->value[MOVED_OUT]);
	take_most(&s->in_bytes, e->value[MOVED_IN]);
	take_most(&s->moves, e->value[MOVES]);
	take_most(&s->refused, e->value[MOVES_REFUSED]);
	take_most(&s->moving_ns, e->value[MOVING_NS]);
	take_most(&s->late, e->value[MOVES_LATE]);
}

struct restoring {
	struct daemon *daemon;
	const struct meters_clock *clock;
};

/* Also of devices that are not there now. */
static void restore_device(const struct meters_entry *e, const struct restoring *r)
{
	struct device_meter *d = telemetry_device(r->daemon, e->key + 24);

	if (!d)
		return;
	if (take_meter(&d->meter, e) && r->clock)
		fill(&d->meter, r->clock, 0);
	take_most(&d->refused, e->value[REFUSED]);
	health_count_faults(r->daemon, d->uuid, e->value[FAULTS]);
}

/* The value; 0: there is none. */
static uint64_t named(const struct meters *from, const char *what, const char *name)
{
	uint8_t key[METERS_KEY_BYTES];
	const struct meters_entry *e;

	key_of_name(key, what, name);
	e = meters_find(from, key);
	return e ? e->value[0] : 0;
}

static void restore_entry(const struct meters_entry *e, void *owner)
{
	static const char request[] = "n request ";
	const struct restoring *r = owner;
	char name[METERS_KEY_BYTES + 1] = "";

	memcpy(name, e->key, METERS_KEY_BYTES);
	if (*name == 'd')
		restore_device(e, r);
	else if (!strncmp(name, request, sizeof(request) - 1))
		telemetry_requests_count(r->daemon, name + sizeof(request) - 1, e->value[0]);
}

static void restore_node(struct daemon *daemon)
{
	for (int i = 0; i < JOURNAL_KINDS; i++)
		journal_counted(daemon->journal, (enum journal_kind)i,
				named(daemon->meters, "event", journal_kind_name((enum journal_kind)i)));
	images_counted(daemon, named(daemon->meters, "image", "hits"), named(daemon->meters, "image", "saved"));
}

/* NULL: it is of another time than ours. */
static const struct meters_clock *restore_clock(struct daemon *daemon, struct meters_clock *clock)
{
	struct node_meter *n = &daemon->meter;
	int64_t off;

	if (!meters_clock(daemon->meters, clock) || !clock->ticked_ns || clock->ticked_ns > clock_now_ns())
		return NULL;
	off = clock->offset_ns - n->offset_ns;
	if (off > JUMP_NS || off < -JUMP_NS || clock->drawn_s > telemetry_now(daemon))
		return NULL;
	n->ticked_ns = clock->ticked_ns;
	n->drawn_s = clock->drawn_s;
	n->step_s = n->saved_s = clock->saved_s;
	n->step_ns = n->saved_ns = clock->saved_ns;
	return clock;
}

void meters_restore(struct daemon *daemon)
{
	struct meters_clock room;
	const struct meters_clock *clock;

	daemon->meters = meters_open(&daemon->runtime);
	if (!daemon->meters)
		return;
	clock = restore_clock(daemon, &room);
	restore_node(daemon);
	meters_each(daemon->meters, restore_entry, &(struct restoring){ daemon, clock });
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		for (unsigned int i = 0; t->telemetry && i < t->grant.share_count; i++)
			restore_share(daemon, t, i, clock);
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (t->grant.spill)
			restore_moved(daemon, t);
}

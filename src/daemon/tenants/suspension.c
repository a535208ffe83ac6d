/* suspension.c: see suspension.h. */
#include "daemon/tenants/suspension.h"

#include "base/clock.h"
#include "base/size.h"
#include "daemon/daemon.h"
#include "daemon/health/health.h"
#include "daemon/store/store.h"
#include "daemon/tenants/account.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/disk.h"
#include "daemon/tenants/residing.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of the clients that can be asked: all are at this place. */
static bool all_at(const struct tenant *t, enum wire_place place, const struct client **ret_other)
{
	for (const struct client *c = t->clients; c; c = c->next)
		if (residing_can_be_asked(c) && wire_place_state(c->residing.place) != place) {
			*ret_other = c;
			return false;
		}
	return true;
}

void suspension_follow(struct tenant *t)
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
			 : residing_wishes_away(other) || why == WIRE_STAY_DEVICE
				 ? "waits: the device has no room for it yet"
			 : why ? residing_reason(why)
			       : "");
	}
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

/* A move is not kept: a meted that is started in the middle lets its programs go on where they were. */
static int keep_unless_moves(struct tenant *t, bool moves, char *error, size_t size)
{
	if (!moves)
		return keep(t, true, error, size);
	t->grant.suspended = true;
	return 0;
}

/* It begins, from a state that allows it. */
static void begin(struct tenant *t, enum suspension_state state)
{
	t->suspension.serial++;
	t->suspension.state = state;
	*t->suspension.why = 0;
}

static int suspend_walled(struct tenant *t, const struct device *to, uint32_t drain_s, char *error, size_t size)
{
	char held_text[SIZE_TEXT_BYTES], room[SIZE_TEXT_BYTES];
	uint64_t held = 0;
	int r;

	if (t->grant.suspended)
		return 0;
	for (const struct client *c = t->clients; c; c = c->next)
		held += account_held(c, 0);
	/* It goes as a whole, which each of its programs asks for by itself. */
	if (residence_store_place(t, held) == WALL_STORED_NOWHERE) {
		snprintf(error, size,
			 "grant %s: the host has no room for its %s: %s are left of %s: let others return, or "
			 "raise it in meted.yaml",
			 t->grant.name, size_format(held * WIRE_UNIT_BYTES, held_text),
			 size_format(residence_pool_room(t) * WIRE_UNIT_BYTES, room), residence_pool_bound(t));
		return -EBUSY;
	}
	r = moving_suspend(t, to, drain_s, error, size);
	if (r)
		return r;
	r = keep_unless_moves(t, to, error, size);
	begin(t, SUSPENSION_LEAVING);
	if (r) {
		t->moving.active = false;
		t->suspension.state = SUSPENSION_NONE;
		moving_resume(t);
		return r;
	}
	tenant_note(t, 0, JOURNAL_ACTION, "suspended: its programs leave the device");
	residence_look_on(t->daemon);
	return 0;
}

int suspension_move(struct tenant *tenant, const struct device *to, uint32_t drain_s, char *error, size_t size)
{
	return moving_keeps_addresses(tenant) ? suspend_walled(tenant, to, drain_s, error, size)
					      : checkpoint_move(tenant, to, drain_s, error, size);
}

int suspension_send(struct tenant *tenant, const char *where, const char *way, uint32_t drain_s, char *error,
		    size_t size)
{
	int r = moving_send(tenant, where, way, drain_s, error, size);

	if (r)
		return r;
	begin(tenant, SUSPENSION_LEAVING);
	tenant_note(tenant, 0, JOURNAL_ACTION, "its programs go to %s", where);
	residence_look_on(tenant->daemon);
	return 0;
}

/* Its device is out of service: it goes to another one, as tenants of a device that is drained do. */
static int resume_elsewhere(struct tenant *t, char *error, size_t size)
{
	struct device to;

	return moving_find_return(t, &to) ? moving_go_over(t, &to, error, size) : -EBUSY;
}

static int resume_walled(struct tenant *t, char *error, size_t size)
{
	bool here = health_serves(t, error, size);
	int r = here ? keep(t, false, error, size) : resume_elsewhere(t, error, size);

	if (r)
		return r;
	begin(t, SUSPENSION_RETURNING);
	t->moving.active = true;
	moving_resume(t);
	tenant_note(t, 0, JOURNAL_ACTION, "resumed: its programs return to the device");
	residence_look_on(t->daemon);
	return 0;
}

int suspension_begin(struct tenant *tenant, uint32_t drain_s, char *error, size_t size)
{
	struct suspension *s = &tenant->suspension;
	char held[SIZE_TEXT_BYTES], room[SIZE_TEXT_BYTES];
	uint64_t units = 0;
	int r;

	if (moving_takes(tenant) && moving_keeps_addresses(tenant))
		return suspend_walled(tenant, NULL, drain_s, error, size);
	if (checkpoint_takes(tenant))
		return checkpoint_suspend(tenant, drain_s, error, size);
	if (!residence_moves(tenant)) {
		snprintf(error, size,
			 "grant %s: its memory cannot leave the device: make the grant with --spill, or hold its work "
			 "up with --freeze",
			 tenant->grant.name);
		return -ENOTSUP;
	}
	for (struct client *c = tenant->clients; c; c = c->next)
		if (account_held(c, 0) && !residing_can_be_asked(c)) {
			snprintf(error, size,
				 "grant %s: %s holds %s that cannot leave the device: it was started without "
				 "METE_SPILL=1 in its environment, as `mete run` sets it",
				 tenant->grant.name, client_text(c),
				 size_format((uint64_t)account_held(c, 0) * WIRE_UNIT_BYTES, held));
			return -EBUSY;
		}
	if (tenant->grant.suspended)
		return 0;
	for (struct client *c = tenant->clients; c; c = c->next)
		units += residing_can_be_asked(c) ? residing_movable(c) : 0;
	if (!residence_takes(tenant, units)) {
		snprintf(error, size,
			 "grant %s: the host has no room for its %s: %s are left of %s%s: let others return, or "
			 "raise it in meted.yaml",
			 tenant->grant.name, size_format(units * WIRE_UNIT_BYTES, held),
			 size_format(residence_pool_room(tenant) * WIRE_UNIT_BYTES, room), residence_pool_bound(tenant),
			 disk_there(tenant->daemon) ? ", and less of memory.disk" : "");
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
		if (residing_can_be_asked(c))
			residing_wish(c, true, NULL, false);
	}
	tenant_note(tenant, 0, JOURNAL_ACTION, "suspended: its memory leaves the device");
	return 0;
}

/* It is as its user wants it: what was refused before is told no more. */
static int is_back(struct suspension *s)
{
	if (s->state == SUSPENSION_REFUSED) {
		s->state = SUSPENSION_NONE;
		*s->why = 0;
	}
	return 0;
}

int suspension_end(struct tenant *tenant, bool now, char *error, size_t size)
{
	struct suspension *s = &tenant->suspension;
	char away[SIZE_TEXT_BYTES], room[SIZE_TEXT_BYTES];
	uint64_t units, left_units;
	int r;

	if (!tenant->grant.suspended)
		return is_back(s);
	if (moving_takes(tenant) && moving_keeps_addresses(tenant))
		return resume_walled(tenant, error, size);
	if (checkpoint_takes(tenant))
		return checkpoint_resume(tenant, now, error, size);
	units = residence_away(tenant, 0, NULL);
	left_units = residence_left(tenant);
	if (now && units > left_units) {
		snprintf(error, size,
			 "grant %s: %s are away, and device %u has room for %s: ask without --now, and it returns as "
			 "soon as there is room",
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
	tenant_note(tenant, 0, JOURNAL_ACTION, "resumed: its memory returns to the device");
	residence_look_now(tenant->daemon);
	return 0;
}

bool suspension_holds(const struct tenant *t)
{
	return moving_holds(t) || checkpoint_holds(t);
}

/* What others are told -------------------------------------------------------------------------------------------- */

static const char *const place_words[] = { "resident", "leaving", "away", "returning" };

void suspension_grant_json(const struct tenant *t, json_t *grant)
{
	static const char *const words[] = { "none", "leaving", "away", "returning", "refused" };
	const struct suspension *s = &t->suspension;

	json_object_set_new(grant, "spill", json_boolean(t->grant.spill));
	yielding_grant_json(t, grant);
	if (!residence_moves(t) && !moving_takes(t) && !s->serial && !t->grant.suspended)
		return;
	if (residence_moves(t))
		json_object_set_new(grant, "resident_bytes",
				    json_integer((json_int_t)(t->grant.resident_units * WIRE_UNIT_BYTES)));
	json_object_set_new(grant, "suspended", json_boolean(t->grant.suspended));
	json_object_set_new(grant, "suspension",
			    json_pack("{s:I s:s s:o s:o}", "serial", (json_int_t)s->serial, "state", words[s->state],
				      "why", *s->why ? json_string(s->why) : json_null(), "waiting",
				      moving_waiting_json(t)));
	json_object_set_new(grant, "moved",
			    json_pack("{s:I s:I s:I s:I s:I s:f}", "out_bytes", (json_int_t)s->out_bytes, "in_bytes",
				      (json_int_t)s->in_bytes, "moves", (json_int_t)s->moves, "refused",
				      (json_int_t)s->refused, "late", (json_int_t)s->late, "seconds",
				      (double)s->moving_ns / 1e9));
}

/* What a client or a tenant has where, in units. */
struct placed {
	uint64_t away, disk, movable;
};

static void place_json(json_t *to, const struct placed *is, enum wire_place place, uint32_t percent)
{
	json_object_set_new(to, "away_bytes", json_integer((json_int_t)(is->away * WIRE_UNIT_BYTES)));
	json_object_set_new(to, "disk_bytes", json_integer((json_int_t)(is->disk * WIRE_UNIT_BYTES)));
	json_object_set_new(to, "movable_bytes", json_integer((json_int_t)(is->movable * WIRE_UNIT_BYTES)));
	json_object_set_new(to, "residence", json_string(place_words[place]));
	if (place == WIRE_LEAVING || place == WIRE_RETURNING)
		json_object_set_new(to, "moved_pct", json_integer(percent < 100 ? percent : 100));
}

void suspension_client_json(const struct client *c, unsigned int device, json_t *process)
{
	const struct worker *w = device ? NULL : worker_find(c->tenant->daemon, c->process.pid);
	uint32_t place = residing_place(c);
	char pins[200];

	if (w && *moving_pins(w, pins, sizeof(pins)))
		json_object_set_new(process, "stays", json_string(pins));
	checkpoint_client_json(c, device, process);
	if (!device && residing_can_be_asked(c) && c->residing.late_ns)
		json_object_set_new(process, "late_seconds",
				    json_real((double)(clock_now_ns() - c->residing.asked_ns) / 1e9));
	if (!device && residing_can_be_asked(c))
		place_json(process, &(struct placed){ residing_away(c), residence_client_disk(c), residing_movable(c) },
			   wire_place_state(place), wire_place_percent(place));
}

/* Of several clients the one says it that is furthest from being there. */
void suspension_share_json(const struct tenant *t, unsigned int device, json_t *share)
{
	static const int order[] = { [WIRE_RESIDENT] = 0, [WIRE_RETURNING] = 1, [WIRE_LEAVING] = 2, [WIRE_AWAY] = 3 };
	enum wire_place worst = WIRE_RESIDENT;
	struct placed is = { 0 };
	uint32_t percent = 0;

	if (checkpoint_share_json(t, device, share))
		return;
	if (device || !residence_moves(t)) {
		moving_share_json(t, device, share);
		return;
	}
	for (const struct client *c = t->clients; c; c = c->next) {
		uint32_t place = residing_place(c);

		if (!residing_can_be_asked(c))
			continue;
		is.movable += residing_movable(c);
		if (order[wire_place_state(place)] <= order[worst])
			continue;
		worst = wire_place_state(place);
		percent = wire_place_percent(place);
	}
	is.away = residence_away(t, 0, NULL);
	is.disk = residence_disk(t);
	place_json(share, &is, worst, percent);
}

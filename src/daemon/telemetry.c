/* telemetry.c: see telemetry.h. */
#include "daemon/telemetry.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/tenants/account.h"
#include "daemon/daemon.h"
#include "daemon/health/health.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/store/history.h"
#include "daemon/store/meters_keep.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/worker.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TICK_MS 1000
#define JUMP_NS 2000000000ll /* the clock was set by more: an event */
#define LATE_MOST_S 10	     /* seconds without a tick that are no gap in the histories */
#define USERS 16u

_Static_assert(FIGURES <= HISTORY_FIGURES, "a history has room for them");
_Static_assert((int)METER_TIMES == (int)WINDOW_TOTALS && (int)METER_USED == (int)WINDOW_CHARGED &&
		       (int)METER_ASKED == (int)WINDOW_WANTED && (int)METER_WAITED == (int)WINDOW_WAITED,
	       "they are the same");

const char *refusal_name(enum refusal why)
{
	static const char *const names[REFUSALS] = { "memory", "attach", "protocol" };

	return names[why];
}

/* Time. */

static int64_t wall_offset(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)clock_now_ns();
}

int64_t telemetry_now(const struct daemon *daemon)
{
	return ((int64_t)clock_now_ns() + daemon->meter.offset_ns) / 1000000000;
}

/* What machine sleep adds to the wall clock is no setting of it. */
static int64_t slept_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)clock_now_ns();
}

static void shift(struct history *h, int64_t from_s, int64_t to_s)
{
	if (h)
		history_shift(h, from_s, to_s);
}

/* All that is known by the wall clock's time is as long ago as before. */
static void shift_all(struct daemon *daemon, int64_t from_s, int64_t to_s)
{
	for (unsigned int i = 0; i < daemon->meter.device_count; i++)
		shift(daemon->meter.device[i].meter.history, from_s, to_s);
	shift(daemon->meter.flow.history, from_s, to_s);
	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		if (!t->telemetry)
			continue;
		for (unsigned int i = 0; i < t->grant.share_count; i++)
			shift(t->telemetry->share[i].history, from_s, to_s);
		shift(t->telemetry->flow.history, from_s, to_s);
		if (t->telemetry->last_active)
			t->telemetry->last_active += to_s - from_s;
	}
	daemon->meter.started += to_s - from_s;
	daemon->meter.drawn_s += daemon->meter.drawn_s ? to_s - from_s : 0;
	daemon->meter.step_s += to_s - from_s;
	daemon->meter.saved_s += to_s - from_s;
	history_store_shifted(daemon);
	health_clock_set(daemon, to_s - from_s);
	tenant_clock_set(daemon);
}

static void watch_clock(struct daemon *daemon)
{
	int64_t offset = wall_offset(), slept = slept_ns(), from_s = telemetry_now(daemon);
	int64_t asleep = slept - daemon->meter.slept_ns, jump = offset - daemon->meter.offset_ns - asleep;

	if (asleep < JUMP_NS && jump < JUMP_NS && jump > -JUMP_NS)
		return;
	daemon->meter.offset_ns = offset;
	daemon->meter.slept_ns = slept;
	if (asleep >= JUMP_NS)
		journal_add(daemon, JOURNAL_DAEMON, NULL, NULL, "the machine was asleep for %.1f s",
			    (double)asleep / 1e9);
	if (jump < JUMP_NS && jump > -JUMP_NS)
		return;
	shift_all(daemon, from_s + asleep / 1000000000, telemetry_now(daemon));
	journal_add(daemon, JOURNAL_DAEMON, NULL, NULL, "the clock jumped by %+.1f s: shares are not touched by it",
		    (double)jump / 1e9);
	log_line("the clock jumped by %+.1f s: shares are not touched by it", (double)jump / 1e9);
}

/* Meters. */

static void read_share(struct daemon *daemon, struct tenant *t, unsigned int i)
{
	struct meter *m = &t->telemetry->share[i];
	struct device_meter *d = telemetry_device(daemon, t->grant.share[i].device.uuid);
	uint64_t since[METER_TIMES];

	account_measure(t, i);
	arbitrate_count(t, i, WIRE_COMPUTE, since, m->last_ns);
	for (unsigned int k = 0; k < METER_TIMES; k++) {
		m->time_ns[k] += since[k];
		if (d)
			d->meter.time_ns[k] += since[k];
	}
}

static void each_meter(struct daemon *daemon, void (*fn)(struct meter *m))
{
	for (unsigned int i = 0; i < daemon->meter.device_count; i++)
		fn(&daemon->meter.device[i].meter);
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		for (unsigned int i = 0; t->telemetry && i < t->grant.share_count; i++)
			fn(&t->telemetry->share[i]);
}

static void end_step_of(struct meter *m)
{
	memcpy(m->step_ns, m->drawn_ns, sizeof(m->step_ns));
}

static void save_step_of(struct meter *m)
{
	memcpy(m->saved_ns, m->step_ns, sizeof(m->saved_ns));
}

/* What went through workers since. */
static void read_remote(struct daemon *daemon)
{
	for (struct worker *w = daemon->workers; w; w = w->next) {
		struct tenant *t = w->state == WORKER_BUSY ? tenant_find_id(daemon, w->grant_id) : NULL;

		if (t && t->telemetry)
			traffic_take(w, t->telemetry);
	}
}

void telemetry_read(struct daemon *daemon)
{
	read_remote(daemon);
	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		for (unsigned int i = 0; t->telemetry && i < t->grant.share_count; i++)
			read_share(daemon, t, i);
		if (t->telemetry && t->clients)
			t->telemetry->last_active = time(NULL);
	}
	meters_keep(daemon);
}

static void begin_step_of(struct meter *m)
{
	end_step_of(m);
	save_step_of(m);
}

/* Of a tenant that is not new, and of which nothing is known, nothing is counted that was before this meted. */
void telemetry_resume(struct daemon *daemon)
{
	meters_restore(daemon);
	if (!daemon->meter.saved_s) {
		daemon->meter.step_s = daemon->meter.saved_s = telemetry_now(daemon);
		daemon->meter.step_ns = daemon->meter.saved_ns = daemon->meter.ticked_ns;
		each_meter(daemon, begin_step_of);
	}
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		for (unsigned int i = 0; t->telemetry && i < t->grant.share_count; i++) {
			struct meter *m = &t->telemetry->share[i];

			arbitrate_counted(t, i, WIRE_COMPUTE, m->known ? m->last_ns : NULL);
		}
}

struct device_meter *telemetry_device(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	struct node_meter *n = &daemon->meter;
	struct device_meter *d = n->device;

	while (d < n->device + n->device_count && memcmp(d->uuid, uuid, DEVICE_UUID_BYTES))
		d++;
	if (d < n->device + n->device_count)
		return d;
	if (n->device_count == TELEMETRY_DEVICES)
		return NULL;
	n->device_count++;
	*d = (struct device_meter){ .meter.history = history_new(FIGURES) };
	memcpy(d->uuid, uuid, DEVICE_UUID_BYTES);
	return d;
}

/* The history. */

uint64_t telemetry_part(uint64_t ns, uint64_t of_ns)
{
	return of_ns ? (uint64_t)((double)ns * 1e6 / (double)of_ns + 0.5) : 0;
}

/* What has passed since the last tick. */
struct lapse {
	int64_t from_s, to_s; /* the seconds that are drawn now */
	uint64_t ns;
};

static void draw(struct meter *m, const struct lapse *lapse, uint64_t held, uint64_t promised, bool timed)
{
	uint64_t value[FIGURES] = { held, promised, HISTORY_NONE, HISTORY_NONE, HISTORY_NONE };

	for (unsigned int k = 0; k < METER_TIMES; k++) {
		if (timed)
			value[FIGURE_GOT + k] = telemetry_part(m->time_ns[k] - m->drawn_ns[k], lapse->ns);
		m->drawn_ns[k] = m->time_ns[k];
	}
	if (m->history)
		history_add_span(m->history, lapse->from_s, lapse->to_s, value);
}

static void draw_devices(struct daemon *daemon, const struct lapse *lapse, const uint64_t *held)
{
	for (unsigned int i = 0; i < daemon->meter.device_count; i++) {
		struct device_meter *d = &daemon->meter.device[i];

		draw(&d->meter, lapse, held[i], daemon_promised_bytes(daemon, d->uuid, NULL), true);
	}
}

static void draw_all(struct daemon *daemon, const struct lapse *lapse)
{
	uint64_t held[TELEMETRY_DEVICES] = { 0 };

	for (unsigned int i = 0; i < daemon->machine.device_count; i++)
		telemetry_device(daemon, daemon->machine.device[i].uuid);
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		for (unsigned int i = 0; t->telemetry && i < t->grant.share_count; i++) {
			struct grant_share *s = &t->grant.share[i];
			struct device_meter *d = telemetry_device(daemon, s->device.uuid);
			uint64_t bytes = account_tenant_held(t, i) * WIRE_UNIT_BYTES;

			draw(&t->telemetry->share[i], lapse, bytes, s->ledger.quota_units * WIRE_UNIT_BYTES,
			     t->places.at[i][WIRE_COMPUTE]);
			if (d)
				held[d - daemon->meter.device] += bytes;
		}
	draw_devices(daemon, lapse, held);
}

/* What has gone through the tenant's workers since it was last written down is the node's, too. */
static void add_flow(struct daemon *daemon, const struct telemetry *t, uint64_t total[FLOWS])
{
	flow_total(t, total);
	for (unsigned int i = 0; t->flow.known && i < FLOWS; i++)
		daemon->meter.flowed[i] += total[i] - t->flow.drawn[i];
}

static void draw_flows(struct daemon *daemon, const struct lapse *lapse)
{
	uint64_t total[FLOWS];

	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (t->telemetry) {
			add_flow(daemon, t->telemetry, total);
			flow_draw(&t->telemetry->flow, total, lapse->from_s, lapse->to_s, lapse->ns);
		}
	flow_draw(&daemon->meter.flow, daemon->meter.flowed, lapse->from_s, lapse->to_s, lapse->ns);
}

/* When another step has ended meanwhile it is left to the next time: more is filled then than need be. */
void telemetry_saved(struct daemon *daemon, int64_t step_s)
{
	if (daemon->meter.step_s != step_s)
		return;
	daemon->meter.saved_s = step_s;
	daemon->meter.saved_ns = daemon->meter.step_ns;
	each_meter(daemon, save_step_of);
}

/* The second that was drawn last is the last one of a step of the next level: what is there then can be kept. */
static void on_step(struct daemon *daemon)
{
	if ((daemon->meter.drawn_s + 1) % history_step(1) == 0)
		telemetry_end_step(daemon);
}

void telemetry_end_step(struct daemon *daemon)
{
	daemon->meter.step_s = daemon->meter.drawn_s;
	daemon->meter.step_ns = daemon->meter.ticked_ns;
	each_meter(daemon, end_step_of);
}

/* A tick that comes late, as all do by a little, is of the seconds that it has missed as well. */
static struct lapse lapse_end(struct node_meter *m, int64_t now_s)
{
	uint64_t now_ns = clock_now_ns();
	struct lapse lapse = { .from_s = now_s, .to_s = now_s, .ns = now_ns - m->ticked_ns };

	if (m->drawn_s && m->drawn_s < now_s && now_s - m->drawn_s <= LATE_MOST_S)
		lapse.from_s = m->drawn_s + 1;
	m->drawn_s = now_s;
	m->ticked_ns = now_ns;
	return lapse;
}

static void on_tick(void *owner)
{
	struct daemon *daemon = owner;
	struct lapse lapse;

	watch_clock(daemon);
	telemetry_read(daemon);
	guarded_read(daemon);
	lapse = lapse_end(&daemon->meter, telemetry_now(daemon));
	draw_all(daemon, &lapse);
	draw_flows(daemon, &lapse);
	on_step(daemon);
	meters_keep(daemon);
}

/* Who comes and goes. */

static void meter_deinit(struct meter *m)
{
	history_free(m->history);
	m->history = NULL;
}

void telemetry_join(struct tenant *tenant)
{
	struct telemetry *t = calloc(1, sizeof(*t));

	tenant->telemetry = t;
	for (unsigned int i = 0; t && i < tenant->grant.share_count; i++)
		t->share[i].history = history_new(FIGURES);
	/* One of before this meted has totals, which are read from the store later. */
	if (t)
		t->flow.known = tenant->daemon->meter.tick;
}

void telemetry_leave(struct tenant *tenant)
{
	struct telemetry *t = tenant->telemetry;

	if (!t)
		return;
	for (unsigned int i = 0; i < tenant->grant.share_count; i++) {
		if (!tenant->daemon->stopping)
			read_share(tenant->daemon, tenant, i);
		meter_deinit(&t->share[i]);
	}
	add_flow(tenant->daemon, t, (uint64_t[FLOWS]){ 0 });
	flow_deinit(&t->flow);
	free(t);
	tenant->telemetry = NULL;
}

void telemetry_refused(struct tenant *tenant, enum refusal why)
{
	if (tenant->telemetry)
		tenant->telemetry->refused[why]++;
}

void telemetry_unknown_call(struct tenant *tenant)
{
	if (tenant->telemetry)
		tenant->telemetry->unknown_calls++;
}

void telemetry_memory_refused(struct tenant *tenant, unsigned int share)
{
	struct device_meter *d = telemetry_device(tenant->daemon, tenant->grant.share[share].device.uuid);

	telemetry_refused(tenant, REFUSAL_MEMORY);
	if (d)
		d->refused++;
}

void telemetry_requests_count(struct daemon *daemon, const char *code, uint64_t more)
{
	struct node_meter *n = &daemon->meter;
	unsigned int i = 0;

	while (i < n->code_count && strcmp(n->refused[i].code, code))
		i++;
	if (i == TELEMETRY_CODES)
		return;
	if (i == n->code_count) {
		snprintf(n->refused[i].code, sizeof(n->refused[i].code), "%s", code);
		n->code_count++;
	}
	n->refused[i].count += more;
}

void telemetry_request_refused(struct daemon *daemon, enum code code)
{
	telemetry_requests_count(daemon, code_word(code), 1);
}

int telemetry_start(struct daemon *daemon)
{
	daemon->meter.offset_ns = wall_offset();
	daemon->meter.slept_ns = slept_ns();
	daemon->meter.started = telemetry_now(daemon);
	daemon->meter.ticked_ns = clock_now_ns();
	daemon->meter.flow.known = true;
	daemon->meter.tick = timer_new(daemon->loop, on_tick, daemon);
	if (!daemon->meter.tick)
		return -ENOMEM;
	timer_start(daemon->meter.tick, TICK_MS, TICK_MS);
	return 0;
}

void telemetry_stop(struct daemon *daemon)
{
	timer_free(daemon->meter.tick);
	daemon->meter.tick = NULL;
	for (unsigned int i = 0; i < daemon->meter.device_count; i++)
		meter_deinit(&daemon->meter.device[i].meter);
	flow_deinit(&daemon->meter.flow);
	daemon->meter.device_count = 0;
}

/* Users. */

const char *telemetry_user(uid_t uid, char text[GRANT_NAME_BYTES])
{
	static struct {
		uid_t uid;
		char name[GRANT_NAME_BYTES];
	} known[USERS];
	static unsigned int count, next;
	_cleanup_fclose_ FILE *file = NULL;
	struct passwd *entry;

	for (unsigned int i = 0; i < count; i++)
		if (known[i].uid == uid)
			return strcpy(text, known[i].name);
	snprintf(text, GRANT_NAME_BYTES, "%u", (unsigned int)uid);
	file = fopen("/etc/passwd", "re");
	while (file && (entry = fgetpwent(file)))
		if (entry->pw_uid == uid) {
			snprintf(text, GRANT_NAME_BYTES, "%s", entry->pw_name);
			break;
		}
	known[next].uid = uid;
	strcpy(known[next].name, text);
	next = (next + 1) % USERS;
	count = count < USERS ? count + 1 : USERS;
	return text;
}

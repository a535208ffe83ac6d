/* faults.c: see faults.h. What waits for its other half is an incident; there are few, and they live half a second. */
#include "daemon/health/faults.h"

#include "base/clock.h"
#include "daemon/tenants/client.h"
#include "daemon/daemon.h"
#include "daemon/health/health.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/store/health.h"
#include "daemon/tenants/tenant.h"
#include "daemon/health/xid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLD_MS 500u
#define LOOK_MS 100u
#define INCIDENTS 64u	     /* at once; a storm beyond is counted for the device alone */
#define ENDED_NS 5000000000u /* how long after its end a process is known */
#define ENDED_FIRST 64u
#define ENDED_MOST 32768u /* more end in that time in no machine: programs begin more slowly */

struct incident {
	uint64_t at_ns; /* 0: a free place */
	struct device device;
	uint32_t xid, error; /* 0: it has not come */
	uint64_t grant_id;   /* 0: not known whose */
	pid_t pid;
	char command[PROCESS_COMMAND_BYTES + 1];
};

/* A process that has ended. */
struct ended {
	uint64_t at_ns, grant_id;
	pid_t pid;
	char command[PROCESS_COMMAND_BYTES + 1];
};

/* Those of the last ENDED_NS, the oldest first, from `first` on; `room` places in a ring. */
struct ended_list {
	struct ended *at;
	unsigned int first, count, room;
};

struct faults {
	struct daemon *daemon;
	struct timer *timer; /* runs while there are incidents */
	struct incident incident[INCIDENTS];
	struct ended_list ended;
	uint64_t asked_ns; /* when the drivers were last asked because a program said that its device is gone */
};

/* Each time starts a process of meted's; programs may say it as often as they like. */
#define ASK_LEAST_NS UINT64_C(1000000000)

int faults_start(struct daemon *daemon, char *error, size_t size)
{
	(void)error;
	(void)size;
	daemon->faults = calloc(1, sizeof(*daemon->faults));
	if (!daemon->faults)
		return -ENOMEM;
	daemon->faults->daemon = daemon;
	return 0;
}

/* Consequences. */

static void keep(struct tenant *tenant)
{
	char error[512];

	if (store_put_quarantine(tenant->daemon->store, tenant->grant.id, tenant->faults, &tenant->quarantine, error,
				 sizeof(error)))
		log_line("grant %s: %s", tenant->grant.name, error);
	else
		tenant->faults_unsaved = false;
}

void faults_save(struct daemon *daemon)
{
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (t->faults_unsaved)
			keep(t);
}

static void count_for(struct tenant *tenant, const struct device *device)
{
	const struct quarantine_rule *rule = &tenant->daemon->fault_rule;
	unsigned long long s;

	tenant->faults++;
	tenant->faults_unsaved = true;
	health_save_soon(tenant->daemon);
	if (device->kind == DEVICE_SOFT && !rule->software)
		return;
	if (!quarantine_fault(&tenant->quarantine, rule, clock_now_ns()))
		return;
	s = tenant->quarantine.length_ns / 1000000000u;
	keep(tenant);
	event_add(&tenant->events, "quarantined for %llu s after %u faults", s, (unsigned int)rule->count);
	log_line("grant %s is quarantined for %llu s after %u faults: `mete release %s` ends it", tenant->grant.name, s,
		 (unsigned int)rule->count, tenant->grant.name);
	journal_add(tenant->daemon, JOURNAL_ACTION, tenant->grant.name, NULL,
		    "quarantined for %llu s after %u faults: no program may begin; `mete release %s` ends it", s,
		    (unsigned int)rule->count, tenant->grant.name);
}

bool faults_let_begin(const struct tenant *tenant, uint32_t *ret_wait_s)
{
	uint64_t left = quarantine_left_ns(&tenant->quarantine, clock_now_ns());

	*ret_wait_s = (uint32_t)((left + 999999999u) / 1000000000u);
	return !left;
}

void faults_release(struct tenant *tenant)
{
	quarantine_release(&tenant->quarantine);
	keep(tenant);
	event_add(&tenant->events, "released: programs may begin");
}

void faults_restore(struct tenant *tenant)
{
	struct daemon *daemon = tenant->daemon;

	store_get_quarantine(daemon->store, tenant->grant.id, daemon->fault_rule.most_ns, &tenant->faults,
			     &tenant->quarantine);
}

void faults_json(const struct tenant *tenant, json_t *json)
{
	uint32_t wait_s;
	bool may = faults_let_begin(tenant, &wait_s);

	if (!json)
		return;
	json_object_set_new(json, "faults", json_integer((json_int_t)tenant->faults));
	json_object_set_new(json, "quarantined", json_boolean(!may));
	json_object_set_new(json, "quarantined_for_s", may ? json_null() : json_integer(wait_s));
}

/* Incidents. */

static enum xid_cause cause_of(const struct incident *i)
{
	return i->error ? context_error_find(i->error)->cause : xid_find(i->xid)->cause;
}

static void describe(const struct incident *i, char *text, size_t size)
{
	size_t n = 0;

	if (i->error)
		n = (size_t)snprintf(text, size, "%s", context_error_find(i->error)->name);
	if (i->xid && n < size)
		snprintf(text + n, size - n, "%sXid %u (%s)", n ? ", " : "", i->xid, xid_find(i->xid)->text);
}

static void end_incident(struct daemon *daemon, struct incident *i)
{
	struct tenant *t = i->grant_id ? tenant_find_id(daemon, i->grant_id) : NULL;
	char what[160], whose[96];

	describe(i, what, sizeof(what));
	if (i->pid)
		snprintf(whose, sizeof(whose), "pid %d (%s)", (int)i->pid, *i->command ? i->command : "?");
	else
		snprintf(whose, sizeof(whose), "%s",
			 cause_of(i) == XID_PROGRAM ? "not known whose" : "of the device itself");
	if (t)
		log_of_programs(t->grant.uid, t->grant.id, "device %u: %s: grant %s: %s", i->device.index, what,
				t->grant.name, whose);
	else
		log_peer(LOG_FAULTS, "device %u: %s: %s", i->device.index, what, whose);
	journal_add(daemon, JOURNAL_FAULT, t ? t->grant.name : NULL, i->device.uuid, "%s: %s", what, whose);
	health_count(daemon, &i->device);
	if (t)
		event_add(&t->events, "device %u: %s: %s", i->device.index, whose, what);
	if (t && cause_of(i) == XID_PROGRAM)
		count_for(t, &i->device);
	i->at_ns = 0;
}

static void on_look(void *owner)
{
	struct faults *f = owner;
	uint64_t now = clock_now_ns();
	bool more = false;

	for (unsigned int i = 0; i < INCIDENTS; i++) {
		if (!f->incident[i].at_ns)
			continue;
		if (now - f->incident[i].at_ns >= HOLD_MS * 1000000ull)
			end_incident(f->daemon, &f->incident[i]);
		else
			more = true;
	}
	if (!more) {
		timer_free(f->timer);
		f->timer = NULL;
	}
}

static void add(struct daemon *daemon, const struct incident *what)
{
	struct faults *f = daemon->faults;
	struct incident all = *what;

	all.at_ns = clock_now_ns();
	if (!f->timer)
		f->timer = timer_new(daemon->loop, on_look, f);
	for (unsigned int i = 0; f->timer && i < INCIDENTS; i++) {
		if (f->incident[i].at_ns)
			continue;
		f->incident[i] = all;
		if (!timer_running(f->timer))
			timer_start(f->timer, LOOK_MS, LOOK_MS);
		return;
	}
	end_incident(daemon, &all);
}

void faults_flush(struct daemon *daemon)
{
	struct faults *f = daemon->faults;

	for (unsigned int i = 0; f && i < INCIDENTS; i++)
		if (f->incident[i].at_ns)
			end_incident(daemon, &f->incident[i]);
	health_save(daemon);
}

void faults_stop(struct daemon *daemon)
{
	struct faults *f = daemon->faults;

	if (!f)
		return;
	if (daemon->store)
		faults_flush(daemon);
	timer_free(f->timer);
	free(f->ended.at);
	free(f);
	daemon->faults = NULL;
}

static bool same_device(const struct incident *i, const struct device *device)
{
	return i->at_ns && !memcmp(i->device.uuid, device->uuid, DEVICE_UUID_BYTES);
}

/* The error of a context and the number of a device speak of the same thing. */
static bool fits(uint32_t error, uint32_t xid)
{
	const struct context_error *e = context_error_find(error);

	return e->xid == xid || (e->cause == XID_PROGRAM && xid_find(xid)->cause == XID_PROGRAM) ||
	       (e->cause == XID_DEVICE && xid_find(xid)->cause == XID_DEVICE);
}

static struct ended *ended_at(const struct ended_list *l, unsigned int i)
{
	return &l->at[(l->first + i) % l->room];
}

/* Who has, or had a moment ago, this pid. */
static void find_process(struct daemon *daemon, pid_t pid, struct incident *ret)
{
	const struct faults *f = daemon->faults;
	uint64_t now = clock_now_ns();

	ret->pid = pid;
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		for (struct client *c = t->clients; c; c = c->next)
			if (c->process.pid == pid) {
				ret->grant_id = t->grant.id;
				snprintf(ret->command, sizeof(ret->command), "%s", c->process.command);
				return;
			}
	for (unsigned int i = 0; i < f->ended.count; i++) {
		const struct ended *e = ended_at(&f->ended, i);

		if (e->pid != pid || now - e->at_ns > ENDED_NS)
			continue;
		ret->grant_id = e->grant_id;
		snprintf(ret->command, sizeof(ret->command), "%s", e->command);
	}
}

static void forget_first(struct ended_list *l)
{
	l->first = (l->first + 1) % l->room;
	l->count--;
}

/* However many end: who could make others of them forgotten would not be blamed for what his programs did. */
static bool make_room(struct ended_list *l)
{
	unsigned int room = l->room ? 2 * l->room : ENDED_FIRST;
	struct ended *more;

	if (l->count < l->room)
		return true;
	more = room <= ENDED_MOST ? malloc(room * sizeof(*more)) : NULL;
	if (!more && l->room)
		forget_first(l);
	if (!more)
		return l->room;
	for (unsigned int i = 0; i < l->count; i++)
		more[i] = *ended_at(l, i);
	free(l->at);
	*l = (struct ended_list){ .at = more, .count = l->count, .room = room };
	return true;
}

void faults_ended(const struct client *client)
{
	struct faults *f = client->tenant->daemon->faults;
	uint64_t now = clock_now_ns();
	struct ended *e;

	if (!f)
		return;
	while (f->ended.count && now - ended_at(&f->ended, 0)->at_ns > ENDED_NS)
		forget_first(&f->ended);
	if (!make_room(&f->ended))
		return;
	e = ended_at(&f->ended, f->ended.count++);
	*e = (struct ended){ .at_ns = now, .grant_id = client->tenant->grant.id, .pid = client->process.pid };
	snprintf(e->command, sizeof(e->command), "%s", client->process.command);
}

void faults_xid(struct daemon *daemon, const struct device *device, uint32_t xid, pid_t pid)
{
	struct incident what = { .device = *device, .xid = xid };
	struct faults *f = daemon->faults;

	if (pid > 0)
		find_process(daemon, pid, &what);
	for (unsigned int i = 0; i < INCIDENTS; i++) {
		struct incident *other = &f->incident[i];

		if (!same_device(other, device) || other->xid || !fits(other->error, xid) ||
		    xid_find(xid)->cause == XID_GONE || (what.pid && other->pid != what.pid))
			continue;
		other->xid = xid;
		end_incident(daemon, other);
		return;
	}
	if (xid_find(xid)->cause == XID_GONE)
		health_lose(daemon, device, xid_find(xid)->text);
	add(daemon, &what);
}

void faults_reported(struct client *client, unsigned int share, uint32_t error)
{
	struct tenant *t = client->tenant;
	struct incident what = { .device = t->grant.share[share].device,
				 .error = error,
				 .grant_id = t->grant.id,
				 .pid = client->process.pid };
	struct faults *f = t->daemon->faults;

	snprintf(what.command, sizeof(what.command), "%s", client->process.command);
	if (context_error_find(error)->cause == XID_GONE) { /* that it is lost is for its driver to say */
		event_add(&t->events, "device %u: %s can use it no more: %s", what.device.index, client_text(client),
			  context_error_find(error)->name);
		if (clock_now_ns() - f->asked_ns < ASK_LEAST_NS)
			return;
		f->asked_ns = clock_now_ns();
		machine_refresh(t->daemon, NULL, t->daemon);
		return;
	}
	for (unsigned int i = 0; i < INCIDENTS; i++) {
		struct incident *other = &f->incident[i];

		if (!same_device(other, &what.device) || other->error || !fits(error, other->xid) ||
		    (other->pid && other->pid != what.pid))
			continue;
		what.xid = other->xid;
		*other = (struct incident){ 0 };
		end_incident(t->daemon, &what);
		return;
	}
	add(t->daemon, &what);
}

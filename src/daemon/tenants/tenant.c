/* tenant.c: serving a grant. */
#include "daemon/tenants/tenant.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/size.h"
#include "daemon/tenants/account.h"
#include "daemon/tenants/container.h"
#include "daemon/daemon.h"
#include "daemon/journal.h"
#include "daemon/health/device_watch.h"
#include "daemon/health/faults.h"
#include "daemon/health/health.h"
#include "daemon/log.h"
#include "daemon/tenants/leaving.h"
#include "daemon/tenants/limit.h"
#include "daemon/tenants/residing.h"
#include "daemon/tenants/session.h"
#include "daemon/store/store.h"
#include "daemon/workers/cgroup.h"
#include "daemon/workers/images.h"
#include "daemon/workers/pool.h"
#include "daemon/workers/wall.h"
#include "daemon/workers/worker.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define RETRY_MS 2
#define RETRY_PART_NS 500000u /* of a round of the loop, for those who wait */
#define SHRINK_MS 10
#define WAIT_NS 10000000000u /* for others who are settling, at most */
#define AGAIN_NS 500000000u  /* for others whose memory leaves: then it is told to ask again */
#define ACCEPTS_PER_TURN 64

/* A request for credit that waits for room. */
struct pending {
	struct pending *next;
	struct session *session;
	uint32_t serial;
	struct account_request request;
	uint64_t deadline_ns;
	unsigned int pass; /* that it was last tried in */
};

static void on_connect(void *owner)
{
	struct tenant *tenant = owner;
	struct session *session;

	for (int i = 0; i < ACCEPTS_PER_TURN && daemon_may_hear(tenant->daemon, tenant->grant.uid); i++) {
		uint64_t since_ns = clock_now_ns();
		int fd = daemon_accept(tenant->daemon, tenant->listen_fd, tenant->grant.uid);

		if (fd < 0)
			return;
		session_make_room(tenant);
		session = session_new(tenant, fd);
		daemon_heard(tenant->daemon, tenant->grant.uid, since_ns);
		if (!session)
			continue;
		daemon_sweep_soon(tenant->daemon);
		session_begin(session);
	}
}

/* In the container's folder, unless its programs are to come through the wall alone. */
static bool open_to_container(const struct tenant *tenant)
{
	return tenant->grant.container.is && !tenant->grant.wall;
}

static const char *place_of(const struct tenant *tenant, char place[CONTAINER_PLACE_BYTES])
{
	if (open_to_container(tenant))
		return container_place(&tenant->grant, "grant.sock", place);
	snprintf(place, CONTAINER_PLACE_BYTES, "grants/%s.sock", tenant->grant.name);
	return place;
}

static int start_listening(struct tenant *tenant, char *error, size_t size)
{
	bool open = open_to_container(tenant);
	char place[CONTAINER_PLACE_BYTES];
	struct daemon *daemon = tenant->daemon;

	tenant->listen_fd = runtime_listen(&daemon->runtime, place_of(tenant, place), SOCK_SEQPACKET,
					   open ? 0666 : 0600, tenant->grant.uid, tenant->grant.gid, error, size);
	if (tenant->listen_fd < 0)
		return tenant->listen_fd;
	tenant->listen = watch_new(daemon->loop, tenant->listen_fd, on_connect, tenant);
	if (tenant->listen)
		return 0;
	snprintf(error, size, "no memory to watch %s", tenant->socket);
	return -ENOMEM;
}

static void on_runner(void *owner)
{
	struct tenant *tenant = owner;

	if (!process_ended(tenant->runner_fd))
		return;
	watch_free(tenant->runner);
	tenant->runner = NULL;
	cleanup_close(&tenant->runner_fd);
	tenant->runner_fd = -1;
	daemon_reap_soon(tenant->daemon);
}

/* A command that has ended already leaves runner_fd at -1: the grant ends as soon as it has no processes. */
void tenant_watch_runner(struct tenant *tenant)
{
	struct process process;

	if (!tenant->grant.runner_pid)
		return;
	if (process_find(tenant->grant.runner_pid, &process, &tenant->runner_fd))
		return;
	if (process.start_time == tenant->grant.runner_start)
		tenant->runner = watch_new(tenant->daemon->loop, tenant->runner_fd, on_runner, tenant);
	if (!tenant->runner) {
		close(tenant->runner_fd);
		tenant->runner_fd = -1;
	}
}

static void on_retry(void *owner);

static void on_expiry(void *owner);
static void begin_expiry(struct tenant *tenant);
static void shrink_step(struct tenant *tenant);

static void on_shrink(void *owner)
{
	shrink_step(owner);
}

int tenant_new(struct daemon *daemon, const struct grant *grant, bool listen, struct tenant **ret, char *error,
	       size_t size)
{
	struct tenant *tenant = calloc(1, sizeof(*tenant));
	char place[CONTAINER_PLACE_BYTES];
	int r;

	if (!tenant) {
		snprintf(error, size, "no memory for grant %s", grant->name);
		return -ENOMEM;
	}
	tenant->daemon = daemon;
	tenant->grant = *grant;
	tenant->listen_fd = tenant->wall_fd = tenant->runner_fd = tenant->bell_fd = -1;
	snprintf(tenant->socket, sizeof(tenant->socket), "%s/%s", daemon->runtime.dir, place_of(tenant, place));
	tenant->retry = timer_new(daemon->loop, on_retry, tenant);
	tenant->shrink = timer_new(daemon->loop, on_shrink, tenant);
	tenant->expiry = timer_new(daemon->loop, on_expiry, tenant);
	tenant->next = daemon->tenants;
	daemon->tenants = tenant;
	r = !tenant->retry || !tenant->shrink || !tenant->expiry ? -ENOMEM : 0;
	if (r)
		snprintf(error, size, "no memory for grant %s", grant->name);
	else if (listen && grant->container.is)
		r = container_open(tenant, error, size);
	if (!r && listen)
		r = start_listening(tenant, error, size);
	if (!r && listen && grant->wall)
		r = wall_open(tenant, error, size);
	if (r) {
		tenant_free(tenant, true);
		return r;
	}
	telemetry_join(tenant);
	tenant_watch_runner(tenant);
	begin_expiry(tenant);
	residence_begin(tenant);
	arbitrate_terms(tenant);
	for (unsigned int i = 0; i < grant->share_count; i++)
		if (ledger_shrink_pending(&grant->share[i].ledger))
			timer_start(tenant->shrink, SHRINK_MS, SHRINK_MS);
	device_watch_update(daemon);
	pool_make_room(daemon);
	*ret = tenant;
	return 0;
}

void tenant_free(struct tenant *tenant, bool leaving)
{
	struct tenant **at = &tenant->daemon->tenants;
	char place[CONTAINER_PLACE_BYTES];

	while (*at != tenant)
		at = &(*at)->next;
	*at = tenant->next;
	wall_shut(tenant, leaving);
	if (!leaving) {
		worker_end(tenant->daemon, tenant->grant.id);
		cgroup_end(tenant->daemon, tenant->grant.id);
		images_leave(tenant);
	}
	watch_free(tenant->listen);
	if (tenant->listen_fd >= 0) {
		if (!leaving)
			runtime_remove(&tenant->daemon->runtime, place_of(tenant, place));
		close(tenant->listen_fd);
	}
	if (tenant->grant.container.is && !leaving)
		container_remove(tenant->daemon, &tenant->grant);
	while (tenant->sessions)
		session_free(tenant->sessions);
	while (tenant->clients)
		client_free(tenant->clients, leaving);
	leaving_forget(tenant, !leaving);
	telemetry_leave(tenant);
	arbitrate_leave(tenant);
	watch_free(tenant->runner);
	cleanup_close(&tenant->runner_fd);
	cleanup_close(&tenant->bell_fd);
	timer_free(tenant->retry);
	timer_free(tenant->shrink);
	timer_free(tenant->expiry);
	event_log_deinit(&tenant->events);
	objects_deinit(&tenant->objects);
	device_watch_update(tenant->daemon);
	free(tenant);
}

struct tenant *tenant_find(struct daemon *daemon, const char *name)
{
	struct tenant *t = daemon->tenants;

	while (t && strcmp(t->grant.name, name))
		t = t->next;
	return t;
}

struct tenant *tenant_find_id(struct daemon *daemon, uint64_t id)
{
	struct tenant *t = daemon->tenants;

	while (t && t->grant.id != id)
		t = t->next;
	return t;
}

bool tenant_ended(const struct tenant *tenant, char *why, size_t size)
{
	if (tenant->clients || tenant->sessions || tenant->runner_fd >= 0)
		return false;
	if (tenant->grant.runner_pid || container_orphaned(tenant)) {
		snprintf(why, size, "ends with its command (pid %d)", (int)tenant->grant.runner_pid);
		return true;
	}
	if (!tenant->expires_ns || clock_now_ns() < tenant->expires_ns)
		return false;
	snprintf(why, size, "ends: no program has joined it within %lld s",
		 (long long)(tenant->grant.expires - tenant->grant.created));
	return true;
}

/* Waiting for somebody to join. */

static void on_expiry(void *owner)
{
	struct tenant *tenant = owner;

	daemon_reap_soon(tenant->daemon);
}

/* The clock may have been set, and the machine off, since the grant was made: it waits no longer than it was to. */
static void begin_expiry(struct tenant *tenant)
{
	int64_t left = tenant->grant.expires - time(NULL), most = tenant->grant.expires - tenant->grant.created;

	if (!tenant->grant.expires)
		return;
	left = left > most ? most : left < 0 ? 0 : left;
	tenant->expires_ns = clock_now_ns() + (uint64_t)left * 1000000000u;
	/* A millisecond later, so that it has expired then. */
	timer_start(tenant->expiry, (uint64_t)left * 1000 + 1, 0);
}

void tenant_joined(struct tenant *tenant)
{
	char error[512];

	if (!tenant->grant.expires)
		return;
	tenant->grant.expires = 0;
	tenant->expires_ns = 0;
	timer_stop(tenant->expiry);
	if (store_update(tenant->daemon->store, &tenant->grant, error, sizeof(error)))
		log_line("grant %s: that it has been joined is not kept: %s", tenant->grant.name, error);
}

void tenant_clock_set(struct daemon *daemon)
{
	uint64_t now = clock_now_ns();
	char error[512];

	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		int64_t left = t->expires_ns > now ? (int64_t)((t->expires_ns - now) / 1000000000u) : 0;
		int64_t most = t->grant.expires - t->grant.created;

		if (!t->expires_ns)
			continue;
		t->grant.expires = time(NULL) + left;
		t->grant.created = t->grant.expires - most;
		if (store_update(daemon->store, &t->grant, error, sizeof(error)))
			log_line("grant %s: %s", t->grant.name, error);
	}
}

void tenant_note(struct tenant *tenant, unsigned int i, enum journal_kind kind, const char *fmt, ...)
{
	const struct device *device = &tenant->grant.share[i].device;
	char text[EVENT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	event_add(&tenant->events, "device %u: %s", device->index, text);
	journal_add(tenant->daemon, kind, tenant->grant.name, device->uuid, "%s", text);
}

bool tenant_present(const struct tenant *tenant)
{
	return (tenant->clients && !checkpoint_is_away(tenant)) || tenant->runner_fd >= 0 || moving_is_between(tenant);
}

bool tenant_may_begin(struct tenant *tenant, bool *ret_own, uint32_t *ret_wait_s, char *why, size_t size)
{
	*ret_own = !faults_let_begin(tenant, ret_wait_s);
	if (*ret_own)
		snprintf(why, size,
			 "grant %s is quarantined for %u s more: its programs fault too often (`mete show`, `mete "
			 "events`): wait, or have the operator say `mete release %s`",
			 tenant->grant.name, *ret_wait_s, tenant->grant.name);
	return !*ret_own && health_lets_begin(tenant, why, size);
}

/* Waiting requests. */

unsigned int tenant_waiting_all(const struct client *client, unsigned int device)
{
	return client->waiting_all[device];
}

static void refuse(struct session *session, const struct account_request *request)
{
	struct tenant *tenant = session->tenant;
	struct ledger *ledger = &tenant->grant.share[request->device].ledger;

	char asked[SIZE_TEXT_BYTES], held[SIZE_TEXT_BYTES], quota[SIZE_TEXT_BYTES];

	ledger->refused++;
	telemetry_memory_refused(tenant, request->device);
	tenant_note(tenant, request->device, JOURNAL_REFUSAL, "%s was refused %s: %s of %s are held",
	     client_text(session->client), size_format((uint64_t)request->need_units * WIRE_UNIT_BYTES, asked),
	     size_format(account_tenant_held(tenant, request->device) * WIRE_UNIT_BYTES, held),
	     size_format(ledger->target_units * WIRE_UNIT_BYTES, quota));
}

/* Value: true when the request has been answered. */
static bool decide(struct session *session, uint32_t serial, const struct account_request *request, bool last)
{
	enum ledger_answer answer = account_reserve(session->client, request);

	if (answer == LEDGER_WAIT && !last)
		return false;
	if (answer == LEDGER_WAIT && session->client->residing.want_units) {
		session_answer_again(session, serial, request->device);
		return true;
	}
	if (answer == LEDGER_GRANT || request->all) {
		session_answer_reserved(session, serial, request->device, WIRE_OK);
		return true;
	}
	refuse(session, request);
	session_answer_reserved(session, serial, request->device, WIRE_NO_ROOM);
	return true;
}

/* Value: false: no memory. */
static bool wait_for_room(struct session *session, uint32_t serial, const struct account_request *request,
			  uint64_t deadline_ns)
{
	struct tenant *tenant = session->tenant;
	struct pending *pending = calloc(1, sizeof(*pending)), **at = &tenant->waiting;

	if (!pending)
		return false;
	*pending = (struct pending){ .session = session, .serial = serial, .request = *request };
	pending->request.waiting = true;
	pending->request.before_return = wire_place_state(residing_place(session->client)) != WIRE_RETURNING;
	pending->deadline_ns = deadline_ns;
	pending->pass = tenant->pass - 1;
	session->client->waiting_all[request->device] += request->all;
	while (*at)
		at = &(*at)->next;
	*at = pending;
	session->waiting++;
	tenant->waiting_count++;
	if (!timer_running(tenant->retry))
		timer_start(tenant->retry, 1, RETRY_MS);
	return true;
}

void tenant_reserve(struct session *session, uint32_t serial, const struct account_request *request)
{
	if (decide(session, serial, request, false))
		return;
	if (!limit_admits_waiting(session->tenant) ||
	    !wait_for_room(session, serial, request,
			   clock_now_ns() + (session->client->residing.want_units ? AGAIN_NS : WAIT_NS)))
		decide(session, serial, request, true);
}

json_t *tenant_waiting_json(const struct session *session)
{
	json_t *list = json_array();

	for (const struct pending *p = session->tenant->waiting; p; p = p->next)
		if (p->session == session)
			json_array_append_new(list, json_pack("[I, i, I, I, b, I, b]", (json_int_t)p->serial,
							      (int)p->request.device, (json_int_t)p->request.need_units,
							      (json_int_t)p->request.want_units, p->request.all,
							      (json_int_t)p->deadline_ns, p->request.stays));
	return list;
}

void tenant_waiting_restore(struct session *session, const json_t *list)
{
	json_int_t serial, device, need, want, deadline_ns;
	json_t *one;
	int all;
	size_t i;

	json_array_foreach(list, i, one)
	{
		struct account_request request = { 0 };

		if (json_unpack(one, "[I, I, I, I, b, I]", &serial, &device, &need, &want, &all, &deadline_ns) ||
		    device < 0 || device >= session->tenant->grant.share_count)
			continue;
		request.device = (uint32_t)device;
		request.need_units = (uint32_t)need;
		request.want_units = (uint32_t)want;
		request.all = all;
		request.stays = json_is_true(json_array_get(one, 6)); /* none: of an older meted */
		wait_for_room(session, (uint32_t)serial, &request, (uint64_t)deadline_ns);
	}
}

/* It has been answered, or whoever asked has gone. */
static void drop_pending(struct tenant *tenant, struct pending **at)
{
	struct pending *p = *at;

	*at = p->next;
	p->session->waiting--;
	p->session->client->waiting_all[p->request.device] -= p->request.all;
	tenant->waiting_count--;
	free(p);
}

/*
 * All of them once, in order, and as many now as there is time for in this round of the loop: there may be thousands,
 * and to decide one takes a look at each of as many processes.
 */
static void on_retry(void *owner)
{
	struct tenant *tenant = owner;
	struct pending **at = &tenant->waiting, *p;
	uint64_t began_ns = clock_now_ns(), since_ns = began_ns, now_ns;

	while ((p = *at)) {
		if (p->pass == tenant->pass) {
			at = &p->next;
			continue;
		}
		if (since_ns - began_ns > RETRY_PART_NS || !daemon_may_hear(tenant->daemon, tenant->grant.uid))
			return;
		p->pass = tenant->pass;
		if (decide(p->session, p->serial, &p->request, since_ns >= p->deadline_ns))
			drop_pending(tenant, at);
		now_ns = clock_now_ns();
		daemon_heard(tenant->daemon, tenant->grant.uid, since_ns);
		since_ns = now_ns;
	}
	tenant->pass++;
	if (!tenant->waiting)
		timer_stop(tenant->retry);
}

void tenant_retry(struct tenant *tenant)
{
	if (tenant->waiting)
		timer_start(tenant->retry, 0, RETRY_MS);
}

void tenant_forget(struct session *session)
{
	struct pending **at = &session->tenant->waiting, *p;

	while ((p = *at)) {
		if (p->session != session) {
			at = &p->next;
			continue;
		}
		drop_pending(session->tenant, at);
	}
}

/* Shrinking. */

static void shrink_step(struct tenant *tenant)
{
	bool pending = false, done = false;
	char text[SIZE_TEXT_BYTES];

	for (unsigned int i = 0; i < tenant->grant.share_count; i++) {
		struct ledger *ledger = &tenant->grant.share[i].ledger;

		if (!ledger_shrink_pending(ledger))
			continue;
		account_recall(tenant, i, &(struct ledger_units){ ledger_excess(ledger), 0 }, NULL, NULL);
		if (ledger_shrink_done(ledger)) {
			tenant_note(tenant, i, JOURNAL_GRANT, "the quota is %s now",
			     size_format(ledger->quota_units * WIRE_UNIT_BYTES, text));
			done = true;
		} else {
			pending = true;
		}
	}
	account_publish(tenant);
	if (done) {
		char error[256];

		/* When it cannot be written, a restarted meted goes on shrinking from the old quota: nothing is lost.
		 */
		if (store_update(tenant->daemon->store, &tenant->grant, error, sizeof(error)))
			log_line("grant %s: %s", tenant->grant.name, error);
	}
	if (!pending)
		timer_stop(tenant->shrink);
	else if (!timer_running(tenant->shrink))
		timer_start(tenant->shrink, SHRINK_MS, SHRINK_MS);
}

/* Gets back what credit there is above the new quota. Value: as tenant_change(). */
static int make_room(struct tenant *tenant, unsigned int share, uint64_t quota_units, char *error, size_t size)
{
	struct ledger *ledger = &tenant->grant.share[share].ledger;
	uint64_t away = residence_away(tenant, share, NULL);
	uint64_t charged = ledger->granted_units + ledger->object_units + away;
	char held[SIZE_TEXT_BYTES], asked[SIZE_TEXT_BYTES];

	if (charged > quota_units)
		charged -=
			account_recall(tenant, share, &(struct ledger_units){ charged - quota_units, 0 }, NULL, NULL);
	if (charged <= quota_units)
		return 0;
	if (account_settling(tenant, share, NULL, false))
		return -EAGAIN;
	if (away) {
		snprintf(error, size,
			 "grant %s: %s of its memory are away, which would not fit when they return: resume it "
			 "first (mete set %s --resume)",
			 tenant->grant.name, size_format(away * WIRE_UNIT_BYTES, held), tenant->grant.name);
		return -ENOSPC;
	}
	snprintf(error, size, "grant %s holds %s on device %u, more than %s: free some first, or ask with --soon",
		 tenant->grant.name, size_format(account_tenant_held(tenant, share) * WIRE_UNIT_BYTES, held),
		 tenant->grant.share[share].device.index, size_format(quota_units * WIRE_UNIT_BYTES, asked));
	return -EBUSY;
}

static void set_quota(struct ledger *ledger, uint64_t quota_units)
{
	if (!ledger_resize(ledger, quota_units))
		ledger_shrink_soon(ledger, quota_units);
}

/* The store first: a change that cannot be kept is not made. */
static int keep(struct tenant *tenant, const uint64_t *quota_units, const struct grant_compute *compute, char *error,
		size_t size)
{
	_cleanup_free_ struct grant *changed = malloc(sizeof(*changed));

	if (!changed) {
		snprintf(error, size, "no memory");
		return -ENOMEM;
	}
	*changed = tenant->grant;
	for (unsigned int i = 0; i < changed->share_count; i++) {
		changed->share[i].compute = compute[i];
		if (quota_units[i])
			set_quota(&changed->share[i].ledger, quota_units[i]);
	}
	return store_update(tenant->daemon->store, changed, error, size);
}

static void set_compute(struct tenant *tenant, unsigned int i, const struct grant_compute *compute)
{
	struct grant_share *share = &tenant->grant.share[i];

	if (!memcmp(&share->compute, compute, sizeof(*compute)))
		return;
	if (share->compute.terms.frozen != compute->terms.frozen)
		tenant_note(tenant, i, JOURNAL_ACTION, "%s", compute->terms.frozen ? "frozen: nothing runs" : "thawed");
	else
		tenant_note(tenant, i, JOURNAL_GRANT, "the policy is %s now, guaranteed %.1f %%, at most %.1f %%",
		     policy_name((enum policy)compute->wish.policy), compute->terms.guarantee_ppm / 1e4,
		     compute->terms.limit_ppm / 1e4);
	share->compute = *compute;
}

int tenant_change(struct tenant *tenant, const uint64_t quota_units[WIRE_MAX_DEVICES],
		  const struct grant_compute compute[WIRE_MAX_DEVICES], bool soon, char *error, size_t size)
{
	char text[SIZE_TEXT_BYTES];
	int r;

	for (unsigned int i = 0; i < tenant->grant.share_count; i++) {
		r = quota_units[i] ? make_room(tenant, i, quota_units[i], error, size) : 0;
		if (r == -ENOSPC || (r && !soon))
			return r == -ENOSPC ? -EBUSY : r;
	}
	r = keep(tenant, quota_units, compute, error, size);
	if (r)
		return r;
	for (unsigned int i = 0; i < tenant->grant.share_count; i++) {
		struct ledger *ledger = &tenant->grant.share[i].ledger;

		set_compute(tenant, i, &compute[i]);
		if (!quota_units[i])
			continue;
		set_quota(ledger, quota_units[i]);
		tenant_note(tenant, i, JOURNAL_GRANT, "the quota %s %s",
		     ledger_shrink_pending(ledger) ? "goes down to" : "is now",
		     size_format(quota_units[i] * WIRE_UNIT_BYTES, text));
	}
	arbitrate_terms(tenant);
	pool_make_room(tenant->daemon);
	shrink_step(tenant);
	tenant_retry(tenant);
	return 0;
}

/* pool.c: see pool.h. */
#include "daemon/workers/pool.h"

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/upgrade/handover.h"
#include "daemon/log.h"
#include "daemon/owner.h"
#include "daemon/subordinate.h"
#include "daemon/tenants/moving.h"
#include "daemon/tenants/process.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/pledge.h"
#include "daemon/workers/spare.h"
#include "daemon/workers/wall.h"
#include "daemon/workers/worker.h"
#include "ring/wall.h"
#include "ring/wall_peek.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_NS UINT64_C(15000000000) /* a client's, for a worker */
#define TICK_MS 250
#define REFILL_MS 20		     /* so that the client that has just got a worker goes first */
#define REST_NS UINT64_C(2000000000) /* without clients, before what is too many ends */
#define FAILURES_MOST 3u	     /* then those who wait are told */
#define BACKOFF_MS 200u
#define BACKOFF_MOST_MS 10000u
#define CLIENTS_OF_GRANT 512u
#define WORKER_GUESS (UINT64_C(64) << 20)   /* of the machine's memory, until one has been looked at */
#define UNSETTLED_MS 20			    /* a client's, for its grant's account to settle */
#define CONTEXT_GUESS (UINT64_C(512) << 20) /* where a driver does not say: more than a context of today's takes */

/* A client that waits for a worker. */
struct knock {
	struct knock *next;
	struct tenant *tenant;
	int fd;
	uint64_t deadline_ns;
	bool returns;	/* it was with another worker */
	uint64_t bytes; /* and keeps so many */
	struct pledge pledge;
};

static bool same_devices(const struct pool *pool, const struct grant *g)
{
	if (pool->kind != g->kind || pool->spill != g->spill || pool->device_count != g->share_count ||
	    strcmp(pool->libcuda, g->libcuda))
		return false;
	for (unsigned int i = 0; i < g->share_count; i++)
		if (memcmp(pool->uuid[i], g->share[i].device.uuid, DEVICE_UUID_BYTES))
			return false;
	return true;
}

static void fill(struct pool *pool);
static void expire(struct pool *pool);

static void on_timer(void *owner)
{
	struct pool *pool = owner;

	expire(pool);
	fill(pool);
}

struct pool *pool_ref(struct daemon *daemon, const struct grant *g)
{
	struct pool *pool = daemon->pools;

	while (pool && !same_devices(pool, g))
		pool = pool->next;
	if (pool) {
		pool->shared |= pool->uid != subordinate_user(g->uid);
		pool->users++;
		return pool;
	}
	pool = calloc(1, sizeof(*pool));
	if (pool)
		pool->timer = timer_new(daemon->loop, on_timer, pool);
	if (!pool || !pool->timer) {
		free(pool);
		return NULL;
	}
	pool->daemon = daemon;
	pool->users = 1;
	pool->uid = subordinate_user(g->uid);
	pool->kind = g->kind;
	pool->spill = g->spill;
	strcpy(pool->libcuda, g->libcuda);
	strcpy(pool->libnvml, g->libnvml);
	pool->device_count = g->share_count;
	for (unsigned int i = 0; i < g->share_count; i++) {
		memcpy(pool->uuid[i], g->share[i].device.uuid, DEVICE_UUID_BYTES);
		pool->total_bytes[i] = g->share[i].device.total_bytes;
		pool->context_bytes[i] = g->kind == DEVICE_NVIDIA ? CONTEXT_GUESS : 0;
	}
	pool->next = daemon->pools;
	daemon->pools = pool;
	timer_start(pool->timer, 0, 0);
	return pool;
}

static void drop_workers(struct pool *pool)
{
	struct worker *next;

	for (struct worker *w = pool->daemon->workers; w; w = next) {
		next = w->next;
		if (w->pool == pool) {
			w->pool = NULL;
			worker_free(w);
		}
	}
}

static bool has_device(const struct pool *pool, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	for (unsigned int i = 0; i < pool->device_count; i++)
		if (!memcmp(pool->uuid[i], uuid, DEVICE_UUID_BYTES))
			return true;
	return false;
}

void pool_renew(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	for (struct pool *pool = daemon->pools; pool; pool = pool->next) {
		if (!has_device(pool, uuid))
			continue;
		drop_workers(pool);
		pool->failures = 0;
		timer_start(pool->timer, 0, 0);
	}
}

void pool_unref(struct pool *pool)
{
	struct pool **at;

	if (!pool)
		return;
	if (--pool->users) {
		if (!pool->daemon->stopping)
			pool_aim(pool);
		return;
	}
	at = &pool->daemon->pools;
	while (*at != pool)
		at = &(*at)->next;
	*at = pool->next;
	drop_workers(pool);
	timer_free(pool->timer);
	free(pool);
}

/* Those who wait. */

static void drop_knock(struct pool *pool, struct knock **at)
{
	struct knock *k = *at;

	*at = k->next;
	pool->waiting_count--;
	pool->charged_count -= k->pledge.made;
	pledge_release(&k->pledge, k->tenant);
	free(k);
}

static void turn_away(struct pool *pool, struct knock **at, enum wall_status status, const char *text)
{
	if (pool->daemon->stopping)
		close((*at)->fd);
	else
		wall_turn_away((*at)->fd, status, text);
	drop_knock(pool, at);
}

/* A client that has gone needs no worker. */
static bool hung_up(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

static void drop_gone(struct pool *pool)
{
	struct knock **at = &pool->waiting;

	while (*at) {
		if (!hung_up((*at)->fd)) {
			at = &(*at)->next;
			continue;
		}
		close((*at)->fd);
		drop_knock(pool, at);
	}
}

static void expire(struct pool *pool)
{
	uint64_t now = clock_now_ns();
	char text[400];

	drop_gone(pool);
	while (pool->waiting && pool->failures >= FAILURES_MOST) {
		snprintf(text, sizeof(text), "no worker can be started: %s", pool->why);
		turn_away(pool, &pool->waiting, WALL_NO_DEVICE, text);
	}
	for (struct knock **at = &pool->waiting; *at;) {
		if (suspension_holds((*at)->tenant))
			(*at)->deadline_ns = now + WAIT_NS;
		if (now >= (*at)->deadline_ns)
			turn_away(pool, at, WALL_FULL, "no worker came free in time: try again later");
		else
			at = &(*at)->next;
	}
}

void pool_forget(struct pool *pool, struct tenant *tenant)
{
	struct knock **at = &pool->waiting;

	while (*at)
		if ((*at)->tenant == tenant)
			turn_away(pool, at, WALL_REFUSED, "the grant has ended");
		else
			at = &(*at)->next;
}

void pool_save(const struct pool *pool, const struct tenant *tenant, struct handover *h, json_t *list)
{
	for (const struct knock *k = pool->waiting; k; k = k->next)
		if (k->tenant == tenant)
			json_array_append_new(list, json_pack("{s:o}", "fd", handover_give(h, k->fd)));
}

static struct knock *add_knock(struct pool *pool, struct tenant *tenant, int fd)
{
	struct knock *k = calloc(1, sizeof(*k)), **at = &pool->waiting;

	if (!k)
		return NULL;
	*k = (struct knock){ .tenant = tenant, .fd = fd, .deadline_ns = clock_now_ns() + WAIT_NS };
	k->returns = wall_peek_brings(fd, &k->bytes);
	while (*at)
		at = &(*at)->next;
	*at = k;
	pool->waiting_count++;
	if (k->returns && tenant->moving.active)
		residence_look_soon(tenant->daemon);
	return k;
}

static void refuse_context(struct pool *pool, struct knock **at)
{
	struct tenant *tenant = (*at)->tenant;
	char text[256];

	telemetry_memory_refused(tenant, (*at)->pledge.lacks);
	event_add(&tenant->events, "a program behind the wall was refused: there is no room for its context");
	snprintf(text, sizeof(text),
		 "grant %s has no room for a context: end other programs under it, or give it more memory",
		 tenant->grant.name);
	turn_away(pool, at, WALL_FULL, text);
}

/* Charges the grants of those who wait. Who does not fit is told so. */
static void charge(struct pool *pool)
{
	const struct tenant *unsettled = NULL; /* its others would get the same answer */
	struct knock **at = &pool->waiting;
	enum ledger_answer answer;

	while (pool->measured && *at) {
		struct knock *k = *at;

		answer = LEDGER_GRANT;
		if (!k->pledge.made && k->tenant != unsettled && !suspension_holds(k->tenant))
			answer = pledge_make(&k->pledge, k->tenant, pool->context_bytes);
		if (answer == LEDGER_NO_ROOM) {
			refuse_context(pool, at);
			continue;
		}
		if (answer == LEDGER_WAIT)
			unsettled = k->tenant;
		at = &k->next;
	}
	pool->unsettled = unsettled;
	pool->charged_count = 0;
	for (const struct knock *k = pool->waiting; k; k = k->next)
		pool->charged_count += k->pledge.made;
}

/* Whose turn it is: of those that are charged the grant which got a worker longest ago. */
static struct knock **next_knock(struct pool *pool)
{
	struct knock **best = NULL;

	for (struct knock **at = &pool->waiting; *at; at = &(*at)->next)
		if ((*at)->pledge.made && !suspension_holds((*at)->tenant) &&
		    (!best || (*at)->tenant->worker_turn < (*best)->tenant->worker_turn))
			best = at;
	return best;
}

/* Workers. */

static unsigned int count(const struct pool *pool, enum worker_state state)
{
	unsigned int n = 0;

	for (const struct worker *w = pool->daemon->workers; w; w = w->next)
		n += w->pool == pool && w->state == state;
	return n;
}

static unsigned int count_all(const struct daemon *daemon)
{
	unsigned int n = 0;

	for (const struct worker *w = daemon->workers; w; w = w->next)
		n++;
	return n;
}

static void failed(struct pool *pool, const char *why)
{
	snprintf(pool->why, sizeof(pool->why), "%s", why);
	if (!pool->failures)
		log_line("no worker for walled grants: %s", pool->why);
	pool->failures++;
}

static unsigned int pause_ms(const struct pool *pool)
{
	unsigned int ms = BACKOFF_MS << (pool->failures < 8 ? pool->failures : 8);

	return ms < BACKOFF_MOST_MS ? ms : BACKOFF_MOST_MS;
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* How many are to wait or to start. */
static unsigned int wanted(struct pool *pool)
{
	unsigned int spare = least(spare_places(pool), spare_room(pool));

	spare = least((unsigned int)pool->daemon->fence.idle, spare);
	if (!pool->measured)
		return pool->waiting || spare;
	return pool->charged_count + spare;
}

static void start_workers(struct pool *pool)
{
	unsigned int starting = count(pool, WORKER_STARTING), idle = count(pool, WORKER_IDLE);
	struct worker *worker;
	char why[256];

	while (starting < POOL_STARTING && starting + idle < wanted(pool) && count_all(pool->daemon) < POOL_WORKERS) {
		if (worker_start(pool->daemon, pool, &worker, why, sizeof(why))) {
			failed(pool, why);
			return;
		}
		starting++;
	}
}

/* Ends workers without a client until `most` are left: those that wait first, then those that start. */
static void trim(struct pool *pool, unsigned int most)
{
	unsigned int idle = count(pool, WORKER_IDLE), all = idle + count(pool, WORKER_STARTING);
	struct worker *next;

	for (struct worker *w = pool->daemon->workers; w && all > most; w = next) {
		next = w->next;
		if (w->pool != pool || (idle && w->state != WORKER_IDLE))
			continue;
		idle -= w->state == WORKER_IDLE;
		all--;
		w->pool = NULL;
		worker_free(w);
	}
}

/* What waits for nobody gives way to what is promised. */
static void keep_promises(struct pool *pool)
{
	unsigned int room = spare_room(pool);

	if (pool->measured && spare_count(pool) > room)
		trim(pool, pool->charged_count + room);
}

void pool_make_room(struct daemon *daemon)
{
	for (struct pool *pool = daemon->pools; pool; pool = pool->next)
		keep_promises(pool);
}

/* After a rush more wait than are wanted; they go when it is over. */
static void rest(struct pool *pool)
{
	if (pool->rest_ns && clock_now_ns() - pool->rest_ns >= REST_NS)
		trim(pool, wanted(pool));
	else if (!pool->rest_ns)
		pool->rest_ns = clock_now_ns();
	timer_start(pool->timer, TICK_MS, 0);
}

static void serve(struct pool *pool);

static void fill(struct pool *pool)
{
	unsigned int before = pool->failures;

	if (pool->daemon->stopping)
		return;
	serve(pool);
	keep_promises(pool);
	start_workers(pool);
	if (pool->failures > before) {
		timer_start(pool->timer, pause_ms(pool), 0);
	} else if (pool->waiting) {
		timer_start(pool->timer, pool->unsettled ? UNSETTLED_MS : TICK_MS, 0);
	} else if (count(pool, WORKER_IDLE) > wanted(pool)) {
		rest(pool);
	} else {
		pool->rest_ns = 0;
	}
}

static void give(struct pool *pool, struct worker *worker, struct knock **at)
{
	struct knock *k = *at;

	if (hung_up(k->fd)) {
		close(k->fd);
		drop_knock(pool, at);
		return;
	}
	pool->rest_ns = 0;
	if (!worker_give(worker, k->tenant, k->fd, &k->pledge)) {
		/* Its end is on its way to us; it is not waiting any more. */
		worker->state = WORKER_STARTING;
		return;
	}
	worker->returns = k->returns;
	k->tenant->worker_turn = ++pool->turn;
	pool->charged_count--; /* the pledge is the worker's */
	drop_knock(pool, at);
}

/* One that waits, in that tenant's cgroup if there is such a one. */
static struct worker *find_idle(const struct pool *pool, const struct tenant *tenant)
{
	struct worker *found = NULL;

	for (struct worker *w = pool->daemon->workers; w; w = w->next)
		if (w->pool == pool && w->state == WORKER_IDLE && (!found || w->entered == tenant->grant.id))
			found = w;
	return found;
}

static void serve(struct pool *pool)
{
	struct worker *worker;
	struct knock **at;

	charge(pool);
	while ((at = next_knock(pool)) && (worker = find_idle(pool, (*at)->tenant)))
		give(pool, worker, at);
}

/* To enter a cgroup takes the kernel some ms, which the next client shall not wait. */

/* Of the pool's tenants the one with the largest wish below this. */
static struct tenant *next_wish(const struct pool *pool, uint64_t below)
{
	struct tenant *found = NULL;

	for (struct tenant *t = pool->daemon->tenants; t; t = t->next)
		if (t->pool == pool && t->worker_wish < below && (!found || t->worker_wish > found->worker_wish))
			found = t;
	return found;
}

/* One that waits in no cgroup of those whose wishes are this large. */
static struct worker *find_aimless(const struct pool *pool, uint64_t least_wish)
{
	for (struct worker *w = pool->daemon->workers; w; w = w->next) {
		const struct tenant *t;

		if (w->pool != pool || w->state != WORKER_IDLE)
			continue;
		t = tenant_find_id(pool->daemon, w->entered);
		if (!t || t->worker_wish < least_wish)
			return w;
	}
	return NULL;
}

static bool is_aimed(const struct pool *pool, const struct tenant *tenant)
{
	const struct worker *w = find_idle(pool, tenant);

	return w && w->entered == tenant->grant.id;
}

/* What is left in the cgroup of a grant that has ended is killed: workers that wait there leave it. */
static void leave_ended(const struct pool *pool, struct tenant *for_whom)
{
	for (struct worker *w = pool->daemon->workers; w; w = w->next) {
		const struct tenant *t = tenant_find_id(pool->daemon, w->entered);

		if (w->pool == pool && w->state == WORKER_IDLE && w->entered && (!t || t->pool != pool))
			worker_aim(w, for_whom);
	}
}

void pool_aim(struct pool *pool)
{
	unsigned int idle = least(count(pool, WORKER_IDLE), FENCE_IDLE_MOST);
	struct tenant *wants[FENCE_IDLE_MOST], *t = NULL;
	unsigned int n = 0;

	while (n < idle && (t = next_wish(pool, t ? t->worker_wish : UINT64_MAX)))
		wants[n++] = t;
	for (unsigned int i = 0; i < n; i++) {
		struct worker *w = is_aimed(pool, wants[i]) ? NULL : find_aimless(pool, wants[n - 1]->worker_wish);

		if (w)
			worker_aim(w, wants[i]);
	}
	if (n)
		leave_ended(pool, wants[0]);
}

void pool_wish(struct pool *pool, struct tenant *tenant)
{
	tenant->worker_wish = ++pool->wish;
	pool_aim(pool);
}

void pool_send_away(struct pool *pool, struct tenant *tenant)
{
	struct knock **at = &pool->waiting;

	while (*at)
		if ((*at)->tenant == tenant)
			turn_away(pool, at, WALL_AWAY, "the grant goes to another device");
		else
			at = &(*at)->next;
}

bool pool_has_idle(const struct pool *pool, const struct tenant *tenant)
{
	return find_idle(pool, tenant);
}

void pool_go_on(struct pool *pool)
{
	timer_start(pool->timer, 0, 0);
}

unsigned int pool_returning(const struct pool *pool, const struct tenant *tenant, uint64_t *ret_bytes)
{
	unsigned int n = 0;

	for (const struct knock *k = pool->waiting; k; k = k->next) {
		if (k->tenant != tenant || !k->returns)
			continue;
		n++;
		/* Anybody can say any number: a sum that is none is the largest. */
		if (ret_bytes)
			*ret_bytes = *ret_bytes + k->bytes < k->bytes ? UINT64_MAX : *ret_bytes + k->bytes;
	}
	return n;
}

void pool_list_waiting(const struct pool *pool, const struct tenant *tenant, json_t *pids)
{
	for (const struct knock *k = pool->waiting; k; k = k->next) {
		struct ucred peer;
		socklen_t size = sizeof(peer);

		if (k->tenant == tenant && !getsockopt(k->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
			json_array_append_new(pids, json_integer(peer.pid));
	}
}

void pool_measured(struct pool *pool, const uint64_t *context_bytes)
{
	for (unsigned int i = 0; i < pool->device_count; i++)
		if (context_bytes[i])
			pool->context_bytes[i] = context_bytes[i];
	pool->measured = true;
}

void pool_idle(struct pool *pool, struct worker *worker)
{
	uint64_t bytes = process_own_bytes(worker->pid);

	if (bytes > pool->daemon->worker_bytes)
		pool->daemon->worker_bytes = bytes;
	pool->failures = 0;
	serve(pool);
	pool_aim(pool);
	timer_start(pool->timer, pool->waiting ? 0 : REFILL_MS, 0);
}

void pool_lost(struct pool *pool, const char *why)
{
	failed(pool, why);
	expire(pool);
	timer_start(pool->timer, pool->failures > 1 ? pause_ms(pool) : 0, 0);
}

/* Whether two grants share one part: those of a user do, so that more grants are no more places; an owner's do not. */
static bool counts_with(const struct tenant *a, const struct tenant *b)
{
	return a == b || (subordinate_user(a->grant.uid) == subordinate_user(b->grant.uid) && !owner_is(a->grant.uid));
}

/* Each user, and each grant of an owner, may have half of what the others leave: one more always finds a place. */
static bool may_have(unsigned int own, unsigned int all, unsigned int most)
{
	return own < CLIENTS_OF_GRANT && all < most && own < most - all;
}

/*
 * What a worker takes of the machine's memory before it has a client is in no grant's cgroup: three quarters of the
 * machine's are enough for all of them, unless the operator says otherwise.
 */
static unsigned int workers_most(const struct daemon *daemon)
{
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t all = daemon->fence.all_bytes ? daemon->fence.all_bytes : machine / 4 * 3;
	uint64_t most = all / (daemon->worker_bytes ? daemon->worker_bytes : WORKER_GUESS);

	return most < POOL_WORKERS ? (unsigned int)most : POOL_WORKERS;
}

static unsigned int clients_of(const struct tenant *tenant)
{
	unsigned int n = 0;

	for (const struct tenant *t = tenant->daemon->tenants; t; t = t->next)
		if (counts_with(t, tenant))
			n += worker_count(tenant->daemon, t->grant.id);
	return n;
}

/* In all pools: sets of devices are the users' to choose. */
static unsigned int count_knocks(const struct tenant *tenant, unsigned int *ret_all)
{
	unsigned int own = 0;

	*ret_all = 0;
	for (const struct pool *p = tenant->daemon->pools; p; p = p->next) {
		*ret_all += p->waiting_count;
		for (const struct knock *k = p->waiting; k; k = k->next)
			own += counts_with(k->tenant, tenant);
	}
	return own;
}

void pool_knock(struct pool *pool, struct tenant *tenant, int fd)
{
	unsigned int clients = clients_of(tenant), waiting, knocks = count_knocks(tenant, &waiting);
	char text[160];

	/* Who waits will have one as well. */
	if (!may_have(clients + knocks, worker_count_all(pool->daemon) + waiting, workers_most(pool->daemon))) {
		snprintf(text, sizeof(text),
			 "grant %s, or all grants of its user, have %u clients, as many as they may: end some",
			 tenant->grant.name, clients + knocks);
		wall_turn_away(fd, WALL_FULL, text);
		return;
	}
	if (!may_have(knocks, waiting, POOL_WAITING) || !add_knock(pool, tenant, fd)) {
		wall_turn_away(fd, WALL_FULL, "too many clients wait for a worker: try again later");
		return;
	}
	tenant->worker_wish = ++pool->wish;
	serve(pool);
	if (pool->failures < FAILURES_MOST || !timer_running(pool->timer))
		timer_start(pool->timer, pool->waiting ? 0 : REFILL_MS, 0);
}

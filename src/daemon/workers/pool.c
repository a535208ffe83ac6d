/* pool.c: see pool.h. */
#include "daemon/workers/pool.h"

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/upgrade/handover.h"
#include "daemon/log.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/wall.h"
#include "daemon/workers/worker.h"
#include "wire/wall.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_NS UINT64_C(15000000000) /* a client's, for a worker */
#define TICK_MS 250
#define REFILL_MS 20		     /* so that the client that has just got a worker goes first */
#define REST_NS UINT64_C(2000000000) /* without clients, before what is too many ends */
#define FAILURES_MOST 3u	     /* then those who wait are told */
#define BACKOFF_MS 200u
#define BACKOFF_MOST_MS 10000u
#define CLIENTS_OF_GRANT 512u

/* A client that waits for a worker. */
struct knock {
	struct knock *next;
	struct tenant *tenant;
	int fd;
	uint64_t deadline_ns;
};

static bool same_devices(const struct pool *pool, const struct grant *g)
{
	if (pool->kind != g->kind || pool->device_count != g->share_count || strcmp(pool->libcuda, g->libcuda))
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
	pool->kind = g->kind;
	strcpy(pool->libcuda, g->libcuda);
	strcpy(pool->libnvml, g->libnvml);
	pool->device_count = g->share_count;
	for (unsigned int i = 0; i < g->share_count; i++)
		memcpy(pool->uuid[i], g->share[i].device.uuid, DEVICE_UUID_BYTES);
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

	if (!pool || --pool->users)
		return;
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
	free(k);
}

static void turn_away(struct pool *pool, struct knock **at, enum wall_status status, const char *text)
{
	wall_turn_away(pool->daemon, (*at)->fd, status, text);
	drop_knock(pool, at);
}

static void expire(struct pool *pool)
{
	uint64_t now = clock_now_ns();
	char text[400];

	while (pool->waiting && pool->failures >= FAILURES_MOST) {
		snprintf(text, sizeof(text), "no worker can be started: %s", pool->why);
		turn_away(pool, &pool->waiting, WALL_NO_DEVICE, text);
	}
	while (pool->waiting && now >= pool->waiting->deadline_ns)
		turn_away(pool, &pool->waiting, WALL_FULL, "no worker came free in time: try again later");
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

json_t *pool_save(const struct pool *pool, const struct tenant *tenant, struct handover *h)
{
	json_t *knocks = json_array();

	for (const struct knock *k = pool->waiting; k; k = k->next)
		if (k->tenant == tenant)
			json_array_append_new(knocks, json_pack("{s:o s:I}", "fd", handover_give(h, k->fd), "deadline",
								(json_int_t)k->deadline_ns));
	return knocks;
}

static struct knock *add_knock(struct pool *pool, struct tenant *tenant, int fd, uint64_t deadline_ns)
{
	struct knock *k = calloc(1, sizeof(*k)), **at = &pool->waiting;

	if (!k)
		return NULL;
	*k = (struct knock){ .tenant = tenant, .fd = fd, .deadline_ns = deadline_ns };
	while (*at && (*at)->deadline_ns <= deadline_ns)
		at = &(*at)->next;
	k->next = *at;
	*at = k;
	pool->waiting_count++;
	return k;
}

void pool_restore(struct pool *pool, struct tenant *tenant, struct handover *h, const json_t *knocks)
{
	json_t *knock;
	size_t i;

	json_array_foreach(knocks, i, knock)
	{
		int fd = handover_take(h, json_object_get(knock, "fd"));
		json_int_t deadline_ns = json_integer_value(json_object_get(knock, "deadline"));

		if (fd >= 0 && !add_knock(pool, tenant, fd, (uint64_t)deadline_ns))
			close(fd);
	}
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

static void start_workers(struct pool *pool)
{
	unsigned int starting = count(pool, WORKER_STARTING), idle = count(pool, WORKER_IDLE);
	struct worker *worker;
	char why[256];

	while (starting < POOL_STARTING && starting + idle < POOL_IDLE + pool->waiting_count &&
	       count_all(pool->daemon) < POOL_WORKERS) {
		if (worker_start(pool->daemon, pool, &worker, why, sizeof(why))) {
			failed(pool, why);
			return;
		}
		starting++;
	}
}

/* After a rush more wait than are wanted; they go when it is over. */
static void trim(struct pool *pool)
{
	unsigned int idle = count(pool, WORKER_IDLE);
	struct worker *next;

	for (struct worker *w = pool->daemon->workers; w && idle > POOL_IDLE; w = next) {
		next = w->next;
		if (w->pool != pool || w->state != WORKER_IDLE)
			continue;
		w->pool = NULL;
		worker_free(w);
		idle--;
	}
}

static void fill(struct pool *pool)
{
	unsigned int before = pool->failures;

	if (pool->daemon->stopping)
		return;
	start_workers(pool);
	if (pool->failures > before) {
		timer_start(pool->timer, pause_ms(pool), 0);
	} else if (pool->waiting) {
		timer_start(pool->timer, TICK_MS, 0);
	} else if (count(pool, WORKER_IDLE) > POOL_IDLE) {
		if (pool->rest_ns && clock_now_ns() - pool->rest_ns >= REST_NS)
			trim(pool);
		else if (!pool->rest_ns)
			pool->rest_ns = clock_now_ns();
		timer_start(pool->timer, TICK_MS, 0);
	} else {
		pool->rest_ns = 0;
	}
}

/* A client that has gone needs no worker. */
static bool hung_up(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0;
}

static void give(struct pool *pool, struct worker *worker)
{
	struct knock *k = pool->waiting;

	if (hung_up(k->fd)) {
		close(k->fd);
		drop_knock(pool, &pool->waiting);
		return;
	}
	pool->rest_ns = 0;
	if (worker_give(worker, k->tenant, k->fd)) {
		drop_knock(pool, &pool->waiting);
		return;
	}
	/* Its end is on its way to us; it is not waiting any more. */
	worker->state = WORKER_STARTING;
}

static struct worker *find_idle(const struct pool *pool)
{
	struct worker *w = pool->daemon->workers;

	while (w && (w->pool != pool || w->state != WORKER_IDLE))
		w = w->next;
	return w;
}

static void serve(struct pool *pool)
{
	struct worker *worker;

	while (pool->waiting && (worker = find_idle(pool)))
		give(pool, worker);
}

void pool_idle(struct pool *pool, struct worker *worker)
{
	(void)worker;
	pool->failures = 0;
	serve(pool);
	timer_start(pool->timer, pool->waiting ? 0 : REFILL_MS, 0);
}

void pool_lost(struct pool *pool, const char *why)
{
	failed(pool, why);
	expire(pool);
	timer_start(pool->timer, pool->failures > 1 ? pause_ms(pool) : 0, 0);
}

void pool_knock(struct pool *pool, struct tenant *tenant, int fd)
{
	char text[160];

	snprintf(text, sizeof(text), "grant %s has %u clients, as many as it may: end some", tenant->grant.name,
		 CLIENTS_OF_GRANT);
	if (worker_count(pool->daemon, tenant->grant.id) >= CLIENTS_OF_GRANT) {
		wall_turn_away(pool->daemon, fd, WALL_FULL, text);
		return;
	}
	if (pool->waiting_count >= POOL_WAITING || !add_knock(pool, tenant, fd, clock_now_ns() + WAIT_NS)) {
		wall_turn_away(pool->daemon, fd, WALL_FULL, "too many clients wait for a worker: try again later");
		return;
	}
	serve(pool);
	if (pool->failures < FAILURES_MOST || !timer_running(pool->timer))
		timer_start(pool->timer, pool->waiting ? 0 : REFILL_MS, 0);
}

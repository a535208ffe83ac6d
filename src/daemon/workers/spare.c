/* spare.c: see spare.h. */
#include "daemon/workers/spare.h"

#include "daemon/daemon.h"
#include "daemon/owner.h"
#include "daemon/workers/pool.h"
#include "daemon/workers/worker.h"

#include <limits.h>
#include <string.h>

unsigned int spare_count(const struct pool *pool)
{
	unsigned int n = 0;

	for (const struct worker *w = pool->daemon->workers; w; w = w->next)
		n += w->pool == pool && w->state != WORKER_BUSY;
	return n > pool->charged_count ? n - pool->charged_count : 0;
}

uint64_t spare_bytes(const struct daemon *daemon, const struct pool *except, const uint8_t *uuid)
{
	uint64_t bytes = 0;

	for (const struct pool *p = daemon->pools; p; p = p->next)
		for (unsigned int i = 0; p != except && i < p->device_count; i++)
			if (!memcmp(p->uuid[i], uuid, DEVICE_UUID_BYTES))
				bytes += spare_count(p) * p->context_bytes[i];
	return bytes;
}

unsigned int spare_room(const struct pool *pool)
{
	uint64_t most = UINT_MAX, taken, room;

	for (unsigned int i = 0; i < pool->device_count; i++) {
		if (!pool->context_bytes[i])
			continue;
		taken = daemon_promised_bytes(pool->daemon, pool->uuid[i], NULL) +
			spare_bytes(pool->daemon, pool, pool->uuid[i]);
		room = pool->total_bytes[i] > taken ? (pool->total_bytes[i] - taken) / pool->context_bytes[i] : 0;
		most = room < most ? room : most;
	}
	return (unsigned int)most;
}

static void count_unbusy(const struct daemon *daemon)
{
	for (struct pool *p = daemon->pools; p; p = p->next)
		p->unbusy = 0;
	for (const struct worker *w = daemon->workers; w; w = w->next)
		if (w->pool && w->state != WORKER_BUSY)
			w->pool->unbusy++;
}

static unsigned int rest_of(unsigned int most, unsigned int taken)
{
	return most > taken ? most - taken : 0;
}

unsigned int spare_places(struct pool *pool)
{
	bool bounded = !pool->shared && !owner_is(pool->uid);
	unsigned int all = 0, own = 0, most, mine;

	count_unbusy(pool->daemon);
	for (const struct pool *p = pool->daemon->pools; p; p = p->next) {
		unsigned int n = p == pool ? 0 : rest_of(p->unbusy, p->charged_count);

		all += n;
		own += !p->shared && p->uid == pool->uid ? n : 0;
	}
	most = rest_of(POOL_SPARE, all);
	mine = bounded ? rest_of(POOL_SPARE_OF_USER, own) : most;
	return mine < most ? mine : most;
}

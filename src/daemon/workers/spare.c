/* spare.c: see spare.h. */
#include "daemon/workers/spare.h"

#include "daemon/daemon.h"
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

/* What other pools' spare workers take of a device. */
static uint64_t spare_bytes(const struct pool *except, const uint8_t uuid[DEVICE_UUID_BYTES])
{
	uint64_t bytes = 0;

	for (const struct pool *p = except->daemon->pools; p; p = p->next)
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
		taken = daemon_promised_bytes(pool->daemon, pool->uuid[i], NULL) + spare_bytes(pool, pool->uuid[i]);
		room = pool->total_bytes[i] > taken ? (pool->total_bytes[i] - taken) / pool->context_bytes[i] : 0;
		most = room < most ? room : most;
	}
	return (unsigned int)most;
}

/* blocks.c: see blocks.h. When there is no memory for the table, a block counts as not shared: charged too much, never
 * too little. */
#include "core/blocks.h"
#include "core/map.h"
#include "wire/page.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map shared; /* guarded by lock; block number -> users of which it covers a part */

struct span {
	uint64_t first, last; /* block numbers */
	bool first_in_part, last_in_part;
};

static struct span span_of(uint64_t address, uint64_t bytes, uint64_t granule)
{
	uint64_t end = address + bytes;
	struct span s = { .first = address / granule, .last = (end - 1) / granule };

	s.first_in_part = address % granule || (s.first == s.last && end % granule);
	s.last_in_part = s.first != s.last && end % granule;
	return s;
}

/* Value: 1 when the block is new. */
static unsigned int join_locked(uint64_t block)
{
	struct map_entry *e = map_find(&shared, block);

	if (e) {
		e->value[0]++;
		return 0;
	}
	map_add(&shared, &(struct map_entry){ .key = block, .value = { 1 } });
	return 1;
}

/* Value: 1 when nobody is left in the block. */
static unsigned int part_locked(uint64_t block)
{
	struct map_entry *e = map_find(&shared, block);

	if (e && --e->value[0])
		return 0;
	map_remove(&shared, block, NULL);
	return 1;
}

static uint32_t count(uint64_t address, uint64_t bytes, uint32_t granule_units, unsigned int (*edge)(uint64_t block))
{
	struct span s = span_of(address, bytes, (uint64_t)granule_units * WIRE_UNIT_BYTES);
	uint64_t blocks = s.last - s.first + 1 - s.first_in_part - s.last_in_part;

	pthread_mutex_lock(&lock);
	if (s.first_in_part)
		blocks += edge(s.first);
	if (s.last_in_part)
		blocks += edge(s.last);
	pthread_mutex_unlock(&lock);
	return (uint32_t)(blocks * granule_units);
}

uint32_t blocks_touch(uint64_t address, uint64_t bytes, uint32_t granule_units)
{
	return bytes ? count(address, bytes, granule_units, join_locked) : 0;
}

uint32_t blocks_leave(uint64_t address, uint64_t bytes, uint32_t granule_units)
{
	return bytes ? count(address, bytes, granule_units, part_locked) : 0;
}

void blocks_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	map_clear(&shared);
}

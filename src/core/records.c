/* records.c: see records.h. */
#include "core/records.h"
#include "core/map.h"
#include "core/sharing.h"

#include <sched.h>
#include <stdatomic.h>

#define RECORD_SHARDS 256u

struct shard {
	_Atomic uint32_t lock;
	struct map map; /* guarded by lock */
} __attribute__((aligned(64)));

static struct shard shards[RECORD_SHARDS];

static void shard_lock(struct shard *s)
{
	for (unsigned int n = 0;; n++) {
		uint32_t free = 0;

		/* Acquire: pairs with the release in shard_unlock(). */
		if (atomic_compare_exchange_weak_explicit(&s->lock, &free, 1, memory_order_acquire,
							  memory_order_relaxed))
			return;
		if (n > 64)
			sched_yield();
	}
}

static void shard_unlock(struct shard *s)
{
	atomic_store_explicit(&s->lock, 0, memory_order_release);
}

static struct shard *shard_of(uint64_t key)
{
	return &shards[map_hash(key) >> 56];
}

static struct map_entry pack(const struct record *r)
{
	return (struct map_entry){ .key = r->key,
				   .value = { (uint64_t)(uintptr_t)r->context, (uint64_t)r->units << 32 | r->size_units,
					      (uint64_t)r->extra << 32 | (uint32_t)r->kind << 16 |
						      (uint32_t)r->flags << 8 | r->device } };
}

static struct record unpack(const struct map_entry *e)
{
	return (struct record){ .key = e->key,
				.context = (const void *)(uintptr_t)e->value[0],
				.units = (uint32_t)(e->value[1] >> 32),
				.size_units = (uint32_t)e->value[1],
				.extra = (uint32_t)(e->value[2] >> 32),
				.kind = (uint8_t)(e->value[2] >> 16),
				.flags = (uint8_t)(e->value[2] >> 8),
				.device = (uint8_t)e->value[2] };
}

bool records_add(const struct record *r)
{
	struct shard *s = shard_of(r->key);
	struct map_entry e = pack(r);
	bool good;

	shard_lock(s);
	good = map_add(&s->map, &e);
	shard_unlock(s);
	return good;
}

bool records_take(uint64_t key, struct record *ret)
{
	struct shard *s = shard_of(key);
	struct map_entry e;
	bool found;

	shard_lock(s);
	found = map_remove(&s->map, key, &e);
	shard_unlock(s);
	if (found)
		*ret = unpack(&e);
	return found;
}

bool records_find(uint64_t key, struct record *ret)
{
	struct shard *s = shard_of(key);
	struct map_entry *e;

	shard_lock(s);
	e = map_find(&s->map, key);
	if (e)
		*ret = unpack(e);
	shard_unlock(s);
	return e;
}

bool records_lift(uint64_t key, struct record *ret)
{
	struct shard *s = shard_of(key);
	struct map_entry *e;
	bool found = false;

	shard_lock(s);
	e = map_find(&s->map, key);
	if (e) {
		struct record r = unpack(e);

		found = r.kind == RECORD_PLAIN && !(r.flags & RECORD_SHARED);
		*ret = r;
		if (found) {
			r.units = 0;
			r.flags |= RECORD_SHARED;
			r.extra = SHARING_OWN; /* no object yet */
			*e = pack(&r);
		}
	}
	shard_unlock(s);
	return found;
}

bool records_share(uint64_t key, uint32_t object, uint32_t units)
{
	struct shard *s = shard_of(key);
	struct map_entry *e;
	bool found = false;

	shard_lock(s);
	e = map_find(&s->map, key);
	if (e) {
		struct record r = unpack(e);

		found = r.flags & RECORD_SHARED && r.extra == SHARING_OWN;
		r.extra = object;
		if (object == SHARING_OWN) {
			r.units = units;
			r.flags &= (uint8_t)~RECORD_SHARED;
		}
		if (found)
			*e = pack(&r);
	}
	shard_unlock(s);
	return found;
}

struct sweep {
	bool (*drop)(const struct record *r, void *data);
	void *data;
};

static bool sweep_entry(const struct map_entry *e, void *data)
{
	struct sweep *sweep = data;
	struct record r = unpack(e);

	return sweep->drop(&r, sweep->data);
}

void records_sweep(bool (*drop)(const struct record *r, void *data), void *data)
{
	struct sweep sweep = { drop, data };

	for (struct shard *s = shards; s < shards + RECORD_SHARDS; s++) {
		shard_lock(s);
		map_sweep(&s->map, sweep_entry, &sweep);
		shard_unlock(s);
	}
}

void records_reset(void)
{
	for (struct shard *s = shards; s < shards + RECORD_SHARDS; s++) {
		map_clear(&s->map);
		atomic_store_explicit(&s->lock, 0, memory_order_relaxed);
	}
}

/* objects_test.c: objects by their keys, among them keys that were chosen to meet. */
#include "daemon/tenants/objects.h"

#include "base/fnv.h"
#include "base/tap.h"

#define MANY 20000u

/* Another key for each number; the last byte makes the lowest eight bits of their FNV-1a hash the same. */
static void make_key(uint32_t number, uint8_t key[WIRE_KEY_BYTES])
{
	memset(key, 0, WIRE_KEY_BYTES);
	memcpy(key, &number, sizeof(number));
	key[WIRE_KEY_BYTES - 1] = (uint8_t)fnv_hash(key, WIRE_KEY_BYTES - 1);
}

static unsigned int longest(const struct objects *objects)
{
	unsigned int most = 0, n;

	for (unsigned int i = 0; i < objects->buckets; i++) {
		n = 0;
		for (const struct object *o = objects->bucket[i]; o; o = o->next)
			n++;
		most = n > most ? n : most;
	}
	return most;
}

static unsigned int count_found(const struct objects *objects, uint32_t from, uint32_t to)
{
	uint8_t key[WIRE_KEY_BYTES];
	unsigned int n = 0;

	for (uint32_t i = from; i < to; i++) {
		const struct object *o;

		make_key(i, key);
		o = objects_find(objects, key);
		n += o && o->units == i;
	}
	return n;
}

int main(void)
{
	struct objects objects = { 0 };
	uint8_t key[WIRE_KEY_BYTES];
	unsigned int added = 0;

	tap_begin();
	make_key(1, key);
	ok(!objects_find(&objects, key));
	for (uint32_t i = 1; i <= MANY; i++) {
		make_key(i, key);
		added += objects_add(&objects, key, 0, i) != NULL;
	}
	is(added, MANY);
	is(objects.count, MANY);
	is(count_found(&objects, 1, MANY + 1), MANY);
	is(count_found(&objects, MANY + 1, MANY + 100), 0);
	tap_ok(longest(&objects) <= 24, "keys that were chosen to meet do not: at most %u do", longest(&objects));
	for (uint32_t i = 1; i <= MANY; i += 2) {
		make_key(i, key);
		objects_remove(&objects, objects_find(&objects, key));
	}
	is(objects.count, MANY / 2);
	is(count_found(&objects, 1, MANY + 1), MANY / 2);
	for (uint32_t i = 2; i <= MANY; i += 2) {
		make_key(i, key);
		objects_remove(&objects, objects_find(&objects, key));
	}
	is(objects.count, 0);
	objects_deinit(&objects);
	return tap_end();
}

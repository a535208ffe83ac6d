/* map_test.c: the tables of the shim against the obvious: random histories, sweeps, threads. */
#include "base/tap.h"
#include "core/blocks.h"
#include "core/map.h"
#include "core/records.h"
#include "core/sharing.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define KEYS 5000

static bool odd(const struct map_entry *e, void *data)
{
	++*(unsigned int *)data;
	return e->key & 1;
}

static void map_history(void)
{
	struct map m = { 0 };
	static uint64_t model[KEYS];
	unsigned int seed = 1, wrong = 0, count = 0, seen = 0;
	struct map_entry e;

	for (int n = 0; n < 400000; n++) {
		uint64_t key = 1 + (uint64_t)rand_r(&seed) % (KEYS - 1);
		struct map_entry *found = map_find(&m, key * 512);

		wrong += model[key] ? !found || found->value[1] != model[key] : found != NULL;
		if (rand_r(&seed) % 2) {
			wrong += !map_add(&m, &(struct map_entry){ .key = key * 512, .value = { 0, (uint64_t)n + 1 } });
			count += !model[key];
			model[key] = (uint64_t)n + 1;
		} else {
			wrong += map_remove(&m, key * 512, &e) != (model[key] != 0) ||
				 (model[key] && e.value[1] != model[key]);
			count -= model[key] != 0;
			model[key] = 0;
		}
		wrong += m.count != count;
	}
	is(wrong, 0);
	ok(!map_add(&m, &(struct map_entry){ 0 }));
	map_clear(&m);
	for (uint64_t key = 1; key <= 3000; key++)
		map_add(&m, &(struct map_entry){ .key = key });
	map_sweep(&m, odd, &seen);
	is(m.count, 1500);
	ok(seen >= 3000);
	for (uint64_t key = 1; key <= 3000; key++)
		wrong += (map_find(&m, key) != NULL) != !(key & 1);
	is(wrong, 0);
	map_clear(&m);
	ok(!map_find(&m, 2));
}

static void *many(void *arg)
{
	uint64_t base = (uint64_t)(uintptr_t)arg << 40;
	struct record r;
	uintptr_t wrong = 0;

	for (uint64_t i = 1; i <= 50000; i++)
		wrong += !records_add(&(struct record){ .key = base + i * 512, .units = (uint32_t)i, .device = 7 });
	for (uint64_t i = 1; i <= 50000; i++) {
		wrong += !records_take(base + i * 512, &r) || r.units != i || r.device != 7;
		wrong += records_take(base + i * 512, &r);
	}
	return (void *)wrong;
}

static bool of_context(const struct record *r, void *data)
{
	return r->context == data;
}

static void record_threads(void)
{
	pthread_t threads[4];
	uintptr_t wrong = 0;
	struct record r;
	void *result;

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, many, (void *)(i + 1));
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		wrong += (uintptr_t)result;
	}
	is(wrong, 0);
	for (uint64_t i = 1; i <= 1000; i++)
		records_add(&(struct record){ .key = i * 512, .context = i % 2 ? &r : NULL });
	records_sweep(of_context, &r);
	for (uint64_t i = 1; i <= 1000; i++)
		wrong += records_find(i * 512, &r) != !(i % 2);
	is(wrong, 0);
	/* an export in two steps: the units are the caller's in between */
	ok(!records_lift(1024, &r) && !records_share(1024, 5, 0));
	records_add(&(struct record){ .key = 1024, .kind = RECORD_PLAIN, .units = 9 });
	ok(records_lift(1024, &r) && r.units == 9);
	ok(records_find(1024, &r) && r.flags == RECORD_SHARED && !r.units && !records_lift(1024, &r));
	ok(records_share(1024, SHARING_OWN, 9) && records_find(1024, &r) && !r.flags && r.units == 9);
	ok(records_lift(1024, &r) && records_share(1024, 5, 9) && records_find(1024, &r));
	ok(r.extra == 5 && r.flags == RECORD_SHARED && !r.units);
	ok(!records_lift(512, &r) && !records_share(512, 5, 9));
}

#define GRANULE 4096u
#define BLOCKS 64
#define LIVE 200

/* Allocations at random places without overlap: the charge is the number of blocks that any of them touches. */
static void granule_rule(void)
{
	static unsigned char space[BLOCKS * 8]; /* in 512ths of the space; which live allocation is there */
	struct {
		unsigned int at, units;
	} live[LIVE] = { 0 };
	unsigned int seed = 7, wrong = 0;
	long charged = 0;

	for (int n = 0; n < 200000; n++) {
		unsigned int i = (unsigned int)rand_r(&seed) % LIVE, at = (unsigned int)rand_r(&seed) % (BLOCKS * 8);
		unsigned int units = 1 + (unsigned int)rand_r(&seed) % (rand_r(&seed) % 4 ? 6 : 40), touched = 0;

		if (live[i].units) {
			charged -= blocks_leave((live[i].at + 8) * 512ull, live[i].units * 512ull, GRANULE / 512);
			memset(space + live[i].at, 0, live[i].units);
			live[i].units = 0;
		} else if (at + units <= sizeof space) {
			bool clear = true;

			for (unsigned int k = at; k < at + units; k++)
				clear &= !space[k];
			if (!clear)
				continue;
			memset(space + at, 1, units);
			live[i].at = at;
			live[i].units = units;
			charged += blocks_touch((at + 8) * 512ull, units * 512ull, GRANULE / 512);
		}
		for (unsigned int b = 0; b < BLOCKS; b++) {
			bool any = false;

			for (unsigned int k = 0; k < 8; k++)
				any |= space[b * 8 + k];
			touched += any;
		}
		wrong += charged != (long)touched * (GRANULE / 512);
	}
	is(wrong, 0);
}

int main(void)
{
	tap_begin();
	map_history();
	record_threads();
	granule_rule();
	return tap_end();
}

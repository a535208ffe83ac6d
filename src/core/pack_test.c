/* pack_test.c: random takes and gives against a table that says whose each unit is. */
#include "base/tap.h"
#include "core/pack.h"

#include <stdbool.h>

#define UNITS 1000u
#define BLOCKS 200u

struct block {
	uint32_t at, units;
};

static uint32_t owner[UNITS]; /* 1 + block, 0: nobody's */
static struct block blocks[BLOCKS];

/* The longest row of free units. */
static uint32_t longest(void)
{
	uint32_t best = 0, row = 0;

	for (uint32_t i = 0; i < UNITS; i++) {
		row = owner[i] ? 0 : row + 1;
		if (row > best)
			best = row;
	}
	return best;
}

/* The first place at which so many are free. */
static uint32_t first(uint32_t units)
{
	uint32_t row = 0;

	for (uint32_t i = 0; i < UNITS; i++) {
		row = owner[i] ? 0 : row + 1;
		if (row == units)
			return i + 1 - units;
	}
	return PACK_NONE;
}

static bool found_right(const struct pack *p)
{
	for (uint32_t i = 0; i < UNITS; i++)
		if (pack_find(p, i) != (owner[i] ? blocks[owner[i] - 1].at : PACK_NONE))
			return false;
	return pack_find(p, UNITS) == PACK_NONE;
}

static bool ends_right(const struct pack *p)
{
	uint32_t i = UNITS;

	while (i && !owner[i - 1])
		i--;
	return pack_tail(p) == UNITS - i;
}

static bool step(struct pack *p)
{
	uint32_t i = (uint32_t)rand() % BLOCKS;
	struct block *b = &blocks[i];
	uint32_t expected, used = 0;

	if (b->units) {
		pack_give(p, b->at, b->units);
		memset(&owner[b->at], 0, b->units * sizeof(*owner));
		b->units = 0;
	} else {
		b->units = 1 + (uint32_t)rand() % (rand() % 8 ? 20 : 300);
		expected = first(b->units);
		b->at = pack_take(p, b->units);
		if (b->at != expected || (b->at == PACK_NONE) != (longest() < b->units))
			return false;
		for (uint32_t u = 0; b->at != PACK_NONE && u < b->units; u++)
			owner[b->at + u] = i + 1;
		if (b->at == PACK_NONE)
			b->units = 0;
	}
	for (uint32_t u = 0; u < UNITS; u++)
		used += !!owner[u];
	return used == p->used;
}

int main(void)
{
	uint64_t taken[PACK_WORDS(UNITS)] = { 0 }, begins[PACK_WORDS(UNITS)] = { 0 };
	struct pack p = { .taken = taken, .begins = begins, .units = UNITS };
	bool good = true, found = true;

	tap_begin();
	srand(1);
	for (int i = 0; good && found && i < 20000; i++) {
		good = step(&p);
		found = i % 50 || (found_right(&p) && ends_right(&p));
	}
	tap_ok(good, "20000 blocks come and go: each where the first free row is, and none where there is none");
	tap_ok(found, "and the beginning of each is found from any unit of it, as is what is free at the end");
	for (uint32_t i = 0; i < BLOCKS; i++)
		if (blocks[i].units)
			pack_give(&p, blocks[i].at, blocks[i].units);
	tap_ok(!p.used && pack_take(&p, UNITS) == 0 && pack_take(&p, 1) == PACK_NONE, "all is free again, in one row");
	return tap_end();
}

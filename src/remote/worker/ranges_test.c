/* ranges_test.c: against a plain array of bytes, at random. */
#include "base/tap.h"
#include "remote/worker/ranges.h"

#include <errno.h>

#define SPAN 512u
#define BASE UINT64_C(0x700000000000)

static uint8_t model[SPAN];   /* 0: free, else the owner */
static uint16_t begins[SPAN]; /* bytes of the range that begins here */

static bool model_covers(unsigned int at, unsigned int bytes)
{
	for (unsigned int i = at; i < at + bytes; i++)
		if (i >= SPAN || !model[i])
			return false;
	return bytes || model[at] || (at && model[at - 1]);
}

static bool model_free(unsigned int at, unsigned int bytes)
{
	for (unsigned int i = at; i < at + bytes && i < SPAN; i++)
		if (model[i])
			return false;
	return true;
}

static void model_set(unsigned int at, unsigned int bytes, uint8_t owner)
{
	memset(model + at, owner, bytes);
	begins[at] = owner ? (uint16_t)bytes : 0;
}

/* All that lies in [at, at + bytes), and what reaches into it. */
static void model_clear(unsigned int at, unsigned int bytes)
{
	for (unsigned int i = 0; i < at + bytes && i < SPAN; i++)
		if (begins[i] && i + begins[i] > at)
			model_set(i, begins[i], 0);
}

static int step(struct ranges *r)
{
	unsigned int at = (unsigned int)rand() % SPAN, bytes = 1 + (unsigned int)rand() % 16;
	uint8_t owner = (uint8_t)(1 + rand() % 5);

	if (at + bytes > SPAN)
		bytes = SPAN - at;
	switch (rand() % 9) {
	case 0:
	case 1:
	case 2:
		if (ranges_add(r, BASE + at, bytes, owner) != (model_free(at, bytes) ? 0 : -EEXIST))
			return 1;
		if (model_free(at, bytes))
			model_set(at, bytes, owner);
		return 0;
	case 3:
		if (ranges_remove(r, BASE + at) != begins[at])
			return 1;
		if (begins[at])
			model_set(at, begins[at], 0);
		return 0;
	case 8:
		if (ranges_put(r, BASE + at, bytes, owner))
			return 1;
		model_clear(at, bytes);
		model_set(at, bytes, owner);
		return 0;
	case 4:
		if (rand() % 64)
			return 0;
		ranges_remove_owner(r, owner);
		for (unsigned int i = 0; i < SPAN; i++)
			if (begins[i] && model[i] == owner)
				model_set(i, begins[i], 0);
		return 0;
	default:
		bytes = (unsigned int)rand() % 40;
		return ranges_cover(r, BASE + at, bytes) != model_covers(at, bytes);
	}
}

int main(void)
{
	uint64_t begin, bytes, owner;
	struct ranges r;
	int wrong = 0;

	tap_begin();
	ranges_init(&r);
	is(ranges_add(&r, 0, 16, 0), -EINVAL);
	is(ranges_add(&r, UINT64_MAX - 4, 16, 0), -EINVAL);
	ok(!ranges_cover(&r, UINT64_MAX - 4, 16));
	for (int i = 0; i < 200000; i++)
		wrong += step(&r);
	is(wrong, 0);
	for (uint64_t i = 1; i <= 5; i++)
		ranges_remove_owner(&r, i);
	is(r.count, 0);
	is(ranges_add(&r, BASE, 100, 9), 0);
	ok(ranges_find(&r, BASE + 99, &begin, &bytes, &owner) && begin == BASE && bytes == 100 && owner == 9);
	ok(!ranges_find(&r, BASE + 100, &begin, &bytes, &owner));
	ranges_deinit(&r);
	return tap_end();
}

/* box_test.c: tables of numbers that do not fit together, and at random against every byte of the box. */
#include "base/tap.h"
#include "remote/worker/box.h"

#define MOST UINT64_MAX

static bool spans(struct box box, struct box_place place)
{
	struct box_span span;

	return box_span(&box, &place, &span);
}

static void test_lies(void)
{
	ok(spans((struct box){ 64, 1, 1 }, (struct box_place){ 0 }));
	ok(spans((struct box){ 64, 4, 1 }, (struct box_place){ .pitch = 64 }));
	ok(spans((struct box){ 64, 4, 2 }, (struct box_place){ .pitch = 64, .height = 4 }));
	/* nothing is no box */
	ok(!spans((struct box){ 0, 1, 1 }, (struct box_place){ .pitch = 64, .height = 1 }));
	ok(!spans((struct box){ 64, 0, 1 }, (struct box_place){ .pitch = 64, .height = 1 }));
	ok(!spans((struct box){ 64, 1, 0 }, (struct box_place){ .pitch = 64, .height = 1 }));
	/* a driver would put in numbers of its own */
	ok(!spans((struct box){ 64, 1, 2 }, (struct box_place){ .pitch = 64, .height = 0 }));
	ok(!spans((struct box){ 64, 2, 1 }, (struct box_place){ .pitch = 0 }));
	ok(!spans((struct box){ 64, 1, 2 }, (struct box_place){ .pitch = 0, .height = 1 }));
	ok(!spans((struct box){ 64, 1, 1 }, (struct box_place){ .z = 1, .pitch = 64 }));
	ok(!spans((struct box){ 64, 1, 1 }, (struct box_place){ .y = 1 }));
	/* rows and slices that overlap */
	ok(!spans((struct box){ 64, 2, 1 }, (struct box_place){ .pitch = 63 }));
	ok(!spans((struct box){ 64, 2, 1 }, (struct box_place){ .x = 1, .pitch = 64 }));
	ok(!spans((struct box){ 64, 4, 2 }, (struct box_place){ .pitch = 64, .height = 3 }));
	ok(!spans((struct box){ 64, 4, 2 }, (struct box_place){ .y = 1, .pitch = 64, .height = 4 }));
}

static void test_wraps(void)
{
	ok(!spans((struct box){ MOST, 1, 1 }, (struct box_place){ .x = 1 }));
	ok(!spans((struct box){ 1, MOST, 1 }, (struct box_place){ .y = 1, .pitch = 1 }));
	ok(!spans((struct box){ 1, 1, 2 }, (struct box_place){ .z = MOST, .pitch = 1, .height = 1 }));
	ok(!spans((struct box){ 1, 2, 1 }, (struct box_place){ .y = MOST, .pitch = 1, .height = 1 }));
	ok(!spans((struct box){ 8, 3, 1 }, (struct box_place){ .pitch = UINT64_C(1) << 63 }));
	ok(!spans((struct box){ 8, 1, 3 },
		  (struct box_place){ .pitch = UINT64_C(1) << 32, .height = UINT64_C(1) << 31 }));
	ok(!spans((struct box){ 1, 1, 1 },
		  (struct box_place){ .z = UINT64_C(1) << 32, .pitch = 1u << 16, .height = 1u << 16 }));
	ok(!spans((struct box){ UINT64_C(1) << 32, UINT64_C(1) << 32, 1 },
		  (struct box_place){ .pitch = UINT64_C(1) << 32 }));
	ok(spans((struct box){ 1, 1, 1 }, (struct box_place){ .x = MOST - 1 }));
	ok(!box_sums(&(struct box){ 4, 4, 4 }, &(struct box_place){ .z = MOST - 3 }));
	ok(box_sums(&(struct box){ 4, 4, 4 }, &(struct box_place){ .z = MOST - 4 }));
}

/* Where each byte lies, worked out one by one with the numbers that a driver gets. */
static bool bytes_inside(const struct box *b, const struct box_place *p, const struct box_span *s)
{
	uint64_t least = MOST, most = 0;

	for (uint64_t z = 0; z < b->depth; z++)
		for (uint64_t y = 0; y < b->height; y++) {
			uint64_t at = ((p->z + z) * p->height + p->y + y) * p->pitch + p->x;

			least = at < least ? at : least;
			most = at + b->width > most ? at + b->width : most;
		}
	return least == s->first && most == s->first + s->bytes;
}

static void test_bytes(void)
{
	unsigned int good = 0, wrong = 0;

	srand(1);
	for (unsigned int i = 0; i < 200000; i++) {
		struct box b = { (uint64_t)(rand() % 5), (uint64_t)(rand() % 4), (uint64_t)(rand() % 4) };
		struct box_place p = { (uint64_t)(rand() % 3), (uint64_t)(rand() % 3), (uint64_t)(rand() % 3),
				       (uint64_t)(rand() % 9), (uint64_t)(rand() % 7) };
		struct box_span s;

		if (!box_span(&b, &p, &s))
			continue;
		p = box_plain(&b, &p);
		good++;
		wrong += !bytes_inside(&b, &p, &s);
	}
	ok(good > 1000);
	is(wrong, 0);
}

int main(void)
{
	tap_begin();
	test_lies();
	test_wraps();
	test_bytes();
	return tap_end();
}

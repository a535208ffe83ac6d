/* shelf_test.c: whose images go when there is no room, and that nobody sees another's. */
#include "base/tap.h"
#include "model/shelf.h"

static const uint8_t *hash(unsigned int n)
{
	static uint8_t h[SHELF_HASH_BYTES];

	memset(h, 0, sizeof(h));
	memcpy(h, &n, sizeof(n));
	return h;
}

/* As the caller does it. Value: how many went. */
static unsigned int bring(struct shelf *s, const char *name, unsigned int n, uint64_t bytes, uint64_t now_ns)
{
	struct shelf_image *v;
	unsigned int gone = 0;

	if (!shelf_wants(s, name, hash(n), bytes))
		return 0;
	for (; (v = shelf_victim(s, name, bytes)); gone++)
		shelf_remove(s, v);
	shelf_add(s, name, hash(n), bytes, now_ns, (int)n);
	return gone;
}

static bool has(const struct shelf *s, const char *name, unsigned int n)
{
	return shelf_find(shelf_owner(s, name), hash(n));
}

static void empty(struct shelf *s)
{
	while (s->owners)
		shelf_remove(s, s->owners->images);
	is(s->count, 0);
	is(s->bytes, 0);
}

static void test_owners(void)
{
	struct shelf s = { .most_bytes = 100 };

	bring(&s, "a", 1, 10, 1);
	ok(has(&s, "a", 1));
	ok(!has(&s, "b", 1));
	ok(!shelf_wants(&s, "a", hash(1), 10));
	ok(shelf_wants(&s, "b", hash(1), 10));
	bring(&s, "b", 1, 10, 2);
	is(s.count, 2);
	shelf_use(shelf_find(shelf_owner(&s, "a"), hash(1)), 3);
	is(shelf_owner(&s, "a")->hits, 1);
	is(shelf_owner(&s, "a")->saved_bytes, 10);
	is(shelf_owner(&s, "b")->hits, 0);
	shelf_remove(&s, shelf_find(shelf_owner(&s, "a"), hash(1)));
	ok(!shelf_owner(&s, "a"));
	ok(has(&s, "b", 1));
	empty(&s);
}

static void test_room(void)
{
	struct shelf s = { .most_bytes = 100 };

	ok(!shelf_wants(&s, "a", hash(9), 51));
	ok(!shelf_wants(&s, "a", hash(9), 0));
	for (unsigned int n = 0; n < 4; n++)
		is(bring(&s, "a", n, 20, n), 0);
	is(bring(&s, "b", 0, 20, 10), 0);
	shelf_use(shelf_find(shelf_owner(&s, "a"), hash(0)), 11);
	is(bring(&s, "b", 1, 20, 12), 1);
	ok(has(&s, "a", 0)); /* used since */
	ok(!has(&s, "a", 1));
	/* Who brings many takes from itself, not from those that have less. */
	for (unsigned int n = 100; n < 200; n++)
		bring(&s, "c", n, 20, n);
	ok(has(&s, "b", 1));
	ok(shelf_owner(&s, "c")->bytes <= 60);
	s.most_bytes = 40;
	for (struct shelf_image *i; (i = shelf_excess(&s));)
		shelf_remove(&s, i);
	ok(s.bytes <= 40);
	ok(shelf_owner(&s, "b"));
	empty(&s);
}

static void test_counts(void)
{
	struct shelf s = { .most_bytes = UINT64_C(1) << 40 };
	char name[16];

	for (unsigned int n = 0; n < SHELF_OWNER_IMAGES; n++)
		is(bring(&s, "a", n, 1, n), 0);
	is(bring(&s, "a", 1000, 1, 1000), 1);
	ok(!has(&s, "a", 0));
	is(shelf_owner(&s, "a")->count, SHELF_OWNER_IMAGES);
	for (unsigned int n = 0; s.count < SHELF_IMAGES; n++) {
		snprintf(name, sizeof(name), "o%u", n);
		bring(&s, name, 1, 1, 2000);
	}
	is(bring(&s, "last", 1, 1, 3000), 1);
	ok(!has(&s, "a", 1)); /* of the one with most */
	is(s.count, SHELF_IMAGES);
	empty(&s);
}

static void test_stale(void)
{
	struct shelf s = { .most_bytes = 100 };
	struct shelf_image *i;

	bring(&s, "a", 1, 10, 5);
	bring(&s, "a", 2, 10, 20);
	bring(&s, "b", 3, 10, 9);
	while ((i = shelf_stale(&s, 10)))
		shelf_remove(&s, i);
	is(s.count, 1);
	ok(has(&s, "a", 2));
	empty(&s);
}

int main(void)
{
	tap_begin();
	test_owners();
	test_room();
	test_counts();
	test_stale();
	return tap_end();
}

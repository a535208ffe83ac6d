/* ring_test.c: one ring, both ends in this process: order, wrap-around, full and empty, rules broken by the other side.
 */
#include "base/clock.h"
#include "base/tap.h"
#include "ring/wall.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#define CAPACITY 4096u
#define MANY 300000u

static struct wall_bell bell; /* no socket and no process: the other side lives for ever */
static struct ring_shared *shared;
static struct ring_end writer, reader;

static void fresh(uint32_t flags)
{
	free(shared);
	shared = aligned_alloc(64, ring_area_bytes(CAPACITY));
	memset(shared, 0, ring_area_bytes(CAPACITY));
	wall_bell_init(&bell, flags);
	ring_attach(&writer, shared, CAPACITY, &bell.bell);
	ring_attach(&reader, shared, CAPACITY, &bell.bell);
}

static int say(size_t size, uint8_t value)
{
	void *at;
	int r = ring_begin_within(&writer, size, 0, &at);

	if (r <= 0)
		return r;
	memset(at, value, size);
	ring_commit(&writer, size);
	return 1;
}

/* Value: the size of the next message if it is all `value`; 0 none; -errno; -1 wrong. */
static long hear(uint8_t value)
{
	const void *at;
	size_t size;
	int r = ring_next(&reader, &at, &size, 0);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < size; i++)
		if (((const uint8_t *)at)[i] != value)
			return -1;
	ring_release(&reader);
	return (long)size;
}

static void one_by_one(void)
{
	bool good = true;

	fresh(0);
	is(hear(0), 0);
	/* every size, and with it every place for the end of the buffer to fall */
	for (size_t size = 1; size <= ring_longest(CAPACITY); size++)
		good = good && say(size, (uint8_t)size) == 1 && hear((uint8_t)size) == (long)size;
	ok(good);
	is(say(ring_longest(CAPACITY) + 1, 0), -EMSGSIZE);
	is(hear(0), 0);
}

static void full(void)
{
	unsigned int n = 0, got = 0;
	uint64_t before;
	void *at;

	fresh(0);
	while (say(100, (uint8_t)n) == 1)
		n++;
	ok(n >= CAPACITY / 112 - 1 && n <= CAPACITY / 112);
	before = clock_now_ns();
	is(ring_begin_within(&writer, 100, 20000000, &at), 0);
	ok(clock_now_ns() - before >= 19000000);
	while (hear((uint8_t)got) == 100)
		got++;
	is(got, n);
	is(say(100, 7), 1);
	is(hear(7), 100);
}

static void begun_only(void)
{
	void *at;

	fresh(0);
	is(ring_begin(&writer, 64, &at), 0);
	ring_commit(&writer, 0);
	is(hear(0), 0);
	is(ring_begin(&writer, 64, &at), 0);
	memset(at, 3, 64);
	ring_commit(&writer, 16);
	is(hear(3), 16);
}

static void closed(void)
{
	const void *at;
	size_t size;
	void *room;

	fresh(0);
	is(say(8, 1), 1);
	ring_close(&writer);
	is(ring_begin(&writer, 8, &room), -EPIPE);
	/* what was said before is heard */
	is(hear(1), 8);
	is(ring_next(&reader, &at, &size, RING_FOREVER), -EPIPE);
}

static void time_out(void)
{
	const void *at;
	size_t size;
	uint64_t before = clock_now_ns();

	fresh(0);
	is(ring_next(&reader, &at, &size, 30000000), 0);
	ok(clock_now_ns() - before >= 29000000);
	is(shared->reader_waits & 1, 0);
}

/* Sets what the other side wrote to what it must not be; the own end finds it, once and for good. */
static void broken_positions(void)
{
	static const uint64_t wrong[] = { 4, CAPACITY + 8, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		fresh(0);
		shared->written = wrong[i];
		is(hear(0), -EPROTO);
		shared->written = 0;
		is(hear(0), -EPROTO);
		fresh(0);
		while (say(500, 0) == 1)
			;
		shared->taken = wrong[i];
		is(say(500, 0), -EPROTO);
		shared->taken = 0;
		is(say(8, 0), -EPROTO);
	}
	/* backwards */
	fresh(0);
	is(say(64, 1), 1);
	is(say(64, 1), 1);
	is(hear(1), 64);
	is(hear(1), 64);
	shared->written = 72;
	is(hear(1), -EPROTO);
}

static void broken_heads(void)
{
	static const struct {
		uint32_t bytes, filler;
	} wrong[] = {
		{ 0, 0 },  { 65, 0 },		{ 1024, 0 }, { UINT32_MAX, 0 }, { UINT32_MAX - 7, 0 }, { 64, 2 },
		{ 64, 1 }, { CAPACITY - 8, 1 }, { 0, 1 },    { UINT32_MAX, 1 }, { UINT32_MAX - 6, 1 },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		fresh(0);
		say(64, 0);
		memcpy(shared->bytes, &wrong[i], sizeof(wrong[i]));
		is(hear(0), -EPROTO);
	}
	/* a message and a filler that pass the end of the buffer */
	for (uint32_t filler = 0; filler <= 1; filler++) {
		uint32_t head[2] = { 120, filler };

		fresh(0);
		for (int i = 0; i < 39; i++)
			if (say(96, 0) != 1 || hear(0) != 96)
				break;
		is(writer.at, 39 * 104);
		memcpy(shared->bytes + writer.at, head, sizeof(head));
		shared->written = writer.at + 128;
		is(hear(0), -EPROTO);
	}
}

struct side {
	uint64_t sum;
	unsigned int wrong;
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Mostly small, at times as long as can be; now and then a pause, so that either side sleeps. */
static size_t next_size(uint32_t *state)
{
	uint32_t r = next_random(state);

	return r % 64 ? 8 + r % 120 : 8 + r % (ring_longest(CAPACITY) - 7);
}

static void *write_many(void *arg)
{
	uint32_t random = 1;
	void *at;

	for (uint32_t i = 0; i < MANY; i++) {
		size_t size = next_size(&random);

		if (ring_begin(&writer, size, &at))
			return NULL;
		memset(at, (int)i, size);
		memcpy(at, &i, sizeof(i));
		if (i % 3)
			ring_commit(&writer, size);
		else
			ring_commit_quiet(&writer, size);
		if (i % 3 == 0)
			ring_wake(&writer);
		if (i % 50000 == 49999)
			usleep(1000);
	}
	ring_close(&writer);
	return arg;
}

static void many(uint32_t flags)
{
	uint32_t random = 1, count = 0, wrong = 0, number;
	const uint8_t *at;
	pthread_t thread;
	size_t size;
	int r;

	fresh(flags);
	pthread_create(&thread, NULL, write_many, NULL);
	while ((r = ring_next(&reader, (const void **)&at, &size, RING_FOREVER)) > 0) {
		memcpy(&number, at, sizeof(number));
		wrong += number != count || size != next_size(&random) ||
			 at[size - 1] != (size > 4 ? (uint8_t)count : 0) ||
			 at[size / 2] != (size / 2 < 4 ? (uint8_t)(count >> 8 * (size / 2)) : (uint8_t)count);
		ring_release(&reader);
		count++;
		if (count % 70000 == 0)
			usleep(1000);
	}
	is(r, -EPIPE);
	is(count, MANY);
	is(wrong, 0);
	pthread_join(thread, NULL);
}

/* A sleep that signals cut short again and again, or that is taken in pieces, must ask all the same who lives. */
static int asked;

static void wait_short(struct ring_doorbell *b, uint32_t *word, uint32_t value, uint64_t ns)
{
	(void)b, (void)word, (void)value, (void)ns;
	usleep(10000);
}

static void wake_none(struct ring_doorbell *b, uint32_t *word, bool all)
{
	(void)b, (void)word, (void)all;
}

static bool dead(struct ring_doorbell *b)
{
	(void)b;
	asked++;
	return false;
}

static void death(void)
{
	struct ring_doorbell mute = { wait_short, wake_none, dead };
	uint64_t before = clock_now_ns();
	const void *at;
	size_t size;
	void *room;

	fresh(0);
	reader.bell = writer.bell = &mute;
	is(ring_next(&reader, &at, &size, RING_FOREVER), -EPIPE);
	is(asked, 1);
	ok(clock_now_ns() - before < 1000000000);
	before = clock_now_ns();
	while (!ring_next(&reader, &at, &size, RING_PATIENCE_NS / 2) && clock_now_ns() - before < 5000000000)
		;
	is(asked, 2);
	while (say(500, 0) == 1)
		;
	before = clock_now_ns();
	is(ring_begin(&writer, 500, &room), -EPIPE);
	ok(clock_now_ns() - before < 1000000000);
	/* what was said before the death is heard */
	is(hear(0), 500);
}

/* ---- what is done before a message comes, and what follows something ---- */

static unsigned int dues;

static void count_due(void *arg)
{
	dues++;
	if (arg != &dues)
		abort();
}

static bool enough; /* atomic */

/* A message each 2 ms. */
static void *write_steadily(void *arg)
{
	void *at;

	for (unsigned int i = 0; i < 5000 && !__atomic_load_n(&enough, __ATOMIC_RELAXED); i++) {
		usleep(2000);
		if (ring_begin(&writer, 8, &at))
			return NULL;
		ring_commit(&writer, 8);
	}
	ring_close(&writer);
	return arg;
}

/* At most once for a message, and often enough once it is known when they come. */
static void ahead(void)
{
	unsigned int messages = 0;
	pthread_t thread;
	const void *at;
	size_t size;

	fresh(0);
	__atomic_store_n(&enough, false, __ATOMIC_RELAXED);
	reader.ahead = (struct ring_ahead){ count_due, &dues, 100000 };
	pthread_create(&thread, NULL, write_steadily, NULL);
	while (ring_next(&reader, &at, &size, RING_FOREVER) > 0) {
		ring_release(&reader);
		messages++;
		__atomic_store_n(&enough, dues >= 5, __ATOMIC_RELAXED);
	}
	pthread_join(thread, NULL);
	ok(dues >= 5 || reader.spin.never);
	ok(dues <= messages);
}

static uint32_t heard; /* atomic */

static void *hear_all(void *arg)
{
	const void *at;
	size_t size;

	while (ring_next(&reader, &at, &size, RING_FOREVER) > 0) {
		ring_release(&reader);
		__atomic_fetch_add(&heard, 1, __ATOMIC_RELEASE);
	}
	return arg;
}

/* Causes that something follows soon, late or not at all, told while the reader sleeps, looks or reads. */
static void sequels(void)
{
	const uint32_t rounds = 1000;
	pthread_t thread;
	void *at;

	fresh(0);
	__atomic_store_n(&heard, 0, __ATOMIC_RELAXED);
	pthread_create(&thread, NULL, hear_all, NULL);
	for (uint32_t i = 0; i < rounds; i++) {
		ring_expect(&reader, i % 4);
		if (i % 16 == 7)
			usleep(300);
		if (ring_begin(&writer, 8, &at))
			break;
		ring_commit(&writer, 8);
		while (i % 3 && __atomic_load_n(&heard, __ATOMIC_ACQUIRE) <= i)
			usleep(20);
	}
	ring_close(&writer);
	pthread_join(thread, NULL);
	is(heard, rounds);
	ok(reader.sequel.usual.learnt > 0);
}

int main(void)
{
	tap_begin();
	one_by_one();
	full();
	begun_only();
	closed();
	time_out();
	broken_positions();
	broken_heads();
	many(0);
	many(WALL_NO_FUTEX);
	death();
	ahead();
	sequels();
	free(shared);
	return tap_end();
}

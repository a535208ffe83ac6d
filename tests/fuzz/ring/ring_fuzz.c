/*
 * ring_fuzz.c: fuzz target for what one side of a session makes of memory that the other side writes.
 *
 * The input is a list of steps. The other side's: a number anywhere into the control area, a whole message put into the
 * replies as a worker would. This side's: say something, hear something, let the link read what has come. What must
 * hold: nothing is read or written outside the area (the address sanitizer and the guards around it see that), every
 * message that is given out lies in the buffer and is no longer than the longest, who found a broken rule stays with
 * that, a reply reaches its own question and no other, staging is given out once.
 */
#include "../ptx/fuzz.h"
#include "remote/client/arena.h"
#include "remote/client/link_counts.h"

#include <errno.h>

#define CAPACITY RING_LEAST_BYTES
#define GUARD 4096u
#define ANSWERS 4

static struct {
	uint8_t *memory; /* guard, replies, guard, requests, guard */
	struct ring_shared *replies, *requests;
	struct ring_end worker; /* says what the input says, as a worker that keeps to the rules of the ring */
	struct link link;
	struct arena arena;
	struct link_answer answers[ANSWERS];
	bool asked[ANSWERS];
} f;

static uint8_t staging[4096 + 9 * ARENA_UNIT];

static void on_retired(void *arg, uint64_t serial)
{
	(void)arg;
	arena_retired(&f.arena, serial);
}

static const struct link_handlers handlers = { .retired = on_retired };

static bool always(struct ring_doorbell *bell)
{
	(void)bell;
	return true;
}

static void sleep_none(struct ring_doorbell *bell, uint32_t *word, uint32_t value, uint64_t ns)
{
	(void)bell, (void)word, (void)value, (void)ns;
}

static void wake_none(struct ring_doorbell *bell, uint32_t *word, bool all)
{
	(void)bell, (void)word, (void)all;
}

static void begin(void)
{
	struct wall *wall = &f.link.wall;
	size_t area = ring_area_bytes(CAPACITY);

	memset(&f, 0, sizeof(f));
	f.memory = aligned_alloc(64, 3 * GUARD + 2 * area);
	check(f.memory);
	memset(f.memory, 0xa5, 3 * GUARD + 2 * area);
	f.replies = (struct ring_shared *)(void *)(f.memory + GUARD);
	f.requests = (struct ring_shared *)(void *)(f.memory + 2 * GUARD + area);
	memset(f.replies, 0, area);
	memset(f.requests, 0, area);
	wall_bell_init(&wall->bell, 0);
	wall->bell.bell = (struct ring_doorbell){ sleep_none, wake_none, always };
	wall->arena = staging;
	wall->welcome.ring_bytes = CAPACITY;
	wall->welcome.in_offset = 4096;
	wall->welcome.in_bytes = wall->welcome.out_bytes = 4 * ARENA_UNIT;
	wall->welcome.out_offset = 4096 + 4 * ARENA_UNIT;
	wall->welcome.heap_offset = 4096 + 8 * ARENA_UNIT;
	wall->welcome.arena_bytes = wall->arena_bytes = 4096 + 9 * ARENA_UNIT;
	ring_attach(&wall->replies, f.replies, CAPACITY, &wall->bell.bell);
	ring_attach(&wall->requests, f.requests, CAPACITY, &wall->bell.bell);
	ring_attach(&f.worker, f.replies, CAPACITY, &wall->bell.bell);
	f.link.handlers = &handlers;
	f.link.counts = &f.link.own_counts;
	pthread_mutex_init(&f.link.writing, NULL);
	pthread_mutex_init(&f.link.lock, NULL);
	check(!arena_init(&f.arena, &f.link));
}

static void check_guard(size_t at)
{
	for (size_t i = 0; i < GUARD; i++)
		check(f.memory[at + i] == 0xa5);
}

static void end(void)
{
	size_t area = ring_area_bytes(CAPACITY);

	check_guard(0);
	check_guard(GUARD + area);
	check_guard(2 * (GUARD + area));
	for (int i = 0; i < ANSWERS; i++)
		if (f.asked[i])
			link_done(&f.answers[i]);
	arena_deinit(&f.arena);
	free(f.memory);
}

static void scribble(uint8_t where, uint8_t at, uint64_t value)
{
	struct ring_shared *ring = where & 1 ? f.replies : f.requests;
	uint64_t *words = (uint64_t *)(void *)ring;

	/* the positions and flags often, the bytes also */
	words[where & 2 ? at % 16 : 16 + (size_t)at * 2] = value;
}

static void worker_says(const uint8_t *data, size_t length)
{
	void *room;

	if (length && ring_begin_within(&f.worker, length, 0, &room) == 1) {
		memcpy(room, data, length);
		ring_commit(&f.worker, length);
	}
}

static void ask(unsigned int which, size_t bytes)
{
	struct link_answer *a = &f.answers[which];
	struct call_request head = { .size = (uint32_t)bytes, .call = 1, .flags = CALL_WAITS, .thread = 1 };
	uint8_t *room;

	/* a ring that is full would be waited for */
	if (f.asked[which] || f.link.wall.requests.at - f.link.wall.requests.other > CAPACITY / 2)
		return;
	room = link_begin(&f.link, bytes, a);
	if (!room)
		return;
	check(room > f.requests->bytes && room + bytes <= f.requests->bytes + CAPACITY);
	head.ticket = a->ticket;
	memset(room, 0, bytes);
	memcpy(room, &head, bytes < sizeof(head) ? bytes : sizeof(head));
	link_send(&f.link, bytes);
	f.asked[which] = true;
}

static void look(unsigned int which)
{
	struct link_answer *a = &f.answers[which];

	if (!f.asked[which]) {
		link_stir(&f.link);
		return;
	}
	if (!link_poll(&f.link, a))
		return;
	if (!link_wait(&f.link, a)) {
		check(a->head.ticket == a->ticket && a->bytes <= ring_longest(CAPACITY));
		for (size_t i = 0; i < a->bytes; i++)
			check(a->body[i] <= 0xff);
	}
	link_done(a);
	f.asked[which] = false;
}

/* The reading end itself, without a link. */
static void hear(void)
{
	struct ring_end *ring = &f.link.wall.replies;
	const void *at;
	size_t size;
	int r = ring_next(ring, &at, &size, 0);

	check(r == 1 || r == 0 || r == -EPIPE || r == -EPROTO);
	check(r != -EPROTO || ring_next(ring, &at, &size, 0) == -EPROTO);
	if (r != 1)
		return;
	check(size && size <= ring_longest(CAPACITY));
	check((const uint8_t *)at >= f.replies->bytes + 8 && (const uint8_t *)at + size <= f.replies->bytes + CAPACITY);
	ring_release(ring);
}

static void stage(uint8_t size)
{
	struct arena_piece p;

	if (arena_try(&f.arena, ARENA_IN, 1 + (size_t)size * 1024, &p))
		return;
	check(p.offset >= 4096 && p.offset + p.bytes <= 4096 + 4 * ARENA_UNIT);
	if (size % 3)
		arena_sent(&f.arena, &p, 1 + size % 8);
	else
		arena_give(&f.arena, &p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	size_t at = 0;

	begin();
	while (at + 10 <= length) {
		const uint8_t *step = data + at;
		uint64_t word;
		size_t n;

		memcpy(&word, step + 2, sizeof(word));
		at += 10;
		switch (step[0] % 8) {
		case 0:
			scribble(step[0] >> 4, step[1], word);
			break;
		case 1:
		case 2:
			n = step[1] < length - at ? step[1] : length - at;
			worker_says(data + at, n);
			at += n;
			break;
		case 3:
			ask(step[1] % ANSWERS, (8 + step[2] * 8u) & ~7u);
			break;
		case 4:
		case 5:
			look(step[1] % ANSWERS);
			break;
		case 6:
			hear();
			break;
		default:
			stage(step[1]);
		}
	}
	end();
	return 0;
}

#ifndef FUZZ_ENGINE
int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, "\1\2\3\4\5\6\7\10\20\30\40\377");
}
#endif

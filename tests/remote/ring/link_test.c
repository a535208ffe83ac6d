/* link_test.c: the client's link and arena against a worker in another process: threads, notices, a full ring, the end.
 */
#include "base/clock.h"
#include "echo.h"
#include "remote/client/arena.h"

#define HEAP (UINT64_C(64) << 20)

static char path[64];
static struct link link_;
static struct arena arena;
static _Atomic int hosts, lost, retired;
static char why[128];

static void on_retired(void *arg, uint64_t serial)
{
	(void)arg;
	atomic_fetch_add(&retired, 1);
	arena_retired(&arena, serial);
}

static void on_lost(void *arg, const char *text)
{
	(void)arg;
	snprintf(why, sizeof(why), "%s", text);
	atomic_fetch_add(&lost, 1);
}

static bool send_word(uint16_t call, uint64_t word, struct link_answer *answer)
{
	struct call_request head = { .size = sizeof(head) + 8, .call = call, .thread = 1 };
	void *room = link_begin(&link_, head.size, answer);

	if (!room)
		return false;
	head.ticket = answer ? answer->ticket : 0;
	head.flags = answer ? CALL_WAITS : 0;
	memcpy(room, &head, sizeof(head));
	memcpy((uint8_t *)room + sizeof(head), &word, sizeof(word));
	link_send(&link_, head.size);
	return true;
}

static void on_host(void *arg, const void *body, size_t bytes)
{
	uint64_t word;

	(void)arg, (void)bytes;
	memcpy(&word, body, sizeof(word));
	usleep(1000);
	atomic_fetch_add(&hosts, 1);
	send_word(CALL_HOST_DONE, word, NULL);
}

static const struct link_handlers handlers = { .retired = on_retired, .host = on_host, .lost = on_lost };

static pid_t begin(uint32_t ring_bytes, uint32_t flags)
{
	struct wall_shape shape = {
		.ring_bytes = ring_bytes, .flags = flags, .in_bytes = 1 << 20, .out_bytes = 1 << 20, .heap_bytes = HEAP
	};
	pid_t pid = echo_start(&shape, path, sizeof(path));

	is(link_open(&link_, path, ECHO_FINGERPRINT, NULL, 5000, &handlers, NULL), 0);
	is(arena_init(&arena, &link_), 0);
	atomic_store(&lost, 0);
	atomic_store(&retired, 0);
	atomic_store(&hosts, 0);
	unlink(path);
	return pid;
}

static void end(pid_t pid, int status)
{
	link_close(&link_);
	arena_deinit(&arena);
	is(echo_status(pid), status);
}

/* Value: the reply's first word, or -1. */
static int64_t ask(uint16_t call, uint64_t word)
{
	struct link_answer a;
	int64_t value = -1;

	if (!send_word(call, word, &a))
		return -1;
	if (!link_wait(&link_, &a) && a.bytes >= sizeof(value))
		memcpy(&value, a.body, sizeof(value));
	link_done(&a);
	return value;
}

/* ---- threads ---- */

#define THREADS 8
#define ROUNDS 3000

static void *ask_many(void *arg)
{
	uint64_t own = (uint64_t)(uintptr_t)arg << 32, wrong = 0;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		if (i % 4)
			send_word(ECHO_FORGET, 1, NULL);
		wrong += ask(ECHO, own + i) != (int64_t)(own + i);
	}
	return (void *)(uintptr_t)wrong;
}

static void threads(uint32_t ring_bytes, uint32_t flags)
{
	pid_t pid = begin(ring_bytes, flags);
	pthread_t t[THREADS];
	uint64_t wrong = 0;
	struct link_counts counts;

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, ask_many, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		void *n;

		pthread_join(t[i], &n);
		wrong += (uintptr_t)n;
	}
	is(wrong, 0);
	is(ask(ECHO_SUM, 0), THREADS * ROUNDS * 3 / 4);
	link_read_counts(&link_, &counts);
	is(counts.round_trips, THREADS * ROUNDS + 1);
	is(counts.waits[link_counted(ECHO)], THREADS * ROUNDS);
	is(counts.requests, THREADS * ROUNDS * 7 / 4 + 1);
	end(pid, 0);
}

/* ---- a thread that blocks at the worker does not stop the others ---- */

static void *ask_late(void *arg)
{
	return (void *)(uintptr_t)(ask(ECHO_LATE, 0) + 1 + (arg != NULL));
}

static void late(void)
{
	pid_t pid = begin(0, 0);
	pthread_t t[4];
	int answered = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, ask_late, NULL);
	for (uint64_t i = 0; i < 500; i++)
		answered += ask(ECHO, i) == (int64_t)i;
	is(answered, 500);
	usleep(20000);
	/* each late one waits for a go that comes after it */
	for (int i = 0; i < 4; i++) {
		void *n;

		send_word(ECHO_GO, 0, NULL);
		pthread_join(t[i], &n);
		ok((uintptr_t)n >= 1);
	}
	end(pid, 0);
}

/* ---- long replies, staging, a ring that is full in both directions ---- */

static void longer(void)
{
	pid_t pid = begin(0, 0);
	struct link_answer a;

	for (uint64_t bytes = 400; bytes < 500; bytes += 8) {
		send_word(ECHO_LONG, bytes, &a);
		if (link_wait(&link_, &a) || a.bytes != bytes)
			ok(!"a reply of this size");
		link_done(&a);
	}
	send_word(ECHO_LONG, 200000, &a);
	is(link_wait(&link_, &a), 0);
	is(a.bytes, 200000);
	link_done(&a);
	ok(!link_begin(&link_, link_longest(&link_) + 8, NULL));
	ok(!link_lost(&link_));
	/* something that was begun and is not sent after all */
	ok(link_begin(&link_, 64, &a) != NULL);
	link_send(&link_, 0);
	is(link_wait(&link_, &a), -EPIPE);
	is(ask(ECHO, 3), 3);
	end(pid, 0);
}

static bool send_piece(const struct arena_piece *p, uint16_t call, uint8_t value)
{
	struct call_request head = { .call = call, .flags = CALL_PAYLOAD, .thread = 1 };
	struct call_payload payload = { .offset = p->offset, .bytes = p->bytes };
	uint64_t word = value;
	uint8_t *room;

	head.size = sizeof(head) + sizeof(payload) + sizeof(word);
	room = link_begin(&link_, head.size, NULL);
	if (!room)
		return false;
	payload.serial = link_serial(&link_, p->bytes);
	arena_sent(&arena, p, payload.serial);
	memcpy(room, &head, sizeof(head));
	memcpy(room + sizeof(head), &payload, sizeof(payload));
	memcpy(room + sizeof(head) + sizeof(payload), &word, sizeof(word));
	link_send(&link_, head.size);
	return true;
}

static void *stage_many(void *arg)
{
	uint32_t random = (uint32_t)(uintptr_t)arg + 1;
	struct arena_piece p;

	for (int i = 0; i < 500; i++) {
		random = random * 1664525u + 1013904223u;
		if (arena_take(&arena, ARENA_IN, 1 + (random >> 8) % ARENA_PIECE, &p))
			return NULL;
		memset(p.at, (int)(random >> 3), p.bytes);
		if (!send_piece(&p, ECHO_CHECK, (uint8_t)(random >> 3)))
			return NULL;
	}
	return arg;
}

static void staging(void)
{
	pid_t pid = begin(0, 0);
	pthread_t t[3];
	struct arena_piece p[8], one;

	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, stage_many, (void *)(i + 1));
	for (int i = 0; i < 3; i++) {
		void *n;

		pthread_join(t[i], &n);
		ok(n != NULL);
	}
	is(ask(ECHO, 9), 9);
	is(atomic_load(&retired), 1500);
	/* everything has come back: 16 units, and the lowest first */
	for (int i = 0; i < 4; i++)
		is(arena_try(&arena, ARENA_IN, ARENA_PIECE, &p[i]), 0);
	is(p[0].offset, link_.wall.welcome.in_offset);
	is(arena_try(&arena, ARENA_IN, 1, &one), -EAGAIN);
	arena_give(&arena, &p[1]);
	is(arena_try(&arena, ARENA_IN, 1, &one), 0);
	is(one.offset, p[1].offset);
	is(arena_try(&arena, ARENA_IN, 0, &one), -EINVAL);
	is(arena_try(&arena, ARENA_IN, ARENA_PIECE + 1, &one), -EINVAL);
	end(pid, 0);
}

/* The worker has more to say than fits while it is told more than fits: nobody waits for the other for ever. */
static void both_full(void)
{
	pid_t pid = begin(RING_LEAST_BYTES, 0);
	uint64_t before = clock_now_ns();

	for (int i = 0; i < 200; i++)
		send_word(ECHO_FLOOD, 100, NULL);
	is(ask(ECHO, 5), 5);
	is(atomic_load(&retired), 20000);
	ok(clock_now_ns() - before < 20000000000);
	end(pid, 0);
}

/* ---- pinned memory ---- */

static void heap(void)
{
	pid_t pid = begin(0, 0);
	uint64_t a, b, c, begin_, bytes, offset;

	is(arena_heap_take(&arena, 5000, &a), 0);
	is(arena_heap_take(&arena, 4096, &b), 0);
	is(b - a, 8192);
	memset(link_.wall.arena + a, 7, 8192);
	ok(arena_heap_find(&arena, link_.wall.arena + a + 100, &offset, &begin_, &bytes));
	is(offset - begin_, 100);
	is(bytes, 8192);
	ok(!arena_heap_find(&arena, &a, &offset, &begin_, &bytes));
	ok(!arena_heap_find(&arena, link_.wall.arena + b + 4096, &offset, &begin_, &bytes));
	is(arena_heap_give(&arena, a + 4096), 0);
	is(arena_heap_give(&arena, a), 8192);
	is(arena_heap_give(&arena, a), 0);
	is(arena_heap_take(&arena, 4096, &c), 0);
	is(c, a);
	is(link_.wall.arena[a], 0);
	is(arena_heap_give(&arena, b), 4096);
	is(arena_heap_give(&arena, c), 4096);
	is(arena_heap_take(&arena, HEAP + 1, &a), -ENOMEM);
	is(arena_heap_take(&arena, UINT64_MAX - 10, &a), -ENOMEM);
	is(arena_heap_take(&arena, HEAP, &a), 0);
	end(pid, 0);
}

/* ---- host functions ---- */

static void host(void)
{
	pid_t pid = begin(0, 0);
	int64_t sum = 0;

	for (uint64_t i = 1; i <= 20; i++) {
		is(link_expect_host(&link_, true), 0);
		send_word(ECHO_HOST, i, NULL);
	}
	/* nobody waits, and they run all the same */
	for (int i = 0; i < 3000 && atomic_load(&hosts) < 20; i++)
		usleep(1000);
	is(atomic_load(&hosts), 20);
	for (int i = 0; i < 1000 && sum != 210; i++)
		sum = ask(ECHO_SUM, 0);
	is(sum, 210);
	for (int i = 0; i < 20; i++)
		is(link_expect_host(&link_, false), 0);
	end(pid, 0);
}

/* ---- the end ---- */

static void *ask_die(void *arg)
{
	(void)arg;
	return (void *)(uintptr_t)(ask(ECHO_LATE, 0) == -1);
}

static void death(void)
{
	pid_t pid = begin(0, 0);
	pthread_t t[3];
	uint64_t before;

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, ask_die, NULL);
	usleep(20000);
	before = clock_now_ns();
	send_word(ECHO_DIE, 0, NULL);
	for (int i = 0; i < 3; i++) {
		void *n;

		pthread_join(t[i], &n);
		ok(n != NULL);
	}
	ok(clock_now_ns() - before < 1000000000);
	is(atomic_load(&lost), 1);
	is_str(why, "the worker is gone");
	is(ask(ECHO, 1), -1);
	ok(!send_word(ECHO_FORGET, 1, NULL));
	end(pid, 1000 + SIGKILL);
}

/* A program that only sends finds out as well. */
static void death_while_sending(void)
{
	pid_t pid = begin(0, 0);
	uint64_t before = clock_now_ns();

	send_word(ECHO_DIE, 0, NULL);
	while (send_word(ECHO_FORGET, 1, NULL) && clock_now_ns() - before < 5000000000)
		usleep(10);
	ok(clock_now_ns() - before < 1000000000);
	is(atomic_load(&lost), 1);
	end(pid, 1000 + SIGKILL);
}

static void told(void)
{
	uint64_t text;
	pid_t pid = begin(0, 0);

	memcpy(&text, "cut off", 8);
	send_word(ECHO_LOST, text, NULL);
	is(ask(ECHO_LATE, 0), -1);
	is_str(why, "cut off");
	end(pid, 0);
	pid = begin(0, 0);
	is(ask(ECHO_NOISE, 0), -1);
	is_str(why, "the worker sent what makes no sense");
	end(pid, 0);
}

/* In a child of fork() the link is nobody's; the parent's goes on. */
static void forked(void)
{
	pid_t pid = begin(0, 0), child;

	is(ask(ECHO, 1), 1);
	child = fork();
	if (child == 0) {
		link_abandon(&link_);
		_exit(link_begin(&link_, 64, NULL) ? 1 : 0);
	}
	is(echo_status(child), 0);
	is(ask(ECHO, 2), 2);
	end(pid, 0);
}

/* What was counted stands in the file, whatever happens. */
static void counted(void)
{
	char file[64], name[64];
	struct link_counts counts = { 0 };
	pid_t pid;
	FILE *f;

	snprintf(name, sizeof(name), "/tmp/mete-link-counts-%%p-%d", (int)getpid());
	snprintf(file, sizeof(file), "/tmp/mete-link-counts-%d-%d", (int)getpid(), (int)getpid());
	setenv("METE_REMOTE_STATS", name, 1);
	pid = begin(0, 0);
	for (uint64_t i = 0; i < 5; i++)
		ask(ECHO, i);
	f = fopen(file, "r");
	ok(f && fread(&counts, sizeof(counts), 1, f) == 1);
	is(memcmp(counts.magic, "metelink", 8), 0);
	is(counts.round_trips, 5);
	if (f)
		fclose(f);
	end(pid, 0);
	unlink(file);
	unsetenv("METE_REMOTE_STATS");
}

int main(void)
{
	tap_begin();
	threads(0, 0);
	threads(RING_LEAST_BYTES, 0);
	threads(0, WALL_NO_FUTEX);
	late();
	longer();
	staging();
	both_full();
	heap();
	host();
	death();
	death_while_sending();
	told();
	forked();
	counted();
	return tap_end();
}

/*
 * echo_client.c: stands where a program does, and makes one scene: echo_client SOCKET SCENE [NUMBER]
 *
 * Prints what it measured or was told; exit status 0 when all was as it should be, 1 when not (and says where), 3 when
 * it was not let in (and prints "STATUS TEXT").
 */
#include "base/clock.h"
#include "echo.h"
#include "ring/call.h"
#include "ring/wall.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS UINT64_C(60000000000)
#define PIECE (UINT64_C(256) << 10)

#define must(cond)                                                                                                     \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			printf("line %d: not so: %s\n", __LINE__, #cond);                                              \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

struct got {
	struct call_reply head;
	struct call_payload payload;
	uint64_t value;
	char text[256];
};

static struct wall wall;
static uint64_t serial;
static uint32_t ticket;

static int send_request(uint16_t call, bool waits, const struct call_payload *payload, const uint64_t *body,
			uint32_t words)
{
	struct call_request q = { .call = call, .ticket = waits ? ++ticket : 0, .thread = 1 };
	void *begun;
	uint8_t *at;
	int r;

	q.flags = (waits ? CALL_WAITS : 0) | (payload ? CALL_PAYLOAD : 0);
	q.size = (uint32_t)(sizeof(q) + (payload ? sizeof(*payload) : 0) + words * 8);
	r = ring_begin(&wall.requests, q.size, &begun);
	if (r < 0)
		return r;
	at = begun;
	memcpy(at, &q, sizeof(q));
	at += sizeof(q);
	if (payload) {
		memcpy(at, payload, sizeof(*payload));
		at += sizeof(*payload);
	}
	if (words)
		memcpy(at, body, words * 8);
	ring_commit(&wall.requests, q.size);
	return 0;
}

/* Value: as ring_next(). */
static int receive(struct got *g, uint64_t ns)
{
	const void *at;
	size_t bytes, head = sizeof(g->head);
	int r = ring_next(&wall.replies, &at, &bytes, ns);

	memset(g, 0, sizeof(*g));
	if (r <= 0)
		return r;
	memcpy(&g->head, at, sizeof(g->head));
	if (g->head.flags & CALL_PAYLOAD) {
		memcpy(&g->payload, (const uint8_t *)at + head, sizeof(g->payload));
		head += sizeof(g->payload);
	}
	if (bytes >= head + 8)
		memcpy(&g->value, (const uint8_t *)at + head, 8);
	memcpy(g->text, (const uint8_t *)at + head, bytes - head < 255 ? bytes - head : 255);
	ring_release(&wall.replies);
	return 1;
}

static struct got answer(void)
{
	struct got g;

	must(receive(&g, PATIENCE_NS) == 1);
	if (g.head.call == CALL_NOTICE_LOST && !g.head.ticket) {
		printf("lost: %s\n", g.text);
		exit(1);
	}
	return g;
}

static uint64_t ask(uint16_t call, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t body[] = { a, b, c };
	struct got g;

	must(send_request(call, true, NULL, body, 3) == 0);
	g = answer();
	must(g.head.ticket == ticket && g.head.call == call);
	return g.value;
}

/* Value: 0, or an error number when the ring has ended. */
static int try_take(uint64_t offset, uint64_t bytes, bool waits)
{
	struct call_payload p = { offset, bytes, ++serial };

	return send_request(ECHO_TAKE, waits, &p, NULL, 0);
}

static void take(uint64_t offset, uint64_t bytes, bool waits)
{
	must(try_take(offset, bytes, waits) == 0);
}

/* ---------------------------------------------------------------------------------------------------------- scenes ---
 */

static void scene_ping(uint64_t n)
{
	uint64_t least = UINT64_MAX, most = 0, all = clock_now_ns(), one;

	for (uint64_t i = 0; i < n; i++) {
		one = clock_now_ns();
		must(ask(CALL_PING, i, 0, 0) == i);
		one = clock_now_ns() - one;
		least = one < least ? one : least;
		most = one > most ? one : most;
	}
	all = clock_now_ns() - all;
	printf("ping %.2f us least %.2f us most %.2f us\n", (double)all / (double)n / 1e3, (double)least / 1e3,
	       (double)most / 1e3);
}

static void scene_quiet(uint64_t n)
{
	uint64_t body[4] = { 0 }, since = clock_now_ns();

	for (uint64_t i = 0; i < n; i++)
		must(send_request(ECHO_QUIET, false, NULL, body, 4) == 0);
	must(ask(ECHO_COUNT, 0, 0, 0) == n);
	printf("quiet %.3f M/s\n", (double)n * 1e3 / (double)(clock_now_ns() - since));
}

/* Payloads of all sizes, both ways, several on their way at once; each must be what was meant. */
static void scene_copies(uint64_t n)
{
	uint64_t in = wall.welcome.in_offset, heap = wall.welcome.heap_offset, bytes, sum[16], seed = 1;
	struct got g;

	for (uint64_t i = 0; i < n; i++) {
		uint32_t first = ticket + 1;

		for (unsigned int k = 0; k < 16; k++) {
			bytes = echo_word(seed, k) % (k % 2 ? PIECE : 6000) / 8 * 8;
			echo_fill(wall.arena + in + k * PIECE, bytes, seed + k);
			sum[k] = echo_sum(wall.arena + in + k * PIECE, bytes);
			take(in + k * PIECE, bytes, true);
		}
		for (unsigned int k = 0; k < 16; k++) {
			g = answer();
			must(g.head.ticket == first + k && g.value == sum[k]);
		}
		bytes = (echo_word(seed, 99) % (8u << 20)) / 8 * 8;
		ask(ECHO_GIVE, heap, bytes, seed);
		for (uint64_t k = 0; k < bytes / 8; k++)
			must(((uint64_t *)(void *)(wall.arena + heap))[k] == echo_word(seed, k));
		seed += 100;
	}
}

/* Notices with the payload come before the reply that follows them. */
static void scene_mirror(uint64_t n)
{
	uint64_t heap = wall.welcome.heap_offset, body[3], bytes = 3 << 20;
	struct got g;

	for (uint64_t i = 0; i < n; i++) {
		body[0] = heap;
		body[1] = bytes;
		body[2] = i + 1;
		must(send_request(ECHO_MIRROR, true, NULL, body, 3) == 0);
		g = answer();
		must(g.head.call == CALL_NOTICE_MIRROR && !g.head.ticket && g.payload.bytes == bytes);
		must(*(uint64_t *)(void *)(wall.arena + heap + bytes - 8) == echo_word(i + 1, bytes / 8 - 1));
		g = answer();
		must(g.head.ticket == ticket);
	}
}

/* A large copy to the program does not hold up what has nothing to do with it. */
static void scene_pass(uint64_t n)
{
	uint64_t body[3] = { wall.welcome.heap_offset, 32 << 20, 7 };
	unsigned int before = 0;
	uint32_t large;
	struct got g;

	for (uint64_t i = 0; i < n; i++) {
		must(send_request(ECHO_GIVE, true, NULL, body, 3) == 0);
		large = ticket;
		must(send_request(CALL_PING, true, NULL, body, 3) == 0);
		g = answer();
		before += g.head.ticket != large;
		answer();
	}
	printf("passed %u of %llu\n", before, (unsigned long long)n);
	must(before > n / 2);
}

/* Copies without an end, until the line is lost. The ring may end while the next ones are sent: what was said before it
 * ended is received all the same. */
static void scene_lost(uint64_t n)
{
	uint64_t in = wall.welcome.in_offset, heap = wall.welcome.heap_offset, body[3] = { heap, 4 << 20, 1 },
		 since = 0;
	struct got g = { 0 };
	int r = 1;

	printf("begins\n");
	fflush(stdout);
	while (r > 0) {
		since = clock_now_ns();
		try_take(in, PIECE, false);
		try_take(in, PIECE, true);
		send_request(ECHO_GIVE, true, NULL, body, 3);
		for (unsigned int i = 0; i < 2 && r > 0; i++) {
			r = receive(&g, n * 1000000);
			if (r > 0 && g.head.call == CALL_NOTICE_LOST && !g.head.ticket)
				r = -1;
		}
	}
	printf("after %.2f s: %s\n", (double)(clock_now_ns() - since) / 1e9, g.text);
	must(r == -1 && strlen(g.text) > 20);
}

/* A program that reads no replies for n ms while many come. */
static void scene_stall(uint64_t n)
{
	uint64_t body[3] = { 200000, 0, 0 }, next = 0;
	struct got g;

	must(send_request(ECHO_FLOOD, true, NULL, body, 1) == 0);
	poll(NULL, 0, (int)n);
	for (g = answer(); !g.head.ticket; g = answer()) {
		must(g.head.call == CALL_NOTICE_RETIRED && g.value == next);
		next++;
	}
	must(next == body[0]);
}

/* n MB each way, all from and to the heap. */
static void scene_speed(uint64_t n)
{
	uint64_t heap = wall.welcome.heap_offset, step = 4 << 20, steps = (n << 20) / step, since = clock_now_ns(), i;
	uint64_t body[3] = { heap, step, 0 };
	struct got g;

	memset(wall.arena + heap, 1, ECHO_HEAP_BYTES);
	since = clock_now_ns();
	for (i = 0; i < steps; i++)
		take(heap + i % (ECHO_HEAP_BYTES / step) * step, step, i + 1 == steps);
	answer();
	printf("up %.1f MB/s\n", (double)n * (1 << 20) * 1e3 / (double)(clock_now_ns() - since));
	since = clock_now_ns();
	for (i = 0; i < steps + 4; i++) {
		body[0] = heap + i % (ECHO_HEAP_BYTES / step) * step;
		if (i < steps)
			must(send_request(ECHO_GIVE, true, NULL, body, 3) == 0);
		if (i >= 4) {
			g = answer();
			must(g.payload.bytes == step);
		}
	}
	printf("down %.1f MB/s\n", (double)n * (1 << 20) * 1e3 / (double)(clock_now_ns() - since));
}

static void scene_sleep(uint64_t n)
{
	ask(ECHO_SLEEP, n, 0, 0);
}

static void scene_die(uint64_t n)
{
	struct got g;

	must(send_request(ECHO_DIE, false, NULL, NULL, 0) == 0);
	must(receive(&g, PATIENCE_NS) == 1);
	must(g.head.call == CALL_NOTICE_LOST && !g.head.ticket);
	printf("%s\n", g.text);
}

static void scene_grow(uint64_t n)
{
	struct got g;

	must(send_request(ECHO_GROW, true, NULL, NULL, 0) == 0);
	must(receive(&g, PATIENCE_NS) == 1);
	must(g.head.call == CALL_NOTICE_LOST && !g.head.ticket);
	printf("%s\n", g.text);
}

/* Breaks the rules: what no client sends. */
static void scene_bad(uint64_t n)
{
	struct call_payload p = { n ? 0 : wall.arena_bytes - 8, 4096, 1 };
	struct got g;

	must(send_request(ECHO_TAKE, true, &p, NULL, 0) == 0);
	must(receive(&g, PATIENCE_NS) == 1);
	must(g.head.call == CALL_NOTICE_LOST && !g.head.ticket);
	printf("%s\n", g.text);
}

static void scene_none(uint64_t n)
{
}

static const struct {
	const char *name;
	void (*play)(uint64_t n);
} scenes[] = {
	{ "ping", scene_ping },	  { "quiet", scene_quiet }, { "copies", scene_copies }, { "mirror", scene_mirror },
	{ "pass", scene_pass },	  { "lost", scene_lost },   { "stall", scene_stall },	{ "speed", scene_speed },
	{ "sleep", scene_sleep }, { "die", scene_die },	    { "grow", scene_grow },	{ "bad", scene_bad },
	{ "none", scene_none },
};

int main(int argc, char **argv)
{
	struct wall_hello hello = { .magic = WALL_MAGIC, .version = WALL_VERSION, .fingerprint = 7, .pid = getpid() };
	uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 1, since = clock_now_ns();
	int r;

	if (argc < 3)
		return 2;
	if (getenv("ECHO_OFFER"))
		snprintf(hello.name, sizeof(hello.name), "%s", getenv("ECHO_OFFER"));
	if (getenv("ECHO_VERSION"))
		hello.version = (uint32_t)atoi(getenv("ECHO_VERSION"));
	snprintf(hello.command, sizeof(hello.command), "echo");
	r = wall_connect(&wall, argv[1], &hello, 30000);
	if (r) {
		printf("%d %s\n", r, r > 0 ? wall.welcome.text : strerror(-r));
		return 3;
	}
	if (!strcmp(argv[2], "none"))
		printf("attached in %.2f ms\n", (double)(clock_now_ns() - since) / 1e6);
	for (unsigned int i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (!strcmp(scenes[i].name, argv[2])) {
			scenes[i].play(n);
			wall_close(&wall);
			return 0;
		}
	return 2;
}

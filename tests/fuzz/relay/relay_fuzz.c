/*
 * relay_fuzz.c: fuzz target for what a relay reads from its peer: preface, hello, welcome, and the frames of a session.
 *
 * LLVMFuzzerTestOneInput() is the entry that a fuzzing engine calls (link with -fsanitize=fuzzer and -DFUZZ_ENGINE).
 * Without an engine main() feeds it streams that are right, and mutations of them from a fixed seed.
 *
 * The first byte chooses the end (program or worker) and the lane (messages or payloads); the rest is what the peer
 * sends, through a line of memory into the session's own code. What must hold: nothing is written outside of the arena
 * (the sanitizer sees it), on the board nothing but how much has arrived, and what gets into the ring are whole
 * messages.
 */
#include "remote/relay/session_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MOST (64u << 10)
#define HEAP_BYTES (64u << 10)
#define ROUNDS 20000u

#define check(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "relay_fuzz: line %d: %s is false\n", __LINE__, #cond);                        \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

/* A line whose other end has said all that it will say. */
struct memory_line {
	struct line line;
	const uint8_t *at;
	size_t left;
};

static ssize_t memory_read(struct line *line, void *at, size_t bytes)
{
	struct memory_line *l = (struct memory_line *)(void *)line;
	size_t n = bytes < l->left ? bytes : l->left;

	memcpy(at, l->at, n);
	l->at += n;
	l->left -= n;
	return (ssize_t)n;
}

static int memory_explain(struct line *line, char ret_text[RELAY_TEXT_BYTES])
{
	return 0;
}

/* None: nothing can be written at once. */
static int memory_fd(struct line *line)
{
	return -1;
}

static const struct line_ops memory_ops = {
	.name = "memory", .read = memory_read, .fd = memory_fd, .explain = memory_explain
};

static struct wall wall;

static void make_wall(void)
{
	struct wall_shape shape = {
		.ring_bytes = 1u << 20, .in_bytes = 16384, .out_bytes = 16384, .heap_bytes = HEAP_BYTES
	};

	if (!wall.control)
		check(wall_make(&wall, &shape) == 0);
}

/* Rings and board as they were at first. */
static void reset_ring(struct ring_end *end)
{
	struct ring_shared *shared = end->shared;
	uint32_t capacity = end->capacity;

	shared->written = shared->taken = 0;
	shared->closed = shared->reader_waits = shared->writer_waits = 0;
	ring_attach(end, shared, capacity, &wall.bell.bell);
}

/* What the program, or the worker, finds in its ring. */
static void check_ring(const struct ring_end *sink, enum session_side side)
{
	struct frame_message m;
	struct ring_end reader;
	const void *at;
	size_t bytes;

	ring_attach(&reader, sink->shared, sink->capacity, &wall.bell.bell);
	while (ring_next(&reader, &at, &bytes, 0) > 0) {
		if (side == SESSION_CLIENT)
			check(frame_read_reply(at, bytes, ring_longest(sink->capacity), wall.arena_bytes, &m));
		else
			check(frame_read_request(at, bytes, ring_longest(sink->capacity), wall.arena_bytes, &m));
		check(m.size == bytes);
		ring_release(&reader);
	}
}

static void receive(enum session_side side, bool payloads, const uint8_t *data, size_t length)
{
	struct memory_line line = { { .ops = &memory_ops }, data, length };
	struct relay_count count = { 0 };
	struct session_config config = {
		.side = side,
		.wall = &wall,
		.messages_in = &line.line,
		.messages_out = &line.line,
		.patience_ms = 1000,
		.count = &count,
		.peer = "peer",
		.stop = -1,
	};
	struct session_lane lane = { NULL, &line.line };
	struct session *s;

	make_wall();
	reset_ring(&wall.requests);
	reset_ring(&wall.replies);
	memset(wall.arena, 0, 4096);
	s = session_new(&config);
	check(s);
	/* A payload far ahead would wait for other lanes, which there are none of. */
	arrival_stop(&s->arrival);
	lane.session = s;
	if (payloads)
		session_receive_payloads(&lane);
	else
		session_receive_messages(&lane);
	check(session_ended(s) && s->text[0] && strlen(s->text) < RELAY_TEXT_BYTES && !strchr(s->text, '\n'));
	check_ring(s->sink, side);
	for (unsigned int i = side == SESSION_SERVER ? 8 : 0; i < 4096; i++)
		check(!wall.arena[i]);
	session_free(s);
}

static void check_heads(const uint8_t *data, size_t length)
{
	struct frame_preface preface = { 0 };
	struct frame_hello hello = { 0 };
	struct frame_welcome welcome = { 0 };
	char text[RELAY_TEXT_BYTES];

	memcpy(&preface, data, length < sizeof(preface) ? length : sizeof(preface));
	check(!frame_check_preface(&preface, text) || strlen(text) > 10);
	memcpy(&hello, data, length < sizeof(hello) ? length : sizeof(hello));
	if (frame_check_hello(&hello, text))
		check(strlen(text) > 10);
	else
		check(hello.lanes >= 1 && hello.lanes <= RELAY_LANES_MOST);
	memcpy(&welcome, data, length < sizeof(welcome) ? length : sizeof(welcome));
	if (frame_check_welcome(&welcome) && !welcome.status)
		check(welcome.lanes >= 1 && welcome.lanes <= RELAY_LANES_MOST && !strchr(welcome.wall.text, '\n'));
	if (frame_check_wall(&welcome.wall))
		check(welcome.wall.heap_offset <= welcome.wall.arena_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	if (length < 1 || length > INPUT_MOST)
		return 0;
	if (data[0] & 4)
		check_heads(data + 1, length - 1);
	else
		receive(data[0] & 1 ? SESSION_CLIENT : SESSION_SERVER, data[0] & 2, data + 1, length - 1);
	return 0;
}

#ifndef FUZZ_ENGINE
/* ---------------------------------------------------------------------------------------------------------- corpus ---
 */

struct stream {
	uint8_t bytes[INPUT_MOST];
	size_t used;
};

static void put(struct stream *s, const void *at, size_t bytes)
{
	memcpy(s->bytes + s->used, at, bytes);
	s->used += bytes;
}

static void put_piece(struct stream *s, uint64_t number, uint64_t offset, uint32_t bytes, uint64_t total)
{
	struct frame_head head = { FRAME_PIECE, (uint32_t)(sizeof(struct frame_piece) + bytes), 0 };
	struct frame_piece piece = { number, number * 3, offset, total };

	put(s, &head, sizeof(head));
	put(s, &piece, sizeof(piece));
	memset(s->bytes + s->used, 0x5a, bytes);
	s->used += bytes;
}

static void put_messages(struct stream *s, bool replies)
{
	struct call_payload payload = { 8192, 512, 3 };
	struct call_request q[2] = { { 24, 1, 0, 0, 1, 0 }, { 48, 2, CALL_PAYLOAD | CALL_WAITS, 5, 1, 7 } };
	struct call_reply a[2] = { { 24, 1, 0, 4, 0, 0, 3 }, { 48, 2, CALL_PAYLOAD, 5, 0, 0, 0 } };
	struct frame_head head = { FRAME_MESSAGES, 72, 0 };

	_Static_assert(sizeof(q[0]) == 24 && sizeof(a[0]) == 24, "as below");
	put(s, &head, sizeof(head));
	put(s, replies ? (void *)&a[0] : (void *)&q[0], 24);
	put(s, replies ? (void *)&a[1] : (void *)&q[1], 24);
	put(s, &payload, sizeof(payload));
}

/* kind: the first byte. */
static void make(struct stream *s, uint8_t kind)
{
	struct frame_head beat = { FRAME_BEAT, 0, FRAME_LIVES }, due = { FRAME_BEAT, 0, FRAME_DUE };
	struct frame_head bye = { FRAME_BYE, 5, WALL_NO_DEVICE };
	struct frame_hello hello = { FRAME_MAGIC, FRAME_VERSION, 0, sizeof(hello),
				     2,		  1000,		 0, { .magic = WALL_MAGIC, .version = WALL_VERSION } };

	s->used = 0;
	put(s, &kind, 1);
	if (kind & 4) {
		put(s, &hello, sizeof(hello));
		return;
	}
	put(s, &beat, sizeof(beat));
	put(s, &due, sizeof(due));
	put_piece(s, 2, 36864, 100, 100);
	if (!(kind & 2))
		put_messages(s, kind & 1);
	put_piece(s, 1, 8192, 300, 512);
	put_piece(s, 1, 8492, 212, 512);
	put_piece(s, 3, 0, 0, 0);
	put(s, &bye, sizeof(bye));
	put(s, "tired", 5);
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Few edits: a byte, or a word of 4 or 8 bytes with a value that is likely to hurt; or an end too early. */
static void mutate(struct stream *s, uint32_t *state)
{
	static const uint64_t likely[] = { 0,	       1,
					   7,	       8,
					   24,	       4095,
					   4096,       0x7fffffff,
					   0x80000000, 0xffffffff,
					   UINT64_MAX, UINT64_MAX - 4095,
					   1u << 20,   (1u << 20) + 1,
					   114688,     114687 };
	uint64_t value;
	size_t at, width;

	for (uint32_t edits = 1 + next_random(state) % 4; edits; edits--) {
		at = 1 + next_random(state) % (s->used - 1);
		value = next_random(state) % 3 ? likely[next_random(state) % (sizeof(likely) / sizeof(likely[0]))]
					       : next_random(state);
		width = (size_t)1 << next_random(state) % 4;
		if (width > 1)
			at = 1 + (at - 1) / 4 * 4;
		if (at + width <= s->used)
			memcpy(s->bytes + at, &value, width);
		if (next_random(state) % 16 == 0)
			s->used = 2 + next_random(state) % (s->used - 1);
	}
}

int main(void)
{
	static struct stream right, wrong;
	uint32_t state = 0x6d657465;

	for (uint8_t kind = 0; kind < 5; kind++) {
		make(&right, kind);
		LLVMFuzzerTestOneInput(right.bytes, right.used);
		for (unsigned int i = 0; i < ROUNDS; i++) {
			wrong = right;
			mutate(&wrong, &state);
			LLVMFuzzerTestOneInput(wrong.bytes, wrong.used);
		}
	}
	wall_close(&wall);
	printf("ok\n");
	return 0;
}
#endif

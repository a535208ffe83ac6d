/*
 * session_order_test.c: in which order a program gets messages whose payload arrives at the worst moment.
 *
 * The threads of a client's session that receive, over two pairs of sockets. held_add() is wrapped: a payload arrives
 * as soon as the first message that waits for it is held back, while the thread of the messages is in the middle of
 * their frame.
 */
#include "base/clock.h"
#include "base/tap.h"
#include "remote/relay/session_state.h"
#include "ring/wall.h"

#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_NS UINT64_C(20000000000)
#define BYTES 64u
#define LANES 2u
#define TIMES 4u

int __real_held_add(struct held *h, uint64_t serial, const void *message, uint32_t bytes);
int __wrap_held_add(struct held *h, uint64_t serial, const void *message, uint32_t bytes);

static struct wall wall;
static struct session *session;
static int far[LANES]; /* the server's ends: messages, payloads */
static uint64_t next_number, held_count;

/* The payload of this serial comes, and is in its place; who tells of it waits for the thread that calls this. */
static void arrive(uint64_t serial)
{
	struct {
		struct frame_head head;
		struct frame_piece piece;
		uint8_t bytes[BYTES];
	} frame = {
		{ .kind = FRAME_PIECE, .bytes = sizeof(struct frame_piece) + BYTES },
		{ .number = ++next_number, .serial = serial, .offset = wall.welcome.heap_offset, .total = BYTES },
		{ (uint8_t)serial },
	};
	uint64_t until = clock_now_ns() + PATIENCE_NS;

	if (write(far[1], &frame, sizeof(frame)) != sizeof(frame))
		abort();
	while (arrival_serial(&session->arrival) < serial && clock_now_ns() < until)
		usleep(100);
}

int __wrap_held_add(struct held *h, uint64_t serial, const void *message, uint32_t bytes)
{
	int r = __real_held_add(h, serial, message, bytes);

	held_count++;
	if (!r && next_number < serial)
		arrive(serial);
	return r;
}

/* A notice with a payload, then the reply that waits for it, in one frame. */
static void send_pair(uint32_t number)
{
	struct {
		struct frame_head head;
		struct call_reply notice;
		struct call_payload payload;
		struct call_reply reply;
	} frame = {
		.head = { .kind = FRAME_MESSAGES, .bytes = sizeof(frame) - sizeof(struct frame_head) },
		.notice = { .size = sizeof(struct call_reply) + sizeof(struct call_payload),
			    .call = CALL_NOTICE_MIRROR,
			    .flags = CALL_PAYLOAD },
		.payload = { wall.welcome.heap_offset, BYTES, number },
		.reply = { .size = sizeof(struct call_reply), .ticket = number, .fence = number },
	};

	if (write(far[0], &frame, sizeof(frame)) != sizeof(frame))
		abort();
}

static struct call_reply receive(struct ring_end *program)
{
	struct call_reply m = { 0 };
	const void *at;
	size_t bytes;

	if (ring_next(program, &at, &bytes, PATIENCE_NS) == 1) {
		memcpy(&m, at, sizeof(m));
		ring_release(program);
	}
	return m;
}

/* The thread of the payloads has told of the last one, and reads again. */
static void await_payloads_read(const struct line *line)
{
	uint64_t until = clock_now_ns() + PATIENCE_NS;

	while (!__atomic_load_n(&line->waits_since_ns, __ATOMIC_RELAXED) && clock_now_ns() < until)
		usleep(100);
}

int main(void)
{
	struct wall_shape shape = { .heap_bytes = 1 << 20 };
	void *(*const bodies[LANES])(void *) = { session_receive_messages, session_receive_payloads };
	struct relay_count count = { 0 };
	struct session_config config = {
		.side = SESSION_CLIENT, .wall = &wall, .count = &count, .peer = "test", .stop = -1
	};
	struct session_lane lanes[LANES];
	struct line *lines[LANES];
	pthread_t threads[LANES];
	struct ring_end program;
	struct call_reply m;
	int pair[2];

	tap_begin();
	if (wall_make(&wall, &shape) < 0)
		return 1;
	for (unsigned int i = 0; i < LANES; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			return 1;
		lines[i] = tcp_line(pair[0]);
		far[i] = pair[1];
	}
	config.messages_in = lines[0];
	session = session_new(&config);
	if (!session)
		return 1;
	ring_attach(&program, wall.replies.shared, wall.replies.capacity, &wall.bell.bell);
	for (unsigned int i = 0; i < LANES; i++) {
		lanes[i] = (struct session_lane){ session, lines[i] };
		if (pthread_create(&threads[i], NULL, bodies[i], &lanes[i]))
			return 1;
	}
	for (uint32_t i = 1; i <= TIMES; i++) {
		send_pair(i);
		m = receive(&program);
		tap_ok(m.call == CALL_NOTICE_MIRROR && !m.ticket, "notice %u comes first", i);
		m = receive(&program);
		tap_ok(m.ticket == i, "its reply follows");
		await_payloads_read(lines[1]);
	}
	tap_ok(held_count == TIMES, "each notice was held back until its payload was there, and no reply was");
	for (unsigned int i = 0; i < LANES; i++)
		shutdown(far[i], SHUT_RDWR);
	for (unsigned int i = 0; i < LANES; i++)
		pthread_join(threads[i], NULL);
	session_free(session);
	for (unsigned int i = 0; i < LANES; i++) {
		line_close(lines[i]);
		close(far[i]);
	}
	wall_close(&wall);
	return tap_end();
}

/* session_send.c: the threads of a session that send: messages out of the ring, pieces out of the arena. */
#include "remote/relay/session_state.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HEADS_BYTES 4096u
#define WISH_NAP_NS 500000000 /* so that its thread sees the session's end */

/* Frames that leave together. */
struct batch {
	uint8_t *bytes;
	size_t used;
	size_t messages; /* where the head of the frame of messages lies that is being filled, plus 1; 0: none is */
	uint64_t number, count; /* of payloads so far; messages in it */
};

static void put(struct batch *b, const void *at, size_t bytes)
{
	memcpy(b->bytes + b->used, at, bytes);
	b->used += bytes;
}

/* The last message of a frame is in it: its head learns how long it has become. */
static void close_messages(struct batch *b)
{
	struct frame_head head = { .kind = FRAME_MESSAGES };

	if (!b->messages)
		return;
	head.bytes = (uint32_t)(b->used - (b->messages - 1) - sizeof(head));
	memcpy(b->bytes + b->messages - 1, &head, sizeof(head));
	b->messages = 0;
}

static void open_messages(struct batch *b)
{
	if (b->messages)
		return;
	b->messages = b->used + 1;
	b->used += sizeof(struct frame_head);
}

/* A small payload goes along: that saves waking a lane, and the other end a wait. */
static void put_piece(struct session *s, struct batch *b, const struct frame_piece *p)
{
	struct frame_head head = { .kind = FRAME_PIECE, .bytes = (uint32_t)(sizeof(*p) + p->total) };

	close_messages(b);
	put(b, &head, sizeof(head));
	put(b, p, sizeof(*p));
	put(b, s->config.wall->arena + p->offset, p->total);
	__atomic_fetch_add(&s->config.count->bytes_out, p->total, __ATOMIC_RELAXED);
}

static int send_payload(struct session *s, struct batch *b, const struct call_payload *payload)
{
	struct frame_piece p = {
		.number = ++b->number,
		.serial = payload->serial,
		.offset = payload->bytes ? payload->offset : 0,
		.total = payload->bytes,
	};

	if (p.total > FRAME_INLINE_BYTES)
		return outgoing_add(&s->outgoing, &p);
	put_piece(s, b, &p);
	return 0;
}

/* Copies a message out of the ring, where it can still be changed, and then looks at it. 0; -EPROTO; -EPIPE. */
static int take_message(struct session *s, struct batch *b, const void *at, size_t bytes)
{
	struct frame_message m;
	size_t begin;
	bool good;

	open_messages(b);
	begin = b->used;
	put(b, at, bytes);
	ring_release(s->source);
	if (s->config.side == SESSION_CLIENT)
		good = frame_read_request(b->bytes + begin, bytes, s->longest, s->arena_bytes, &m);
	else
		good = frame_read_reply(b->bytes + begin, bytes, s->longest, s->arena_bytes, &m);
	if (!good || m.size != bytes)
		return -EPROTO;
	b->count++;
	/* Behind its message is early enough: the other end makes the message, or the worker, wait for it. */
	return m.has_payload ? send_payload(s, b, &m.payload) : 0;
}

static int flush(struct session *s, struct line *line, struct batch *b)
{
	int r;

	close_messages(b);
	if (!b->used)
		return 0;
	pthread_mutex_lock(&s->out_mutex);
	r = line_write(line, b->bytes, b->used);
	pthread_mutex_unlock(&s->out_mutex);
	__atomic_fetch_add(&s->config.count->bytes_out, b->used, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->config.count->messages_out, b->count, __ATOMIC_RELAXED);
	if (b->count && s->config.side == SESSION_SERVER)
		session_replied(s);
	b->used = b->count = 0;
	return r;
}

static int beat(struct session *s, struct line *line)
{
	struct frame_head head = { .kind = FRAME_BEAT };
	int r;

	pthread_mutex_lock(&s->out_mutex);
	r = line_write(line, &head, sizeof(head));
	pthread_mutex_unlock(&s->out_mutex);
	return r;
}

static int send_wish(struct session *s, struct line *line, const struct wall_area *area, uint32_t wish)
{
	struct frame_head head = { .kind = FRAME_BEAT, .value = FRAME_WISH | (uint64_t)wish << 32 };
	char where[WALL_WHERE_BYTES];
	int r;

	memcpy(where, area->where, sizeof(where));
	where[sizeof(where) - 1] = 0;
	head.bytes = (uint32_t)strlen(where);
	pthread_mutex_lock(&s->out_mutex);
	r = line_write_two(line, &head, sizeof(head), where, head.bytes);
	pthread_mutex_unlock(&s->out_mutex);
	return r;
}

void *session_pass_wishes(void *session_lane)
{
	struct session_lane *lane = session_lane;
	struct session *s = lane->session;
	struct wall_area *area = (void *)s->config.wall->control;
	const struct timespec nap = { .tv_nsec = WISH_NAP_NS };
	uint32_t seen = 0, wish;
	int r = 0;

	while (!r && !session_ended(s)) {
		/* Acquire: pairs with the worker's store (worker/move.c). */
		wish = __atomic_load_n(&area->wish, __ATOMIC_ACQUIRE);
		if (wish == seen)
			syscall(SYS_futex, &area->wish, FUTEX_WAIT, seen, &nap, NULL, 0);
		else
			r = send_wish(s, lane->line, area, wish);
		seen = wish;
	}
	/* A line that fails is seen by who sends messages. */
	return NULL;
}

void session_say_due(void *session)
{
	struct session *s = session;
	struct line *line = s->config.messages_out;
	struct pollfd p = { .fd = line->ops->fd(line), .events = POLLOUT };
	struct frame_head head = { .kind = FRAME_BEAT, .value = FRAME_DUE };

	/* A thread that receives must not wait for the peer to receive. A line that fails is seen by what follows. */
	if (pthread_mutex_trylock(&s->out_mutex))
		return;
	if (poll(&p, 1, 0) == 1 && p.revents == POLLOUT)
		line_write(line, &head, sizeof(head));
	pthread_mutex_unlock(&s->out_mutex);
}

/* The other side of the wall has gone, or broke its rules. */
static void source_ended(struct session *s, int r)
{
	const char *who = s->config.side == SESSION_CLIENT ? "the program" : "the worker";

	if (r == -EPROTO)
		session_end(s, WALL_BAD, "%s sent what is no message; both must be of the same mete", who);
	else if (s->config.side == SESSION_SERVER)
		session_end(s, WALL_NO_DEVICE,
			    "the worker of this program on the server has ended; see the server's log for the reason");
	else
		session_end(s, WALL_OK, "the program has ended");
}

/* All that lies in the ring now, up to a batch. Value: as ring_next(), or the line's -errno by *ret_line. */
static int send_some(struct session *s, struct line *line, struct batch *b, int *ret_line)
{
	const void *at;
	size_t bytes;
	int r = ring_next(s->source, &at, &bytes, s->beat_ns);

	*ret_line = 0;
	if (r == 0)
		*ret_line = beat(s, line);
	while (r > 0 && !*ret_line) {
		if (bytes > s->longest)
			return -EPROTO;
		r = take_message(s, b, at, bytes);
		if (r < 0)
			return r;
		if (b->used >= FRAME_BATCH_BYTES)
			*ret_line = flush(s, line, b);
		r = ring_next(s->source, &at, &bytes, 0);
	}
	/* What was said before the end is passed on. */
	if (!*ret_line)
		*ret_line = flush(s, line, b);
	return r;
}

void *session_send_messages(void *session_lane)
{
	struct session_lane *lane = session_lane;
	struct session *s = lane->session;
	struct batch b = { 0 };
	int r = 0, line = 0;

	/* What is in it when a message is added is less than a batch; the message may bring a small payload. */
	b.bytes = malloc(FRAME_BATCH_BYTES + s->longest + FRAME_INLINE_BYTES + HEADS_BYTES);
	if (!b.bytes) {
		session_end(s, WALL_FULL, "no memory for a session");
		return NULL;
	}
	while (r >= 0 && !line)
		r = send_some(s, lane->line, &b, &line);
	free(b.bytes);
	if (line)
		session_line_failed(s, lane->line, line);
	else
		source_ended(s, r);
	return NULL;
}

static int send_piece(struct session *s, struct line *line, const struct frame_piece *p, uint32_t bytes)
{
	struct {
		struct frame_head head;
		struct frame_piece piece;
	} begin = { { .kind = FRAME_PIECE, .bytes = (uint32_t)sizeof(*p) + bytes }, *p };

	__atomic_fetch_add(&s->config.count->bytes_out, bytes, __ATOMIC_RELAXED);
	return line_write_two(line, &begin, sizeof(begin), s->config.wall->arena + p->offset, bytes);
}

void *session_send_payloads(void *session_lane)
{
	struct session_lane *lane = session_lane;
	struct session *s = lane->session;
	struct frame_head head = { .kind = FRAME_BEAT };
	struct frame_piece p;
	uint32_t bytes;
	int r, line = 0;

	for (;;) {
		r = outgoing_take(&s->outgoing, s->beat_ns, &p, &bytes);
		if (r < 0)
			return NULL;
		line = r ? send_piece(s, lane->line, &p, bytes) : line_write(lane->line, &head, sizeof(head));
		if (line < 0) {
			session_line_failed(s, lane->line, line);
			return NULL;
		}
	}
}

/* session_receive.c: the threads of a session that receive: messages into the ring, pieces into the arena. */
#include "remote/relay/session_state.h"

#include "base/clean_text.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LANE_BUFFER_BYTES 4096u

/* ------------------------------------------------------------------------------------------------------ messages ---
 */

/* -EPIPE: the other side of the wall has gone. */
static int into_ring_locked(struct session *s, const void *message, size_t bytes)
{
	void *at;
	int r = ring_begin_within(s->sink, bytes, 0, &at);

	if (!r) {
		/* It must know of what it is to make room for. */
		ring_wake(s->sink);
		r = ring_begin(s->sink, bytes, &at);
	}
	if (r < 0)
		return r;
	memcpy(at, message, bytes);
	ring_commit_quiet(s->sink, bytes);
	return 0;
}

/* What was held back and need not be any more. */
static int release_held_locked(struct session *s)
{
	struct held_message *m;
	int r = 0;

	while (!r && (m = held_take(&s->held, arrival_serial(&s->arrival)))) {
		r = into_ring_locked(s, m->message, m->bytes);
		free(m);
		pthread_cond_signal(&s->held_less);
	}
	return r;
}

/* A fence is the lower half of a serial; it is near to what has arrived. */
static uint64_t whole_serial(uint32_t fence, uint64_t near)
{
	return near + (uint64_t)(int64_t)(int32_t)(fence - (uint32_t)near);
}

/* Which payloads must be here before the program sees this message; 0: none. */
static uint64_t waits_for(struct session *s, const struct frame_message *m)
{
	uint64_t serial = m->has_payload ? m->payload.serial : 0, fence;

	if (s->config.side == SESSION_SERVER)
		return 0; /* the worker waits where it has to */
	if (m->fence) {
		fence = whole_serial(m->fence, arrival_serial(&s->arrival));
		serial = fence > serial ? fence : serial;
	}
	return serial;
}

static int deliver_locked(struct session *s, const void *at, const struct frame_message *m)
{
	uint64_t serial = waits_for(s, m);
	int r;

	while (serial > arrival_serial(&s->arrival)) {
		if (held_has_room(&s->held, m->size))
			return held_add(&s->held, serial, at, m->size);
		ring_wake(s->sink);
		pthread_cond_wait(&s->held_less, &s->sink_mutex);
		if (session_ended(s))
			return -EPIPE;
	}
	/*
	 * A payload that comes in the middle of a frame releases what waits for it only after the frame: what was held
	 * back for it, or for one before it, goes first.
	 */
	r = serial ? release_held_locked(s) : 0;
	return r ? r : into_ring_locked(s, at, m->size);
}

static int deliver_frame_locked(struct session *s, const uint8_t *at, size_t bytes)
{
	struct frame_message m;
	bool good;
	int r = 0;

	for (; bytes && !r; at += m.size, bytes -= m.size) {
		if (s->config.side == SESSION_CLIENT)
			good = frame_read_reply(at, bytes, s->longest, s->arena_bytes, &m);
		else
			good = frame_read_request(at, bytes, s->longest, s->arena_bytes, &m);
		if (!good)
			return -EPROTO;
		r = deliver_locked(s, at, &m);
		__atomic_fetch_add(&s->config.count->messages_in, 1, __ATOMIC_RELAXED);
	}
	return r;
}

/* -EPROTO: the peer broke the rules; -EPIPE: the other side of the wall has gone. */
static int deliver_frame(struct session *s, const uint8_t *at, size_t bytes)
{
	int r;

	pthread_mutex_lock(&s->sink_mutex);
	r = deliver_frame_locked(s, at, bytes);
	ring_wake(s->sink);
	pthread_mutex_unlock(&s->sink_mutex);
	if (s->config.side == SESSION_CLIENT)
		session_replied(s);
	return r;
}

/* The peer says why it ends the session. */
static void said_bye(struct session *s, const struct frame_head *head, const char *text)
{
	char line[RELAY_TEXT_BYTES];
	size_t n = 0;

	for (; n < head->bytes && n < sizeof(line) - 1; n++)
		line[n] = text[n] ? text[n] : '?';
	line[n] = 0;
	clean_text_line(line);
	session_end(s, head->value <= WALL_STATUS_MOST ? (int)head->value : WALL_UNREACHABLE, "%s",
		    n ? line : "the other side has ended the session without a reason");
}

static void peer_is_wrong(struct session *s)
{
	session_end(s, WALL_BAD, "%s sent what the protocol does not allow; install the same mete on both",
		    s->config.peer);
}

static void sink_ended(struct session *s, int r)
{
	const char *who = s->config.side == SESSION_CLIENT ? "the program" : "the worker";

	if (r == -EPROTO)
		session_end(s, WALL_BAD, "%s broke the rules of its ring; both must be of the same mete", who);
	else if (r == -ENOMEM)
		session_end(s, WALL_FULL, "no memory for a session");
	/* -EPIPE: its end is seen by whoever reads from it, after what it said last. */
}

/*
 * Messages are expected: this thread looks for them. At the program's end its next request is not far either, and its
 * way is made warm too.
 */
static void heard_due(struct session *s)
{
	await_cause(&s->await);
	if (s->config.side == SESSION_CLIENT)
		session_say_due(s);
}

/* False: it makes no sense. */
static bool heard_wish(struct session *s, const struct frame_head *head, const uint8_t *text)
{
	char where[WALL_WHERE_BYTES] = "";

	if (head->bytes >= sizeof(where))
		return false;
	memcpy(where, text, head->bytes);
	if (!frame_check_where(where))
		return false;
	if (s->config.wish)
		s->config.wish(s->config.wish_arg, (uint32_t)(head->value >> 32), where);
	return true;
}

static bool heard_beat(struct session *s, struct line *line, const struct frame_head *head, const uint8_t *text)
{
	if (line != s->config.messages_in)
		return true;
	if (head->value == FRAME_DUE)
		heard_due(s);
	if ((uint32_t)head->value != FRAME_WISH || heard_wish(s, head, text))
		return true;
	peer_is_wrong(s);
	return false;
}

/* One frame. False: the thread is to end, which has been said. */
static bool receive_frame(struct session *s, struct line *line, uint8_t *buffer, size_t room)
{
	struct frame_head head;
	bool wrong = false;
	int r = line_read_all(line, &head, sizeof(head));

	if (!r && head.kind != FRAME_PIECE) {
		wrong = head.bytes > room;
		r = wrong ? -EPROTO : line_read_all(line, buffer, head.bytes);
	} else if (!r) {
		r = session_receive_piece(s, line, head.bytes, &wrong);
	}
	if (wrong)
		peer_is_wrong(s);
	else if (r < 0)
		session_line_failed(s, line, r);
	if (r < 0)
		return false;
	__atomic_fetch_add(&s->config.count->bytes_in, head.bytes + sizeof(head), __ATOMIC_RELAXED);
	switch (head.kind) {
	case FRAME_BEAT:
		return heard_beat(s, line, &head, buffer);
	case FRAME_PIECE:
		return true;
	case FRAME_BYE:
		said_bye(s, &head, (const char *)buffer);
		return false;
	case FRAME_MESSAGES:
		r = line == s->config.messages_in ? deliver_frame(s, buffer, head.bytes) : -EPROTO;
		if (r == -EPROTO && !s->sink->bad)
			peer_is_wrong(s);
		else if (r < 0)
			sink_ended(s, r);
		return r == 0;
	default:
		peer_is_wrong(s);
		return false;
	}
}

void *session_receive_messages(void *session_lane)
{
	struct session_lane *lane = session_lane;
	struct session *s = lane->session;
	size_t room = FRAME_BATCH_BYTES + s->longest;
	uint8_t *buffer = malloc(room);

	if (!buffer)
		session_end(s, WALL_FULL, "no memory for a session");
	while (buffer && receive_frame(s, lane->line, buffer, room))
		;
	free(buffer);
	return NULL;
}

/* ------------------------------------------------------------------------------------------------------ payloads ---
 */

static void wake_worker(struct session *s)
{
	uint8_t *board = s->config.wall->arena;

	/* Partner: the worker raises WAITERS, then looks at ARRIVED. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n((uint32_t *)(void *)(board + WALL_BOARD_WAITERS), __ATOMIC_RELAXED))
		syscall(SYS_futex, board + WALL_BOARD_ARRIVED, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static int arrived(struct session *s)
{
	int r = 0;

	if (s->config.side == SESSION_SERVER) {
		wake_worker(s);
		return 0;
	}
	pthread_mutex_lock(&s->sink_mutex);
	if (s->held.first) {
		r = release_held_locked(s);
		ring_wake(s->sink);
	}
	pthread_cond_signal(&s->held_less);
	pthread_mutex_unlock(&s->sink_mutex);
	return r;
}

int session_receive_piece(struct session *s, struct line *line, uint32_t bytes, bool *ret_wrong)
{
	struct frame_piece p;
	int r;

	*ret_wrong = true;
	if (bytes < sizeof(p))
		return -EPROTO;
	bytes -= (uint32_t)sizeof(p);
	*ret_wrong = false;
	r = line_read_all(line, &p, sizeof(p));
	if (r < 0)
		return r;
	r = frame_check_piece(&p, bytes, s->arena_bytes) ? arrival_begin(&s->arrival, &p, bytes) : -EPROTO;
	*ret_wrong = r == -EPROTO;
	if (!r && bytes)
		r = line_read_all(line, s->config.wall->arena + p.offset, bytes);
	if (r < 0)
		return r;
	r = arrival_end(&s->arrival, &p, bytes);
	*ret_wrong = r == -EPROTO;
	if (r <= 0)
		return r;
	r = arrived(s);
	if (r < 0)
		sink_ended(s, r);
	return r;
}

void *session_receive_payloads(void *session_lane)
{
	struct session_lane *lane = session_lane;
	uint8_t buffer[LANE_BUFFER_BYTES];

	while (receive_frame(lane->session, lane->line, buffer, sizeof(buffer)))
		;
	return NULL;
}

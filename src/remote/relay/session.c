/* session.c: begins and ends a session, and watches it meanwhile; see session.h. */
#include "remote/relay/session_state.h"

#include "base/clock.h"
#include "base/lock_within.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define GOODBYE_NS UINT64_C(1000000000) /* for telling the program, or the peer, why */
#define BYE_MS 300
#define DRAIN_NS UINT64_C(2000000000) /* for what a program said last before it ended */
#define STACK_BYTES (256u << 10)
/*
 * How much before a reply the line is used for nothing: what has not run for a millisecond, the cipher above all, takes
 * some 20 us a time on either side, and 2 to 3 when it has just run.
 */
#define AHEAD_NS 60000u

/* ---------------------------------------------------------------------------------------------------------- end --- */

bool session_ended(struct session *s)
{
	/* Partner: session_end(), which has written why before. */
	return __atomic_load_n(&s->ended, __ATOMIC_ACQUIRE);
}

void session_end(struct session *s, int status, const char *fmt, ...)
{
	va_list ap;
	bool first;

	pthread_mutex_lock(&s->end_mutex);
	first = !s->ended;
	if (first) {
		s->status = status;
		va_start(ap, fmt);
		vsnprintf(s->text, sizeof(s->text), fmt, ap);
		va_end(ap);
		__atomic_store_n(&s->ended, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&s->end_mutex);
	if (first && write(s->wake[1], "", 1) < 0)
		abort(); /* a pipe of ours that is empty */
}

void session_line_failed(struct session *s, struct line *line, int r)
{
	bool over = !r || r == -EPIPE || r == -ECONNRESET;
	char text[RELAY_TEXT_BYTES];
	int status = line->ops->explain(line, text);

	/* A peer that ends all its lines has said why on that of the messages, which may be read a little later. */
	if (over && line != s->config.messages_in)
		poll(NULL, 0, BYE_MS);
	if (status)
		session_end(s, status, "%s", text);
	else if (s->config.side == SESSION_SERVER)
		session_end(s, WALL_UNREACHABLE, over ? "%s has ended the connection" : "the line to %s is lost (%s)",
			    s->config.peer, strerror(-r));
	else if (over)
		session_end(s, WALL_UNREACHABLE,
			    "the server %s ended the connection; the program must be started again", s->config.peer);
	else
		session_end(s, WALL_UNREACHABLE, "the line to %s is lost (%s); the program must be started again",
			    s->config.peer, strerror(-r));
}

void session_replied(struct session *s)
{
	if (s->config.side == SESSION_CLIENT)
		ring_expect(s->source, true);
	else
		await_cause(&s->await);
}

/* -------------------------------------------------------------------------------------------------------- begin --- */

static bool start_thread_of(struct session *s, struct session_lane *lane, struct line *line, void *(*body)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	*lane = (struct session_lane){ s, line };
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, body, lane);
	pthread_attr_destroy(&attr);
	return r == 0;
}

static bool start_thread(struct session *s, struct line *line, void *(*body)(void *))
{
	return start_thread_of(s, &s->lanes[s->lane_count++], line, body);
}

static bool start_threads(struct session *s)
{
	const struct session_config *c = &s->config;
	bool good = start_thread(s, c->messages_in, session_receive_messages) &&
		    start_thread(s, c->messages_out, session_send_messages);

	if (good && c->side == SESSION_SERVER && c->wall->welcome.flags & WALL_MOVES)
		good = start_thread_of(s, &s->wishes, c->messages_out, session_pass_wishes);
	for (unsigned int i = 0; i < c->lanes && good; i++)
		good = start_thread(s, c->payloads_in[i], session_receive_payloads) &&
		       start_thread(s, c->payloads_out[i], session_send_payloads);
	if (!good)
		session_end(s, WALL_FULL, "no memory for a session");
	return good;
}

struct session *session_new(const struct session_config *config)
{
	bool client = config->side == SESSION_CLIENT;
	struct session *s = calloc(1, sizeof(*s));

	if (!s || await_init(&s->await) < 0) {
		free(s);
		return NULL;
	}
	if (pipe2(s->wake, O_CLOEXEC) < 0) {
		await_deinit(&s->await);
		free(s);
		return NULL;
	}
	s->config = *config;
	s->source = client ? &config->wall->requests : &config->wall->replies;
	s->sink = client ? &config->wall->replies : &config->wall->requests;
	s->longest = ring_longest(s->source->capacity);
	s->arena_bytes = config->wall->arena_bytes;
	s->beat_ns = (uint64_t)config->patience_ms * 1000000 / 4;
	outgoing_init(&s->outgoing);
	arrival_init(&s->arrival, client ? NULL : (uint64_t *)(void *)(config->wall->arena + WALL_BOARD_ARRIVED));
	pthread_mutex_init(&s->sink_mutex, NULL);
	pthread_mutex_init(&s->out_mutex, NULL);
	pthread_mutex_init(&s->end_mutex, NULL);
	pthread_cond_init(&s->held_less, NULL);
	held_init(&s->held);
	return s;
}

void session_free(struct session *s)
{
	held_deinit(&s->held);
	outgoing_deinit(&s->outgoing);
	arrival_deinit(&s->arrival);
	pthread_cond_destroy(&s->held_less);
	pthread_mutex_destroy(&s->sink_mutex);
	pthread_mutex_destroy(&s->out_mutex);
	pthread_mutex_destroy(&s->end_mutex);
	close(s->wake[0]);
	close(s->wake[1]);
	await_deinit(&s->await);
	free(s);
}

/* -------------------------------------------------------------------------------------------------------- watch --- */

/* Value: when to look again at the latest, in milliseconds: when the patience with the most silent line is over. */
static int watch_lines(struct session *s, int nap_ms)
{
	uint64_t now = clock_now_ns(), longest = 0, patience = (uint64_t)s->config.patience_ms * 1000000, left;

	for (unsigned int i = 0; i < s->lane_count; i++) {
		uint64_t waited = line_waited_ns(s->lanes[i].line, now);

		longest = waited > longest ? waited : longest;
	}
	if (longest >= patience) {
		session_end(s, WALL_UNREACHABLE,
			    "the line to %s is lost: nothing has come for %.1f s; the program must be started again",
			    s->config.peer, s->config.patience_ms / 1000.0);
		return nap_ms;
	}
	left = (patience - longest) / 1000000 + 1;
	return left < (uint64_t)nap_ms ? (int)left : nap_ms;
}

static bool wall_gone(struct session *s)
{
	struct ring_doorbell *bell = &s->config.wall->bell.bell;

	return !bell->alive(bell);
}

static void stopped(struct session *s)
{
	char text[RELAY_TEXT_BYTES] = "the relay was ended; the program must be started again";

	/* A relay is told to end when its program has. */
	if (s->config.side == SESSION_CLIENT && wall_gone(s)) {
		session_end(s, WALL_OK, "the program has ended");
		return;
	}
	if (s->config.why_stopped)
		s->config.why_stopped(s->config.stop, text);
	session_end(s, WALL_UNREACHABLE, "%s", text);
}

static void watch(struct session *s)
{
	struct pollfd p[3] = { { .fd = s->wake[0], .events = POLLIN },
			       { .fd = s->config.wall->bell.socket, .events = POLLRDHUP },
			       { .fd = s->config.stop, .events = POLLIN } };
	int most = (int)s->config.patience_ms / 8, nap;
	uint64_t gone = 0;

	most = most < 10 ? 10 : most > 1000 ? 1000 : most;
	nap = most;
	while (!session_ended(s)) {
		poll(p, 3, gone ? 100 : nap);
		nap = watch_lines(s, most);
		s->config.count->round_trip_ns = s->config.messages_out->ops->round_trip_ns(s->config.messages_out);
		if (p[2].revents)
			stopped(s);
		/* What it said last is passed on: the thread that reads from it ends the session when it is done. */
		if (!gone && p[1].revents && wall_gone(s)) {
			gone = clock_now_ns();
			p[1].fd = -1;
		}
		if (gone && clock_now_ns() - gone > DRAIN_NS)
			session_end(s, s->config.side == SESSION_SERVER ? WALL_NO_DEVICE : WALL_OK,
				    s->config.side == SESSION_SERVER ? "the worker has ended"
								     : "the program has ended");
	}
}

/* ------------------------------------------------------------------------------------------------------ goodbye --- */

/* The program learns why its calls fail from now on. */
static void tell_program(struct session *s)
{
	size_t text = strlen(s->text) + 1,
	       bytes = (sizeof(struct call_reply) + text + CALL_ALIGN - 1) & ~(CALL_ALIGN - 1);
	struct call_reply head = { .size = (uint32_t)bytes, .call = CALL_NOTICE_LOST };
	void *at;

	if (!lock_within(&s->sink_mutex, GOODBYE_NS))
		return;
	if (bytes <= s->longest && ring_begin_within(s->sink, bytes, GOODBYE_NS, &at) == 1) {
		memset(at, 0, bytes);
		memcpy(at, &head, sizeof(head));
		memcpy((uint8_t *)at + sizeof(head), s->text, text);
		ring_commit(s->sink, bytes);
	}
	pthread_mutex_unlock(&s->sink_mutex);
}

/* The peer learns why, if the line still takes it. */
static void tell_peer(struct session *s)
{
	struct line *line = s->config.messages_out;
	struct frame_head head = { .kind = FRAME_BYE,
				   .bytes = (uint32_t)strlen(s->text),
				   .value = (uint64_t)s->status };

	if (!lock_within(&s->out_mutex, GOODBYE_NS))
		return;
	if (line->ops->until(line, clock_now_ns() + GOODBYE_NS) == 0)
		line_write_two(line, &head, sizeof(head), s->text, head.bytes);
	pthread_mutex_unlock(&s->out_mutex);
}

/* Payloads that the last messages speak of. */
static void drain(struct session *s)
{
	for (uint64_t until = clock_now_ns() + GOODBYE_NS;
	     clock_now_ns() < until && !outgoing_empty(&s->outgoing) && s->status == WALL_OK;)
		poll(NULL, 0, 5);
}

int session_run(const struct session_config *config, char ret_text[RELAY_TEXT_BYTES])
{
	struct session *s = session_new(config);

	if (!s) {
		snprintf(ret_text, RELAY_TEXT_BYTES, "no memory for a session");
		return WALL_FULL;
	}
	/* Sleeps of the threads that begin now end when they are to. */
	prctl(PR_SET_TIMERSLACK, 1);
	config->messages_in->await = &s->await;
	/* The program's end answers that in the other direction. */
	if (config->side == SESSION_SERVER)
		s->source->ahead = (struct ring_ahead){ session_say_due, s, AHEAD_NS };
	if (start_threads(s))
		watch(s);
	drain(s);
	if (config->side == SESSION_CLIENT)
		tell_program(s);
	tell_peer(s);
	outgoing_end(&s->outgoing);
	arrival_stop(&s->arrival);
	ring_close(s->source);
	ring_close(s->sink);
	for (unsigned int i = 0; i < s->lane_count; i++)
		s->lanes[i].line->ops->cut(s->lanes[i].line);
	memcpy(ret_text, s->text, RELAY_TEXT_BYTES);
	return s->status;
}

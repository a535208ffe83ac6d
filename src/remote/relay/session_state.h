/* session_state.h: what the threads of a session share. Only session*.c include it. */
#pragma once

#include "remote/relay/arrival.h"
#include "remote/relay/held.h"
#include "remote/relay/outgoing.h"
#include "remote/relay/session.h"

#include <pthread.h>

struct session;

/* A thread and its line. */
struct session_lane {
	struct session *session;
	struct line *line;
};

struct session {
	struct session_config config;
	struct ring_end *source, *sink; /* what is read here and what is written */
	size_t longest;			/* message */
	uint64_t arena_bytes, beat_ns;
	struct await await; /* messages_in's */
	struct outgoing outgoing;
	struct arrival arrival;

	pthread_mutex_t sink_mutex; /* the writing end of `sink`, and what is held back from it */
	pthread_cond_t held_less;
	struct held held;

	pthread_mutex_t out_mutex; /* writing on messages_out */

	struct session_lane lanes[2 * RELAY_LANES_MOST + 2], wishes;
	unsigned int lane_count;

	pthread_mutex_t end_mutex;
	bool ended; /* also read without it: session_ended() */
	int status; /* enum wall_status */
	char text[RELAY_TEXT_BYTES];
	int wake[2]; /* a pipe; written when it has ended */
};

/* Everything but the threads. NULL: no memory. */
struct session *session_new(const struct session_config *config);
void session_free(struct session *s); /* when no thread is left; else the process ends */

/* Ends the session; only the first reason counts. Any thread. */
__attribute__((format(printf, 3, 4))) void session_end(struct session *s, int status, const char *fmt, ...);
/* A line failed with this -errno (0 or -EPIPE: the peer ended it). */
void session_line_failed(struct session *s, struct line *line, int r);
bool session_ended(struct session *s);

/* A reply goes to the program: what it asks for next is going to come soon, from there. Any thread. */
void session_replied(struct session *s);

/* Messages are going to follow soon: says so, if the line takes it at once. Any thread. */
void session_say_due(void *session);

/* Bodies of the threads. The first one's line is that of the messages that go out. */
void *session_pass_wishes(void *session_lane);
void *session_send_messages(void *session_lane);
void *session_receive_messages(void *session_lane);
void *session_send_payloads(void *session_lane);
void *session_receive_payloads(void *session_lane);

/* One piece, whose head was not read yet, of a frame of so many bytes. 0 or -errno; *ret_wrong: the peer's fault. */
int session_receive_piece(struct session *s, struct line *line, uint32_t bytes, bool *ret_wrong);

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
	struct ring_end *source, *sink; /* the ring that is read here and the one that is written */
	size_t longest;			/* message */
	uint64_t arena_bytes, beat_ns;
	struct await await; /* of messages_in */
	struct outgoing outgoing;
	struct arrival arrival;

	pthread_mutex_t sink_mutex; /* guards writing to `sink`, and the messages held back from it */
	pthread_cond_t held_less;
	struct held held;

	pthread_mutex_t out_mutex; /* guards writing to messages_out */

	struct session_lane lanes[2 * RELAY_LANES_MOST + 2], wishes;
	unsigned int lane_count;

	pthread_mutex_t end_mutex;
	bool ended; /* also read without the mutex: session_ended() */
	int status; /* enum wall_status */
	char text[RELAY_TEXT_BYTES];
	int wake[2]; /* a pipe; written when the session has ended */
};

/* Creates everything except the threads. NULL: no memory. */
struct session *session_new(const struct session_config *config);
void session_free(struct session *s); /* only when no thread is left; otherwise the process exits */

/* Ends the session; only the first reason counts. Any thread may call it. */
__attribute__((format(printf, 3, 4))) void session_end(struct session *s, int status, const char *fmt, ...);
/* Ends the session because a line failed with this -errno (0 or -EPIPE: the peer ended it). */
void session_line_failed(struct session *s, struct line *line, int r);
bool session_ended(struct session *s);

/* Notes that a reply goes to the program, whose next request will therefore come soon. Any thread may call it. */
void session_replied(struct session *s);

/* Announces that messages will follow soon, if the line accepts it at once. Any thread may call it. */
void session_say_due(void *session);

/* Bodies of the threads. The line of session_pass_wishes() is the one for outgoing messages. */
void *session_pass_wishes(void *session_lane);
void *session_send_messages(void *session_lane);
void *session_receive_messages(void *session_lane);
void *session_send_payloads(void *session_lane);
void *session_receive_payloads(void *session_lane);

/*
 * Receives one piece, including its head, of a frame of so many bytes. Value: 0 or -errno; *ret_wrong: the peer's
 * fault.
 */
int session_receive_piece(struct session *s, struct line *line, uint32_t bytes, bool *ret_wrong);

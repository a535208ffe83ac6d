/*
 * session.h: one program's ring over a network, at one of its two ends.
 *
 * Both ends do the same, mirrored: they take messages from one ring and send them, receive messages and put them into
 * the other ring, send pieces of payloads, and receive pieces into the arena. Each line has a thread of its own, and
 * each of these waits for one thing only, so none delays another: a large copy does not delay a launch.
 *
 * Nothing grows. Incoming data goes to its place at once (a payload), or into a ring that has room (a message). Where
 * there is no room, the end stops reading, and TCP's own window stops the sender, whose ring fills and whose program
 * waits. Outgoing data stays in the ring and the arena until it is sent. Only replies whose payload has not arrived
 * are kept aside, and their number is bounded.
 *
 * A line is alive while bytes arrive: each end sends something on each of its lines four times in the agreed time. A
 * line is lost if a thread has waited longer than that for bytes. A reader that its own ring stops does not wait for
 * bytes, so a program that reads no replies for an hour does not count as a lost line.
 */
#pragma once

#include "remote/relay/line.h"

enum session_side {
	SESSION_CLIENT, /* the rings' other side is a program */
	SESSION_SERVER, /* ... is a worker */
};

struct session_config {
	enum session_side side;
	struct wall *wall;
	struct line *messages_in, *messages_out;
	struct line *payloads_in[RELAY_LANES_MOST], *payloads_out[RELAY_LANES_MOST];
	unsigned int lanes;
	unsigned int patience_ms;
	struct relay_count *count; /* never NULL */
	const char *peer;	   /* "HOST:PORT" for texts */
	int stop; /* server's broker or the client's parent: the session ends when it is readable or closed. -1: none */
	void (*why_stopped)(int stop, char ret_text[RELAY_TEXT_BYTES]); /* called then for the reason; or NULL */
	/*
	 * For the client: called by a receiving thread when the worker's wish has arrived (ring/wall.h), with a checked
	 * `where`.
	 */
	void (*wish)(void *arg, uint32_t wish, const char *where);
	void *wish_arg;
};

/*
 * Runs until one of the two sides, or the connection, has ended; the program has then been told if possible. The
 * process should exit after it: threads that wait for a peer may remain. Value: an enum wall_status, with the text; 0:
 * it ended normally.
 */
int session_run(const struct session_config *config, char ret_text[RELAY_TEXT_BYTES]);

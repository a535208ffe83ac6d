/*
 * session.h: one program's ring over a network, at one of its two ends.
 *
 * Both ends do the same, mirrored: take messages out of one ring and send them; receive messages and put them into the
 * other ring; send pieces of payloads, receive pieces into the arena. Each line has a thread of its own, and each of
 * these can wait for one thing alone, so none holds up another: a large copy does not hold up a launch.
 *
 * Nothing grows. What comes in goes to its place at once (a payload) or into a ring that has room (a message); where
 * there is none, nothing more is read, and TCP's own window stops the sender, whose ring fills, whose program waits.
 * What goes out lies in the ring and the arena until then. The one thing that is kept aside are replies whose payload
 * has not come, and these have a bound.
 *
 * A line lives while bytes come: each end says something on each of its lines four times in the agreed time. If a
 * thread has waited longer than that for bytes, the line is lost. A reader that is stopped by its own ring does not
 * wait for bytes, so a program that reads no replies for an hour is not taken for a lost line.
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
	int stop; /* server's broker or the client's parent: readable or closed ends the session. -1: none */
	void (*why_stopped)(int stop, char ret_text[RELAY_TEXT_BYTES]); /* then asked; or NULL */
	/* The client's: the worker's wish has come (ring/wall.h), with a good `where`. A thread that receives. */
	void (*wish)(void *arg, uint32_t wish, const char *where);
	void *wish_arg;
};

/*
 * Until one of the two sides, or the line, has ended; then the program has been told, where it can be. The process
 * should end after it: threads may be left that wait for a peer. Value: why, an enum wall_status, with the text; 0: it
 * was over.
 */
int session_run(const struct session_config *config, char ret_text[RELAY_TEXT_BYTES]);

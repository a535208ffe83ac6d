/* dial.h: the client's side of a connection to a server: connect, authenticate, send the hello, open the lanes. */
#pragma once

#include "remote/relay/line.h"

struct dial {
	const struct relay_target *target;
	struct tls *tls;    /* NULL: plain */
	char peer[160];	    /* "HOST:PORT" for texts */
	struct line *first; /* messages to the server */
	struct frame_welcome welcome;
	struct line *messages_in, *payloads_in[RELAY_LANES_MOST], *payloads_out[RELAY_LANES_MOST];
	enum wall_status status; /* the reason for a failure */
	char text[RELAY_TEXT_BYTES];
};

/* Checks everything that needs no connection. Value: 0, or an enum wall_status (d->status, d->text). */
int dial_init(struct dial *d, const struct relay_target *target);
/* Proceeds up to the welcome; flags: enum frame_hello_flag. Value as above. */
int dial_open(struct dial *d, const struct wall_hello *hello, unsigned int flags);
/* Opens all lanes that the welcome grants and waits for READY; nothing has a deadline any more. Value as above. */
int dial_lanes(struct dial *d);
void dial_deinit(struct dial *d);

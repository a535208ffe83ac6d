/* dial.h: the client's way to a server: connect, prove, say hello, open the lanes. */
#pragma once

#include "remote/relay/line.h"

struct dial {
	const struct relay_target *target;
	struct tls *tls;    /* NULL: plain */
	char peer[160];	    /* "HOST:PORT" for texts */
	struct line *first; /* messages to the server */
	struct frame_welcome welcome;
	struct line *messages_in, *payloads_in[RELAY_LANES_MOST], *payloads_out[RELAY_LANES_MOST];
	enum wall_status status; /* why something failed */
	char text[RELAY_TEXT_BYTES];
};

/* All that can be said before there is a connection. 0, or an enum wall_status (d->status, d->text). */
int dial_init(struct dial *d, const struct relay_target *target);
/* Up to the welcome; flags: enum frame_hello_flag. Value as above. */
int dial_open(struct dial *d, const struct wall_hello *hello, unsigned int flags);
/* All lanes that the welcome grants; READY has come, and nothing has a deadline any more. Value as above. */
int dial_lanes(struct dial *d);
void dial_deinit(struct dial *d);

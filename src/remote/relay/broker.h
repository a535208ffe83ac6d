/*
 * broker.h: the requests of a session's process to the server's own process, and the answers.
 *
 * The process that talks to a peer has no files and no keys. Over a socket pair it requests the one key that the peer
 * named, and a worker, each once. The server's process decides, and reads no byte from the peer except the preface and
 * the checked hello. All packets have one size; a descriptor may accompany them.
 */
#pragma once

#include "remote/relay/frame.h"

#define BROKER_TEXT_BYTES 4096u

enum broker_kind {
	BROKER_KEY = 1, /* to the server: peer.name; back: status 0 and the key */
	BROKER_OPEN,	/* to the server: peer, hello; back: status, text, route, and the wall's socket */
	BROKER_ABOUT,	/* to the server: peer; back: text */
	BROKER_READY,	/* to the server: all lanes are open, send no more */
	BROKER_SAY,	/* to the server: a line for its log */
	BROKER_LANE,	/* from the server: a connection */
	BROKER_END,	/* from the server: end, for the reason in the text */
};

struct broker_message {
	uint32_t kind;	 /* enum broker_kind */
	uint32_t status; /* enum wall_status */
	struct relay_peer peer;
	struct wall_hello hello;
	uint8_t key[RELAY_KEY_BYTES];
	uint8_t route[FRAME_ROUTE_BYTES];
	uint32_t patience_ms;
	char text[BROKER_TEXT_BYTES];
};

/* `fd`: -1 for none; the caller keeps it. Value: 0 or -errno. */
int broker_send(int socket, const struct broker_message *m, int fd);
/*
 * Waits for timeout_ms at most (-1: for ever). *ret_fd: -1, or owned by the caller. Texts are terminated. Value: 0 or
 * -errno.
 */
int broker_receive(int socket, struct broker_message *ret, int *ret_fd, int timeout_ms);

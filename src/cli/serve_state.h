/* serve_state.h: what the parts of `mete serve` share. Only serve*.c include it. */
#pragma once

#include "cli/guests.h"
#include "cli/keys.h"
#include "cli/offers.h"

#include <jansson.h>

struct serve_rate;

struct serve {
	const struct command_line *line;
	bool json, verbose;
	struct offers offers;
	struct keys keys; /* dir "": none */
	struct guests guests;
	struct relay_server *server;
	struct serve_rate *rates; /* see serve_document.c */
	uint64_t rated_ns;
	int signals; /* signalfd */
	int asks;    /* serve_socket */
	char socket[PATH_MAX];
	time_t began;
	json_t *document; /* while one is being created */
};

/* serve_answers.c: the relay's callbacks; `user` is the struct serve. */

extern const struct relay_server_ops serve_ops;
/* For guests.came. */
void serve_came(void *user, struct guest *guest, const struct guest_wait *wait, enum wall_status status,
		const char *text);
/* Writes a line to stdout. */
void serve_put_json(json_t *take_event);
/* The client's name in grants' names and in the server's texts. Without TLS it is the client's address. */
void serve_client_name(const struct relay_peer *peer, char name[RELAY_NAME_BYTES]);
/* The offer that a session asked for, as written. */
void serve_offered_name(const struct relay_session *session, char *name, size_t size);

/* serve_document.c: the answer to `mete remote`. */

/* The server's own part of it; owned by the caller. */
json_t *serve_describe(const struct serve *s);
/* All of it; owned by the caller. */
json_t *serve_document(struct serve *s);
/* Computes the rates from the traffic since the last call. */
void serve_take_rates(struct serve *s);
void serve_drop_rates(struct serve *s);

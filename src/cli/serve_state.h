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
	struct serve_rate *rates; /* of serve_document.c */
	uint64_t rated_ns;
	int signals; /* signalfd */
	int asks;    /* serve_socket */
	char socket[PATH_MAX];
	time_t began;
	json_t *document; /* while one is made */
};

/* serve_answers.c: what the relay asks and is told; `user` is the struct serve. */

extern const struct relay_server_ops serve_ops;
/* For guests.came. */
void serve_came(void *user, struct guest *guest, const struct guest_wait *wait, enum wall_status status,
		const char *text);
/* A line on stdout. */
void serve_put_json(json_t *take_event);
/* In the grants' names and the texts that a server writes. Without TLS a client is its address. */
void serve_client_name(const struct relay_peer *peer, char name[RELAY_NAME_BYTES]);
/* The offer that a session asked for, as it was written. */
void serve_offered_name(const struct relay_session *session, char *name, size_t size);

/* serve_document.c: what `mete remote` gets. */

/* The server's own part of it; the caller's. */
json_t *serve_describe(const struct serve *s);
/* All of it; the caller's. */
json_t *serve_document(struct serve *s);
/* What flowed since the last look is a rate from now on. */
void serve_take_rates(struct serve *s);
void serve_drop_rates(struct serve *s);

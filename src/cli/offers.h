/*
 * offers.h: what a server offers, and to whom: from the options of `mete serve`, or from a file.
 *
 * An offer is what each of its clients gets: a grant on these devices, with this share of memory and time. It is
 * written with the words of `mete run`: as options, one offer; in the file, by the same words without dashes:
 *
 *	{ "listen": ":7433", "offers": [
 *		{ "name": "half", "device": 0, "mem": "50%", "cores": 50, "clients": ["alice", "bob"] },
 *		{ "name": "rest", "mem": "4G", "policy": "besteffort", "max-clients": 4 } ] }
 *
 * A client that names no offer gets the first that it may have. Options beside the file that are of the whole server
 * (--listen, --keys, ...) go before what the file says.
 */
#pragma once

#include "verb/choose.h"

#include <limits.h>

#define OFFERS_MOST 32
#define OFFER_NAME_MOST 20

struct offer {
	char name[OFFER_NAME_MOST + 1];
	struct command_line line; /* its words, as options; the values are owned */
	struct choice choice;
	const char *const *clients; /* NULL-terminated, owned; NULL: all authenticated clients */
	unsigned int clients_most;  /* at once; 0: any number */
	unsigned int programs_most; /* of one client at the same time */
};

struct offers {
	char path[PATH_MAX];	  /* of the file; "": only options */
	struct command_line file; /* the file's settings of the whole server */
	struct offer offer[OFFERS_MOST];
	size_t count;
};

/* Reads the options and the file, and checks every word. Value: 0 or a negative errno. */
int offers_read(struct offers *o, const struct command_line *line, struct fault *f);

/* Finds the devices in meted's answer, whose reference it takes. Value: 0 or a negative errno. */
int offers_devices(struct offers *o, json_t *answer, struct fault *f);

/* A setting of the whole server: from the command line, else from the file. */
const char *offers_value(const struct offers *o, const struct command_line *line, const char *name);
bool offers_given(const struct offers *o, const struct command_line *line, const char *name);

bool offer_allows(const struct offer *offer, const char *client);
/* The offer of that name that the client may use; "" or NULL: the first such. NULL: none. */
struct offer *offers_find(struct offers *o, const char *name, const char *client);

/* For people: "device 0 (mete software device): 4 GiB, 30 % of its time". Value: text. */
const char *offer_text(const struct offer *offer, char *text, size_t size);
/* For programs, and for clients that query the server. */
json_t *offer_json(const struct offer *offer);

void offers_deinit(struct offers *o);

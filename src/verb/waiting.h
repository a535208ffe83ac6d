/*
 * waiting.h: --wait: a request for a grant that waits in meted's queue until there is room.
 *
 * meted keeps the place for the connection, and refuses with the code "waiting" until it is this request's turn. This
 * file repeats the request, and reports on standard error what it waits for. When this process ends, so does the
 * waiting.
 */
#pragma once

#include "client/control.h"
#include "verb/verb.h"

#include <stdint.h>

struct waiting {
	bool wanted;
	long most_s; /* 0: as long as it takes */
	uint64_t began_ns, said_ns;
	unsigned int place; /* as last reported */
};

/* Parses --wait and --timeout. Value: 0 or -EINVAL. */
int waiting_parse(struct waiting *w, const struct command_line *line, struct fault *f);

/* Adds the wish to the request. */
void waiting_request(const struct waiting *w, json_t *request);

/*
 * Handles the answer `r` with its code. True: repeat the request on the same connection; a moment has passed. False:
 * use the answer as it is; if the time is over, the fault says so. The request is changed: drivers are not queried each
 * time.
 */
bool waiting_again(struct waiting *w, json_t *request, int r, const char *code, struct fault *f);

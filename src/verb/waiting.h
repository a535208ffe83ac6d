/*
 * waiting.h: --wait: a request for a grant that waits in meted's queue until there is room.
 *
 * meted keeps the place for the connection, and refuses with the code "waiting" until it is this one's turn; here it is
 * asked again, and on standard error it is said what is waited for. Whatever ends this process ends the waiting.
 */
#pragma once

#include "client/control.h"
#include "verb/verb.h"

#include <stdint.h>

struct waiting {
	bool wanted;
	long most_s; /* 0: as long as it takes */
	uint64_t began_ns, said_ns;
	unsigned int place; /* that was said last */
};

/* --wait and --timeout. Value: 0 or -EINVAL. */
int waiting_parse(struct waiting *w, const struct command_line *line, struct fault *f);

/* Into the request. */
void waiting_request(const struct waiting *w, json_t *request);

/*
 * The answer was `r`, with the code. True: ask again, on the same connection; a moment has passed. False: it is to be
 * taken as it is; where the time is over the fault says so. The request is changed: drivers are not asked each time.
 */
bool waiting_again(struct waiting *w, json_t *request, int r, const char *code, struct fault *f);

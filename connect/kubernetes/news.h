/*
 * news.h: waits for changes in meted: the request "changes" (docs/control.md), on a connection of its own.
 *
 * While it waits there, the agent does not poll. A meted that does not know the request, or is away, is polled by the
 * agent's clock instead.
 */
#pragma once

#include "client/control.h"
#include "connect/kubernetes/loop.h"

#include <stdint.h>

struct agent;

struct news {
	struct agent *agent;
	struct control control;
	struct watch watch;
	char seen[24];	   /* the state after which the agent has queried, or will; "": none */
	bool waits;	   /* a request is under way */
	uint64_t until_ns; /* without an answer by then, meted hangs */
	uint64_t next_ns;  /* time of the next attempt */
};

/* True if no change can be missed: the agent need not poll. */
bool news_waits(const struct news *n);
/* Connects and sends the request if it is due. */
void news_tend(struct news *n);
void news_end(struct news *n);

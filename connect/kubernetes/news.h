/*
 * news.h: meted's word that something has changed: the request "changes" (docs/control.md), on a connection of its own.
 *
 * While it waits there the agent asks nothing. A meted that does not know the request, and one that is away, is asked
 * by the agent's clock instead.
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
	char seen[24];	   /* the state that the agent has asked about since, or will; "": none */
	bool waits;	   /* a request is under way */
	uint64_t until_ns; /* without an answer by then meted hangs */
	uint64_t next_ns;  /* it is tried again then */
};

/* No news can be missed: the agent need not ask by itself. */
bool news_waits(const struct news *n);
/* Connects and asks, where that is to be done now. */
void news_tend(struct news *n);
void news_end(struct news *n);

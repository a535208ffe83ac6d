/*
 * yielding.h: memory that is promised to a tenant and lent to others is given up within a stated time
 * (memory.yield_within), counted from the request that found no room. This file measures that time. A client that has
 * not left by then is named, and ended if the operator wants that (memory.yield_end).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct client;
struct tenant;

/* Counts of a tenant that is promised its memory. */
struct yielding {
	uint64_t waits;	     /* requests that had to wait for memory lent to others */
	uint64_t late;	     /* of these, those that waited longer than stated */
	uint64_t longest_ns; /* the longest wait */
};

/* True if the client is promised its memory and waits for it. */
bool yielding_waits(const struct client *client, uint64_t now);
/* True once for a client that has waited for the stated time: the clients that block it are then named. */
bool yielding_is_late(struct client *client, uint64_t now);
/* Names `client`, which blocks `whom`: it was asked to leave and has not. It may be ended. */
void yielding_blame(struct client *client, const struct client *whom, uint64_t now);
/* Called when a client has the memory that it waited for. */
void yielding_has(struct client *client);
/* Called when a late client has left. */
void yielding_left(struct client *client);

/* Adds the counts of a tenant that is promised its memory. */
void yielding_grant_json(const struct tenant *tenant, json_t *grant);

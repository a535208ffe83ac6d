/*
 * yielding.h: what a tenant is promised and others were lent is given up within a stated time (memory.yield_within),
 * counted from the request that found no room. Here that is measured; who has not left by then is named, and ended
 * where the operator wants that (memory.yield_end).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct client;
struct tenant;

/* Of a tenant that is promised its memory. */
struct yielding {
	uint64_t waits;	     /* requests that had to wait for what others were lent */
	uint64_t late;	     /* of these: longer than stated */
	uint64_t longest_ns; /* that one has waited */
};

/* It is promised its memory and waits for it. */
bool yielding_waits(const struct client *client, uint64_t now);
/* It has waited for as long as was stated, and has not been spoken of: those who are in its way are called. */
bool yielding_is_late(struct client *client, uint64_t now);
/* This one is in the way of `whom`: it was asked to leave, and has not. It may be ended. */
void yielding_blame(struct client *client, const struct client *whom, uint64_t now);
/* A client has what it waited for. */
void yielding_has(struct client *client);
/* A client that was late has left. */
void yielding_left(struct client *client);

/* Adds what there is to say of a tenant that is promised its memory. */
void yielding_grant_json(const struct tenant *tenant, json_t *grant);

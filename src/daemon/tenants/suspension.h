/*
 * suspension.h: a tenant leaves its device at a user's request until it is resumed, or moves elsewhere. residing.h
 * does this where memory moves by itself (--spill), moving.h behind a wall, checkpoint.h otherwise.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct device;
struct tenant;

enum suspension_state {
	SUSPENSION_NONE,
	SUSPENSION_LEAVING,
	SUSPENSION_AWAY,
	SUSPENSION_RETURNING,
	SUSPENSION_REFUSED, /* not possible; `why` gives the reason */
};

/* A user's request to suspend a tenant, and its state. */
struct suspension {
	uint64_t serial; /* of the request */
	enum suspension_state state;
	uint32_t drain;				      /* time limit for work to complete, in WIRE_DRAIN_NS */
	char why[320];				      /* why it stays, or waits */
	uint64_t out_bytes, in_bytes, moves, refused; /* totals */
	uint64_t moving_ns;			      /* time for which programs stood still while memory moved */
	uint64_t late;				      /* programs that did not leave in the stated time */
	uint64_t turn_told_ns;			      /* the turn that an event has already reported */
};

#define SUSPENSION_DRAIN_S 10u /* default time for work in flight to complete */
#define SUSPENSION_DRAIN_MOST_S 600u

/*
 * Starts to suspend a tenant. Value: 0; -ENOTSUP: the grant does not support it; -EBUSY: not possible now. `error`
 * gives the reason. `drain_s` 0: the default. The progress is seen in the grant (suspension).
 */
int suspension_begin(struct tenant *tenant, uint32_t drain_s, char *error, size_t size);
/* Starts to resume it. `now`: -EBUSY if there is no room at once. */
int suspension_end(struct tenant *tenant, bool now, char *error, size_t size);

/* Sends its programs to another server (moving_send()); `error` as there. */
int suspension_send(struct tenant *tenant, const char *where, const char *way, uint32_t drain_s, char *error,
		    size_t size);
/* As suspension_begin(); once all of it is away, it returns to the device `to`. `error` as there. */
int suspension_move(struct tenant *tenant, const struct device *to, uint32_t drain_s, char *error, size_t size);

/* True while programs of a walled grant that begin must wait: behind the wall for a worker, beside it for their
 * account. */
bool suspension_holds(const struct tenant *tenant);

/* Checks the progress where memory leaves by itself (--spill); moving_follow() does so behind a wall. */
void suspension_follow(struct tenant *tenant);

/* Add the state of a grant, a share or a client to its description. */
void suspension_grant_json(const struct tenant *tenant, json_t *grant);
void suspension_share_json(const struct tenant *tenant, unsigned int device, json_t *share);
void suspension_client_json(const struct client *client, unsigned int device, json_t *process);

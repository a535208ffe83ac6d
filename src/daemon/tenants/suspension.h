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
	SUSPENSION_REFUSED, /* undone: `why` */
};

/* What the user has asked of a tenant. */
struct suspension {
	uint64_t serial; /* of what was asked */
	enum suspension_state state;
	uint32_t drain;				      /* how long work may take to end, in WIRE_DRAIN_NS */
	char why[200];				      /* it stays, or waits */
	uint64_t out_bytes, in_bytes, moves, refused; /* in all */
	uint64_t moving_ns;			      /* programs stood still while memory moved */
	uint64_t late;				      /* programs that had not left in the stated time */
	uint64_t turn_told_ns;			      /* the turn that an event has spoken of */
};

#define SUSPENSION_DRAIN_S 10u /* for work in flight to end, where nothing else is asked for */
#define SUSPENSION_DRAIN_MOST_S 600u

/*
 * Value: 0; -ENOTSUP: the grant is not for that; -EBUSY: it cannot be now. `error` says why. `drain_s` 0: as usual.
 * What follows is seen in the grant (suspension).
 */
int suspension_begin(struct tenant *tenant, uint32_t drain_s, char *error, size_t size);
/* `now`: -EBUSY where there is no room at once. */
int suspension_end(struct tenant *tenant, bool now, char *error, size_t size);

/* Its programs go to another server (moving_send()); `error` as there. */
int suspension_send(struct tenant *tenant, const char *where, const char *way, uint32_t drain_s, char *error,
		    size_t size);
/* As suspension_begin(), and when all of it is away it returns to the other device: `error` as there. */
int suspension_move(struct tenant *tenant, const struct device *to, uint32_t drain_s, char *error, size_t size);

/* Looks what has become of it, where memory leaves by itself (--spill); moving_follow() behind a wall. */
void suspension_follow(struct tenant *tenant);

/* Adds what there is to say of a grant, of a share, of a client. */
void suspension_grant_json(const struct tenant *tenant, json_t *grant);
void suspension_share_json(const struct tenant *tenant, unsigned int device, json_t *share);
void suspension_client_json(const struct client *client, unsigned int device, json_t *process);

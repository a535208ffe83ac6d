/*
 * moving.h: tenants behind a wall whose clients leave their workers and continue with others (docs/memory.md). Nothing
 * of such a tenant, contexts included, is on the device meanwhile.
 *
 * meted asks by a word that it shares with each worker (wire/worker.h). The client copies everything into its own
 * process, leaves, and connects to the wall again, where it waits as long as the tenant is suspended. The state is
 * kept in the tenant's suspension, as for memory that leaves through the shim (suspension.h).
 */
#pragma once

#include "model/device.h"
#include "wire/worker.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;
struct tenant;
struct worker;

struct moving {
	bool active;	   /* suspended, or on the way there or back */
	uint32_t serial;   /* of the wish, in the low half */
	uint64_t asked_ns; /* when */
	uint64_t waits_ns; /* not asked yet: since then a worker of the other device is waited for; 0: asked */
	uint32_t drain_s;
	uint64_t came_ns; /* it was seen to come further, then */
	uint64_t came_bytes;
	uint64_t returns_ns; /* it was let come back, then */
	unsigned int clients; /* that were asked; on the way back: that were away */
	uint64_t gone_ns;     /* since then none of them is to be seen; 0: some are */
	bool goes;	      /* when all of it is away it is this device's */
	struct device to;
	struct pool *ready;		 /* the other device's: its worker starts while the tenant leaves */
	bool far;			/* its programs go to another server: */
	char where[WORKER_WHERE_BYTES]; /* to this one */
	char way[WORKER_WHERE_BYTES];	/* by this socket; "": as their own relays lead there */
	unsigned int gone;		/* so many have gone there */
};

/* Whether the tenant's memory moves so. */
bool moving_takes(const struct tenant *tenant);
/*
 * Another device of its kind, in service, that has room for the quota: the one with the most. False: there is none, or
 * its memory does not move so, or it is suspended or on the way.
 */
bool moving_find_device(const struct tenant *tenant, struct device *ret);
/* As moving_find_device(), for a tenant that is suspended and returns. */
bool moving_find_return(const struct tenant *tenant, struct device *ret);
/* Clients that come to its wall wait. */
bool moving_holds(const struct tenant *tenant);
/* Its programs have left their workers, and have none yet: they are the device's all the same, unless all are away. */
bool moving_is_between(const struct tenant *tenant);
/* A tenant is served from now on. */
void moving_begin(struct tenant *tenant);
/*
 * As suspension_begin() and suspension_end(), when the suspension's number and state have been set. `to`: when all of
 * it is away it is to return to this device, whose worker starts before its programs are asked; NULL: it stays away.
 */
int moving_suspend(struct tenant *tenant, const struct device *to, uint32_t drain_s, char *error, size_t size);
void moving_resume(struct tenant *tenant);
/*
 * All of it is away: it is this device's from now on, and no longer suspended. 0 or -errno, and then nothing has
 * changed.
 */
int moving_go_over(struct tenant *tenant, const struct device *to, char *error, size_t size);
/* The tenant ends. */
void moving_end(struct tenant *tenant);
/*
 * Its programs go to another server, "HOST[:PORT][/OFFER]", as their relays call it, or by the socket of a relay of
 * this machine; they leave this one when they are there. `way` "": the former. The suspension's number and state are
 * the caller's to set. 0; -ENOTSUP, -ENOENT: there is no program.
 */
int moving_send(struct tenant *tenant, const char *where, const char *way, uint32_t drain_s, char *error, size_t size);
/* One of its workers ends. */
void moving_ends(struct tenant *tenant, const struct worker *worker);
/* Looks how far it is. False: there is nothing to look for. */
bool moving_follow(struct tenant *tenant);
/* What its clients keep in their own memory, in bytes. */
uint64_t moving_away_bytes(const struct tenant *tenant);
/* What would keep this worker's client here, for people to read; "": nothing. `text` of `size` bytes. */
const char *moving_pins(const struct worker *worker, char *text, size_t size);
/* Adds what there is to say of a share. */
void moving_share_json(const struct tenant *tenant, unsigned int device, json_t *share);

/*
 * pool.h: workers that wait, with the driver started and a context created on each device of a set.
 *
 * There is a pool for each set of devices that a walled grant has, and none without such grants. A client takes a
 * waiting worker at once, and others are started in the background, up to workers.idle. Where none waits, the client
 * waits, for WALL_WAIT_NS at most.
 *
 * Contexts take memory of the devices. A client's grant is charged for them before it gets a worker (pledge.h).
 * Waiting workers are limited to what a device has promised to nobody (spare.h), and to POOL_SPARE in all. The first
 * worker shows what a context takes; until then, one is started at a time.
 *
 * Grants take turns: the next worker goes to the grant that has waited longest since its last one.
 */
#pragma once

#include "daemon/loop.h"
#include "model/grant.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct daemon;
struct handover;
struct tenant;
struct worker;

#define POOL_SPARE 32u	      /* waiting workers of all pools: a worker takes host memory */
#define POOL_SPARE_OF_USER 8u /* of all pools that only one user has, because users choose the sets of devices */
#define POOL_STARTING 4u      /* at once */
#define POOL_WORKERS 1024u    /* of one meted */
#define POOL_WAITING 4096u    /* clients that wait for a worker */

struct knock;

struct pool {
	struct pool *next;
	struct daemon *daemon;
	unsigned int users; /* tenants */
	uid_t uid;	    /* the first one's user (subordinate.h) */
	bool shared;	    /* has had tenants of several users */
	enum device_kind kind;
	char libcuda[GRANT_PATH_BYTES], libnvml[GRANT_PATH_BYTES];
	bool spill; /* memory of their clients may leave the device */
	unsigned int device_count;
	uint8_t uuid[WIRE_MAX_DEVICES][DEVICE_UUID_BYTES]; /* in the grants' order */
	uint64_t total_bytes[WIRE_MAX_DEVICES];		   /* of memory of each device */
	uint64_t context_bytes[WIRE_MAX_DEVICES];	   /* what a worker's context takes there */
	bool measured;					   /* the workers have reported those sizes */
	struct knock *waiting;				   /* oldest first */
	unsigned int waiting_count, charged_count;	   /* of these, the number whose grants are charged already */
	unsigned int unbusy;				   /* see spare_places() */
	bool unsettled;					   /* one of the waiting clients waits for its grant's
							    * account */
	uint64_t turn;					   /* number of workers given */
	uint64_t wish;					   /* number of walls opened and clients connected */
	unsigned int failures;				   /* in a row */
	struct timer *timer;				   /* for the next attempt, and the end of the clients' wait */
	uint64_t rest_ns; /* since when more workers wait than are wanted; 0: not so, or clients come */
	char why[256];	  /* of the last failure */
};

/* The pool of a grant's devices; adds a user. NULL: no memory. */
struct pool *pool_ref(struct daemon *daemon, const struct grant *grant);
/* Removes a user; the last one ends the waiting workers. */
void pool_unref(struct pool *pool);
/* Replaces the waiting workers of a device that was away, because their contexts are lost. */
void pool_renew(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);
/*
 * Called when a tenant of the pool comes or goes: waiting workers are moved to the cgroups of tenants that may want one
 * next.
 */
void pool_wish(struct pool *pool, struct tenant *tenant);
void pool_aim(struct pool *pool);
/* A client has connected: takes over the descriptor. */
void pool_knock(struct pool *pool, struct tenant *tenant, int fd);
/* Adds the waiting clients of this tenant to a list, for the next meted. */
void pool_save(const struct pool *pool, const struct tenant *tenant, struct handover *h, json_t *list);
/* Turns away the waiting clients of a tenant that ends. */
void pool_forget(struct pool *pool, struct tenant *tenant);
/* Ends waiting workers to make room for a new promise. */
void pool_make_room(struct daemon *daemon);
/* Turns away the waiting clients of this tenant, which connect again. */
void pool_send_away(struct pool *pool, struct tenant *tenant);
/* Gives workers to the waiting clients of walls that are open again. */
void pool_go_on(struct pool *pool);
/*
 * The number of this tenant's waiting clients that were with another worker; adds the bytes that they keep to
 * *ret_bytes (may be NULL).
 */
unsigned int pool_returning(const struct pool *pool, const struct tenant *tenant, uint64_t *ret_bytes);
/* Adds the processes of this tenant's waiting clients to a list of numbers. */
void pool_list_waiting(const struct pool *pool, const struct tenant *tenant, json_t *pids);
/* What a worker's contexts take, as it reports; 0: not known. */
void pool_measured(struct pool *pool, const uint64_t *context_bytes);
/* True if a worker waits that this tenant's clients can have. */
bool pool_has_idle(const struct pool *pool, const struct tenant *tenant);
/* Called by worker.c: the worker waits now; or it has exited, `why` NULL if it had a client. */
void pool_idle(struct pool *pool, struct worker *worker);
void pool_lost(struct pool *pool, const char *why);

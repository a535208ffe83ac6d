/*
 * pool.h: workers that wait, with the driver started and a context created on each device of a set.
 *
 * There is a pool for each set of devices that a walled grant has, and none without such grants. A client takes a
 * waiting worker at once, and others are started in the background, up to POOL_IDLE. Where none waits, the client
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

#define POOL_IDLE 2u
#define POOL_SPARE 32u	      /* that wait, of all pools: a worker takes memory of the machine */
#define POOL_SPARE_OF_USER 8u /* of pools that one user alone has; sets of devices are his to choose */
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
	bool spill; /* the memory of their clients may leave the device */
	unsigned int device_count;
	uint8_t uuid[WIRE_MAX_DEVICES][DEVICE_UUID_BYTES]; /* in the grants' order */
	uint64_t total_bytes[WIRE_MAX_DEVICES];		   /* of memory of each */
	uint64_t context_bytes[WIRE_MAX_DEVICES];	   /* what a worker's context takes there */
	bool measured;					   /* the workers have said what that is */
	struct knock *waiting;				   /* oldest first */
	unsigned int waiting_count, charged_count;	   /* of them their grants are charged already */
	unsigned int unbusy;				   /* spare_places() counts */
	bool unsettled;					   /* of them one waits for its grant's account */
	uint64_t turn;					   /* workers given */
	uint64_t wish;					   /* walls opened, and clients come */
	unsigned int failures;				   /* in a row */
	struct timer *timer;				   /* the next try, and the end of patience */
	uint64_t rest_ns; /* since when more wait than are wanted; 0: not so, or clients come */
	char why[256];	  /* of the last failure */
};

/* The pool of a grant's devices; one more user. NULL: no memory. */
struct pool *pool_ref(struct daemon *daemon, const struct grant *grant);
/* One user less; the last one takes the waiting workers along. */
void pool_unref(struct pool *pool);
/* The device was away: its waiting workers, whose contexts went with it, are replaced. */
void pool_renew(struct daemon *daemon, const uint8_t uuid[DEVICE_UUID_BYTES]);
/* A tenant of its has come, or gone: workers that wait do so in the cgroups of those who may want one next. */
void pool_wish(struct pool *pool, struct tenant *tenant);
void pool_aim(struct pool *pool);
/* A client has connected: takes the descriptor. */
void pool_knock(struct pool *pool, struct tenant *tenant, int fd);
/* Adds the clients of this tenant that wait to a list, for the meted after this one. */
void pool_save(const struct pool *pool, const struct tenant *tenant, struct handover *h, json_t *list);
/* Those of this tenant that wait are told that it is over. */
void pool_forget(struct pool *pool, struct tenant *tenant);
/* More has been promised: workers that wait make room for it. */
void pool_make_room(struct daemon *daemon);
/* Those of this tenant that wait are sent away: they come again. */
void pool_send_away(struct pool *pool, struct tenant *tenant);
/* Those who wait at walls that are open now get their workers. */
void pool_go_on(struct pool *pool);
/* How many of this tenant's wait who were with another worker; the bytes that they keep are added. `ret_bytes`: or
 * NULL. */
unsigned int pool_returning(const struct pool *pool, const struct tenant *tenant, uint64_t *ret_bytes);
/* What a worker's contexts take, by its own word; 0: not known. */
void pool_measured(struct pool *pool, const uint64_t *context_bytes);
/* A worker waits that this tenant's clients can have. */
bool pool_has_idle(const struct pool *pool, const struct tenant *tenant);
/* Called by worker.c: it waits now; or it has gone, `why` NULL when it had a client. */
void pool_idle(struct pool *pool, struct worker *worker);
void pool_lost(struct pool *pool, const char *why);

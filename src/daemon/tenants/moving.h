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
	bool active;	   /* suspended, leaving or returning */
	uint32_t serial;   /* of the wish, in its lower half */
	uint64_t asked_ns; /* when the wish was written */
	uint64_t waits_ns; /* not written yet: since then it waits for sessions that begin, or a worker of the other
			    * device; 0: written */
	uint32_t drain_s;
	uint64_t came_ns; /* the time of the last progress */
	uint64_t came_bytes;
	uint64_t returns_ns;  /* the time at which it was allowed to return */
	unsigned int clients; /* the number that were asked; while returning: that were away */
	uint64_t gone_ns;     /* since then no client is present; 0: some are */
	bool goes;	      /* once all of it is away, it moves to the device `to` */
	struct device to;
	struct pool *ready;		/* the pool of the other device: its worker starts while the tenant leaves */
	bool far;			/* its programs move to another server: */
	char where[WORKER_WHERE_BYTES]; /* the server */
	char way[WORKER_WHERE_BYTES];	/* the socket of a relay; "": the relay that each program already uses */
	unsigned int gone;		/* the number that have arrived there */
};

/* True if the tenant's memory moves in this way, at least to another server. */
bool moving_takes(const struct tenant *tenant);
/*
 * True if a worker of this machine can have the addresses of the one before it. Where it cannot, programs stay with
 * their workers, and the driver takes those off the device (checkpoint.h).
 */
bool moving_keeps_addresses(const struct tenant *tenant);
/*
 * Finds another device of its kind, in service, that has room for the quota: the one with the most room. False: there
 * is none, its memory does not move in this way, or it is suspended or moving already.
 */
bool moving_find_device(const struct tenant *tenant, struct device *ret);
/* As moving_find_device(), for a suspended tenant that returns. */
bool moving_find_return(const struct tenant *tenant, struct device *ret);
/* True while clients that connect to its wall must wait. */
bool moving_holds(const struct tenant *tenant);
/* True while its programs have left their workers and have no new ones. Unless all are away, the device has them. */
bool moving_is_between(const struct tenant *tenant);
/* Resumes an interrupted suspension when a tenant is first served. */
void moving_begin(struct tenant *tenant);
/*
 * As suspension_begin() and suspension_end(), called when the suspension's serial and state have been set. `to`: the
 * device to which the tenant returns once all of it is away; its worker starts before the programs are asked. NULL: it
 * stays away.
 */
int moving_suspend(struct tenant *tenant, const struct device *to, uint32_t drain_s, char *error, size_t size);
void moving_resume(struct tenant *tenant);
/*
 * All of it is away: from now on it belongs to this device and is no longer suspended. Value: 0, or -errno, and then
 * nothing has changed.
 */
int moving_go_over(struct tenant *tenant, const struct device *to, char *error, size_t size);
/* The same, in two parts; the second one asks nobody, and `suspended` says whether the tenant remains so. */
int moving_admit(const struct tenant *tenant, const struct device *to, char *error, size_t size);
int moving_change_device(struct tenant *tenant, const struct device *to, bool suspended, char *error, size_t size);
/* Called when the tenant ends. */
void moving_end(struct tenant *tenant);
/*
 * Sends the programs to another server, "HOST[:PORT][/OFFER]", through their own relays, or (`way` not "") through the
 * socket of a relay of this machine. They leave this server when they have arrived there. The caller sets the
 * suspension's serial and state. Value: 0; -ENOTSUP, -ENOENT: there is no program.
 */
int moving_send(struct tenant *tenant, const char *where, const char *way, uint32_t drain_s, char *error, size_t size);
/* Called when one of its workers exits. */
void moving_ends(struct tenant *tenant, const struct worker *worker);
/* Checks the progress. False: nothing remains to be done. */
bool moving_follow(struct tenant *tenant);
/* The processes that wait until it is resumed, or is where it moves to. */
json_t *moving_waiting_json(const struct tenant *tenant);
/* The bytes that its clients keep in their own memory. */
uint64_t moving_away_bytes(const struct tenant *tenant);
/* What prevents this worker's client from leaving, for people to read; "": nothing. `text` has `size` bytes. */
const char *moving_pins(const struct worker *worker, char *text, size_t size);
/* Adds the state of a share to its description. */
void moving_share_json(const struct tenant *tenant, unsigned int device, json_t *share);

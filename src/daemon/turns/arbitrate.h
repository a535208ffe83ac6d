/*
 * arbitrate.h: meted's thread that gives turns.
 *
 * Turns last milliseconds, and a disk or many requests can delay the loop for longer. A separate thread therefore
 * gives turns, at a higher priority where that is permitted. It sleeps until a client rings its doorbell or a turn
 * ends. It knows engines, places and seats (engine.h) and the doorbells. All changes to them happen under one lock,
 * which the loop's thread takes for a few microseconds when tenants and clients come, go and change.
 *
 * The lock also guards the list of mapped pages (page.c), because either thread can meet a truncated page.
 */
#pragma once

#include "daemon/turns/engine.h"
#include "wire/page.h"

struct client;
struct daemon;
struct tenant;

/* A tenant's places and a client's seats, by device and engine. */
struct places {
	struct place *at[WIRE_MAX_DEVICES][WIRE_ENGINES];
	uint64_t since_ns[WIRE_MAX_DEVICES][WIRE_ENGINES][WINDOW_TOTALS]; /* of places that were removed, not counted
									   * yet */
};

struct seats {
	struct seat *at[WIRE_MAX_DEVICES][WIRE_ENGINES];
};

void arbitrate_lock(void);
void arbitrate_unlock(void);

/* Value: 0 or -errno. */
int arbitrate_start(void);
void arbitrate_stop(void);

/*
 * In a child that was forked with the lock held: gives turns in place of the parent's thread, until `fd` can be read
 * (true) or the time is up (false). The parent gives none meanwhile.
 */
bool arbitrate_keep(int fd, uint64_t until_ns);

/* How the thread is scheduled: "real-time", "nice -10" or "normal". */
const char *arbitrate_priority(void);

/*
 * Creates, changes and removes the tenant's places by its current shares and terms. Value: 0; -errno: some are missing.
 * A tenant of policy native has a place while others are guaranteed a share of the device, and gets the remaining time,
 * as policy fair does; unless the device permits native (store_native).
 */
int arbitrate_terms(struct tenant *tenant);
/* Removes the places of a tenant that ends; it has no clients. */
void arbitrate_leave(struct tenant *tenant);

/*
 * Seats a client that has its page. `found`: the page is from before this meted started, and the client cannot ring
 * yet.
 */
void arbitrate_attach(struct client *client, bool found);
/* Notes that it has a doorbell; `renewed`: its process has executed another program. */
void arbitrate_hello(struct client *client, bool renewed);
/* Removes its seats: its process has ended, or its page is about to be unmapped. */
void arbitrate_detach(struct client *client, bool lives);

/*
 * Updates native tenants: the guarantees of `except` (or NULL) no longer count, or a device now permits native or no
 * longer does.
 */
void arbitrate_natives(struct daemon *daemon, const struct tenant *except);
/* True if the share's policy is native, and it is limited in favour of others' guarantees. */
bool arbitrate_holds_native(const struct tenant *tenant, unsigned int device);

/* Value: false if the share is not gated. */
bool arbitrate_read(struct tenant *tenant, unsigned int device, enum wire_engine engine, struct engine_reading *ret);
/*
 * Returns what the share has used since the last call, and (ret_at) up to where its totals are counted; the next meted
 * gets that through arbitrate_counted(). Readings contain estimates that are partly taken back when a measurement
 * arrives; this function counts time once and never takes it back. Also valid for a share that is no longer gated.
 */
void arbitrate_count(struct tenant *tenant, unsigned int device, enum wire_engine engine,
		     uint64_t ret_since_ns[WINDOW_TOTALS], uint64_t ret_at_ns[WINDOW_TOTALS]);
/* After a restart: the previous meted had counted up to here; NULL: not known, and counting starts now. */
void arbitrate_counted(struct tenant *tenant, unsigned int device, enum wire_engine engine,
		       const uint64_t at_ns[WINDOW_TOTALS]);
/* Below 0: not known. */
double arbitrate_client_share(struct client *client, unsigned int device);

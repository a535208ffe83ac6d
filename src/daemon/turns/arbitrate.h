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

/* Places of a tenant and seats of a client, by device and engine. */
struct places {
	struct place *at[WIRE_MAX_DEVICES][WIRE_ENGINES];
	uint64_t since_ns[WIRE_MAX_DEVICES][WIRE_ENGINES][WINDOW_TOTALS]; /* of places that went, not counted yet */
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
 * In a child that was forked with the lock held: gives turns as the parent's thread did, until `fd` can be read (true)
 * or the time is up (false). The parent gives none meanwhile.
 */
bool arbitrate_keep(int fd, uint64_t until_ns);

/* "real-time", "nice -10" or "normal": how the thread runs. */
const char *arbitrate_priority(void);

/*
 * The tenant's shares, or their terms, are new: makes, changes and ends its places. Value: 0; -errno: not all there.
 * A tenant of policy native has a place while others are guaranteed a share of the device, and gets what they leave,
 * as policy fair does; unless the device lets native run (store_native).
 */
int arbitrate_terms(struct tenant *tenant);
/* The tenant ends; its clients have gone. */
void arbitrate_leave(struct tenant *tenant);

/* A client with its page is there. `found`: it is from before meted was started, and cannot ring yet. */
void arbitrate_attach(struct client *client, bool found);
/* It has a doorbell now; `renewed`: its process has become another program. */
void arbitrate_hello(struct client *client, bool renewed);
/* Its process has ended, or its page is about to go. */
void arbitrate_detach(struct client *client, bool lives);

/* What `except` (or NULL) was guaranteed no longer counts, or a device lets native run now, or no more. */
void arbitrate_natives(struct daemon *daemon, const struct tenant *except);
/* The share's policy is native, and it is held back for others' guarantees. */
bool arbitrate_holds_native(const struct tenant *tenant, unsigned int device);

/* Value: false when the share is not gated. */
bool arbitrate_read(struct tenant *tenant, unsigned int device, enum wire_engine engine, struct engine_reading *ret);
/*
 * What the share has had since this was last asked, and (ret_at) how far its totals have been counted, which the meted
 * after this one is told with arbitrate_counted(). Readings are estimates that are taken back in part when a
 * measurement arrives; what is counted here is counted once, and never taken back. Also of a share that is not gated
 * any more.
 */
void arbitrate_count(struct tenant *tenant, unsigned int device, enum wire_engine engine,
		     uint64_t ret_since_ns[WINDOW_TOTALS], uint64_t ret_at_ns[WINDOW_TOTALS]);
/* After a restart: the meted before this one counted up to here; NULL: nobody knows, and it is counted from now on. */
void arbitrate_counted(struct tenant *tenant, unsigned int device, enum wire_engine engine,
		       const uint64_t at_ns[WINDOW_TOTALS]);
/* Below 0: not known. */
double arbitrate_client_share(struct client *client, unsigned int device);

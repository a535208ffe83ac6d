/*
 * uses.h: objects that a request has looked up and continues to use after it has given up the executor's role.
 *
 * A driver uses a handle for the duration of a call with it, and the object must exist for that long: a client can end
 * an event while another of its threads waits for it. The request that ends an object therefore waits until no thread
 * is in the driver with it, or leaves the end to the last one (worker_ending(), worker_later()).
 *
 * Before a request yields it need not declare its uses: there is one executor at a time, and a request that ends
 * something after it has given up the role waits until the executor's request has ended or yielded (a section).
 */
#pragma once

#include "remote/worker/session.h"

/* A request becomes the executor's, and ceases to be. */
void uses_begin(struct worker *worker);
void uses_end(struct work *work);

/* The entry of a live object of this kind, or NULL; in use from now on, or from the yield on. */
struct id_entry *uses_find(struct work *work, enum remote_kind kind, uint64_t id);
/* Called before the request yields. False: it uses more objects than can be recorded, and must not yield. */
bool uses_hold(struct work *work);
/* Ends all uses of the request, including that of its context. */
void uses_leave(struct work *work);
/* Waits until no other request uses the hidden object or what it owns. */
void uses_await(struct work *work, uint64_t id);

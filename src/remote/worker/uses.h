/*
 * uses.h: objects that a request has looked up and goes on using after it has given the executor's role away.
 *
 * A driver looks at a handle for as long as a call with it lasts, and no longer than that may the object be there: a
 * client can end an event while another of its threads waits for it. So what ends an object waits until nobody is in
 * the driver with it, or leaves that to the last one (worker_ending(), worker_later()).
 *
 * Until a request yields it need not say what it uses: the executor is one at a time, and who ends something with the
 * role given away waits until the executor's request has ended or yielded (a section).
 */
#pragma once

#include "remote/worker/session.h"

/* A request begins and ends to be the executor's. */
void uses_begin(struct worker *worker);
void uses_end(struct work *work);

/* The entry of a live object of this kind, or NULL; in use from now on, or from the yield on. */
struct id_entry *uses_find(struct work *work, enum remote_kind kind, uint64_t id);
/* The request is about to yield. False: it uses more than can be noted, and may not. */
bool uses_hold(struct work *work);
/* Nothing is used any more; the request's context neither. */
void uses_leave(struct work *work);
/* The object is hidden: until no other request uses it or what it owns. */
void uses_await(struct work *work, uint64_t id);

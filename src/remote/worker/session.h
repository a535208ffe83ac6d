/*
 * session.h: the worker's one session: what worker.h's functions work on.
 *
 * Made when a client has been accepted; ends with the process. Tests make and free several, one after the other.
 */
#pragma once

#include "remote/worker/contexts.h"
#include "remote/worker/ids.h"
#include "remote/worker/inbox.h"
#include "remote/worker/ranges.h"
#include "remote/worker/rooms.h"
#include "remote/worker/worker.h"
#include "ring/wall.h"

#include <pthread.h>
#include <stdatomic.h>

struct worker {
	struct cuda_table table; /* the driver, as handlers see it: captures.h */
	const struct cuda_table *driver; /* that */
	struct wall *wall; /* its requests belong to the inbox */
	struct inbox inbox;
	struct rooms rooms; /* of the threads that execute */
	pthread_mutex_t replies_lock; /* guards wall->replies and the next two */
	uint64_t payloads;	      /* sent, which is the serial of the last one */
	uint32_t fence; /* serial of the last MIRROR: what is said after it is not to overtake its bytes */
	struct ids ids;
	_Atomic uint64_t section; /* uses.h; odd: the executor looks things up */
	struct ranges ranges;
	struct contexts contexts;
	bool hosts_ended; /* nobody waits for the client's functions any more; guarded by hosts.c's lock */
	_Atomic int32_t deferred; /* the first error of a call without a context that nobody waited for */
	_Atomic bool code_ended; /* a module, a library or a context has: functions may be of one of them */
};

/* Both stay the caller's. 0 or -errno. */
int session_init(struct worker *worker, const struct cuda_table *driver, struct wall *wall);
/* After session_run(): waits for threads that still execute, frees what the session keeps; the driver's objects are the
 * driver's to clean up. */
void session_deinit(struct worker *worker);
/* Executes requests until the session ends. Value: 0: the client has gone; -EPROTO: it broke the rules. */
int session_run(struct worker *worker);

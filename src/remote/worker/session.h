/*
 * session.h: the worker's one session, the state behind worker.h.
 *
 * Created when a client has been accepted; ends with the process. Tests create and free several, one after the other.
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
	const struct cuda_table *driver; /* the same table */
	struct wall *wall; /* the inbox owns its requests */
	struct inbox inbox;
	struct rooms rooms; /* of the executing threads */
	pthread_mutex_t replies_lock; /* guards wall->replies and the next two */
	uint64_t payloads;	      /* number sent, which is the serial of the last one */
	uint32_t fence; /* serial of the last MIRROR: later messages must not overtake its bytes */
	struct ids ids;
	_Atomic uint64_t section; /* uses.h; odd: the executor looks up objects */
	struct ranges ranges;
	struct contexts contexts;
	bool hosts_ended; /* no thread waits for the client's functions any more; guarded by the lock of hosts.c */
	_Atomic int32_t deferred; /* the first error of a call without a context and without an answer */
	_Atomic bool code_ended; /* a module, library or context has ended: functions may belong to it */
};

/* The caller keeps both. Value: 0 or -errno. */
int session_init(struct worker *worker, const struct cuda_table *driver, struct wall *wall);
/*
 * Called after session_run(): waits for threads that still execute and frees the session's state; the driver frees its
 * own objects.
 */
void session_deinit(struct worker *worker);
/* Executes requests until the session ends. Value: 0: the client has gone; -EPROTO: it broke the rules. */
int session_run(struct worker *worker);

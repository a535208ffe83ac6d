/* tenant.h: a grant in service: its socket, its clients, and their waiting requests. */
#pragma once

#include "daemon/turns/arbitrate.h"
#include "daemon/event.h"
#include "daemon/health/drain.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/runtime.h"
#include "daemon/tenants/checkpoint.h"
#include "daemon/tenants/guarded.h"
#include "daemon/tenants/moving.h"
#include "daemon/tenants/objects.h"
#include "daemon/tenants/residence.h"
#include "daemon/tenants/suspension.h"
#include "daemon/tenants/yielding.h"
#include "model/grant.h"
#include "model/quarantine.h"
#include "wire/message.h"

#include <jansson.h>
#include <stdbool.h>

struct account_request;
struct caller;
struct client;
struct daemon;
struct pool;
struct pending;
struct session;

struct tenant {
	struct daemon *daemon;
	struct tenant *next;
	struct grant grant;
	char socket[RUNTIME_DIR_BYTES + 130]; /* its path */
	int listen_fd; /* -1: the socket could not be made */
	struct watch *listen;
	int wall_fd; /* the second socket, wall.h; -1: it is not walled */
	struct watch *wall;
	struct pool *pool; /* of workers; NULL: not walled */
	struct caller *callers; /* at the wall, who have said nothing yet: workers/caller.h */
	unsigned int caller_count;
	struct store *stores; /* what its programs keep on the disk: stores.h */
	struct log_limit worker_lines; /* what its workers may say in the log */
	uint64_t worker_turn; /* the number of the pool's gift that it got last */
	uint64_t worker_wish; /* the larger, the more probable is it that it wants a worker soon */
	char images[65]; /* under what images are kept beyond its end, see workers/images.h; "": not beyond it */
	struct client *clients;
	bool others_known_not; /* others.h: no page says now what the others hold */
	unsigned int client_count;
	struct session *sessions;
	unsigned int session_count;
	struct objects objects; /* shared among its processes */
	struct pending *waiting; /* requests for credit, oldest first */
	unsigned int waiting_count;
	unsigned int pass; /* over them: those of a pass have been tried in it */
	struct timer *retry; /* runs while there are any */
	struct timer *shrink; /* runs while a share shrinks */
	int bell_fd; /* meted's end of the doorbell; -1: nobody has attached yet */
	int runner_fd; /* pidfd of the command that the grant was made for; -1: none, or it has ended */
	struct watch *runner;
	bool runner_is_roots; /* root has named it, for a grant of another user's; not known any more after a restart */
	struct places places; /* its shares of the devices' time; guarded by arbitrate_lock() */
	uint64_t attached_total; /* clients that there have been */
	uint64_t expires_ns; /* it ends then if nobody has joined it; 0: not */
	struct timer *expiry;
	struct event_log events;
	struct telemetry *telemetry; /* NULL: no memory */
	uint64_t faults; /* of its programs' work, all together; faults.h */
	bool faults_unsaved;
	struct quarantine quarantine;
	struct suspension suspension;
	struct yielding yielding;
	struct moving moving;
	struct guarded guarded; /* what the guard counts */
	struct checkpointing checkpointing;
	struct drain_tries drain_tries;
};

/* Serves a grant: makes its socket. The grant is copied. On an error `error` says why and nothing is left. */
int tenant_new(struct daemon *daemon, const struct grant *grant, bool listen, struct tenant **ret, char *error,
	       size_t error_size);

/* Stops serving; clients that are attached keep their pages (leaving) or lose them. */
void tenant_free(struct tenant *tenant, bool leaving);

/* What happened to a share, by its index: an event of the tenant's, and a line in the journal. */
__attribute__((format(printf, 4, 5))) void tenant_note(struct tenant *tenant, unsigned int i, enum journal_kind kind,
						       const char *fmt, ...);

struct tenant *tenant_find(struct daemon *daemon, const char *name);
struct tenant *tenant_find_id(struct daemon *daemon, uint64_t id);

/* The grant has a runner (again): it ends with it. */
void tenant_watch_runner(struct tenant *tenant);

/*
 * True when the grant was made for a command, and that and all its processes are gone; or when nobody has joined it in
 * the time that it was to wait. `why`: which.
 */
bool tenant_ended(const struct tenant *tenant, char *why, size_t size);

/* A process has attached itself, or a container has begun: the grant waits for nobody any more. */
void tenant_joined(struct tenant *tenant);

/* The wall clock was set: what is kept by it is written anew. */
void tenant_clock_set(struct daemon *daemon);

/*
 * True when it has processes, also those between two workers, or the command that it was made for lives and may have
 * some yet.
 */
bool tenant_present(const struct tenant *tenant);

/*
 * May a process of it begin? False: `why` is the reason; *ret_own: the tenant is quarantined, for so many seconds, else
 * one of its devices is being taken out of service.
 */
bool tenant_may_begin(struct tenant *tenant, bool *ret_own, uint32_t *ret_wait_s, char *why, size_t size);

/* A client's request for credit: decided now, or kept until there is room. The session is answered in either case. */
void tenant_reserve(struct session *session, uint32_t serial, const struct account_request *request);

/* How many requests for everything that is left a client has waiting on a device. */
unsigned int tenant_waiting_all(const struct client *client, unsigned int device);

/*
 * Decides all waiting requests again, soon: something has been given back. It takes of the loop's time what the user's
 * programs have of it.
 */
void tenant_retry(struct tenant *tenant);

/* The waiting requests of a session as JSON, and back: for the meted after this one. */
json_t *tenant_waiting_json(const struct session *session);
void tenant_waiting_restore(struct session *session, const json_t *list);

/* Forgets the waiting requests of a session that ends. */
void tenant_forget(struct session *session);

/*
 * Changes shares, all or none: quota_units[i] is the new quota of share i, 0: as it is; compute[i] its share of time.
 * Value: 0; -EBUSY: more is held, `error` gives the figures (not with soon); -EAGAIN: a reservation is just being
 * settled, ask again.
 */
int tenant_change(struct tenant *tenant, const uint64_t quota_units[WIRE_MAX_DEVICES],
		  const struct grant_compute compute[WIRE_MAX_DEVICES], bool soon, char *error, size_t error_size);

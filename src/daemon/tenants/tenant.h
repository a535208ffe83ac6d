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
struct leaving;
struct pool;
struct pending;
struct session;

struct tenant {
	struct daemon *daemon;
	struct tenant *next;
	struct grant grant;
	char socket[RUNTIME_DIR_BYTES + 130]; /* its path */
	int listen_fd; /* -1: the socket could not be created */
	struct watch *listen;
	int wall_fd; /* the second socket, wall.h; -1: it is not walled */
	struct watch *wall;
	struct pool *pool; /* of workers; NULL: not walled */
	struct caller *callers; /* connections to the wall that have not identified themselves: workers/caller.h */
	unsigned int caller_count;
	struct store *stores; /* files of its programs on the disk: stores.h */
	struct log_limit worker_lines; /* limits its workers' lines in the log */
	uint64_t worker_turn; /* when it last got a worker, as a count of workers that the pool has given */
	uint64_t worker_wish; /* the larger, the more likely it needs a worker soon */
	char images[65]; /* the key under which images outlive the grant, see workers/images.h; "": they do not */
	struct client *clients;
	struct leaving *leaving; /* of clients that have ended */
	bool others_known_not; /* others.h: the clients' pages do not say at present what the others hold */
	unsigned int client_count;
	struct session *sessions;
	unsigned int session_count;
	unsigned int held_count; /* of them: programs that wait until it is resumed */
	struct objects objects; /* shared between its processes */
	struct pending *waiting; /* requests for credit, oldest first */
	unsigned int waiting_count;
	unsigned int pass; /* the current pass over them: a request is tried once per pass */
	struct timer *retry; /* runs while there are any */
	struct timer *shrink; /* runs while a share is being reduced */
	int bell_fd; /* meted's end of the doorbell; -1: no client has attached yet */
	int runner_fd; /* pidfd of the command that the grant was made for; -1: none, or it has exited */
	struct watch *runner;
	bool runner_is_roots; /* an owner has named the runner, for a grant of another user's; not known after a
			       * restart */
	struct places places; /* its shares of the devices' time; guarded by arbitrate_lock() */
	uint64_t attached_total; /* number of clients so far */
	uint64_t expires_ns; /* when it ends if no process has joined it; 0: never */
	struct timer *expiry;
	struct event_log events;
	struct telemetry *telemetry; /* NULL: no memory */
	uint64_t faults; /* errors that its programs caused; faults.h */
	bool faults_unsaved;
	struct quarantine quarantine;
	struct suspension suspension;
	struct yielding yielding;
	struct moving moving;
	struct guarded guarded; /* the guard's counts */
	struct checkpointing checkpointing;
	struct drain_tries drain_tries;
};

/*
 * Serves a grant: creates its socket. The grant is copied. On an error, `error` gives the reason and nothing remains.
 */
int tenant_new(struct daemon *daemon, const struct grant *grant, bool listen, struct tenant **ret, char *error,
	       size_t error_size);

/* Stops serving. Attached clients keep their pages if `leaving`, and otherwise lose them. */
void tenant_free(struct tenant *tenant, bool leaving);

/* Adds an event of share `i` to the tenant's events and to the journal. */
__attribute__((format(printf, 4, 5))) void tenant_note(struct tenant *tenant, unsigned int i, enum journal_kind kind,
						       const char *fmt, ...);

struct tenant *tenant_find(struct daemon *daemon, const char *name);
struct tenant *tenant_find_id(struct daemon *daemon, uint64_t id);

/* Watches the grant's (new) runner: the grant ends when it exits. */
void tenant_watch_runner(struct tenant *tenant);

/*
 * True if the grant was made for a command, and the command and all its processes have exited; or if no process has
 * joined it in time. `why`: which of the two.
 */
bool tenant_ended(const struct tenant *tenant, char *why, size_t size);

/* Cancels the expiry: a process has attached, or a container has started. */
void tenant_joined(struct tenant *tenant);

/* Rewrites stored times after the wall clock was set. */
void tenant_clock_set(struct daemon *daemon);

/*
 * True if it has processes, also those that have left one worker and have no new one yet, or the command that it was
 * made for runs and may start some.
 */
bool tenant_present(const struct tenant *tenant);

/*
 * True if a process of it may start. False: `why` is the reason. *ret_own: the tenant is quarantined, for so many
 * seconds; else one of its devices is being taken out of service.
 */
bool tenant_may_begin(struct tenant *tenant, bool *ret_own, uint32_t *ret_wait_s, char *why, size_t size);

/*
 * Decides a client's request for credit now, or keeps it until there is room. The session is answered in either case.
 */
void tenant_reserve(struct session *session, uint32_t serial, const struct account_request *request);

/* The number of a client's waiting requests for everything that is left on a device. */
unsigned int tenant_waiting_all(const struct client *client, unsigned int device);

/*
 * Decides all waiting requests again soon, because something was returned. The time counts as the user's part of the
 * loop's time.
 */
void tenant_retry(struct tenant *tenant);

/* Save the waiting requests of a session as JSON for the next meted; restore them. */
json_t *tenant_waiting_json(const struct session *session);
void tenant_waiting_restore(struct session *session, const json_t *list);

/* Drops the waiting requests of a session that closes. */
void tenant_forget(struct session *session);

/*
 * Changes shares, all or none. quota_units[i]: the new quota of share i, 0: unchanged; compute[i]: its share of time.
 * Value: 0; -EBUSY: more is held, `error` gives the figures (not with `soon`); -EAGAIN: a reservation is being settled:
 * ask again.
 */
int tenant_change(struct tenant *tenant, const uint64_t quota_units[WIRE_MAX_DEVICES],
		  const struct grant_compute compute[WIRE_MAX_DEVICES], bool soon, char *error, size_t error_size);

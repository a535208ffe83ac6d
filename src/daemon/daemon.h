/*
 * daemon.h: what the parts of meted share: the loop, the runtime directory, the tenants, the machine and the store.
 */
#pragma once

#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/health/probe.h"
#include "daemon/runtime.h"
#include "daemon/telemetry.h"
#include "daemon/workers/fence.h"
#include "model/quarantine.h"
#include "model/queue.h"
#include "model/round.h"
#include "model/spent.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DAEMON_PROTOCOL 1

struct book;
struct changes;
struct cgroups;
struct control;
struct device_watch;
struct ending;
struct http_server;
struct faults;
struct health;
struct history_store;
struct images;
struct journal;
struct limits;
struct meters;
struct pool;
struct reload;
struct residence_options;
struct store;
struct tenant;
struct trace;
struct upgrade;
struct worker;

struct daemon {
	uv_loop_t *loop;
	struct runtime runtime;
	struct store *store;
	char state_dir[GRANT_PATH_BYTES];
	struct http_server *http; /* NULL: HTTP is not served */
	struct node_meter meter;
	struct history_store *history; /* NULL: no history is kept */
	struct journal *journal;       /* events; NULL: not created yet */
	struct machine machine;
	struct book *book; /* a record of the clients' grants beside their pages; NULL: none */
	struct meters *meters; /* the counters, for the next meted; NULL: they may fall after a kill */
	struct tenant *tenants;
	struct control *controls; /* open control connections */
	unsigned int control_count;
	struct changes *changes; /* requests that wait for changes; NULL: there were none yet */
	struct spent control_time; /* time that requests of users who are not owners have taken */
	struct trace *traces;
	struct pool *pools; /* of workers */
	struct worker *workers;
	uint64_t worker_bytes; /* the most host memory that a worker has taken before it got its client */
	struct log_limit worker_lines; /* limits log lines of workers without a client */
	struct images *images; /* kept for later workers; NULL: none yet */
	struct fence_options fence; /* what confines workers */
	uint32_t fence_held;	    /* measures of the last worker that started: WORKER_FENCE_* */
	bool fence_known;	    /* a worker has started, so fence_held is valid */
	unsigned int next_uid;	    /* fence_choose_uid() */
	struct cgroups *cgroups;    /* NULL: not determined yet */
	const struct residence_options *memory; /* tenants/residence.h */
	struct reload *reload; /* the settings under trial; NULL: no reload is running */
	struct disk *disk; /* the folder of memory.disk (tenants/disk.h); NULL: none */
	uint64_t images_most_bytes; /* 0: no images are kept */
	const struct limits *limits; /* of users who are not owners; NULL: none */
	int control_fd;
	bool control_given; /* the service manager owns the socket: it remains when meted exits */
	struct watch *control_watch;
	int spare_fd;	       /* closed for a moment to accept and refuse a connection when no descriptors are left */
	struct health *health; /* devices whose state is not the default */
	struct timer *health_save, *health_again, *drain; /* health.c, drain.c */
	unsigned int health_again_ms;
	struct faults *faults; /* faults.c */
	struct queue queue;    /* requests that wait for room: tenants/waiting.h */
	struct quarantine_rule fault_rule;
	const char *guard;     /* the setting guard.grants; NULL: the default (tenants/guarded.h) */
	const char *placement; /* the setting placement.rule; NULL: the default (placing.h) */
	uint64_t container_expires_ns; /* lifetime of a container's grant that no container has used; 0: unlimited */
	struct sensors *sensors;	     /* sensor values of devices */
	struct device_watch *device_watches; /* device_watch.c */
	struct timer *reap;		     /* finds grants that have ended, and ends an idle meted */
	struct ending *endings;		     /* tenants that an operator ends */
	struct timer *end;		     /* runs while there are `endings`; NULL: there were none yet */
	struct timer *leaving;		     /* runs while memory of ended processes leaves: tenants/leaving.h */
	struct timer *residence;	     /* runs while some tenant's memory may move: tenants/residence.h */
	bool looks_soon;		     /* the residence timer fires in a moment */
	struct checkpoint_job *checkpoints;  /* children that have a driver checkpoint a program:
					      * tenants/checkpoint.h */
	struct rounds *rounds;		     /* of the loop; NULL: rounds are not distinguished */
	struct round round;		     /* time in this round that users who are not owners have used */
	struct timer *sweep;		     /* runs while connections have a time limit running */
	uint64_t idle_exit_ns;		     /* 0: meted does not exit when idle */
	uint64_t idle_since_ns;		     /* 0: not idle */
	uint64_t last_id;
	struct upgrade *upgrade; /* the running upgrade; NULL: none */
	struct timer *ask; /* after an upgrade: queries the drivers once the waiting requests are answered */
	bool stopping;
};

/* Ends grants whose command and processes have exited, at the next turn of the loop. */
void daemon_reap_soon(struct daemon *daemon);

/*
 * Starts the timer that closes connections that have not identified themselves, sent their request or read their
 * answer.
 */
void daemon_sweep_soon(struct daemon *daemon);

/*
 * Accepts one connection of a user. Value: the descriptor; -EAGAIN: there is no connection, or it was refused because
 * no descriptors are left for it.
 */
int daemon_accept(struct daemon *daemon, int listen_fd, uid_t uid);

/*
 * True if messages of the user's programs may be processed in this round of the loop; otherwise they wait for the next.
 */
bool daemon_may_hear(const struct daemon *daemon, uid_t uid);
/* Charges the user for processing that began at since_ns. */
void daemon_heard(struct daemon *daemon, uid_t uid, uint64_t since_ns);

/* True: the remaining descriptors are reserved, and this user's request must be refused. A line of the log says so. */
bool daemon_keeps_back(struct daemon *daemon, uid_t uid);

/* Serves the grants of the store, and assigns the pages of living processes to their tenants. */
int daemon_restore(struct daemon *daemon, char *error, size_t error_size);

/* Returns an id that no other grant of this machine has had. */
uint64_t daemon_new_id(struct daemon *daemon);

/* The quotas of all grants on a device, except that of `except` (may be NULL). */
uint64_t daemon_promised_bytes(struct daemon *daemon, const uint8_t *uuid, const struct tenant *except);

/* The memory that all tenants hold on a device. */
uint64_t daemon_held_bytes(struct daemon *daemon, const uint8_t *uuid);

/* The guaranteed shares of a device's time of all grants, in ppm, except that of `except` (may be NULL). */
uint32_t daemon_promised_ppm(struct daemon *daemon, const uint8_t *uuid, const struct tenant *except);

/* True if the policy of any grant other than `except` (may be NULL) divides the device's time. */
bool daemon_shares_time(struct daemon *daemon, const uint8_t *uuid, const struct tenant *except);

/* Ends the loop after the current turn. */
void daemon_stop(struct daemon *daemon);

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
	struct http_server *http; /* NULL: not served */
	struct node_meter meter;
	struct history_store *history; /* NULL: nothing is kept */
	struct journal *journal;       /* what happened; NULL: not yet there */
	struct machine machine;
	struct book *book; /* what clients may hold, beside their pages; NULL: there is none */
	struct meters *meters; /* the counters, for the meted after this one; NULL: they may fall */
	struct tenant *tenants;
	struct control *controls; /* open control connections */
	unsigned int control_count;
	struct changes *changes; /* who waits for news; NULL: nobody has yet */
	struct spent control_time; /* what requests of users who are no owners have taken */
	struct trace *traces;
	struct pool *pools; /* of workers */
	struct worker *workers;
	uint64_t worker_bytes; /* of memory of the machine: what one has taken before its client, at most */
	struct log_limit worker_lines; /* of workers without a client, in the log */
	struct images *images; /* kept for workers to come; NULL: none yet */
	struct fence_options fence; /* what closes workers in */
	uint32_t fence_held;	    /* of the last worker that came: WORKER_FENCE_* */
	bool fence_known;	    /* one has come */
	unsigned int next_uid;	    /* fence_choose_uid() */
	struct cgroups *cgroups;    /* NULL: not looked for yet */
	const struct residence_options *memory; /* tenants/residence.h */
	struct reload *reload; /* the settings that are being tried; NULL: none are */
	struct disk *disk; /* the folder of memory.disk (tenants/disk.h); NULL: none */
	uint64_t images_most_bytes; /* 0: none are kept */
	const struct limits *limits; /* of users who are no owners; NULL: none */
	int control_fd;
	bool control_given; /* the service manager's: it stays when we leave */
	struct watch *control_watch;
	int spare_fd;	       /* given up for a moment to refuse a connection when there are no descriptors left */
	struct health *health; /* devices of which there is something to say */
	struct timer *health_save, *health_again, *drain; /* health.c, drain.c */
	unsigned int health_again_ms;
	struct faults *faults; /* faults.c */
	struct queue queue;    /* of those who wait for room: tenants/waiting.h */
	struct quarantine_rule fault_rule;
	const char *guard;     /* the setting guard.grants; NULL: the usual one (tenants/guarded.h) */
	const char *placement; /* the setting placement.rule; NULL: the usual one (placing.h) */
	uint64_t container_expires_ns; /* of a container's grant that no container has begun with; 0: it stays */
	struct sensors *sensors;	     /* what devices say of themselves */
	struct device_watch *device_watches; /* device_watch.c */
	struct timer *reap;		     /* looks for grants that have ended, and for the end of an idle meted */
	struct ending *endings;		     /* of tenants at an operator's word */
	struct timer *end;		     /* runs while there are any; NULL: none has been */
	struct timer *residence;	     /* runs while some tenant's memory may move: tenants/residence.h */
	bool looks_soon;		     /* it does so in a moment */
	struct checkpoint_job *checkpoints;  /* children that have a driver act on a program: tenants/checkpoint.h */
	struct rounds *rounds;		     /* of the loop; NULL: they are not told apart */
	struct round round;		     /* what users who are no owners have had of this one */
	struct timer *sweep;		     /* runs while there are connections with too little time left */
	uint64_t idle_exit_ns;		     /* 0: stays */
	uint64_t idle_since_ns;		     /* 0: not idle */
	uint64_t last_id;
	struct upgrade *upgrade; /* under way; NULL: none */
	struct timer *ask; /* after an upgrade: begins to ask the drivers, when those who wait have been answered */
	bool stopping;
};

/* Ends grants whose command and processes are gone, at the next turn of the loop. */
void daemon_reap_soon(struct daemon *daemon);

/* There is a connection that has not said who it is, or what it wants, or has not read its answer. */
void daemon_sweep_soon(struct daemon *daemon);

/* Accepts one connection for a user. Value: the descriptor, -EAGAIN when there is none; refuses it when there is no
 * descriptor for it. */
int daemon_accept(struct daemon *daemon, int listen_fd, uid_t uid);

/* What programs of a user say may be heard in this round of the loop; if not, it will be in the next. */
bool daemon_may_hear(const struct daemon *daemon, uid_t uid);
/* It has been: since this time. */
void daemon_heard(struct daemon *daemon, uid_t uid, uint64_t since_ns);

/* True: the descriptors that are left are not for this user's things; a line of the log says so. */
bool daemon_keeps_back(struct daemon *daemon, uid_t uid);

/* Serves the grants of the store, and gives the pages of living processes back to their tenants. */
int daemon_restore(struct daemon *daemon, char *error, size_t error_size);

/* A number that no other grant of this machine had. */
uint64_t daemon_new_id(struct daemon *daemon);

/* What all grants promise of a device together, but for `except` (may be NULL). */
uint64_t daemon_promised_bytes(struct daemon *daemon, const uint8_t *uuid, const struct tenant *except);

/* What all tenants hold of a device together. */
uint64_t daemon_held_bytes(struct daemon *daemon, const uint8_t *uuid);

/* What all grants are guaranteed of a device's time together, in ppm, but for `except` (may be NULL). */
uint32_t daemon_promised_ppm(struct daemon *daemon, const uint8_t *uuid, const struct tenant *except);

/* Some grant's policy shares the device's time out, but for `except` (may be NULL). */
bool daemon_shares_time(struct daemon *daemon, const uint8_t *uuid, const struct tenant *except);

/* Ends the loop after this turn. */
void daemon_stop(struct daemon *daemon);

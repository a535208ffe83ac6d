/*
 * worker.h: a worker process, from start to exit: it waits with the driver started, and then serves a client of a
 * grant.
 */
#pragma once

#include "daemon/loop.h"
#include "daemon/workers/pledge.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WORKER_FOLDER "workers"

struct daemon;
struct handover;
struct pool;
struct tenant;
struct words;
struct worker_traffic;

enum worker_state {
	WORKER_STARTING,
	WORKER_IDLE,
	WORKER_BUSY,
};

struct image_room;

struct worker {
	struct worker *next; /* in the daemon's list */
	struct daemon *daemon;
	struct pool *pool; /* until it has a client; NULL afterwards, or when its pool has gone */
	enum worker_state state;
	uint64_t grant_id; /* busy: the grant of its client */
	pid_t pid;
	uid_t uid;	/* a user id of its own; 0: mete-worker's, or meted's own */
	uint32_t fence; /* the measures that it reported */
	uint64_t entered; /* the grant whose cgroup it is in; 0: none */
	int control_fd;
	struct watch *watch;
	int images_fd; /* images.h; -1: none */
	struct watch *images;
	struct image_room *rooms; /* images that are being sent to the worker */
	uv_process_t process;
	bool child; /* `process` is open: this meted started it */
	int pidfd;  /* of a worker that an earlier meted started; -1: none */
	struct watch *end;
	uint64_t began_ns;
	uint64_t given_ns; /* busy: when it got its client, or this meted found it with one */
	char place[64];			/* its socket in the runtime directory */
	struct words *words;		/* its output; NULL: it is not read */
	bool returns;			/* busy: its client was with another worker, and may not have settled yet */
	struct pledge pledge;		/* busy: for its contexts, until it attaches */
	struct worker_traffic *traffic; /* counts its traffic; NULL: not counted */
};

/* Starts one for the pool. Value: 0, or -errno with the reason. */
int worker_start(struct daemon *daemon, struct pool *pool, struct worker **ret, char *error, size_t size);
/*
 * Hands a client's connection over, closes it here, and takes the pledge. False: the worker has exited, and the caller
 * still owns both.
 */
bool worker_give(struct worker *worker, struct tenant *tenant, int client_fd, struct pledge *pledge);
/* Moves the waiting worker to this tenant's cgroup. */
void worker_aim(struct worker *worker, struct tenant *tenant);
/*
 * Messages of a worker with a client are processed in its user's part of the loop's round, as messages of programs are,
 * and their time is charged to it; those of a worker without a client are processed at once.
 */
bool worker_may_speak(const struct worker *worker);
void worker_spoke(struct daemon *daemon, uint64_t grant_id, uint64_t since_ns);
/* Releases it: a waiting worker ends, one with a client continues. */
void worker_free(struct worker *worker);
/* The worker with this pid that has a client, or NULL. */
struct worker *worker_find(struct daemon *daemon, pid_t pid);
/* The number of workers with a client of this grant. */
unsigned int worker_count(struct daemon *daemon, uint64_t grant_id);
/* The number of workers with a client. */
unsigned int worker_count_all(struct daemon *daemon);
/* Ends the workers of a grant that ends. */
void worker_end(struct daemon *daemon, uint64_t grant_id);
/* After a restart: finds the workers that have clients; after a handover, all of them. */
void worker_restore(struct daemon *daemon);
/* All of them as JSON for the next meted, which has the same children. */
json_t *worker_save(const struct daemon *daemon, struct handover *h);
/*
 * Takes over a worker that another meted started, and the descriptor. NULL: no memory. worker_watch_process() reports
 * the process's exit, whether it is a child or not; it takes the pidfd.
 */
struct worker *worker_adopt(struct daemon *daemon, enum worker_state state, pid_t pid, const char *place,
			    int take_control_fd);
bool worker_watch_process(struct worker *worker, int take_pidfd);
/* The address of a place in the runtime directory. */
struct sockaddr_un;
void worker_address(struct daemon *daemon, const char *place, struct sockaddr_un *ret);
/* Releases all of them when meted exits. */
void worker_leave(struct daemon *daemon);
/* mete-worker beside meted, or "". */
const char *worker_path(void);

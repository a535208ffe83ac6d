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
	struct worker *next; /* of the daemon's */
	struct daemon *daemon;
	struct pool *pool; /* until it has a client; NULL afterwards, or when its pool has gone */
	enum worker_state state;
	uint64_t grant_id; /* busy: whose client it has */
	pid_t pid;
	uid_t uid;	/* that it has alone; 0: it is mete-worker's, or meted's own */
	uint32_t fence; /* what it said it has */
	uint64_t entered; /* the grant whose cgroup it is in; 0: none */
	int control_fd;
	struct watch *watch;
	int images_fd; /* images.h; -1: it has no such connection */
	struct watch *images;
	struct image_room *rooms; /* images that are on their way to the worker */
	uv_process_t process;
	bool child; /* `process` is open: we have started it */
	int pidfd;  /* of one that a meted before this one has started; -1: none */
	struct watch *end;
	uint64_t began_ns;
	char place[64];			/* its socket in the runtime directory */
	struct words *words;		/* what it writes; NULL: nobody listens */
	bool returns;			/* busy: its client was with another worker, and is not known to have settled */
	struct pledge pledge;		/* busy: of its contexts, until it attaches */
	struct worker_traffic *traffic; /* what goes through it; NULL: it is not counted */
};

/* Starts one for the pool. 0 or -errno, with the reason. */
int worker_start(struct daemon *daemon, struct pool *pool, struct worker **ret, char *error, size_t size);
/* Hands a client's connection over, closes it here, and takes the pledge. False: the worker is gone, and both are still
 * the caller's. */
bool worker_give(struct worker *worker, struct tenant *tenant, int client_fd, struct pledge *pledge);
/* It waits in this tenant's cgroup from now on. */
void worker_aim(struct worker *worker, struct tenant *tenant);
/*
 * What one with a client says is heard within its user's part of the loop's round, as what programs say, and counts as
 * time of that; of one without a client at once.
 */
bool worker_may_speak(const struct worker *worker);
void worker_spoke(struct daemon *daemon, uint64_t grant_id, uint64_t since_ns);
/* Lets go of it: a waiting worker ends, one with a client goes on. */
void worker_free(struct worker *worker);
/* The one of this pid that has a client, or NULL. */
struct worker *worker_find(struct daemon *daemon, pid_t pid);
/* How many have a client of this grant. */
unsigned int worker_count(struct daemon *daemon, uint64_t grant_id);
/* How many have a client. */
unsigned int worker_count_all(struct daemon *daemon);
/* The grant ends: so do the workers under it. */
void worker_end(struct daemon *daemon, uint64_t grant_id);
/* After a restart: finds the workers that have clients; or, where they were handed over, all that there are. */
void worker_restore(struct daemon *daemon);
/* All of them as JSON, for the meted after this one, which has the same children. */
json_t *worker_save(const struct daemon *daemon, struct handover *h);
/*
 * One that another meted has started; takes the descriptor. NULL: no memory. worker_watch_process() makes us hear of
 * the process's end, be it our child or not; it takes the pidfd.
 */
struct worker *worker_adopt(struct daemon *daemon, enum worker_state state, pid_t pid, const char *place,
			    int take_control_fd);
bool worker_watch_process(struct worker *worker, int take_pidfd);
/* Of a place in the runtime directory. */
struct sockaddr_un;
void worker_address(struct daemon *daemon, const char *place, struct sockaddr_un *ret);
/* meted leaves. */
void worker_leave(struct daemon *daemon);
/* mete-worker beside meted, or "". */
const char *worker_path(void);

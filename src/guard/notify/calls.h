/*
 * calls.h: a tenant's call of the driver, made in its place: copied, judged, charged, made on a duplicate of its
 * descriptor, and answered. The program's memory is read once; nothing that it changes afterwards matters.
 *
 * What a call points to is copied as well and the pointers are replaced. A call is only made when no other word of it
 * leads into this process's own memory: then the driver finds nothing behind a pointer that this table does not know,
 * and refuses the call. Calls that name the caller's own pages (a host memory object by its address) are made with the
 * same pages mapped here, where the program's mapping is one that can be shared; else they are refused.
 *
 * A client of the resource manager ends with the file that made it. The file is watched by an epoll set, which holds no
 * reference: an entry that is gone from it is a file whose release has begun (calls_sweep). The driver frees a moment
 * later: a client is gone when its name can be had.
 */
#pragma once

#include "guard/classify.h"
#include "guard/tenants.h"

#include <stdbool.h>
#include <sys/types.h>

#define CALLS_RANGES_MOST 512u
#define CALLS_CLIENTS_MOST 2048u

struct calls {
	struct tenant_account *account;
	struct guard_terms terms;
	uint64_t devices; /* bit n: minor n */
	bool observes;	  /* writes each call that is refused or fails to standard error */
	uint32_t groups_most, major;
	int watch_fd, watch_info_fd; /* the epoll set, and its description in /proc */
	struct {
		uint64_t from, to;
	} range[CALLS_RANGES_MOST]; /* mapped memory of this process */
	size_t range_count;
	uint64_t lowest, highest;	     /* of all ranges; most words lie outside */
	uint32_t client[CALLS_CLIENTS_MOST]; /* by the number under which it is watched; 0: free */
	uint64_t released_ns[CALLS_CLIENTS_MOST]; /* when the release of its file was seen; 0: not released */
	int control_fd;				  /* a control file of the supervisor, to check whether a client is
						   * gone; -1 */
};

/* The task that waits for the answer of a call. */
struct caller {
	pid_t tid;
	int pidfd;
	int listener; /* for the notification `id` */
	uint64_t id;
};

/* Value: 0 or -errno. Afterwards this process maps nothing more, except pages of a program during a call. */
int calls_begin(struct calls *c);
/* Records this process's mappings; the last step before the first call. Value: 0 or -errno. */
int calls_ranges_read(struct calls *c);
/*
 * Makes one call of a task on `fd`, a descriptor of this process; `command`, `argument` as given by the program. Value:
 * 0 or -errno, for the program.
 */
int calls_make(struct calls *c, const struct caller *caller, int fd, unsigned int command, uint64_t argument);
/* False: it has ended, or a signal has cancelled its call. Its id may be reused by now. */
bool caller_waits(const struct caller *caller);
/* Refunds what clients of released files had. Value: true if there were any. */
bool calls_sweep(struct calls *c);

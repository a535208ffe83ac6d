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
	bool observes;	  /* each call that is refused or fails stands on standard error */
	uint32_t groups_most, major;
	int watch_fd, watch_info_fd; /* the epoll set, and what /proc says of it */
	struct {
		uint64_t from, to;
	} range[CALLS_RANGES_MOST]; /* of this process's memory */
	size_t range_count;
	uint64_t lowest, highest;	     /* of all; most words lie outside */
	uint32_t client[CALLS_CLIENTS_MOST]; /* by the number that it is watched under; 0: free */
	uint64_t released_ns[CALLS_CLIENTS_MOST]; /* when its file's release was seen; 0: not */
	int control_fd;				  /* a control file of our own, to ask whether a client is gone; -1 */
};

/* Who waits for the answer of a call. */
struct caller {
	pid_t tid;
	int pidfd;
	int listener; /* of the notification `id` */
	uint64_t id;
};

/* 0 or -errno. Afterwards this process maps nothing more, but pages of a program's while a call is made. */
int calls_begin(struct calls *c);
/* What this process maps now; the last step before the first call. -errno */
int calls_ranges_read(struct calls *c);
/*
 * Makes one call of a task on `fd`, which is here; `command`, `argument` as the program gave them. Value: 0 or -errno,
 * for the program.
 */
int calls_make(struct calls *c, const struct caller *caller, int fd, unsigned int command, uint64_t argument);
/* False: it has ended, or a signal has taken its call back. Its number may be another's by now. */
bool caller_waits(const struct caller *caller);
/* Gives back what clients had whose files are released. Value: whether there were any. */
bool calls_sweep(struct calls *c);

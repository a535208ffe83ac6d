/*
 * identity.h: the user that a worker becomes.
 *
 * Where meted is root, each worker has a user id of its own, which no user of the machine has (meted chooses it);
 * otherwise it becomes mete-worker, or nobody. Without the right to change users it keeps its own.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct identity {
	uid_t uid;
	gid_t gid;
	bool leaves; /* it changes to that user */
	bool own;    /* no other process runs as that user */
};

/* `wanted`: the id that meted has chosen; 0: none. Logs a line if a user of the machine has that id. */
void identity_choose(struct identity *ret, uid_t wanted);
/* Changes the user of all threads, which thereby lose their privileges. Value: 0 or -errno. */
int identity_take(const struct identity *identity);

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
	bool leaves; /* it becomes that user */
	bool own;    /* which nothing else runs as */
};

/* `wanted`: the number that meted has chosen; 0: none. Says in a line when a user of the machine has that number. */
void identity_choose(struct identity *ret, uid_t wanted);
/* For all threads, whose privileges go with it. 0 or -errno. */
int identity_take(const struct identity *identity);

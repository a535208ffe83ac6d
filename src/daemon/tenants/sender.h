/*
 * sender.h: sends meted's signals to processes that a user has named, with no more rights than that user has.
 *
 * The kernel decides at the moment of the signal: a child that has changed to that user sends it. The signal therefore
 * reaches what the user could end: their own processes, and those in user namespaces that they have created
 * (containers without root). A process whose user ids differ from each other is executing a set-user-id program: it
 * counts as nobody's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SENDER_CHECK 0 /* signal number 0: only checks whether a signal would be permitted */

struct sender_target {
	pid_t pid;
	int pidfd;  /* of the same process */
	uid_t uid;  /* the user with whose rights it is sent; for meted's own user, meted sends it */
	int result; /* 0; -EPERM: the process is not that user's; -ESRCH: it has ended; or another -errno */
};

/* Sends all of them a signal, and sets their results. Blocks for about a millisecond. */
void sender_tell(struct sender_target *targets, size_t count, int number);

/* True if all user ids of the process are this one. */
bool sender_is_of(pid_t pid, int pidfd, uid_t uid);

/*
 * deadline.h: work that ends in time, whatever it waits for: a file system that never answers, a pipe, meted.
 *
 * It is done by a child, since a process that waits for a file system may hear nothing but SIGKILL.
 */
#pragma once

enum deadline {
	DEADLINE_KEPT,
	DEADLINE_PASSED, /* the child was killed */
	DEADLINE_DIED,	 /* there is no child, or something else has killed it */
};

/* Does work(owner) in a child, where what it changes stays. *ret: what it returned, 0 to 255, if it was in time. */
enum deadline deadline_do(int (*work)(void *owner), void *owner, unsigned int seconds, int *ret);

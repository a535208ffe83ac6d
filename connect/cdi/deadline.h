/*
 * deadline.h: work with a time limit, whatever it waits for: a file system that never answers, a pipe, meted.
 *
 * A child does the work, because a process that waits for a file system may react only to SIGKILL.
 */
#pragma once

enum deadline {
	DEADLINE_KEPT,
	DEADLINE_PASSED, /* the child was killed */
	DEADLINE_DIED,	 /* there is no child, or something else has killed it */
};

/*
 * Runs work(owner) in a child; changes that it makes in memory stay in the child. *ret: its return value, 0 to 255, if
 * it was in time.
 */
enum deadline deadline_do(int (*work)(void *owner), void *owner, unsigned int seconds, int *ret);

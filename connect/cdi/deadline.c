/* deadline.c: see deadline.h. */
#include "connect/cdi/deadline.h"

#include "base/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Value: false: the time is over. */
static bool ends_within(pid_t child, unsigned int seconds)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r;

	do
		r = poll(&p, 1, (int)seconds * 1000);
	while (r < 0 && errno == EINTR);
	return fd >= 0 && r > 0;
}

enum deadline deadline_do(int (*work)(void *owner), void *owner, unsigned int seconds, int *ret)
{
	pid_t parent = getpid(), child = fork();
	bool in_time;
	int status;

	if (child < 0)
		return DEADLINE_DIED;
	if (!child) {
		/* A runtime that loses patience kills the parent alone. */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
			_exit(EXIT_FAILURE);
		exit(work(owner));
	}
	in_time = ends_within(child, seconds);
	if (!in_time)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!in_time)
		return DEADLINE_PASSED;
	*ret = WEXITSTATUS(status);
	return WIFEXITED(status) ? DEADLINE_KEPT : DEADLINE_DIED;
}

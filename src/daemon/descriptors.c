/* descriptors.c: see descriptors.h. */
#include "daemon/descriptors.h"

#include "daemon/daemon.h"
#include "daemon/owner.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define KEPT 64u /* of few descriptors a quarter */

void descriptors_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* A new descriptor has the lowest number that is free (dup(2)): all below it are in use. */
bool descriptors_left(const struct daemon *daemon, uid_t uid)
{
	struct rlimit limit;
	rlim_t kept;
	int fd;

	if (owner_is(uid) || getrlimit(RLIMIT_NOFILE, &limit))
		return true;
	fd = fcntl(daemon->spare_fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return false;
	close(fd);
	kept = limit.rlim_cur / 4 < KEPT ? limit.rlim_cur / 4 : KEPT;
	return (rlim_t)fd < limit.rlim_cur - kept;
}

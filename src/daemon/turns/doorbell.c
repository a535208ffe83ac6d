/* doorbell.c: the pipe that a tenant's processes wake meted with. */
#include "daemon/turns/doorbell.h"

#include "base/cleanup.h"
#include "daemon/tenants/tenant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define BELL_BYTES 4096 /* one page, 512 rings */

/* The same pipe once more, for reading and writing, with flags of its own. */
static int open_again(int end)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", end);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* meted's own is a writer too: a pipe without one would hang up, and never cease to say so. */
static int make(struct tenant *tenant)
{
	int ends[2], fd;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	fd = open_again(ends[0]);
	close(ends[0]);
	close(ends[1]);
	if (fd < 0)
		return fd;
	fcntl(fd, F_SETPIPE_SZ, BELL_BYTES);
	tenant->bell_fd = fd;
	return 0;
}

int doorbell_for_client(struct tenant *tenant)
{
	int r = tenant->bell_fd < 0 ? make(tenant) : 0;

	return r ? r : open_again(tenant->bell_fd);
}

void doorbell_quiet(int bell_fd)
{
	char rings[BELL_BYTES];
	ssize_t n = read(bell_fd, rings, sizeof(rings));

	(void)n; /* somebody has read it before */
}

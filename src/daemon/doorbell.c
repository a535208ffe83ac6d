/* doorbell.c: the pipe that a tenant's processes wake meted with. */
#include "daemon/doorbell.h"

#include "base/cleanup.h"
#include "daemon/tenant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define BELL_BYTES 4096 /* one page, 512 rings */

static int make(struct tenant *tenant)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	close(ends[1]);
	fcntl(ends[0], F_SETPIPE_SZ, BELL_BYTES);
	tenant->bell_fd = ends[0];
	return 0;
}

/* Opened anew for each: a process that changes the flags of its descriptor changes them for itself. */
int doorbell_for_client(struct tenant *tenant)
{
	char path[32];
	int fd, r;

	if (tenant->bell_fd < 0) {
		r = make(tenant);
		if (r)
			return r;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", tenant->bell_fd);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

void doorbell_quiet(int bell_fd)
{
	char rings[BELL_BYTES];
	ssize_t n = read(bell_fd, rings, sizeof(rings));

	(void)n; /* somebody has read it before */
}

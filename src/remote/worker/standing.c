/* standing.c: see standing.h. Giving up is permitted to everybody; what was lowered by hand stays as it is. */
#include "remote/worker/standing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define OOM_FILE "/proc/self/oom_score_adj"

static void reset_nice(void)
{
	errno = 0;
	if (getpriority(PRIO_PROCESS, 0) < 0 && !errno)
		setpriority(PRIO_PROCESS, 0, 0);
}

static void reset_oom(void)
{
	int fd = open(OOM_FILE, O_RDWR | O_CLOEXEC);
	char text[16] = "";
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	if (n > 0 && atoi(text) < 0)
		n = pwrite(fd, "0\n", 2, 0);
	(void)n; /* a kernel that will not: it stays as it is */
	close(fd);
}

void standing_reset(void)
{
	reset_nice();
	reset_oom();
}

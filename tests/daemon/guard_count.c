/*
 * guard_count.c: what mete-guard writes down, written by the same functions: guard_count GRANT QUOTA USED REFUSED
 * KILLED [AGO_S [GROUPS [FRONT [CGROUP]]]], bytes. Into the folder that METE_GUARD_COUNTS names.
 */
#include "guard/classify.h"
#include "guard/counts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct guard_count c = { .front = GUARD_FRONT_NOTIFY, .last_reason = GUARD_QUOTA, .last_pid = 4711 };
	char path[512];
	int fd;

	umask(022);
	if (argc < 6 || counts_begin())
		return 1;
	c.grant = strtoull(argv[1], NULL, 10);
	c.quota = strtoull(argv[2], NULL, 10);
	c.used = c.peak = strtoull(argv[3], NULL, 10);
	c.refused = strtoull(argv[4], NULL, 10);
	c.killed = strtoull(argv[5], NULL, 10);
	c.channel_groups = argc > 7 ? strtoull(argv[7], NULL, 10) : 0;
	if (argc > 8)
		c.front = (uint32_t)strtoul(argv[8], NULL, 10);
	if (argc > 9)
		snprintf(c.cgroup, sizeof c.cgroup, "%s", argv[9]);
	if (counts_put(&c))
		return 1;
	if (argc < 7)
		return 0;
	/* As one that was written so long ago. */
	c.written_ns -= strtoull(argv[6], NULL, 10) * 1000000000u;
	snprintf(path, sizeof path, "%s/%s", counts_folder(), argv[1]);
	fd = open(path, O_WRONLY);
	return fd < 0 || pwrite(fd, &c, sizeof c, 0) != sizeof c;
}

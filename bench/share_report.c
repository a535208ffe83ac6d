/* share_report.c: the files of share_report.h, mapped. */
#include "share_report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *map(const char *path, size_t bytes, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);
	void *p = MAP_FAILED;

	if (fd >= 0 && (!(flags & O_CREAT) || !ftruncate(fd, (off_t)bytes)))
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	return p;
}

struct report *report_open(const char *prefix, unsigned index)
{
	char path[4096];
	struct report *r;

	snprintf(path, sizeof(path), "%s.%u", prefix, index);
	r = map(path, sizeof(*r), O_RDWR | O_CREAT);
	r->pid = (uint64_t)getpid();
	r->magic = REPORT_MAGIC;
	return r;
}

const struct report_times *report_times_open(const char *path)
{
	return map(path, sizeof(struct report_times), O_RDWR);
}

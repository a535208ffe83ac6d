/*
 * link_counts.c: see link_counts.h.
 *
 * The counts lie in the file itself, mapped, so that they are there however the program ends.
 */
#include "remote/client/link_counts.h"
#include "base/raw_fd.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#define RECORD_BYTES ((sizeof(struct link_counts) + PAGE - 1) / PAGE * PAGE)

/* FILE with %p as the process's number. False: too long. */
static bool expand(const char *name, char *path, size_t size)
{
	const char *at = strstr(name, "%p");
	int n;

	if (at)
		n = snprintf(path, size, "%.*s%d%s", (int)(at - name), name, (int)syscall(SYS_getpid), at + 2);
	else
		n = snprintf(path, size, "%s", name);
	return n > 0 && (size_t)n < size;
}

static struct link_counts *map_record(int fd)
{
	struct stat st;
	void *at;
	off_t offset;

	if (syscall(SYS_fstat, fd, &st) < 0)
		return NULL;
	offset = (st.st_size + (off_t)PAGE - 1) / (off_t)PAGE * (off_t)PAGE;
	if (syscall(SYS_ftruncate, fd, offset + (off_t)RECORD_BYTES) < 0)
		return NULL;
	at = mmap(NULL, RECORD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	return at == MAP_FAILED ? NULL : at;
}

struct link_counts *link_counts_open(struct link_counts *own)
{
	const char *name = getenv("METE_REMOTE_STATS");
	struct link_counts *counts = NULL;
	int saved = errno;
	char path[PATH_MAX];
	long fd;

	if (name && *name && expand(name, path, sizeof(path))) {
		fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0)
			counts = map_record((int)fd);
		if (fd >= 0)
			raw_fd_close((int)fd);
	}
	if (!counts)
		counts = own;
	memcpy(counts->magic, "metelink", sizeof(counts->magic));
	counts->pid = (uint64_t)syscall(SYS_getpid);
	errno = saved;
	return counts;
}

void link_counts_close(struct link_counts *counts, struct link_counts *own)
{
	if (counts == own)
		return;
	memcpy(own, counts, sizeof(*own));
	munmap(counts, RECORD_BYTES);
}

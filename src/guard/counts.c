/* counts.c: see counts.h. */
#include "guard/counts.h"

#include "base/cleanup.h"
#include "guard/dmem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define VERSION 1u

const char *counts_folder(void)
{
	const char *named = secure_getenv("METE_GUARD_COUNTS");

	return named && *named == '/' ? named : GUARD_COUNTS;
}

const char *counts_front_name(uint32_t front)
{
	static const char *const names[GUARD_FRONTS] = { "bpf", "notify", "dmem" };

	return front < GUARD_FRONTS ? names[front] : "unknown";
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t counts_age_ns(const struct guard_count *count)
{
	uint64_t now = now_ns();

	return now > count->written_ns ? now - count->written_ns : 0;
}

/* The folder, or -errno: -EPERM where others may write to it. */
static int folder_open(void)
{
	int fd = open(counts_folder(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat s;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &s) && (!s.st_uid || s.st_uid == geteuid()) && !(s.st_mode & 022))
		return fd;
	close(fd);
	return -EPERM;
}

int counts_begin(void)
{
	int fd;

	if (mkdir(counts_folder(), 0755) && errno != EEXIST)
		return -errno;
	fd = folder_open();
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void name_of(uint64_t grant, char name[32])
{
	snprintf(name, 32, "%llu", (unsigned long long)grant);
}

int counts_put(struct guard_count *count)
{
	_cleanup_close_ int folder = folder_open(), fd = -1;
	char name[32];

	if (folder < 0)
		return folder;
	name_of(count->grant, name);
	fd = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	count->version = VERSION;
	count->written_ns = now_ns();
	/* Odd in the file while the rest is written: whoever reads then finds another number at the end. */
	if (pread(fd, &count->serial, sizeof count->serial, offsetof(struct guard_count, serial)) < 0)
		return -errno;
	count->serial |= 1;
	if (pwrite(fd, &count->serial, sizeof count->serial, offsetof(struct guard_count, serial)) < 0)
		return -errno;
	count->serial++;
	return pwrite(fd, count, sizeof *count, 0) == sizeof *count ? 0 : -EIO;
}

void counts_drop(uint64_t grant)
{
	_cleanup_close_ int folder = folder_open();
	char name[32];

	name_of(grant, name);
	if (folder >= 0)
		unlinkat(folder, name, 0);
}

static uint64_t serial_of(int fd)
{
	uint64_t serial = 1;

	return pread(fd, &serial, sizeof serial, offsetof(struct guard_count, serial)) == sizeof serial ? serial : 1;
}

int counts_get(uint64_t grant, struct guard_count *ret)
{
	_cleanup_close_ int folder = folder_open(), fd = -1;
	char name[32];

	if (folder < 0)
		return folder;
	name_of(grant, name);
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (int i = 0; i < 3; i++) {
		uint64_t before = serial_of(fd);

		if (pread(fd, ret, sizeof *ret, 0) != sizeof *ret)
			return -EIO;
		if (before & 1 || ret->serial != before || serial_of(fd) != before)
			continue;
		ret->cgroup[sizeof ret->cgroup - 1] = 0;
		/* Others keep this one: the kernel says what it is now. */
		if (ret->front == GUARD_FRONT_DMEM && !dmem_current(ret->cgroup, &ret->used)) {
			ret->peak = ret->used > ret->peak ? ret->used : ret->peak;
			ret->written_ns = now_ns();
		}
		return ret->version == VERSION && ret->grant == grant ? 0 : -EPROTO;
	}
	return -EAGAIN;
}

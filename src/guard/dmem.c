/* dmem.c: see dmem.h. Reads and writes short files. */
#include "guard/dmem.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH 512

__attribute__((format(printf, 3, 4))) static int say(char *why, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, DMEM_WHY, fmt, ap);
	va_end(ap);
	return r;
}

const char *dmem_root(void)
{
	const char *named = secure_getenv("METE_GUARD_CGROUP");

	return named && *named == '/' ? named : "/sys/fs/cgroup";
}

static FILE *file_open(const char *folder, const char *name)
{
	char path[PATH];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return fopen(path, "re");
}

static int file_write(const char *folder, const char *name, const char *text)
{
	char path[PATH];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* "nvidia/0000:01:00.0/vidmem 85520809984": the next region of the device. */
static bool region_next(FILE *f, const char *bus, char name[128], uint64_t *ret_bytes)
{
	char line[256], word[32];

	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%127s %31s", name, word) != 2 || (bus && !strcasestr(name, bus)))
			continue;
		*ret_bytes = !strcmp(word, "max") ? UINT64_MAX : strtoull(word, NULL, 10);
		return true;
	}
	return false;
}

bool dmem_there(const char *bus)
{
	_cleanup_fclose_ FILE *f = file_open(dmem_root(), "dmem.capacity");
	char name[128];
	uint64_t bytes;

	return region_next(f, bus, name, &bytes);
}

/* The controller, in every cgroup between the root's and this one. */
static void controller_enable(const char *cgroup)
{
	size_t root = strlen(dmem_root());
	char path[PATH];

	snprintf(path, sizeof path, "%s", cgroup);
	for (char *at = path + root; at && *at; at = strchr(at + 1, '/')) {
		*at = 0;
		file_write(path, "cgroup.subtree_control", "+dmem");
		*at = '/';
	}
}

static int limit_check(const char *cgroup, const char *region, uint64_t bytes)
{
	_cleanup_fclose_ FILE *f = file_open(cgroup, "dmem.max");
	char name[128];
	uint64_t is;

	while (region_next(f, region, name, &is))
		if (!strcmp(name, region))
			/* The kernel rounds down to pages. */
			return is <= bytes && bytes - is < 65536 ? 0 : -ERANGE;
	return -ENOENT;
}

int dmem_limit(const char *cgroup, const char *bus, uint64_t bytes, char *why)
{
	_cleanup_fclose_ FILE *f = file_open(dmem_root(), "dmem.capacity");
	char name[128], text[192];
	unsigned int regions = 0;
	uint64_t capacity;

	if (strncmp(cgroup, dmem_root(), strlen(dmem_root())))
		return say(why, -EINVAL, "%s is not below %s", cgroup, dmem_root());
	controller_enable(cgroup);
	for (; region_next(f, bus, name, &capacity); regions++) {
		int r;

		snprintf(text, sizeof text, "%s %llu", name, (unsigned long long)bytes);
		r = file_write(cgroup, "dmem.max", text);
		if (r == -ENOENT)
			return say(why, -ENOTSUP,
				   "%s has no dmem.max: the controller is not enabled in the cgroups above it", cgroup);
		if (!r)
			r = limit_check(cgroup, name, bytes);
		if (r)
			return say(why, r, "%s/dmem.max does not take \"%s\" (%s)", cgroup, text, strerror(-r));
	}
	return regions ? 0 : say(why, -ENOTSUP, "the kernel counts no memory of device %s (dmem.capacity)", bus);
}

int dmem_current(const char *cgroup, uint64_t *ret)
{
	_cleanup_fclose_ FILE *f = file_open(cgroup, "dmem.current");
	char name[128];
	uint64_t bytes;

	*ret = 0;
	if (!f)
		return -errno;
	while (region_next(f, NULL, name, &bytes))
		*ret += bytes;
	return 0;
}

int dmem_cgroup(const char *name, char *path, char *why)
{
	char above[96];

	snprintf(above, sizeof above, "%s/mete-guard", dmem_root());
	snprintf(path, 128, "%s/%s", above, name);
	if ((mkdir(above, 0755) && errno != EEXIST) || (mkdir(path, 0755) && errno != EEXIST))
		return say(why, -errno, "the cgroup %s cannot be made (%s)", path, strerror(errno));
	return 0;
}

/* segment_file.c: see segment_file.h. */
#include "softdev/segment_file.h"

#include "base/cleanup.h"
#include "base/setting.h"
#include "base/soft_dir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Ours, and nobody else can write to it. In a container it may be a common one, as /tmp is (sticky): meted makes the
 * folder like that, because an image's programs may be of any user. Elsewhere it may not: what is read there is trusted
 * (base/soft_dir.h).
 */
static bool dir_fits(const struct stat *st)
{
	if (!S_ISDIR(st->st_mode))
		return false;
	if (st->st_mode & 022)
		return st->st_mode & S_ISVTX && setting_inside();
	return st->st_uid == geteuid();
}

static int dir_open(const char *dir, char *why, size_t why_bytes)
{
	struct stat st;

	if (mkdir(dir, 0700) && errno != EEXIST) {
		int r = -errno;

		snprintf(why, why_bytes, "software device: cannot make %s: %s", dir, strerror(-r));
		return r;
	}
	if (lstat(dir, &st) || !dir_fits(&st)) {
		snprintf(why, why_bytes,
			 "software device: %s is not a directory of this user alone; remove it or set METE_SOFT_DIR",
			 dir);
		return -EPERM;
	}
	return 0;
}

int segment_dir_find(char dir[200], char *why, size_t why_bytes)
{
	const char *asked = setting_get("METE_SOFT_DIR");

	if (asked && asked[0] && (strlen(asked) >= 160 || asked[0] != '/')) {
		snprintf(why, why_bytes,
			 "software device: METE_SOFT_DIR=%.60s: give an absolute path of at most 159 bytes", asked);
		return -EINVAL;
	}
	soft_dir_find(dir, 200);
	return dir_open(dir, why, why_bytes);
}

/*
 * The segment's file in a process that is going to lose the right to open files (METE_SOFT_SEALED=1: a worker behind a
 * wall), to ask who lives. Elsewhere no descriptor is kept in somebody's process.
 */
static _Atomic int kept_fd = -1;

int segment_file_open(const char *dir)
{
	char path[PATH_MAX];
	int fd, kept = atomic_load_explicit(&kept_fd, memory_order_relaxed);

	snprintf(path, sizeof(path), "%s/segment", dir);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && kept >= 0 && (errno == EPERM || errno == EACCES))
		fd = fcntl(kept, F_DUPFD_CLOEXEC, 0);
	return fd;
}

void segment_file_keep(const char *dir)
{
	const char *sealed = getenv("METE_SOFT_SEALED");

	if (sealed && !strcmp(sealed, "1") && atomic_load_explicit(&kept_fd, memory_order_relaxed) < 0)
		atomic_store_explicit(&kept_fd, segment_file_open(dir), memory_order_relaxed);
}

void segment_object_path(const char *dir, uint64_t id, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/object-%llu", dir, (unsigned long long)id);
}

/* Whether a lock of somebody else lies on [start, start + length). */
bool segment_file_locked(int fd, int64_t start, int64_t length)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = length };

	return !fcntl(fd, F_OFD_GETLK, &l) && l.l_type != F_UNLCK;
}

int segment_file_lock(int fd, short type, int64_t start)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &l) ? -errno : 0;
}

bool segment_place_alive(int fd, uint32_t index)
{
	return segment_file_locked(fd, SEGMENT_TOKEN_BASE + index, 1);
}

bool segment_alive(const struct segment_place *p, uint32_t index)
{
	_cleanup_close_ int fd = segment_file_open(p->dir);

	if (fd >= 0)
		return segment_place_alive(fd, index);
	/* The folder has been removed: nobody's lock can be asked for any more. */
	return errno != ENOENT || !segment_process_gone(&p->segment->process[index]);
}

bool segment_maker_alive(const struct segment *s, const char *dir, const struct segment_object *o)
{
	_cleanup_close_ int fd = -1;

	for (uint32_t i = 0; i < s->places && i < SEGMENT_MAX_PROCESSES; i++) {
		const struct segment_process *p = &s->process[i];

		if (!p->kind || p->pid != o->owner_pid || p->start_time != o->owner_start_time)
			continue;
		if (fd < 0)
			fd = segment_file_open(dir);
		if (fd < 0 || segment_place_alive(fd, i))
			return true;
	}
	return false;
}

bool segment_object_alive(const struct segment *s, const char *dir, const struct segment_object *o)
{
	char path[PATH_MAX];
	_cleanup_close_ int fd = -1;

	segment_object_path(dir, o->id, path);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno != ENOENT; /* no descriptor to be had is no proof of death */
	return segment_file_locked(fd, SEGMENT_HELD, 1) ||
	       (segment_file_locked(fd, SEGMENT_GIVEN, 1) && segment_maker_alive(s, dir, o));
}

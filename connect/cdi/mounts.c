/* mounts.c: see mounts.h. */
#include "connect/cdi/mounts.h"

#include "base/cleanup.h"
#include "client/place.h"
#include "connect/cdi/bind.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A rootless container's namespace belongs to a user namespace that has to be entered first. */
static int enter(pid_t pid, struct fault *f)
{
	_cleanup_close_ int mounts = -1, users = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	users = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	mounts = open(path, O_RDONLY | O_CLOEXEC);
	if (mounts < 0)
		return fault_set(f, -errno, "%s: %s; is the container's process gone?", path, strerror(errno));
	if (!setns(mounts, CLONE_NEWNS) ||
	    (errno == EPERM && users >= 0 && !setns(users, CLONE_NEWUSER) && !setns(mounts, CLONE_NEWNS)))
		return 0;
	return fault_set(
		f, -errno,
		"the container's mount namespace cannot be entered: %s; the hook needs the rights of the container "
		"runtime",
		strerror(errno));
}

static int open_in(int root, const char *path, int flags, mode_t mode)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC), .mode = mode, .resolve = RESOLVE_IN_ROOT };
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/*
 * A file system that the container's user namespace has mounted (a tmpfs at /run, say) takes no files of users whom
 * that does not know, and the machine's root may be one: then the owner of the folder makes them. Value: whether it was
 * so, and the owner is who makes files until become_self().
 */
static bool become_owner(int r, int folder)
{
	struct stat st;

	if (r != -EOVERFLOW || folder < 0 || fstat(folder, &st))
		return false;
	setfsgid(st.st_gid);
	setfsuid(st.st_uid);
	return true;
}

static void become_self(void)
{
	setfsuid(geteuid());
	setfsgid(getegid());
}

static int make_folder(int above, const char *name)
{
	int r = mkdirat(above, name, 0755) ? -errno : 0;

	if (become_owner(r, above)) {
		r = mkdirat(above, name, 0755) ? -errno : 0;
		become_self();
	}
	return r == -EEXIST ? 0 : r;
}

static int make_file(int root, const char *path)
{
	_cleanup_close_ int above = -1;
	char folder[PATH_MAX];
	int fd = open_in(root, path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY, 0644);

	if (fd == -EOVERFLOW && path_join(folder, "%s", path))
		above = open_in(root, dirname(folder), O_PATH | O_DIRECTORY, 0);
	if (become_owner(fd, above)) {
		fd = open_in(root, path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY, 0644);
		become_self();
	}
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Makes the folders on the way to `path`, and itself when it is to be one. */
static int make_way(int root, const char *path, bool folder)
{
	char at[PATH_MAX];
	int r;

	for (const char *p = path + 1; *p; p++) {
		const char *slash = strchrnul(p, '/');
		_cleanup_close_ int above = -1, there = -1;
		char name[NAME_MAX + 1];

		if (!*slash && !folder)
			break;
		snprintf(at, sizeof(at), "%.*s", (int)(slash - path), path);
		there = open_in(root, at, O_PATH | O_DIRECTORY, 0);
		if (there < 0) {
			snprintf(name, sizeof(name), "%.*s", (int)(slash - p), p);
			snprintf(at, sizeof(at), "%.*s", (int)(p - path), path);
			above = open_in(root, at, O_PATH | O_DIRECTORY, 0);
			r = above < 0 ? above : make_folder(above, name);
			if (r)
				return r;
		}
		if (!*slash)
			break;
		p = slash;
	}
	return 0;
}

/* The target, made where it is not there. Value: a descriptor or -errno. */
static int open_target(int root, const char *target, bool folder)
{
	int fd = open_in(root, target, O_PATH, 0), r;

	if (fd != -ENOENT)
		return fd;
	r = make_way(root, target, folder);
	if (!r && !folder)
		r = make_file(root, target);
	return r ? r : open_in(root, target, O_PATH, 0);
}

static bool is_same(int fd, const struct stat *st)
{
	struct stat its;

	return !fstat(fd, &its) && its.st_dev == st->st_dev && its.st_ino == st->st_ino;
}

/*
 * Linux before 5.12: the mount is made, and then found again by its path to set its flags. Somebody who moves folders
 * about in a file system that he shares with the container may be in between: then what is found is not the source, and
 * the container does not begin.
 */
static int mount_by_path(int root, const struct mount_wish *w, int target, const struct stat *source)
{
	unsigned long flags = MS_NOSUID | MS_NODEV | (w->writable ? 0 : MS_RDONLY);
	_cleanup_close_ int mounted = -1;
	struct statvfs vfs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", target);
	if (mount(w->source, path, NULL, MS_BIND, NULL))
		return -errno;
	/* The descriptor leads below the mount; opened again it leads to it. */
	mounted = open_in(root, w->target, O_PATH, 0);
	if (mounted < 0)
		return mounted;
	if (!is_same(mounted, source))
		return -ESTALE;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", mounted);
	/* In a user namespace the flags of the source's own mount may not be taken away. */
	if (!fstatvfs(mounted, &vfs))
		flags |= vfs.f_flag & (ST_NOEXEC | ST_NOATIME | ST_NODIRATIME);
	return mount(NULL, path, NULL, MS_BIND | MS_REMOUNT | flags, NULL) ? -errno : 0;
}

static int mount_one(int root, const struct mount_wish *w)
{
	_cleanup_close_ int target = -1;
	struct stat st;
	int r;

	if (stat(w->source, &st))
		return -errno;
	target = open_target(root, w->target, S_ISDIR(st.st_mode));
	if (target < 0)
		return target;
	r = bind_make(w->source, target, w->writable);
	return r == -ENOSYS ? mount_by_path(root, w, target, &st) : r;
}

int mounts_make(pid_t pid, const char *root, const struct mount_wish *wish, size_t count, struct fault *f)
{
	_cleanup_close_ int fd = -1;
	int r = enter(pid, f);

	if (r)
		return r;
	fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fault_set(f, -errno, "%s: %s; the runtime's hook came too late (after pivot_root)?", root,
				 strerror(errno));
	for (size_t i = 0; i < count; i++) {
		r = mount_one(fd, &wish[i]);
		if (r)
			return fault_set(f, r, "%s cannot be mounted at %s in %s: %s", wish[i].source, wish[i].target,
					 root, strerror(-r));
	}
	return 0;
}

static void sweep_one(int root, const char *target)
{
	char path[PATH_MAX], name[PATH_MAX];
	_cleanup_close_ int above = -1;
	struct stat st;

	if (!path_join(path, "%s", target) || !path_join(name, "%s", target))
		return;
	above = open_in(root, dirname(path), O_PATH | O_DIRECTORY, 0);
	if (above < 0 || fstatat(above, basename(name), &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (S_ISDIR(st.st_mode))
		unlinkat(above, basename(name), AT_REMOVEDIR);
	else if (S_ISREG(st.st_mode) && !st.st_size && !st.st_uid)
		unlinkat(above, basename(name), 0);
}

void mounts_sweep(const char *root, const char *const *targets, size_t count)
{
	_cleanup_close_ int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; fd >= 0 && i < count; i++)
		sweep_one(fd, targets[i]);
}

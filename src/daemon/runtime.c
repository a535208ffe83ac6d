/* runtime.c: directory, lock and sockets. */
#include "daemon/runtime.h"

#include "base/cleanup.h"
#include "base/send_fds.h"
#include "daemon/folder.h"
#include "daemon/upgrade/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 4096
#define LEAVING_MS 20
#define LEAVING_TRIES 150

__attribute__((format(printf, 4, 5))) static int fail(char *error, size_t size, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error, size, fmt, ap);
	va_end(ap);
	return r;
}

/* What is to be done about an error of the runtime directory's file system. */
static const char *remedy(int error)
{
	return error == ENOSPC || error == EDQUOT ? "free some room there, or name another --runtime-dir"
						  : "name another --runtime-dir";
}

/* A directory that is ours alone to write. Made with `mode` when it is not there. */
static int open_dir(int at, const char *path, mode_t mode, int *ret_fd, char *error, size_t size)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (mkdirat(at, path, mode) && errno != EEXIST)
		return fail(error, size, -errno, "cannot make the directory %s: %s: %s", path, strerror(errno),
			    remedy(errno));
	fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return fail(error, size, -errno, "cannot use %s as a directory: %s: %s", path, strerror(errno),
			    remedy(errno));
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return fail(error, size, -EPERM,
			    "%s belongs to uid %u with mode %04o: it must be ours (uid %u) and writable by nobody else",
			    path, (unsigned int)st.st_uid, (unsigned int)(st.st_mode & 07777), (unsigned int)geteuid());
	if ((st.st_mode & 07777) != mode && fchmod(fd, mode))
		return fail(error, size, -errno, "cannot set the mode of %s: %s", path, strerror(errno));
	*ret_fd = steal_fd(&fd);
	return 0;
}

static bool somebody_listens(const struct runtime *runtime)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/control.sock", runtime->dir_fd);
	return fd >= 0 && (!connect(fd, (struct sockaddr *)&address, sizeof(address)) || errno == EAGAIN);
}

/*
 * False: the meted that wrote its number into the lock file has ended. A child that it was starting holds its lock and
 * its sockets until the child executes its program.
 */
static bool writer_lives(int lock_fd)
{
	_cleanup_close_ int fd = -1;
	char pid[16] = "";
	struct pollfd p = { .events = POLLIN };

	if (pread(lock_fd, pid, sizeof(pid) - 1, 0) <= 0 || atoi(pid) <= 0)
		return true;
	fd = (int)syscall(SYS_pidfd_open, atoi(pid), 0);
	p.fd = fd;
	return fd < 0 ? errno != ESRCH : !poll(&p, 1, 0);
}

static bool same_file(int a, int b)
{
	struct stat sa, sb;

	return !fstat(a, &sa) && !fstat(b, &sb) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* The lock that a predecessor in this process has left to us, when it is this directory's. */
static bool inherit_lock(struct runtime *runtime)
{
	_cleanup_close_ int fd = handover_take(runtime->handover, handover_get(runtime->handover, "lock"));
	_cleanup_close_ int named = openat(runtime->dir_fd, "meted.lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || named < 0 || !same_file(fd, named))
		return false;
	runtime->lock_fd = steal_fd(&fd);
	return true;
}

static bool write_pid(int fd)
{
	char pid[16];
	int n = snprintf(pid, sizeof(pid), "%d", (int)getpid());

	return !ftruncate(fd, 0) && pwrite(fd, pid, (size_t)n, 0) == n;
}

static int lock(struct runtime *runtime, char *error, size_t size)
{
	_cleanup_close_ int fd = -1;
	char pid[16] = "";
	int n, r;

	if (inherit_lock(runtime)) {
		write_pid(runtime->lock_fd); /* another one where a keeper has become meted again; only a hint */
		return 0;
	}
	fd = openat(runtime->dir_fd, "meted.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail(error, size, -errno, "cannot open %s/meted.lock: %s: %s", runtime->dir, strerror(errno),
			    remedy(errno));
	/* One that does not listen, or has ended, is just leaving, or just coming: both are decided in a moment. */
	for (int i = 0; (r = flock(fd, LOCK_EX | LOCK_NB)) && i < LEAVING_TRIES; i++) {
		if (somebody_listens(runtime) && writer_lives(fd))
			break;
		usleep(LEAVING_MS * 1000);
	}
	if (r) {
		n = (int)pread(fd, pid, sizeof(pid) - 1, 0);
		return fail(error, size, -EBUSY,
			    "a meted (pid %s) already serves %s: stop it first, or name another --runtime-dir",
			    n > 0 ? pid : "?", runtime->dir);
	}
	if (!write_pid(fd))
		return fail(error, size, -EIO, "cannot write %s/meted.lock: %s: %s", runtime->dir, strerror(errno),
			    remedy(errno));
	runtime->lock_fd = steal_fd(&fd);
	return 0;
}

int runtime_open(struct runtime *runtime, struct handover *handover, const char *dir, bool system, char *error,
		 size_t size)
{
	mode_t mode = system ? 0755 : 0700;
	int grants_fd = -1, r;

	*runtime = RUNTIME_NONE;
	runtime->handover = handover;
	runtime->system = system;
	if (strlen(dir) >= sizeof(runtime->dir) || *dir != '/')
		return fail(error, size, -ENAMETOOLONG,
			    "the runtime directory must be an absolute path of at most %zu characters, for the sockets "
			    "in it: %s",
			    sizeof(runtime->dir) - 1, dir);
	strcpy(runtime->dir, dir);
	r = open_dir(AT_FDCWD, dir, mode, &runtime->dir_fd, error, size);
	if (!r)
		r = lock(runtime, error, size);
	if (!r)
		r = open_dir(runtime->dir_fd, "grants", mode, &grants_fd, error, size);
	if (!r) {
		close(grants_fd);
		r = open_dir(runtime->dir_fd, "pages", 0700, &runtime->pages_fd, error, size);
	}
	if (r)
		runtime_close(runtime);
	return r;
}

/* The folder that it would be made in. */
static int try_parent(const char *dir, char *error, size_t size)
{
	char parent[RUNTIME_DIR_BYTES];
	char *slash;

	snprintf(parent, sizeof(parent), "%s", dir);
	slash = strrchr(parent, '/');
	slash[slash == parent] = 0;
	if (!access(parent, W_OK | X_OK))
		return 0;
	return fail(error, size, -errno, "it cannot be made in %s: %s: make the folder, or name another one", parent,
		    strerror(errno));
}

int runtime_try(const char *dir, bool system, char *error, size_t size)
{
	uid_t own = system && geteuid() ? 0 : geteuid();
	struct stat st;

	if (strlen(dir) >= RUNTIME_DIR_BYTES || *dir != '/')
		return fail(error, size, -ENAMETOOLONG,
			    "it must be an absolute path of at most %u characters, for the sockets in it",
			    RUNTIME_DIR_BYTES - 1);
	if (lstat(dir, &st) && errno == ENOENT)
		return system && geteuid() ? 0 : try_parent(dir, error, size);
	if (lstat(dir, &st))
		return fail(error, size, -errno, "%s: correct the path", strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return fail(error, size, -ENOTDIR, "%s is not a folder: move it away, or name another one", dir);
	if ((st.st_uid == own || st.st_uid == geteuid()) && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	return fail(error, size, -EPERM,
		    "%s belongs to uid %u with mode %04o: it must be uid %u's and writable by nobody else: chown and "
		    "chmod go-w it, or name another one",
		    dir, (unsigned int)st.st_uid, (unsigned int)(st.st_mode & 07777), (unsigned int)own);
}

void runtime_close(struct runtime *runtime)
{
	cleanup_close(&runtime->pages_fd);
	cleanup_close(&runtime->dir_fd);
	cleanup_close(&runtime->lock_fd);
	cleanup_close(&runtime->holder_fd);
	*runtime = RUNTIME_NONE;
}

/* A place of one of our sockets: the folder that it lies in, which is ours alone, and its name there. */
struct place {
	int folder_fd;
	const char *name;
};

static void place_close(struct place *p)
{
	cleanup_close(&p->folder_fd);
}

static int place_open(struct runtime *runtime, const char *path, struct place *ret, char *error, size_t size)
{
	int fd = folder_open_above(runtime->dir_fd, path, &ret->name);

	ret->folder_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fail(error, size, fd,
			     "%s/%s: its folder cannot be used: %s: it must be uid %u's and writable by nobody else; "
			     "move it away",
			     runtime->dir, path, strerror(-fd), (unsigned int)geteuid())
		      : 0;
}

static int check_place(struct runtime *runtime, const char *path, const struct place *p, char *error, size_t size)
{
	struct stat st;

	if (fstatat(p->folder_fd, p->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0
				       : fail(error, size, -errno, "%s/%s: %s", runtime->dir, path, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return fail(error, size, -EEXIST, "%s/%s is in the way and is not a socket: move it away", runtime->dir,
			    path);
	if (st.st_uid != geteuid() && geteuid())
		return fail(error, size, -EEXIST, "%s/%s is a socket of uid %u, not ours: move it away", runtime->dir,
			    path, (unsigned int)st.st_uid);
	return 0;
}

/* Nobody has taken its file away. */
static bool stands(const struct place *p)
{
	struct stat st;

	return !fstatat(p->folder_fd, p->name, &st, AT_SYMLINK_NOFOLLOW) && S_ISSOCK(st.st_mode);
}

/* Mode and owner of a socket's file, by a descriptor of it. Value: 0 or -errno. */
static int give(int dir_fd, const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	_cleanup_close_ int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[32];
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fchmodat(AT_FDCWD, path, mode, 0) || (uid != geteuid() && fchownat(fd, "", uid, gid, AT_EMPTY_PATH)))
		return -errno;
	return 0;
}

/* Bound aside and renamed, so that there is no moment without a socket, or with one that nobody may use yet. */
static int bind_at(struct runtime *runtime, const struct place *p, int fd, int type, mode_t mode, uid_t uid, gid_t gid)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char unfinished[24];
	int r;

	snprintf(unfinished, sizeof(unfinished), ".new-%d.sock", type);
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", runtime->dir_fd, unfinished);
	unlinkat(runtime->dir_fd, unfinished, 0);
	r = bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, BACKLOG)
		    ? -errno
		    : give(runtime->dir_fd, unfinished, mode, uid, gid);
	if (!r && renameat(runtime->dir_fd, unfinished, p->folder_fd, p->name))
		r = -errno;
	if (r)
		unlinkat(runtime->dir_fd, unfinished, 0);
	return r;
}

int runtime_listen(struct runtime *runtime, const char *place, int type, mode_t mode, uid_t uid, gid_t gid, char *error,
		   size_t size)
{
	_cleanup_close_ int fd = -1;
	_cleanup_(place_close) struct place p = { .folder_fd = -1 };
	char path[sizeof(runtime->dir) + 128];
	int r;

	snprintf(path, sizeof(path), "%s/%s", runtime->dir, place);
	if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return fail(error, size, -ENAMETOOLONG,
			    "%s is too long for a socket's path (%zu characters at most): choose a shorter name", path,
			    sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
	r = place_open(runtime, place, &p, error, size);
	if (!r)
		r = check_place(runtime, place, &p, error, size);
	if (r)
		return r;
	fd = handover_take_listener(runtime->handover, place);
	if (fd >= 0 && stands(&p)) {
		send_fds_admit(fd, false); /* the meted that made it may be of an earlier release */
		return steal_fd(&fd);
	}
	cleanup_close(&fd);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fail(error, size, -errno, "cannot make a socket: %s", strerror(errno));
	send_fds_admit(fd, false);
	r = bind_at(runtime, &p, fd, type, mode, uid, gid);
	return r ? fail(error, size, r, "cannot listen at %s: %s", path, strerror(-r)) : steal_fd(&fd);
}

void runtime_remove(struct runtime *runtime, const char *place)
{
	_cleanup_(place_close) struct place p = { .folder_fd = -1 };

	p.folder_fd = folder_open_above(runtime->dir_fd, place, &p.name);
	if (p.folder_fd >= 0 && stands(&p))
		unlinkat(p.folder_fd, p.name, 0);
}

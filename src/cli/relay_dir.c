/* relay_dir.c: see relay_dir.h. */
#include "cli/relay_dir.h"
#include "base/cleanup.h"
#include "client/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "mete-remote-"
#define TRIES 8

/* The parents in which there may be one, the best first. */
static const char *parent(unsigned int i)
{
	const char *const parents[] = { getenv("XDG_RUNTIME_DIR"), "/dev/shm", "/tmp" };

	return parents[i];
}

#define PARENTS 3u

static int open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Sockets and a log; and folders with links, where a library path could not be written otherwise. */
static void remove_all(int dir, bool folders)
{
	DIR *list = fdopendir(dup(dir));
	struct dirent *e;

	if (!list)
		return;
	while ((e = readdir(list))) {
		_cleanup_close_ int in = -1;

		if (e->d_type != DT_DIR) {
			unlinkat(dir, e->d_name, 0);
		} else if (folders && strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
			in = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (in >= 0)
				remove_all(in, false);
			unlinkat(dir, e->d_name, AT_REMOVEDIR);
		}
	}
	closedir(list);
}

/* Value: whether nobody held it, and it is gone. */
static bool sweep_one(const char *path)
{
	_cleanup_close_ int dir = open_dir(path);
	struct stat st;

	if (dir < 0 || fstat(dir, &st) || st.st_uid != geteuid() || flock(dir, LOCK_EX | LOCK_NB))
		return dir < 0 && errno == ENOENT;
	remove_all(dir, true);
	return rmdir(path) == 0;
}

static void sweep(const char *in)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *list = opendir(in);

	if (!list)
		return;
	while ((e = readdir(list)))
		if (!strncmp(e->d_name, PREFIX, sizeof(PREFIX) - 1) && path_join(path, "%s/%s", in, e->d_name))
			sweep_one(path);
	closedir(list);
}

/* Value: the descriptor that holds it; -EAGAIN: somebody swept it away before it was held. */
static int hold(const char *path)
{
	_cleanup_close_ int dir = open_dir(path);
	struct stat st;

	if (dir < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (flock(dir, LOCK_SH) || fstat(dir, &st))
		return -errno;
	return st.st_nlink ? steal_fd(&dir) : -EAGAIN;
}

static int make_in(const char *in, char path[PATH_MAX])
{
	int r = -EAGAIN;

	sweep(in);
	for (int i = 0; i < TRIES && r == -EAGAIN; i++)
		r = path_join(path, "%s/" PREFIX "XXXXXX", in) && mkdtemp(path) ? hold(path) : -errno;
	return r;
}

int relay_dir_make(char path[PATH_MAX], struct fault *f)
{
	int r = -EACCES;

	for (unsigned int i = 0; i < PARENTS; i++) {
		const char *in = parent(i);

		/* A socket's name has little room. */
		if (in && *in == '/' && strlen(in) < 60 && (r = make_in(in, path)) >= 0)
			return r;
	}
	*path = 0;
	return fault_set(f, r,
			 "no folder for the relay's socket can be made in /dev/shm or /tmp: %s; make one of them "
			 "writable",
			 strerror(-r));
}

bool relay_dir_leave(const char *path, int *held)
{
	if (*held >= 0)
		close(*held);
	*held = -1;
	return !*path || sweep_one(path);
}

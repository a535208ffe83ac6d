/*
 * spaces.c: see spaces.h.
 *
 * A user namespace without its map of users is worth less than none, and there is no way back out of one. So a child is
 * born in it, the maps are written from outside, and only then does the worker join.
 */
#include "remote/worker/spaces.h"

#include "base/cleanup.h"
#include "wire/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 64u
#define MAP_BYTES 96u

static bool write_file(pid_t pid, const char *name, const char *text)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Every number is the same inside and outside: what it is now, and what it will become. */
static void write_map(char map[MAP_BYTES], unsigned int now, bool more, unsigned int later)
{
	int n = snprintf(map, MAP_BYTES, "%u %u 1\n", now, now);

	if (more && later != now)
		snprintf(map + n, MAP_BYTES - (size_t)n, "%u %u 1\n", later, later);
}

static bool write_maps(pid_t child, const struct identity *identity)
{
	char users[MAP_BYTES], groups[MAP_BYTES];

	write_map(users, geteuid(), identity->leaves, identity->uid);
	write_map(groups, getegid(), identity->leaves, identity->gid);
	/* Who may not choose groups at all may map his own. */
	if (!identity->leaves && !write_file(child, "setgroups", "deny"))
		return false;
	return write_file(child, "uid_map", users) && write_file(child, "gid_map", groups);
}

/* Until its standard input of sorts ends: it is there for its namespace alone. */
static _Noreturn void stay(int fd)
{
	char end;

	while (read(fd, &end, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

static bool join(pid_t child)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)child);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && !setns(fd, CLONE_NEWUSER);
}

static bool enter_user(const struct identity *identity)
{
	bool good;
	pid_t child;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return false;
	child = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
	if (!child) {
		close(ends[1]);
		stay(ends[0]);
	}
	close(ends[0]);
	good = child > 0 && write_maps(child, identity) && join(child);
	close(ends[1]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (good) {
		/* Joining takes both away. */
		prctl(PR_SET_DUMPABLE, 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	return good;
}

/* What is mounted later, here or there, is not seen on the other side. */
static bool part_mounts(void)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

uint32_t spaces_enter(const struct identity *identity)
{
	uint32_t held = 0;

	if (enter_user(identity))
		held |= WORKER_FENCE_USER;
	if (!unshare(CLONE_NEWNET))
		held |= WORKER_FENCE_NETWORK;
	if (!unshare(CLONE_NEWIPC))
		held |= WORKER_FENCE_IPC;
	if (part_mounts())
		held |= WORKER_FENCE_MOUNTS;
	return held;
}

/*
 * start.c: starts a private meted.
 *
 * The daemon is started by a child that makes a session of its own and forks again, so that it belongs to no terminal
 * and is nobody's child. It gets no descriptor of ours but: 0 and 1 on /dev/null, 2 on a memory file from which its
 * last words are read when it does not come up, and the pipe on which it says that it listens. It gets the environment
 * of this mete without what an outer `mete run` put there: a daemon under a shim would count itself. start.lock in the
 * runtime directory keeps two mete from starting two.
 */
#include "client/start.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "client/place.h"
#include "client/tenant_env.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_MS 15000
#define IDLE_SECONDS "2"

enum { READY_FD = 3 };

static bool somebody_listens(const char *dir)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/control.sock", dir);
	return fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof(a));
}

/* close_range() is younger than the oldest libc that mete runs on. */
static void close_from(int first)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (fd >= first && fd != dirfd(dir))
			close(fd);
	}
	if (dir)
		closedir(dir);
}

/* In the grandchild. Only calls that are safe after fork; mete has one thread, so all are. */
_Noreturn static void become_meted(const char *meted, const char *dir, int ready_fd, int words_fd)
{
	const char *const argv[] = { "meted", "--runtime-dir", dir, "--exit-when-idle", IDLE_SECONDS,
				     "--ready-fd", "3", NULL };
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* Above the numbers that are about to be taken. */
	ready_fd = fcntl(ready_fd, F_DUPFD_CLOEXEC, 10);
	words_fd = fcntl(words_fd, F_DUPFD_CLOEXEC, 10);
	dup2(null, 0);
	dup2(null, 1);
	dup2(words_fd, 2);
	dup2(ready_fd, READY_FD);
	close_from(READY_FD + 1);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(077);
	if (chdir("/"))
		_exit(127);
	tenant_env_leave();
	setenv("METE_RUNTIME_DIR", dir, 1);
	unsetenv("NOTIFY_SOCKET"); /* whoever waits there waits for the program */
	unsetenv("WATCHDOG_USEC");
	execv(meted, (char *const *)(uintptr_t)argv);
	dprintf(2, "%s: %s\n", meted, strerror(errno));
	_exit(127);
}

static int fork_meted(const char *meted, const char *dir, int ready_fd, int words_fd, struct fault *f)
{
	pid_t middle = fork();
	int status;

	if (middle < 0)
		return fault_set(f, -errno, "cannot start meted: %s; raise the limit of processes (ulimit -u)",
				 strerror(errno));
	if (!middle) {
		pid_t last;

		setsid();
		last = fork();
		if (!last)
			become_meted(meted, dir, ready_fd, words_fd);
		_exit(last < 0);
	}
	while (waitpid(middle, &status, 0) < 0)
		if (errno != EINTR)
			return 0; /* somebody reaps our children for us; the pipe will tell */
	if (status)
		return fault_set(f, -EAGAIN,
				 "cannot start meted: no process for it; raise the limit of processes (ulimit -u)");
	return 0;
}

/* The last line that meted wrote before it gave up, without its prefix. */
static void last_words(int fd, char *ret, size_t size)
{
	char text[4096], *line;
	off_t length = lseek(fd, 0, SEEK_END);
	off_t from = length > (off_t)sizeof(text) - 1 ? length - ((off_t)sizeof(text) - 1) : 0;
	ssize_t n = pread(fd, text, sizeof(text) - 1, from);

	*ret = 0;
	if (n <= 0)
		return;
	text[n] = 0;
	while (n && text[n - 1] == '\n')
		text[--n] = 0;
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	if (!strncmp(line, "meted: ", 7))
		line += 7;
	snprintf(ret, size, "%.700s", line);
}

static int wait_ready(const char *dir, int ready_fd, int words_fd, struct fault *f)
{
	uint64_t deadline_ns = clock_now_ns() + READY_MS * UINT64_C(1000000);
	struct pollfd p = { .fd = ready_fd, .events = POLLIN };
	char byte, words[800];

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		ssize_t n;

		if (now_ns >= deadline_ns)
			return fault_set(f, -ETIMEDOUT, "meted did not come up within %u s; see %s/meted.log",
					 READY_MS / 1000, dir);
		if (poll(&p, 1, (int)((deadline_ns - now_ns) / 1000000) + 1) <= 0)
			continue;
		n = read(ready_fd, &byte, 1);
		if (n > 0)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		/* It ended. Another one that came first is as good. */
		if (somebody_listens(dir))
			return 0;
		last_words(words_fd, words, sizeof(words));
		return fault_set(f, -EIO, "meted did not start: %s",
				 *words ? words : "it gave no reason; run meted by hand");
	}
}

int start_meted(const char *dir, struct fault *f)
{
	_cleanup_close_ int lock = -1, ready = -1, tell = -1, words = -1;
	char path[PATH_MAX];
	struct fault no_shim;
	struct place place;
	int ends[2], r;

	place_find(&place, &no_shim);
	if (!*place.meted)
		return fault_set(f, -ENOENT, "meted: not beside mete (%s) and not in PATH; install all of mete",
				 place.exe_dir);
	if (!path_join(path, "%s/start.lock", dir))
		return fault_set(f, -ENAMETOOLONG, "%s: path too long; set METE_RUNTIME_DIR", dir);
	lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0 && errno != ENOSPC && errno != EDQUOT)
		return fault_set(f, -errno, "%s: %s; set METE_RUNTIME_DIR to a folder that you can write", path,
				 strerror(errno));
	while (lock >= 0 && flock(lock, LOCK_EX) && errno == EINTR)
		;
	if (somebody_listens(dir))
		return 0;
	if (pipe2(ends, O_CLOEXEC))
		return fault_set(f, -errno, "cannot start meted: %s; raise the limit of open files (ulimit -n)",
				 strerror(errno));
	ready = ends[0];
	tell = ends[1];
	words = memfd_create("meted-words", MFD_CLOEXEC);
	if (words < 0)
		return fault_set(f, -errno, "cannot start meted: %s; raise the limit of open files (ulimit -n)",
				 strerror(errno));
	fcntl(words, F_SETFL, O_APPEND);
	r = fork_meted(place.meted, dir, tell, words, f);
	if (r)
		return r;
	close(steal_fd(&tell));
	return wait_ready(dir, ready, words, f);
}

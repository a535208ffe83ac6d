/* tenant_log.c: see tenant_log.h. */
#include "cli/tenant_log.h"

#include "base/clean_text.h"
#include "base/cleanup.h"
#include "client/place.h"
#include "verb/say.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "mete-run-" /* then the process, "-", six letters */

/*
 * Removes a log whose mete is gone: nobody holds its lock, and there is no process of that number (which alone would
 * not do: a mete that has just made its file has not locked it yet).
 */
static void remove_stale(int dir_fd, const char *name)
{
	_cleanup_close_ int fd = -1;
	pid_t pid = (pid_t)strtol(name + sizeof(NAME) - 1, NULL, 10);
	struct stat st;

	if (pid <= 0 || !kill(pid, 0) || errno != ESRCH)
		return;
	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		unlinkat(dir_fd, name, 0);
}

static void sweep(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (!strncmp(entry->d_name, NAME, sizeof(NAME) - 1))
			remove_stale(dirfd(d), entry->d_name);
	if (d)
		closedir(d);
}

static int open_in(struct tenant_log *l, const char *dir)
{
	if (!path_join(l->path, "%s/" NAME "%d-XXXXXX", dir, (int)getpid()))
		return -ENAMETOOLONG;
	l->fd = mkostemp(l->path, O_CLOEXEC);
	if (l->fd < 0)
		return -errno;
	flock(l->fd, LOCK_EX | LOCK_NB);
	sweep(dir);
	return 0;
}

int tenant_log_open(struct tenant_log *l, const char *dir, struct fault *f)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	int r;

	*l = (struct tenant_log){ .fd = -1 };
	r = open_in(l, dir);
	if (r == -EACCES || r == -EROFS)
		r = open_in(l, xdg && *xdg == '/' ? xdg : "/tmp");
	if (r == -EACCES || r == -EROFS || r == -ENOENT)
		r = open_in(l, "/tmp");
	return r ? fault_set(f, r, "%s: cannot make a log for the program: %s; free space, or set METE_RUNTIME_DIR",
			     dir, strerror(-r)) :
		   0;
}

void tenant_log_close(struct tenant_log *l)
{
	if (l->fd < 0)
		return;
	unlink(l->path);
	close(l->fd);
	l->fd = -1;
}

/* FNV-1a */
static uint64_t line_hash(const char *line)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *line; line++)
		hash = (hash ^ (unsigned char)*line) * UINT64_C(1099511628211);
	return hash;
}

static bool line_known(struct tenant_log *l, const char *line)
{
	uint64_t hash = line_hash(line);
	unsigned int n = l->known_count < TENANT_LOG_KNOWN ? l->known_count : TENANT_LOG_KNOWN;

	for (unsigned int i = 0; i < n; i++)
		if (l->known[i] == hash)
			return true;
	l->known[l->known_count++ % TENANT_LOG_KNOWN] = hash;
	return false;
}

static void show_line(struct tenant_log *l, char *line)
{
	clean_text_line(line);
	if (!strncmp(line, "mete: ", 6))
		line += 6;
	if (!*line)
		return;
	if (line_known(l, line))
		l->repeated++;
	else
		say_warning("%s", line);
}

void tenant_log_show(struct tenant_log *l, bool all)
{
	char text[4096], *line, *end;
	ssize_t n;

	while (l->fd >= 0 && (n = pread(l->fd, text, sizeof(text) - 1, l->read_bytes)) > 0) {
		/* A NUL would hide what follows it. */
		for (ssize_t i = 0; i < n; i++)
			if (!text[i])
				text[i] = '?';
		text[n] = 0;
		for (line = text; (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			show_line(l, line);
		}
		if (line == text && !all && n < (ssize_t)sizeof(text) - 1)
			break; /* the rest of the line has yet to come */
		if (line == text || all) {
			show_line(l, line);
			line = text + n;
		}
		l->read_bytes += line - text;
	}
}

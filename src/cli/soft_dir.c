/* soft_dir.c: see soft_dir.h. */
#include "cli/soft_dir.h"

#include "client/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "mete-soft-run-" /* then the user, "-", the process, "-", six letters */

static const char *const places[] = { "/dev/shm", "/tmp" };

/* Removes a folder of ours with the files in it; it has no folders. */
static void remove_folder(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct dirent *entry;
	struct stat st;
	DIR *d;

	if (fd < 0)
		return;
	if (fstat(fd, &st) || st.st_uid != geteuid() || !(d = fdopendir(fd))) {
		close(fd);
		return;
	}
	while ((entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(fd, entry->d_name, 0);
	closedir(d);
	unlinkat(at, name, AT_REMOVEDIR);
}

/* What commands left that were killed. */
static void sweep(const char *place)
{
	DIR *d = opendir(place);
	struct dirent *entry;
	char prefix[64];
	pid_t pid;

	snprintf(prefix, sizeof(prefix), NAME "%u-", (unsigned)geteuid());
	while (d && (entry = readdir(d))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)))
			continue;
		pid = (pid_t)strtol(entry->d_name + strlen(prefix), NULL, 10);
		if (pid > 0 && kill(pid, 0) && errno == ESRCH)
			remove_folder(dirfd(d), entry->d_name);
	}
	if (d)
		closedir(d);
}

int soft_dir_make(struct soft_dir *d, struct fault *f)
{
	const char *set = getenv("METE_SOFT_DIR");
	int r = -ENOENT;

	d->path[0] = 0;
	if (set && *set)
		return 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		sweep(places[i]);
		if (path_join(d->path, "%s/" NAME "%u-%d-XXXXXX", places[i], (unsigned)geteuid(), (int)getpid()) &&
		    mkdtemp(d->path))
			return setenv("METE_SOFT_DIR", d->path, 1) ? fault_set(f, -ENOMEM, "no memory") : 0;
		r = -errno;
		d->path[0] = 0;
	}
	return fault_set(f, r,
			 "no folder for the software devices can be made in /dev/shm or /tmp: %s; set METE_SOFT_DIR",
			 strerror(-r));
}

void soft_dir_remove(struct soft_dir *d)
{
	if (d->path[0])
		remove_folder(AT_FDCWD, d->path);
	d->path[0] = 0;
}

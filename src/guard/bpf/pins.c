/* pins.c: see pins.h. Everything below the folder is reached by descriptors, without following links. */
#include "guard/bpf/pins.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

__attribute__((format(printf, 3, 4))) static int say(char *why, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (why)
		vsnprintf(why, PINS_WHY, fmt, ap);
	va_end(ap);
	return r;
}

/* A folder, or -errno: -EPERM where others may have put there what is in it. */
static int folder_open(int at, const char *name, const char *shown, char *why)
{
	int fd = openat(at, name, FOLDER);
	struct stat s;

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return say(why, -EPERM, "%s is no folder: remove it, and try again", shown);
	if (fd < 0)
		return say(why, -errno, "%s cannot be opened (%s)", shown, strerror(errno));
	if (!fstat(fd, &s) && s.st_uid == geteuid() && !(s.st_mode & 077))
		return fd;
	close(fd);
	return say(why, -EPERM,
		   "%s belongs to user %u with mode %04o, so what is in it may be another's: remove it, and try again",
		   shown, (unsigned int)s.st_uid, (unsigned int)(s.st_mode & 07777));
}

/* The folder above: in it nobody else can put another one in our folder's place. */
static int parent_check(const char *path, char *why)
{
	char parent[256];
	struct stat s;

	snprintf(parent, sizeof parent, "%s", path);
	if (!strrchr(parent, '/'))
		return say(why, -EINVAL, "%s is no whole path", path);
	*strrchr(parent, '/') = 0;
	if (stat(*parent ? parent : "/", &s))
		return say(why, -errno, "%s cannot be read (%s)", parent, strerror(errno));
	if ((s.st_uid && s.st_uid != geteuid()) || (s.st_mode & 022 && !(s.st_mode & S_ISVTX)))
		return say(why, -EPERM, "others may rename what is in %s (user %u, mode %04o): give it mode 0700",
			   parent, (unsigned int)s.st_uid, (unsigned int)(s.st_mode & 07777));
	return 0;
}

static int root_open(const char *path, char *why)
{
	int r = parent_check(path, why);

	return r ? r : folder_open(AT_FDCWD, path, path, why);
}

int pins_check(const char *path, char *why)
{
	int root = root_open(path, why), maps;

	if (root < 0)
		return root;
	maps = folder_open(root, "maps", "its folder maps", why);
	close(root);
	if (maps < 0)
		return maps;
	close(maps);
	return 0;
}

int pins_make(const char *path, char *why)
{
	int root, r;

	if (mkdir(path, 0700) && errno != EEXIST)
		return say(why, -errno, "%s cannot be made (%s)", path, strerror(errno));
	root = root_open(path, why);
	if (root < 0)
		return root;
	r = mkdirat(root, "maps", 0700) && errno != EEXIST
		    ? say(why, -errno, "%s/maps cannot be made (%s)", path, strerror(errno))
		    : 0;
	close(root);
	return r ? r : pins_check(path, why);
}

static void files_remove(int folder)
{
	DIR *d = fdopendir(folder);

	if (!d) {
		close(folder);
		return;
	}
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			unlinkat(folder, e->d_name, 0);
	closedir(d);
}

int pins_remove(const char *path, const char *name, char *why)
{
	int root = root_open(path, why), folder;

	if (root < 0)
		return root == -ENOENT ? 0 : root;
	folder = openat(root, name, FOLDER);
	if (folder >= 0)
		files_remove(folder);
	if (unlinkat(root, name, AT_REMOVEDIR) && errno == ENOTDIR)
		unlinkat(root, name, 0);
	close(root);
	return 0;
}

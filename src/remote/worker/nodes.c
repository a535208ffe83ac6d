/* nodes.c: see nodes.h. */
#include "remote/worker/nodes.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "/dev/nvidia"

/* What the driver reads beside its nodes: of its module, and numbers of devices. Not each machine has all of them. */
static const char *const lists[] = { "/proc/driver/nvidia", "/proc/devices", "/proc/modules" };

static void add(struct nodes *nodes, const char *path)
{
	for (unsigned int i = 0; i < nodes->count; i++)
		if (!strcmp(nodes->path[i], path))
			return;
	if (nodes->count < NODES_MOST && strlen(path) < NODE_BYTES)
		strcpy(nodes->path[nodes->count++], path);
}

void nodes_find(struct nodes *nodes)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *e;
	char path[256];

	nodes->count = 0;
	if (!folder)
		return;
	while ((e = readdir(folder))) {
		ssize_t n = readlinkat(dirfd(folder), e->d_name, path, sizeof(path) - 1);

		if (n <= 0)
			continue;
		path[n] = 0;
		if (!strncmp(path, PREFIX, strlen(PREFIX)))
			add(nodes, path);
	}
	closedir(folder);
}

/* One that everybody may pass, whatever umask meted has: the worker's user is another one by then. */
static bool make_folder(const char *path)
{
	return (!mkdir(path, 0755) && !chmod(path, 0755)) || errno == EEXIST;
}

static bool make_folders(char *path, size_t root)
{
	for (char *slash = strchr(path + root + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		bool good;

		*slash = 0;
		good = make_folder(path);
		*slash = '/';
		if (!good)
			return false;
	}
	return true;
}

static bool put(const char *root, const char *path)
{
	_cleanup_close_ int fd = -1;
	char target[256];
	struct stat st;

	if ((size_t)snprintf(target, sizeof(target), "%s%s", root, path) >= sizeof(target) || stat(path, &st) ||
	    !make_folders(target, strlen(root)))
		return false;
	if (S_ISDIR(st.st_mode))
		return make_folder(target) && !mount(path, target, NULL, MS_BIND, NULL);
	fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0444);
	return fd >= 0 && !mount(path, target, NULL, MS_BIND, NULL);
}

static bool put_list(const char *root, const char *path)
{
	char target[256];

	if (access(path, R_OK))
		return true;
	snprintf(target, sizeof(target), "%s%s", root, path);
	return put(root, path) &&
	       !mount(NULL, target, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

bool nodes_put(const struct nodes *nodes, const char *root)
{
	for (unsigned int i = 0; i < nodes->count; i++)
		if (!put(root, nodes->path[i]))
			return false;
	for (unsigned int i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (!put_list(root, lists[i]))
			return false;
	return nodes->count;
}

/* cgroups.c: see cgroups.h. */
#include "guard/bpf/cgroups.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define CGROUP2_MAGIC 0x63677270
#define HANDLE_KERNFS 0xfe /* FILEID_KERNFS: the number is the handle */
#define FOLDERS_OPEN 16
#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static bool is_cgroup2(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && (unsigned int)fs.f_type == CGROUP2_MAGIC;
}

const char *cgroups_root(void)
{
	return !is_cgroup2("/sys/fs/cgroup") && is_cgroup2("/sys/fs/cgroup/unified") ? "/sys/fs/cgroup/unified"
										     : "/sys/fs/cgroup";
}

/* By its number alone, which needs CAP_DAC_READ_SEARCH. */
static int find_by_handle(const char *root, uint64_t id, char *path, size_t size)
{
	_cleanup_close_ int mount = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof id];
	} h = { .handle = { .handle_bytes = sizeof id, .handle_type = HANDLE_KERNFS } };
	char link[32];
	ssize_t n;

	if (mount < 0)
		return -EAGAIN;
	memcpy(h.room + offsetof(struct file_handle, f_handle), &id, sizeof id);
	fd = open_by_handle_at(mount, &h.handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return errno == ESTALE ? -ENOENT : -EAGAIN;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, size - 1);
	path[n > 0 ? n : 0] = 0;
	return 0;
}

static struct {
	uint64_t id;
	char *path;
	size_t size;
	bool unread; /* a folder that could not be looked into */
} search;

static int walk_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	search.unread |= type == FTW_DNR || type == FTW_NS;
	if ((type != FTW_D && type != FTW_DNR) || st->st_ino != search.id)
		return 0;
	snprintf(search.path, search.size, "%s", path);
	return 1;
}

/* The walk ends where a folder goes between two of its steps. */
static int find_by_walk(const char *root, uint64_t id, char *path, size_t size)
{
	int r;

	search.id = id;
	search.path = path;
	search.size = size;
	search.unread = false;
	r = nftw(root, walk_one, FOLDERS_OPEN, FTW_PHYS | FTW_MOUNT);
	return r > 0 ? 0 : r < 0 || search.unread ? -EAGAIN : -ENOENT;
}

int cgroups_find(const char *root, uint64_t id, char *path, size_t size)
{
	int r = is_cgroup2(root) ? find_by_handle(root, id, path, size) : -EAGAIN;

	return r == -EAGAIN ? find_by_walk(root, id, path, size) : r;
}

static FILE *list_open(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? NULL : fdopen(fd, "r");
}

/* The process that a thread is of; 0: it is gone. */
static int process_of(int thread)
{
	char path[64], line[128];
	int process = 0;

	snprintf(path, sizeof path, "/proc/%d/status", thread);
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "Tgid: %d", &process) == 1)
			break;
	return process;
}

/* A threaded cgroup lists no processes (EOPNOTSUPP), only threads. */
static void processes_of(int folder, void (*each)(int pid, void *owner), void *owner)
{
	_cleanup_fclose_ FILE *processes = list_open(folder, "cgroup.procs");
	_cleanup_fclose_ FILE *threads = NULL;
	int pid;

	while (processes && fscanf(processes, "%d", &pid) == 1)
		each(pid, owner);
	if (!processes || !ferror(processes))
		return;
	threads = list_open(folder, "cgroup.threads");
	while (threads && fscanf(threads, "%d", &pid) == 1) {
		pid = process_of(pid);
		if (pid)
			each(pid, owner);
	}
}

/* Takes the descriptor. */
static void processes_below(int folder, unsigned int depth, void (*each)(int pid, void *owner), void *owner)
{
	DIR *d = fdopendir(folder);

	if (!d) {
		close(folder);
		return;
	}
	processes_of(folder, each, owner);
	for (struct dirent *e; depth && (e = readdir(d));) {
		int below = e->d_name[0] == '.' || e->d_type != DT_DIR ? -1 : openat(folder, e->d_name, FOLDER);

		if (below >= 0)
			processes_below(below, depth - 1, each, owner);
	}
	closedir(d);
}

void cgroups_processes(const char *path, unsigned int depth, void (*each)(int pid, void *owner), void *owner)
{
	int folder = open(path, FOLDER);

	if (folder >= 0)
		processes_below(folder, depth, each, owner);
}

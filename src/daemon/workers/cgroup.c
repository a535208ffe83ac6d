/* cgroup.c: see cgroup.h. */
#include "daemon/workers/cgroup.h"

#include "base/cleanup.h"
#include "base/fnv.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PREFIX "grant-%08x-" /* with the meted that it is of: several may share a folder */
#define OWN "meted"
#define NAME_BYTES 40u
#define SWEEP_MS 500
#define EXPECTED_MOST 64u
#define LEAVE_TRIES 200u /* 5 ms apart */

struct cgroups {
	int folder_fd; /* -1: there are none */
	uint32_t tag;  /* of this meted and those after it: its runtime directory */
	struct timer *sweep;
	unsigned int later;		  /* cgroups that could not be removed yet */
	bool kills;			  /* what is in them, when this sweep finds them */
	uint64_t expected[EXPECTED_MOST]; /* to be empty soon: meted leaves */
	unsigned int expected_count;
	char why[512]; /* there are none; said when the first is wanted */
};

/* Files of a few words. */

static bool write_at(int folder_fd, const char *name, const char *text)
{
	_cleanup_close_ int fd = openat(folder_fd, name, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool read_at(int folder_fd, const char *name, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = 0;
	return n >= 0;
}

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *p = words; (p = strstr(p, word)); p += length)
		if ((p == words || p[-1] == ' ') && strchr(" \n", p[length]))
			return true;
	return false;
}

/* The folder. */

/* Where cgroups of version 2 are mounted, with their root. */
static bool find_mount(char *path, size_t size)
{
	_cleanup_(cleanup_fclose) FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[2048], root[512], place[512];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %511s %511s", root, place) == 2 &&
		    !strcmp(root, "/"))
			return snprintf(path, size, "%s", place) < (int)size;
	return false;
}

/* The folder above meted's own, when meted's is called so: the service manager has made it for that. */
static bool find_delegated(char *path, size_t size, char *why, size_t why_bytes)
{
	char text[PATH_MAX], mount[512], *own, *end;

	if (!read_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) || !(own = strstr(text, "0::/")) ||
	    !find_mount(mount, sizeof(mount))) {
		snprintf(why, why_bytes, "there are no cgroups of version 2 here");
		return false;
	}
	own += strlen("0::");
	own[strcspn(own, "\n")] = 0;
	end = strrchr(own, '/');
	if (strcmp(end, "/" OWN)) {
		snprintf(why, why_bytes,
			 "meted's own, %.200s, is not one that it may divide (Delegate= and DelegateSubgroup=" OWN
			 " of its unit, systemd 254); workers.cgroup can name another",
			 own);
		return false;
	}
	*end = 0;
	return snprintf(path, size, "%s%s", mount, own) < (int)size;
}

static int open_folder(const char *path, char *why, size_t why_bytes)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs)) {
		snprintf(why, why_bytes, "%.200s: %s", path, strerror(errno));
		return -1;
	}
	if (fs.f_type != CGROUP2_SUPER_MAGIC) {
		snprintf(why, why_bytes, "%.200s is no cgroup of version 2", path);
		return -1;
	}
	if (faccessat(fd, "cgroup.procs", W_OK, AT_EACCESS) || faccessat(fd, ".", W_OK, AT_EACCESS)) {
		snprintf(why, why_bytes, "%.200s cannot be written: %s", path, strerror(errno));
		return -1;
	}
	return steal_fd(&fd);
}

int cgroup_try(const char *path, char *why, size_t why_bytes)
{
	int fd = open_folder(path, why, why_bytes);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* For the cgroups in it. What a controller does not do is said; the others go on. */
static void enable(int folder_fd, const char *path)
{
	static const char *const controllers[] = { "memory", "pids" };
	char there[512], text[32];

	read_at(folder_fd, "cgroup.controllers", there, sizeof(there));
	for (size_t i = 0; i < sizeof(controllers) / sizeof(*controllers); i++) {
		snprintf(text, sizeof(text), "+%s", controllers[i]);
		if (!has_word(there, controllers[i]))
			log_line("workers' cgroups in %s have no controller \"%s\": it is not there", path,
				 controllers[i]);
		else if (!write_at(folder_fd, "cgroup.subtree_control", text))
			log_line("workers' cgroups in %s have no controller \"%s\": %s", path, controllers[i],
				 strerror(errno));
	}
}

static int find_folder(struct daemon *daemon, char *why, size_t why_bytes)
{
	const char *asked = daemon->fence.cgroup ? daemon->fence.cgroup : FENCE_AUTO;
	char path[PATH_MAX];
	int fd = -1;

	if (!strcmp(asked, FENCE_OFF))
		return -1;
	if (strcmp(asked, FENCE_AUTO))
		snprintf(path, sizeof(path), "%s", asked);
	if (strcmp(asked, FENCE_AUTO) || find_delegated(path, sizeof(path), why, why_bytes))
		fd = open_folder(path, why, why_bytes);
	if (fd >= 0)
		enable(fd, path);
	return fd;
}

static void on_sweep(void *owner);

static struct cgroups *get(struct daemon *daemon)
{
	struct cgroups *c = daemon->cgroups;

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->folder_fd = find_folder(daemon, c->why, sizeof(c->why));
	c->tag = fnv_hash(daemon->runtime.dir, strlen(daemon->runtime.dir));
	c->sweep = timer_new(daemon->loop, on_sweep, daemon);
	daemon->cgroups = c;
	return c;
}

bool cgroup_there(struct daemon *daemon)
{
	struct cgroups *c = get(daemon);

	if (c && *c->why)
		log_line("workers have no cgroups: %s", c->why);
	if (c)
		*c->why = 0;
	return c && c->folder_fd >= 0;
}

/* One of them. */

static uint64_t memory_most(const struct daemon *daemon)
{
	uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return daemon->fence.memory_bytes ? daemon->fence.memory_bytes : all / 2;
}

/* A file that is not there belongs to a controller that is not. */
static void set_limits(const struct daemon *daemon, int fd, const char *name)
{
	char memory[32], tasks[32] = "max";

	snprintf(memory, sizeof(memory), "%" PRIu64, memory_most(daemon));
	if (daemon->fence.tasks)
		snprintf(tasks, sizeof(tasks), "%" PRIu64, daemon->fence.tasks);
	if ((!write_at(fd, "memory.max", memory) && errno != ENOENT) ||
	    (!write_at(fd, "pids.max", tasks) && errno != ENOENT))
		log_line("cgroup %s: its limits cannot be set: %s", name, strerror(errno));
}

static int open_one(const struct cgroups *c, const char *name)
{
	return openat(c->folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void write_name(const struct cgroups *c, char name[NAME_BYTES], uint64_t grant_id)
{
	snprintf(name, NAME_BYTES, PREFIX "%016" PRIx64, c->tag, grant_id);
}

int cgroup_open(struct daemon *daemon, uint64_t grant_id)
{
	struct cgroups *c = get(daemon);
	_cleanup_close_ int folder_fd = -1;
	char name[NAME_BYTES];
	bool fresh;
	int fd;

	if (!c || c->folder_fd < 0)
		return -1;
	write_name(c, name, grant_id);
	fresh = !mkdirat(c->folder_fd, name, 0755);
	folder_fd = open_one(c, name);
	if (folder_fd >= 0 && fresh)
		set_limits(daemon, folder_fd, name);
	fd = folder_fd < 0 ? -1 : openat(folder_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		log_peer(LOG_CGROUPS, "cgroup %s cannot be made: %s", name, strerror(errno));
	return fd;
}

/* UINT64_MAX: it says no number. */
static uint64_t number_in(int folder_fd, const char *name)
{
	_cleanup_close_ int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC);
	char text[32];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return UINT64_MAX;
	text[n] = 0;
	return *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
}

uint64_t cgroup_memory_left(struct daemon *daemon, uint64_t grant_id)
{
	struct cgroups *c = get(daemon);
	_cleanup_close_ int folder_fd = -1;
	uint64_t most, now;
	char name[NAME_BYTES];

	if (!c || c->folder_fd < 0)
		return UINT64_MAX;
	write_name(c, name, grant_id);
	folder_fd = open_one(c, name);
	most = folder_fd < 0 ? UINT64_MAX : number_in(folder_fd, "memory.max");
	now = most == UINT64_MAX ? 0 : number_in(folder_fd, "memory.current");
	return most == UINT64_MAX || now == UINT64_MAX ? UINT64_MAX : most > now ? most - now : 0;
}

/* Value: whether it is gone. */
static bool remove_one(const struct cgroups *c, const char *name)
{
	return !unlinkat(c->folder_fd, name, AT_REMOVEDIR) || errno == ENOENT;
}

/* Linux 5.14. */
static void kill_one(const struct cgroups *c, const char *name)
{
	_cleanup_close_ int fd = open_one(c, name);

	if (fd >= 0)
		write_at(fd, "cgroup.kill", "1");
}

/* Calls `act` with the name of each cgroup and the grant that it is of. */
static void each(struct daemon *daemon, void (*act)(struct daemon *, const char *, uint64_t))
{
	int fd = openat(daemon->cgroups->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	unsigned int tag;
	uint64_t id;

	while (dir && (entry = readdir(dir)))
		if (sscanf(entry->d_name, "grant-%8x-%16" SCNx64, &tag, &id) == 2 && tag == daemon->cgroups->tag)
			act(daemon, entry->d_name, id);
	if (dir)
		closedir(dir);
	else
		cleanup_close(&fd);
}

static void sweep_one(struct daemon *daemon, const char *name, uint64_t grant_id)
{
	struct cgroups *c = daemon->cgroups;

	if (tenant_find_id(daemon, grant_id) || remove_one(c, name))
		return;
	c->later++;
	if (c->kills)
		kill_one(c, name);
}

/* Workers that wait leave by themselves, and what has been killed takes a moment; whatever is left after it is killed.
 */
static void sweep(struct daemon *daemon, bool kills)
{
	struct cgroups *c = get(daemon);

	if (!c || c->folder_fd < 0)
		return;
	c->later = 0;
	c->kills = kills;
	each(daemon, sweep_one);
	if (c->later && c->sweep)
		timer_start(c->sweep, SWEEP_MS, 0);
}

static void on_sweep(void *owner)
{
	sweep(owner, true);
}

void cgroup_sweep(struct daemon *daemon)
{
	sweep(daemon, false);
}

void cgroup_end(struct daemon *daemon, uint64_t grant_id)
{
	struct cgroups *c = daemon->cgroups;
	char name[NAME_BYTES];

	if (!c || c->folder_fd < 0)
		return;
	write_name(c, name, grant_id);
	if (!remove_one(c, name) && c->sweep)
		timer_start(c->sweep, SWEEP_MS, 0);
}

static void limit_one(struct daemon *daemon, const char *name, uint64_t grant_id)
{
	_cleanup_close_ int fd = tenant_find_id(daemon, grant_id) ? open_one(daemon->cgroups, name) : -1;

	if (fd >= 0)
		set_limits(daemon, fd, name);
}

void cgroup_limit(struct daemon *daemon)
{
	if (daemon->cgroups && daemon->cgroups->folder_fd >= 0)
		each(daemon, limit_one);
}

/* Also of grants that stay: the next meted makes them again. One with a worker in it is not removed. */
static void leave_one(struct daemon *daemon, const char *name, uint64_t grant_id)
{
	(void)grant_id;
	unlinkat(daemon->cgroups->folder_fd, name, AT_REMOVEDIR);
}

static void expect_one(struct daemon *daemon, const char *name, uint64_t grant_id)
{
	struct cgroups *c = daemon->cgroups;

	(void)name;
	if (!worker_count(daemon, grant_id) && c->expected_count < EXPECTED_MOST)
		c->expected[c->expected_count++] = grant_id;
}

void cgroup_expect(struct daemon *daemon)
{
	if (daemon->cgroups && daemon->cgroups->folder_fd >= 0)
		each(daemon, expect_one);
}

static bool remove_expected(const struct cgroups *c)
{
	char name[NAME_BYTES];
	bool all = true;

	for (unsigned int i = 0; i < c->expected_count; i++) {
		write_name(c, name, c->expected[i]);
		all &= remove_one(c, name);
	}
	return all;
}

void cgroup_leave(struct daemon *daemon)
{
	struct cgroups *c = daemon->cgroups;

	if (!c)
		return;
	if (c->folder_fd >= 0) {
		for (unsigned int i = 0; i < LEAVE_TRIES && !remove_expected(c); i++)
			usleep(5000);
		each(daemon, leave_one);
		close(c->folder_fd);
	}
	timer_free(c->sweep);
	free(c);
	daemon->cgroups = NULL;
}

/* traffic.c: see traffic.h. */
#include "daemon/workers/traffic.h"

#include "base/cleanup.h"
#include "daemon/daemon.h"
#include "daemon/telemetry.h"
#include "daemon/workers/worker.h"
#include "wire/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES (sizeof(((struct worker *)NULL)->place) + sizeof(TRAFFIC_SUFFIX))

static const char *path_of(const char *place, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s" TRAFFIC_SUFFIX, place);
	return path;
}

static int map(struct worker *worker, int fd)
{
	void *at = mmap(NULL, sizeof(*worker->traffic), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	worker->traffic = at;
	return 0;
}

int traffic_create(struct worker *worker)
{
	int dir = worker->daemon->runtime.dir_fd, r;
	_cleanup_close_ int fd = -1;
	char path[PATH_BYTES];

	unlinkat(dir, path_of(worker->place, path), 0);
	fd = openat(dir, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	/* The room is there before anybody writes: a full disk is no signal. */
	r = -posix_fallocate(fd, 0, sizeof(*worker->traffic));
	if (!r)
		r = map(worker, fd);
	if (r) {
		unlinkat(dir, path, 0);
		return r;
	}
	worker->traffic->magic = WORKER_TRAFFIC_MAGIC;
	return steal_fd(&fd);
}

void traffic_find(struct worker *worker)
{
	char path[PATH_BYTES];
	_cleanup_close_ int fd =
		openat(worker->daemon->runtime.dir_fd, path_of(worker->place, path), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < (off_t)WORKER_TRAFFIC_LEAST ||
	    map(worker, fd))
		return;
	if (worker->traffic->magic != WORKER_TRAFFIC_MAGIC)
		traffic_end(worker, false);
}

void traffic_rename(struct worker *worker, const char *place)
{
	char from[PATH_BYTES], to[PATH_BYTES];
	int dir = worker->daemon->runtime.dir_fd;

	if (worker->traffic)
		renameat(dir, path_of(worker->place, from), dir, path_of(place, to));
}

void traffic_end(struct worker *worker, bool remove)
{
	char path[PATH_BYTES];

	if (!worker->traffic)
		return;
	munmap(worker->traffic, sizeof(*worker->traffic));
	worker->traffic = NULL;
	if (remove)
		unlinkat(worker->daemon->runtime.dir_fd, path_of(worker->place, path), 0);
}

static enum traffic_way way_of(const struct worker *worker)
{
	return atomic_load_explicit(&worker->traffic->relayed, memory_order_relaxed) ? TRAFFIC_RELAY : TRAFFIC_WALL;
}

void traffic_take(const struct worker *worker, struct telemetry *totals)
{
	struct worker_traffic *t = worker->traffic;

	for (unsigned int i = 0; t && i < WORKER_COUNTS; i++) {
		uint64_t now = atomic_load_explicit(&t->count[i], memory_order_relaxed);

		/* They only grow; what says otherwise was written by somebody else. */
		if (now > t->taken[i])
			totals->remote[way_of(worker)][i] += now - t->taken[i];
		t->taken[i] = now;
	}
}

bool traffic_moved(struct telemetry *totals)
{
	bool moved = memcmp(totals->remote_kept, totals->remote, sizeof(totals->remote));

	memcpy(totals->remote_kept, totals->remote, sizeof(totals->remote));
	return moved;
}

const char *traffic_way_name(enum traffic_way way)
{
	return way == TRAFFIC_RELAY ? "relay" : "wall";
}

unsigned int traffic_sessions(const struct daemon *daemon, uint64_t grant_id, enum traffic_way way)
{
	unsigned int n = 0;

	for (const struct worker *w = daemon->workers; w; w = w->next)
		n += w->state == WORKER_BUSY && w->grant_id == grant_id && w->traffic && way_of(w) == way;
	return n;
}

/* A name in the folder of workers is that of a file whose worker's socket is gone. */
static bool left_over(int dir, const char *name)
{
	size_t length = strlen(name), suffix = sizeof(TRAFFIC_SUFFIX) - 1;
	char socket[NAME_MAX + 1];

	if (length <= suffix || strcmp(name + length - suffix, TRAFFIC_SUFFIX))
		return false;
	snprintf(socket, sizeof(socket), "%.*s", (int)(length - suffix), name);
	return faccessat(dir, socket, F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
}

void traffic_sweep(struct daemon *daemon)
{
	int fd = openat(daemon->runtime.dir_fd, WORKER_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (left_over(dirfd(dir), entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	else
		cleanup_close(&fd);
}

/*
 * worker_restore.c: workers that another meted has started: found by their sockets after its death, or handed over.
 */
#include "daemon/workers/worker.h"

#include "base/cleanup.h"
#include "base/send_fds.h"
#include "daemon/daemon.h"
#include "daemon/upgrade/handover.h"
#include "daemon/tenants/process.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/cgroup.h"
#include "daemon/workers/fence.h"
#include "daemon/workers/images.h"
#include "daemon/workers/pool.h"
#include "daemon/workers/traffic.h"
#include "daemon/workers/words.h"
#include "wire/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* Of the process that listens, whose number may be another's by now. Value: -1 where it has ended. */
static int process_of(int fd, pid_t pid)
{
	socklen_t size = sizeof(pid_t);
	int pidfd = -1;

	/* Before Linux 6.5 the number has to do. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) && errno == ENOPROTOOPT)
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd >= 0 && process_ended(pidfd)) {
		close(pidfd);
		pidfd = -1;
	}
	return pidfd;
}

static void restore_one(struct daemon *daemon, const char *name)
{
	_cleanup_close_ int pidfd = -1;
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char place[sizeof(((struct worker *)NULL)->place)];
	struct sockaddr_un address;
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	struct worker *worker;
	uint64_t grant_id;
	int pid;

	if ((size_t)snprintf(place, sizeof(place), WORKER_FOLDER "/%s", name) >= sizeof(place))
		return;
	worker_address(daemon, place, &address);
	send_fds_admit(fd, false); /* before there is somebody who could send one */
	if (sscanf(name, "%" SCNx64 "-%d", &grant_id, &pid) != 2 || fd < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid != pid ||
	    (pidfd = process_of(fd, pid)) < 0 || !tenant_find_id(daemon, grant_id)) {
		unlinkat(daemon->runtime.dir_fd, place, 0);
		return;
	}
	worker = worker_adopt(daemon, WORKER_BUSY, pid, place, steal_fd(&fd));
	if (!worker)
		return;
	worker->grant_id = grant_id;
	worker_watch_process(worker, steal_fd(&pidfd));
}

static void find_workers(struct daemon *daemon)
{
	int fd = openat(daemon->runtime.dir_fd, WORKER_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (*entry->d_name != '.' && !strstr(entry->d_name, TRAFFIC_SUFFIX))
			restore_one(daemon, entry->d_name);
	if (dir)
		closedir(dir);
	else
		cleanup_close(&fd);
}

/* A handover. */

static uint64_t pool_user(const struct daemon *daemon, const struct pool *pool)
{
	const struct tenant *t = pool ? daemon->tenants : NULL;

	while (t && t->pool != pool)
		t = t->next;
	return t ? t->grant.id : 0;
}

static json_t *contexts_save(const struct pool *pool)
{
	json_t *list = pool && pool->measured ? json_array() : NULL;

	for (unsigned int i = 0; list && i < pool->device_count; i++)
		json_array_append_new(list, json_integer((json_int_t)pool->context_bytes[i]));
	return list;
}

static void contexts_restore(struct pool *pool, const json_t *list)
{
	uint64_t bytes[WIRE_MAX_DEVICES] = { 0 };

	for (unsigned int i = 0; i < WIRE_MAX_DEVICES; i++)
		bytes[i] = (uint64_t)json_integer_value(json_array_get(list, i));
	pool_measured(pool, bytes);
}

json_t *worker_save(const struct daemon *daemon, struct handover *h)
{
	json_t *list = json_array(), *one;

	for (const struct worker *w = daemon->workers; w; w = w->next) {
		one = json_pack("{s:o s:o s:i s:i s:s s:i s:b s:I s:I s:I s:I s:I}", "fd",
				handover_give(h, w->control_fd), "images", handover_give(h, w->images_fd), "pid",
				(int)w->pid, "state", (int)w->state, "place", w->place, "version", (int)WORKER_VERSION,
				"child", w->child || w->pidfd >= 0, "grant", (json_int_t)w->grant_id, "pool_of",
				(json_int_t)pool_user(daemon, w->pool), "began", (json_int_t)w->began_ns, "fence",
				(json_int_t)w->fence, "entered", (json_int_t)w->entered);
		json_object_set_new(one, "contexts", contexts_save(w->pool));
		json_object_set_new(one, "words", words_save(w, h));
		json_object_set_new(one, "pledge", pledge_save(&w->pledge));
		json_array_insert_new(list, 0, one);
	}
	return list;
}

static uint64_t number(const json_t *part, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(part, name));
}

static void take_over(struct daemon *daemon, struct handover *h, const json_t *part)
{
	int fd = handover_take(h, json_object_get(part, "fd"));
	const char *place = json_string_value(json_object_get(part, "place"));
	enum worker_state state = (enum worker_state)number(part, "state");
	struct tenant *tenant = tenant_find_id(daemon, number(part, "pool_of"));
	const json_t *version = json_object_get(part, "version");
	char why[256];
	struct worker *w;

	if (fd < 0)
		return;
	/* One that waits for a client would not understand that there is one; another is started in its place. */
	if (state != WORKER_BUSY && version && json_integer_value(version) != (json_int_t)WORKER_VERSION) {
		close(fd);
		return;
	}
	w = worker_adopt(daemon, state, (pid_t)number(part, "pid"), place ? place : "", fd);
	if (!w)
		return;
	w->grant_id = number(part, "grant");
	w->began_ns = number(part, "began");
	w->fence = (uint32_t)number(part, "fence");
	w->entered = number(part, "entered");
	words_restore(w, handover_take(h, json_object_get(part, "words")));
	images_resume(w, handover_take(h, json_object_get(part, "images")));
	w->pool = state != WORKER_BUSY && tenant ? tenant->pool : NULL;
	if (json_is_true(json_object_get(part, "child")))
		worker_watch_process(w, (int)syscall(SYS_pidfd_open, w->pid, 0));
	pledge_restore(&w->pledge, tenant_find_id(daemon, w->grant_id), json_object_get(part, "pledge"));
	if (state == WORKER_IDLE && w->pool)
		contexts_restore(w->pool, json_object_get(part, "contexts"));
	if ((state != WORKER_BUSY && !w->pool) ||
	    (state == WORKER_IDLE && !fence_take(daemon, w->fence, why, sizeof(why))))
		worker_free(w);
}

void worker_restore(struct daemon *daemon)
{
	struct handover *h = daemon->runtime.handover;
	json_t *list = handover_get(h, "workers"), *part;
	size_t i;

	if (!list) {
		find_workers(daemon);
		traffic_sweep(daemon);
	}
	json_array_foreach(list, i, part) take_over(daemon, h, part);
	cgroup_sweep(daemon);
}

/*
 * worker_restore.c: workers that another meted has started: found by their sockets after its death, or handed over.
 */
#include "daemon/workers/worker.h"

#include "base/cleanup.h"
#include "daemon/daemon.h"
#include "daemon/upgrade/handover.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/images.h"
#include "daemon/workers/traffic.h"
#include "wire/worker.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void restore_one(struct daemon *daemon, const char *name)
{
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
	if (sscanf(name, "%" SCNx64 "-%d", &grant_id, &pid) != 2 || fd < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid != pid ||
	    !tenant_find_id(daemon, grant_id)) {
		unlinkat(daemon->runtime.dir_fd, place, 0);
		return;
	}
	worker = worker_adopt(daemon, WORKER_BUSY, pid, place, steal_fd(&fd));
	if (worker)
		worker->grant_id = grant_id;
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

json_t *worker_save(const struct daemon *daemon, struct handover *h)
{
	json_t *list = json_array();

	for (const struct worker *w = daemon->workers; w; w = w->next)
		json_array_insert_new(
			list, 0,
			json_pack("{s:o s:o s:i s:i s:s s:i s:b s:I s:I s:I}", "fd", handover_give(h, w->control_fd),
				  "images", handover_give(h, w->images_fd), "pid", (int)w->pid, "state",
				  (int)w->state, "place", w->place, "version", (int)WORKER_VERSION, "child",
				  w->child || w->pidfd >= 0, "grant", (json_int_t)w->grant_id, "pool_of",
				  (json_int_t)pool_user(daemon, w->pool), "began", (json_int_t)w->began_ns));
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
	images_resume(w, handover_take(h, json_object_get(part, "images")));
	w->pool = state != WORKER_BUSY && tenant ? tenant->pool : NULL;
	if (json_is_true(json_object_get(part, "child")))
		worker_take_child(w);
	if (state != WORKER_BUSY && !w->pool)
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
		return;
	}
	json_array_foreach(list, i, part) take_over(daemon, h, part);
}

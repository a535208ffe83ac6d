/*
 * wall.c: see wall.h. What a client says is read by its worker alone; we look whether it has said anything, and pass
 * the connection on.
 */
#include "daemon/workers/wall.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/tenants/container.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/upgrade/handover.h"
#include "daemon/workers/caller.h"
#include "daemon/workers/pool.h"
#include "daemon/tenants/stores.h"
#include "daemon/tenants/tenant.h"
#include "ring/wall.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTS_PER_TURN 64

void wall_turn_away(int fd, unsigned int status, const char *text)
{
	struct wall_hello hello;

	/* A socket that is closed with a message unread takes the answer back: the client would see no reason. */
	if (recv(fd, &hello, sizeof(hello), MSG_DONTWAIT) > 0)
		wall_refuse(fd, (enum wall_status)status, "%s", text);
	close(fd);
}

static const char *place_of(const struct tenant *tenant, char place[CONTAINER_PLACE_BYTES])
{
	if (tenant->grant.container.is)
		return container_place(&tenant->grant, "wall.sock", place);
	snprintf(place, CONTAINER_PLACE_BYTES, "grants/%s@wall.sock", tenant->grant.name);
	return place;
}

const char *wall_path(const struct tenant *tenant, char *path, size_t size)
{
	char place[CONTAINER_PLACE_BYTES];

	*path = 0;
	if (tenant->wall_fd >= 0)
		snprintf(path, size, "%s/%s", tenant->daemon->runtime.dir, place_of(tenant, place));
	return path;
}

void wall_hear(struct tenant *tenant, int fd, unsigned int said)
{
	char why[sizeof(((struct wall_welcome *)NULL)->text)];
	uint32_t wait_s;
	bool quarantined;

	if (said) {
		wall_turn_away(fd, said,
			       said == WALL_WRONG_VERSION ? "the client and meted are of different versions: "
							    "install both from one release"
							  : "this is no client of mete");
	} else if (!tenant_may_begin(tenant, &quarantined, &wait_s, why, sizeof(why))) {
		log_of_programs(tenant->grant.uid, tenant->grant.id,
				"grant %s: a program behind the wall is refused: %s", tenant->grant.name, why);
		wall_turn_away(fd, quarantined ? WALL_REFUSED : WALL_NO_DEVICE, why);
	} else {
		pool_knock(tenant->pool, tenant, fd);
	}
}

static void on_connect(void *owner)
{
	struct tenant *tenant = owner;

	for (int i = 0; i < ACCEPTS_PER_TURN && daemon_may_hear(tenant->daemon, tenant->grant.uid); i++) {
		uint64_t since_ns = clock_now_ns();
		int fd = daemon_accept(tenant->daemon, tenant->wall_fd, tenant->grant.uid);

		if (fd < 0)
			return;
		caller_new(tenant, fd, true);
		daemon_heard(tenant->daemon, tenant->grant.uid, since_ns);
	}
}

json_t *wall_save(const struct tenant *tenant, struct handover *h)
{
	json_t *list = json_array();

	if (tenant->pool)
		pool_save(tenant->pool, tenant, h, list);
	caller_save(tenant, h, list);
	return list;
}

void wall_restore(struct tenant *tenant, struct handover *h, const json_t *list)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		int fd = handover_take(h, json_object_get(one, "fd"));

		if (fd >= 0 && tenant->pool)
			caller_new(tenant, fd, false);
		else if (fd >= 0)
			close(fd);
	}
}

int wall_open(struct tenant *tenant, char *error, size_t size)
{
	struct daemon *daemon = tenant->daemon;
	char place[CONTAINER_PLACE_BYTES];

	tenant->wall_fd = runtime_listen(&daemon->runtime, place_of(tenant, place), SOCK_SEQPACKET,
					 tenant->grant.container.is ? 0666 : 0600, tenant->grant.uid, tenant->grant.gid,
					 error, size);
	if (tenant->wall_fd < 0)
		return tenant->wall_fd;
	tenant->pool = pool_ref(daemon, &tenant->grant);
	tenant->wall = tenant->pool ? watch_new(daemon->loop, tenant->wall_fd, on_connect, tenant) : NULL;
	if (tenant->wall) {
		pool_wish(tenant->pool, tenant);
		return 0;
	}
	snprintf(error, size, "no memory to watch %s", place);
	return -ENOMEM;
}

void wall_shut(struct tenant *tenant, bool leaving)
{
	char place[CONTAINER_PLACE_BYTES];

	watch_free(tenant->wall);
	tenant->wall = NULL;
	caller_drop_all(tenant);
	stores_end(tenant, leaving);
	moving_end(tenant);
	if (tenant->pool) {
		pool_forget(tenant->pool, tenant);
		pool_unref(tenant->pool);
		tenant->pool = NULL;
	}
	if (tenant->wall_fd < 0)
		return;
	if (!leaving)
		runtime_remove(&tenant->daemon->runtime, place_of(tenant, place));
	close(tenant->wall_fd);
	tenant->wall_fd = -1;
}

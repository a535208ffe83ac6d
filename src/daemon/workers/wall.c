/* wall.c: see wall.h. What a client says is read by its worker alone; we only pass connections on. */
#include "daemon/workers/wall.h"

#include "base/cleanup.h"
#include "daemon/tenants/container.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/workers/pool.h"
#include "daemon/tenants/tenant.h"
#include "wire/wall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCEPTS_PER_TURN 64
#define FAREWELLS 256u
#define FAREWELL_MS 2000

/*
 * A client that is turned away, until it has said its hello: a socket that is closed with a message unread takes the
 * answer back, and the client would see a broken connection and no reason.
 */
struct farewell {
	struct farewell *next;
	int fd;
	struct watch *watch;
	struct timer *timer;
	unsigned int status;
	char text[sizeof(((struct wall_welcome *)NULL)->text)];
};

static struct farewell *farewells;
static unsigned int farewell_count;

static void farewell_free(struct farewell *f)
{
	struct farewell **at = &farewells;

	while (*at && *at != f)
		at = &(*at)->next;
	if (*at) {
		*at = f->next;
		farewell_count--;
	}
	watch_free(f->watch);
	timer_free(f->timer);
	close(f->fd);
	free(f);
}

static void on_hello(void *owner)
{
	struct farewell *f = owner;
	struct wall_hello hello;

	if (recv(f->fd, &hello, sizeof(hello), MSG_DONTWAIT) > 0)
		wall_refuse(f->fd, (enum wall_status)f->status, "%s", f->text);
	farewell_free(f);
}

static void on_late(void *owner)
{
	farewell_free(owner);
}

void wall_turn_away(struct daemon *daemon, int fd, unsigned int status, const char *text)
{
	struct farewell *f = farewell_count < FAREWELLS && !daemon->stopping ? calloc(1, sizeof(*f)) : NULL;

	if (!f) {
		close(fd);
		return;
	}
	*f = (struct farewell){ .next = farewells, .fd = fd, .status = status };
	snprintf(f->text, sizeof(f->text), "%s", text);
	farewells = f;
	farewell_count++;
	f->watch = watch_new(daemon->loop, fd, on_hello, f);
	f->timer = timer_new(daemon->loop, on_late, f);
	if (!f->watch || !f->timer)
		farewell_free(f);
	else
		timer_start(f->timer, FAREWELL_MS, 0);
}

void wall_leave(void)
{
	while (farewells)
		farewell_free(farewells);
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

static void on_connect(void *owner)
{
	struct tenant *tenant = owner;
	char why[sizeof(((struct wall_welcome *)NULL)->text)];
	uint32_t wait_s;
	bool quarantined;

	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd = daemon_accept(tenant->daemon, tenant->wall_fd);

		if (fd < 0)
			return;
		if (!tenant_may_begin(tenant, &quarantined, &wait_s, why, sizeof(why))) {
			log_peer("grant %s: a program behind the wall is refused: %s", tenant->grant.name, why);
			wall_turn_away(tenant->daemon, fd, quarantined ? WALL_REFUSED : WALL_NO_DEVICE, why);
			continue;
		}
		pool_knock(tenant->pool, tenant, fd);
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
	if (tenant->wall)
		return 0;
	snprintf(error, size, "no memory to watch %s", place);
	return -ENOMEM;
}

void wall_shut(struct tenant *tenant, bool leaving)
{
	char place[CONTAINER_PLACE_BYTES];

	watch_free(tenant->wall);
	tenant->wall = NULL;
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

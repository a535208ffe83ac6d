/* caller.c: see caller.h. */
#include "daemon/workers/caller.h"

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/loop.h"
#include "daemon/tenants/stores.h"
#include "daemon/tenants/tenant.h"
#include "daemon/upgrade/handover.h"
#include "daemon/workers/wall.h"
#include "ring/wall.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct caller {
	struct caller *next; /* the newest first */
	struct tenant *tenant;
	int fd; /* -1: it is somebody else's now */
	struct watch *watch;
	struct timer *timer;
};

static void caller_free(struct caller *caller)
{
	struct caller **at = &caller->tenant->callers;

	while (*at != caller)
		at = &(*at)->next;
	*at = caller->next;
	caller->tenant->caller_count--;
	watch_free(caller->watch);
	timer_free(caller->timer);
	if (caller->fd >= 0)
		close(caller->fd);
	free(caller);
}

static void on_word(void *owner)
{
	struct caller *caller = owner;
	struct tenant *tenant = caller->tenant;
	struct wall_store store;
	int fd = caller->fd, asks = wall_take_store(fd, &store), said;

	if (asks != -EAGAIN) {
		caller->fd = asks ? fd : -1;
		caller_free(caller);
		if (!asks)
			stores_hear(tenant, fd, &store);
		return;
	}
	said = wall_peek_hello(fd);
	if (said == -EAGAIN || said == -EINTR)
		return;
	caller->fd = said < 0 ? fd : -1;
	caller_free(caller);
	if (said >= 0)
		wall_hear(tenant, fd, (unsigned int)said);
}

/* What is heard of it counts as heard of its user, as its connecting did. */
static void on_readable(void *owner)
{
	struct daemon *daemon = ((struct caller *)owner)->tenant->daemon;
	const uid_t uid = ((struct caller *)owner)->tenant->grant.uid;
	const uint64_t since_ns = clock_now_ns();

	if (!daemon_may_hear(daemon, uid))
		return;
	on_word(owner);
	daemon_heard(daemon, uid, since_ns);
}

static void on_silent(void *owner)
{
	caller_free(owner);
}

/* Unless it has spoken since it was looked at. */
static void drop_oldest(struct tenant *tenant)
{
	unsigned int before = tenant->caller_count;
	struct caller *caller = tenant->callers;

	while (caller && caller->next)
		caller = caller->next;
	if (!caller)
		return;
	on_word(caller);
	if (tenant->caller_count == before)
		caller_free(caller);
}

void caller_new(struct tenant *tenant, int fd, bool look)
{
	struct uv_loop_s *loop = tenant->daemon->loop;
	struct caller *caller = calloc(1, sizeof(*caller));

	if (!caller) {
		close(fd);
		return;
	}
	if (tenant->caller_count >= CALLERS_OF_GRANT)
		drop_oldest(tenant);
	*caller = (struct caller){ .next = tenant->callers, .tenant = tenant, .fd = fd };
	tenant->callers = caller;
	tenant->caller_count++;
	caller->watch = watch_new(loop, fd, on_readable, caller);
	caller->timer = timer_new(loop, on_silent, caller);
	if (!caller->watch || !caller->timer) {
		caller_free(caller);
		return;
	}
	timer_start(caller->timer, CALLER_SILENT_MS, 0);
	if (look)
		on_word(caller);
}

void caller_drop_all(struct tenant *tenant)
{
	while (tenant->callers)
		caller_free(tenant->callers);
}

void caller_save(const struct tenant *tenant, struct handover *h, json_t *list)
{
	for (const struct caller *c = tenant->callers; c; c = c->next)
		json_array_append_new(list, json_pack("{s:o}", "fd", handover_give(h, c->fd)));
}

/* clockwork.c: see clockwork.h. */
#include "daemon/clockwork.h"

#include "base/clock.h"
#include "daemon/changes.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/health/device_watch.h"
#include "daemon/health/health.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/serving.h"
#include "daemon/store/store.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/session.h"
#include "daemon/tenants/tenant.h"

#include <errno.h>

static void end_grants(struct daemon *daemon)
{
	struct tenant *next;
	char why[128], error[512];

	for (struct tenant *t = daemon->tenants; t; t = next) {
		next = t->next;
		if (!tenant_ended(t, why, sizeof(why)))
			continue;
		log_of(t->grant.uid, "grant %s %s", t->grant.name, why);
		journal_add(daemon, JOURNAL_GRANT, t->grant.name, NULL, "%s", why);
		/* A store that cannot be written keeps a grant whose command is gone: the next meted drops it. */
		if (store_remove(daemon->store, t->grant.id, error, sizeof(error)))
			log_line("grant %s: %s", t->grant.name, error);
		tenant_free(t, false);
	}
}

static void on_round(void *owner)
{
	struct daemon *daemon = owner;

	round_begin(&daemon->round);
	serving_round();
	changes_look(daemon);
}

static void on_reap(void *owner)
{
	struct daemon *daemon = owner;
	uint64_t now = clock_now_ns(), idle;

	end_grants(daemon);
	if (daemon->tenants || daemon->control_count || !daemon->idle_exit_ns) {
		daemon->idle_since_ns = 0;
		return;
	}
	if (!daemon->idle_since_ns)
		daemon->idle_since_ns = now;
	idle = now - daemon->idle_since_ns;
	if (idle >= daemon->idle_exit_ns) {
		log_line("idle: leaving");
		daemon_stop(daemon);
	} else {
		timer_start(daemon->reap, (daemon->idle_exit_ns - idle) / 1000000 + 1, 0);
	}
}

static void on_sweep(void *owner)
{
	struct daemon *daemon = owner;
	unsigned int waiting = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next)
		waiting += session_sweep(t, clock_now_ns()) + client_sweep(t, clock_now_ns());
	waiting += control_sweep(daemon, clock_now_ns());
	if (!waiting)
		timer_stop(daemon->sweep);
}

void clockwork_tell_drivers(void *owner)
{
	struct daemon *daemon = owner;

	for (unsigned int i = 0; i < MACHINE_DRIVERS; i++)
		log_line("%s driver: %s", device_kind_name(daemon->machine.driver[i].kind),
			 daemon->machine.driver[i].status);
}

/* Starts children, which takes its time: after an upgrade those come first who wait for an answer. */
void clockwork_ask_drivers(struct daemon *daemon)
{
	machine_refresh(daemon, clockwork_tell_drivers, daemon);
	device_watch_update(daemon);
}

static void on_ask(void *owner)
{
	clockwork_ask_drivers(owner);
}

int clockwork_start(struct daemon *daemon)
{
	daemon->reap = timer_new(daemon->loop, on_reap, daemon);
	daemon->sweep = timer_new(daemon->loop, on_sweep, daemon);
	daemon->ask = timer_new(daemon->loop, on_ask, daemon);
	daemon->rounds = rounds_new(daemon->loop, on_round, daemon);
	return daemon->reap && daemon->sweep && daemon->ask && daemon->rounds ? 0 : -ENOMEM;
}

void clockwork_stop(struct daemon *daemon)
{
	timer_free(daemon->reap);
	timer_free(daemon->leaving);
	timer_free(daemon->sweep);
	rounds_free(daemon->rounds);
	timer_free(daemon->ask);
}

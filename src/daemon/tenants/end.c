/* end.c: see end.h. Who is there is looked at every LOOK_MS while somebody is being ended. */
#include "daemon/tenants/end.h"

#include "base/clock.h"
#include "daemon/tenants/client.h"
#include "daemon/daemon.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/store/store.h"
#include "daemon/tenants/tenant.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 50u
#define SECOND_NS 1000000000u

struct ending {
	struct ending *next;
	uint64_t grant_id;
	uint64_t again_ns; /* when those who are left are killed */
	unsigned int asked;
};

static void tell(struct tenant *tenant, int pidfd, int number)
{
	if (pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0) < 0 && errno != ESRCH)
		log_line("grant %s: a process cannot be ended: %s", tenant->grant.name, strerror(errno));
}

/* The command that the grant was made for passes SIGTERM on; killed it could not. */
void end_tell(struct tenant *tenant, int number)
{
	for (struct client *c = tenant->clients; c; c = c->next)
		tell(tenant, c->pidfd, number);
	if (number == SIGTERM || !tenant->clients)
		tell(tenant, tenant->runner_fd, number);
}

static void remove_grant(struct tenant *tenant)
{
	struct daemon *daemon = tenant->daemon;
	char error[512];

	if (store_remove(daemon->store, tenant->grant.id, error, sizeof(error)))
		log_line("grant %s: %s", tenant->grant.name, error);
	log_line("grant %s has been ended", tenant->grant.name);
	journal_add(daemon, JOURNAL_GRANT, tenant->grant.name, NULL, "ended: nothing of it runs any more");
	tenant_free(tenant, false);
	daemon_reap_soon(daemon);
}

/* Value: false when it is over. */
static bool step(struct daemon *daemon, struct ending *e)
{
	struct tenant *tenant = tenant_find_id(daemon, e->grant_id);

	if (!tenant)
		return false;
	if (!tenant->clients && !tenant->sessions && tenant->runner_fd < 0) {
		remove_grant(tenant);
		return false;
	}
	if (clock_now_ns() < e->again_ns)
		return true;
	e->again_ns = clock_now_ns() + (e->asked ? 1 : END_KILL_S) * (uint64_t)SECOND_NS;
	end_tell(tenant, e->asked++ ? SIGKILL : SIGTERM);
	return true;
}

static void on_look(void *owner)
{
	struct daemon *daemon = owner;
	struct ending **at = &daemon->endings, *over;

	while (*at) {
		if (step(daemon, *at)) {
			at = &(*at)->next;
			continue;
		}
		over = *at;
		*at = over->next;
		free(over);
	}
	if (!daemon->endings)
		timer_stop(daemon->end);
}

bool end_is_under_way(const struct tenant *tenant)
{
	for (struct ending *e = tenant->daemon->endings; e; e = e->next)
		if (e->grant_id == tenant->grant.id)
			return true;
	return false;
}

int end_begin(struct tenant *tenant, const char *who)
{
	struct daemon *daemon = tenant->daemon;
	struct ending *e;

	if (end_is_under_way(tenant))
		return 0;
	if (!daemon->end)
		daemon->end = timer_new(daemon->loop, on_look, daemon);
	e = daemon->end ? calloc(1, sizeof(*e)) : NULL;
	if (!e)
		return -ENOMEM;
	e->grant_id = tenant->grant.id;
	e->next = daemon->endings;
	daemon->endings = e;
	log_line("grant %s is being ended by %s", tenant->grant.name, who);
	journal_add(daemon, JOURNAL_ACTION, tenant->grant.name, NULL, "is being ended by %s", who);
	timer_start(daemon->end, 0, LOOK_MS);
	return 0;
}

void end_stop(struct daemon *daemon)
{
	struct ending *e;

	while ((e = daemon->endings)) {
		daemon->endings = e->next;
		free(e);
	}
	timer_free(daemon->end);
	daemon->end = NULL;
}

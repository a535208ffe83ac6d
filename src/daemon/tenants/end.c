/* end.c: see end.h. Who is there is looked at every LOOK_MS while somebody is being ended. */
#include "daemon/tenants/end.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/tenants/client.h"
#include "daemon/daemon.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/store/store.h"
#include "daemon/tenants/sender.h"
#include "daemon/tenants/session.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
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

static void complain(struct tenant *tenant, pid_t pid, int r)
{
	if (r == -EPERM)
		log_of(tenant->grant.uid,
		       "grant %s: process %d is not ended: it does not belong to uid %u: end it as root (kill %d)",
		       tenant->grant.name, (int)pid, (unsigned int)tenant->grant.uid, (int)pid);
	else if (r && r != -ESRCH)
		log_of(tenant->grant.uid, "grant %s: process %d cannot be ended: %s", tenant->grant.name, (int)pid,
		       strerror(-r));
}

/* What was named by root, by meted's own user, or is meted's own child, is told with meted's rights. */
static uid_t rights_over(const struct tenant *tenant, bool ours)
{
	return ours || !tenant->grant.uid ? geteuid() : tenant->grant.uid;
}

/* A process that has attached itself and has not changed its user since may be told whosever it is. */
static uid_t rights_over_client(const struct client *c)
{
	const struct process *p = &c->process;
	const struct worker *worker;

	if (p->uid != PROCESS_NO_UID && sender_is_of(p->pid, c->pidfd, p->uid))
		return p->uid;
	worker = worker_find(c->tenant->daemon, p->pid);
	return rights_over(c->tenant, worker && worker->grant_id == c->tenant->grant.id);
}

/* The command that the grant was made for passes SIGTERM on; killed it could not. */
void end_tell(struct tenant *tenant, int number)
{
	_cleanup_free_ struct sender_target *targets = NULL;
	size_t count = 0;

	for (struct client *c = tenant->clients; c; c = c->next)
		count++;
	targets = calloc(count + 1, sizeof(*targets));
	if (!targets)
		return;
	count = 0;
	for (struct client *c = tenant->clients; c; c = c->next)
		targets[count++] = (struct sender_target){ c->process.pid, c->pidfd, rights_over_client(c), 0 };
	if (tenant->runner_fd >= 0 && (number == SIGTERM || !tenant->clients))
		targets[count++] = (struct sender_target){ tenant->grant.runner_pid, tenant->runner_fd,
							   rights_over(tenant, tenant->runner_is_roots), 0 };
	sender_tell(targets, count, number);
	for (size_t i = 0; i < count; i++)
		complain(tenant, targets[i].pid, targets[i].result);
}

/* No signal reaches who holds a connection of a process that has ended; nor does the grant wait for it. */
static void hang_up(struct tenant *tenant)
{
	unsigned int left = session_end_left(tenant);

	if (left)
		log_of(tenant->grant.uid,
		       "grant %s: %u connections of processes that have ended are held by others: closed",
		       tenant->grant.name, left);
}

static void remove_grant(struct tenant *tenant)
{
	struct daemon *daemon = tenant->daemon;
	char error[512];

	if (store_remove(daemon->store, tenant->grant.id, error, sizeof(error)))
		log_line("grant %s: %s", tenant->grant.name, error);
	log_of(tenant->grant.uid, "grant %s has been ended", tenant->grant.name);
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
	if (e->asked)
		hang_up(tenant);
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
	log_of(tenant->grant.uid, "grant %s is being ended by %s", tenant->grant.name, who);
	journal_add(daemon, JOURNAL_ACTION, tenant->grant.name, NULL, "is being ended by %s", who);
	timer_start(daemon->end, 0, LOOK_MS);
	if (tenant->held_count && session_let_begin(tenant))
		residence_look_on(daemon);
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

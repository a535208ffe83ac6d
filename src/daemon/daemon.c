/* daemon.c: what the parts of meted do together: accepting, ending, restoring. */
#include "daemon/daemon.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/descriptors.h"
#include "daemon/tenants/account.h"
#include "daemon/tenants/book.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/holder.h"
#include "daemon/tenants/leaving.h"
#include "daemon/health/faults.h"
#include "daemon/upgrade/handover.h"
#include "daemon/upgrade/handover_tenants.h"
#include "daemon/upgrade/keeper.h"
#include "daemon/upgrade/upgrade.h"
#include "daemon/log.h"
#include "daemon/owner.h"
#include "daemon/subordinate.h"
#include "daemon/turns/arbitrate.h"
#include "daemon/tenants/session.h"
#include "daemon/store/store.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/images.h"
#include "daemon/workers/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SWEEP_MS 1000
#define ROUND_PART_NS 2000000u /* of one round of the loop, for what one user's programs say */

void daemon_reap_soon(struct daemon *daemon)
{
	if (!daemon->stopping)
		timer_start(daemon->reap, 0, 0);
}

void daemon_sweep_soon(struct daemon *daemon)
{
	if (!timer_running(daemon->sweep))
		timer_start(daemon->sweep, SWEEP_MS, SWEEP_MS);
}

void daemon_stop(struct daemon *daemon)
{
	daemon->stopping = true;
	uv_stop(daemon->loop);
}

bool daemon_keeps_back(struct daemon *daemon, uid_t uid)
{
	if (descriptors_left(daemon, uid))
		return false;
	log_of(uid,
	       "the descriptors that are left are kept for %s: something of uid %u is refused; raise the limit of open "
	       "files (LimitNOFILE= of meted.service, ulimit -n)",
	       geteuid() ? "root and meted's own user" : "root", (unsigned int)uid);
	return true;
}

bool daemon_may_hear(const struct daemon *daemon, uid_t uid)
{
	return !daemon->rounds || owner_is(uid) || round_admits(&daemon->round, subordinate_user(uid), ROUND_PART_NS);
}

void daemon_heard(struct daemon *daemon, uid_t uid, uint64_t since_ns)
{
	if (daemon->rounds && !owner_is(uid))
		round_add(&daemon->round, subordinate_user(uid), clock_now_ns() - since_ns);
}

int daemon_accept(struct daemon *daemon, int listen_fd, uid_t uid)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0 && daemon_keeps_back(daemon, uid)) {
		close(fd);
		return -EAGAIN;
	}
	if (fd >= 0)
		return fd;
	if (errno != EMFILE && errno != ENFILE)
		return -EAGAIN;
	/* Left in the queue it would wake the loop for ever: taken with the spare descriptor, and closed. */
	log_of(uid, "no descriptors left: a connection is refused; raise the limit of open files (ulimit -n)");
	cleanup_close(&daemon->spare_fd);
	fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		close(fd);
	daemon->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return -EAGAIN;
}

uint64_t daemon_new_id(struct daemon *daemon)
{
	struct timespec now;
	uint64_t id;

	clock_gettime(CLOCK_REALTIME, &now);
	id = (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
	if (id <= daemon->last_id)
		id = daemon->last_id + 1;
	daemon->last_id = id;
	return id;
}

uint64_t daemon_promised_bytes(struct daemon *daemon, const uint8_t *uuid, const struct tenant *except)
{
	uint64_t bytes = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (t != except)
			bytes += grant_promised_bytes(&t->grant, uuid);
	return bytes;
}

uint64_t daemon_held_bytes(struct daemon *daemon, const uint8_t *uuid)
{
	uint64_t units = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next)
		for (unsigned int i = 0; i < t->grant.share_count; i++)
			if (!memcmp(t->grant.share[i].device.uuid, uuid, DEVICE_UUID_BYTES))
				units += account_counted_held(t, i);
	return units * WIRE_UNIT_BYTES;
}

uint32_t daemon_promised_ppm(struct daemon *daemon, const uint8_t *uuid, const struct tenant *except)
{
	uint32_t ppm = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (t != except)
			ppm += grant_promised_ppm(&t->grant, uuid);
	return ppm;
}

bool daemon_shares_time(struct daemon *daemon, const uint8_t *uuid, const struct tenant *except)
{
	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		const struct grant_share *share = t == except ? NULL : grant_find_share(&t->grant, uuid);

		if (share && share->compute.terms.gated)
			return true;
	}
	return false;
}

/* Restoring. */

static int restore_grant(const struct grant *grant, void *owner)
{
	struct daemon *daemon = owner;
	struct tenant *tenant;
	char error[512];

	if (grant->id > daemon->last_id)
		daemon->last_id = grant->id;
	if (!tenant_new(daemon, grant, true, &tenant, error, sizeof(error))) {
		faults_restore(tenant);
		handover_tenant_restore(daemon->runtime.handover, tenant);
		return 0;
	}
	/* Served without a socket: its clients' accounts must count, and its promise stands. */
	log_line("grant %s: %s", grant->name, error);
	return tenant_new(daemon, grant, false, &tenant, error, sizeof(error));
}

/* A page that the holder has given, or where that is -1 a file. */
static void restore_page(struct daemon *daemon, const char *name, int take_sealed)
{
	_cleanup_close_ int pidfd = -1, sealed = take_sealed;
	struct process process;
	struct tenant *tenant;
	struct client *client;
	uint64_t grant_id, start_time;
	pid_t pid;
	int r;

	if (!strncmp(name, ".new-", 5)) {
		page_remove(&daemon->runtime, name);
		return;
	}
	if (!page_name_parse(name, &grant_id, &pid, &start_time))
		return;
	if (process_find(pid, &process, &pidfd) || process.start_time != start_time) {
		page_remove(&daemon->runtime, name);
		return;
	}
	tenant = tenant_find_id(daemon, grant_id);
	if (!tenant) {
		log_line(
			"pid %d (%s) has a page of a grant that the store does not know: it cannot get memory any more",
			(int)pid, process.command);
		return;
	}
	r = client_recover(tenant, &process, &pidfd, name, steal_fd(&sealed), &client);
	/* Kept as it is, for the meted that made it. */
	if (r == -EPROTO)
		book_remove(book_find(daemon->book, grant_id, pid, start_time));
	if (r == -EPROTO)
		log_line("grant %s: the page of pid %d (%s) is of another release than this meted, which cannot tell "
			 "what it holds: end that program, or go back to the meted that it was started under",
			 tenant->grant.name, (int)pid, process.command);
	else if (r)
		log_line("grant %s: the page of pid %d (%s) cannot be used: %s", tenant->grant.name, (int)pid,
			 process.command, strerror(-r));
}

static void restore_held(void *owner, const char *name, int fd)
{
	restore_page(owner, name, fd);
}

/* A meted from before the book has served meanwhile: what stands there is old. */
static bool is_outdated(const struct handover *handover)
{
	return handover && !handover_get(handover, "book");
}

/* Where others come in a page must be of fixed size. */
static void find_holder(struct daemon *daemon)
{
	int r = daemon->runtime.system ? holder_connect(&daemon->runtime) : -ENOTSUP;

	if (!r)
		r = holder_list(&daemon->runtime, restore_held, daemon);
	if (r && daemon->runtime.system)
		log_line("nobody holds sealed pages (%s): pages are files, which a process of a tenant can grow until "
			 "%s is full; restart meted where it may start a process of its own",
			 strerror(-r), daemon->runtime.dir);
}

/* A process that has an entry and no client: its page is lost, or cannot be read. */
static void restore_entry(struct daemon *daemon, struct book_entry *entry)
{
	_cleanup_close_ int pidfd = -1;
	struct tenant *tenant = tenant_find_id(daemon, entry->grant_id);
	struct process process;
	int r;

	if (!tenant || process_find(entry->pid, &process, &pidfd) || process.start_time != entry->start_time) {
		if (!tenant || !leaving_restore(tenant, entry))
			book_remove(entry);
		return;
	}
	if (client_find(tenant, &process))
		return;
	r = client_recover_lost(tenant, &process, &pidfd, entry);
	if (r)
		log_line("grant %s: no page for pid %d (%s): %s: what it holds is not known", tenant->grant.name,
			 (int)process.pid, process.command, strerror(-r));
}

static void restore_lost(struct daemon *daemon)
{
	struct book_entry *next, *e = daemon->book ? book_next(daemon->book, NULL) : NULL;

	for (; e; e = next) {
		next = book_next(daemon->book, e);
		restore_entry(daemon, e);
	}
}

static void restore_pages(struct daemon *daemon)
{
	int fd = openat(daemon->runtime.pages_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		cleanup_close(&fd);
		return;
	}
	while ((entry = readdir(dir)))
		restore_page(daemon, entry->d_name, -1);
	closedir(dir);
}

/* Pages are mapped and everybody is known: what is left is what no turns can be given meanwhile. */
static int take_turns(struct daemon *daemon, char *error, size_t size)
{
	int r;

	keeper_stop(daemon->runtime.handover);
	r = arbitrate_start();
	if (r) {
		snprintf(error, size, "cannot start the thread that gives turns: %s", strerror(-r));
		return r;
	}
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		for (struct client *c = t->clients; c; c = c->next)
			arbitrate_attach(c, true);
	upgrade_resumed();
	return 0;
}

int daemon_restore(struct daemon *daemon, char *error, size_t size)
{
	unsigned int grants = 0, clients = 0;
	int r = store_load(daemon->store, restore_grant, daemon, error, size);

	if (r)
		return r;
	daemon->book = book_open(&daemon->runtime, is_outdated(daemon->runtime.handover));
	restore_pages(daemon);
	find_holder(daemon);
	restore_lost(daemon);
	r = take_turns(daemon, error, size);
	if (r)
		return r;
	images_restore(daemon, daemon->runtime.handover);
	worker_restore(daemon);
	handover_sessions_restore(daemon, daemon->runtime.handover);
	for (struct tenant *t = daemon->tenants; t; t = t->next, grants++)
		for (struct client *c = t->clients; c; c = c->next)
			clients++;
	if (grants)
		log_line("%u grant(s) restored, with %u running process(es)", grants, clients);
	daemon_reap_soon(daemon);
	return 0;
}

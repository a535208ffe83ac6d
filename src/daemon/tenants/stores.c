/* stores.c: see stores.h. */
#include "daemon/tenants/stores.h"

#include "base/cleanup.h"
#include "base/send_fds.h"
#include "daemon/daemon.h"
#include "daemon/loop.h"
#include "daemon/tenants/disk.h"
#include "daemon/tenants/process.h"
#include "daemon/tenants/residence.h"
#include "daemon/tenants/tenant.h"
#include "daemon/upgrade/handover.h"
#include "ring/wall.h"
#include "wire/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORES_MOST 64u /* of a tenant: as many processes of it take part */

struct store {
	struct store *next;
	struct tenant *tenant;
	struct process process;
	int pidfd;
	struct watch *watch; /* of its end */
	uint64_t units;
	int file;	      /* -1: it is made, or a meted before this one had it */
	struct disk_ask *ask; /* it is made */
	int asker;	      /* the connection that waits for it; -1: none */
};

static void store_free(struct store *s, bool leaving)
{
	struct store **at = &s->tenant->stores;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	disk_forget(s->ask);
	watch_free(s->watch);
	cleanup_close(&s->pidfd);
	cleanup_close(&s->asker);
	if (s->file >= 0 && leaving)
		close(s->file);
	else if (s->file >= 0)
		disk_end(s->tenant->daemon, s->file);
	free(s);
}

static void on_end(void *owner)
{
	struct store *s = owner;

	if (process_ended(s->pidfd))
		store_free(s, false);
}

/* Takes the pidfd. NULL: no memory, or the tenant has too many. */
static struct store *store_new(struct tenant *tenant, const struct process *process, int pidfd, uint64_t units)
{
	struct store *s = calloc(1, sizeof(*s));
	unsigned int count = 0;

	for (const struct store *other = tenant->stores; other; other = other->next)
		count++;
	if (!s || count >= STORES_MOST) {
		free(s);
		close(pidfd);
		return NULL;
	}
	*s = (struct store){ .next = tenant->stores,
			     .tenant = tenant,
			     .process = *process,
			     .pidfd = pidfd,
			     .units = units,
			     .file = -1,
			     .asker = -1 };
	tenant->stores = s;
	s->watch = watch_new(tenant->daemon->loop, pidfd, on_end, s);
	if (s->watch)
		return s;
	store_free(s, false);
	return NULL;
}

static struct store *find(const struct tenant *tenant, const struct process *process)
{
	struct store *s = tenant->stores;

	while (s && (s->process.pid != process->pid || s->process.start_time != process->start_time))
		s = s->next;
	return s;
}

static void say(int connection, enum wall_stored_place place, int file)
{
	const struct wall_stored answer = { .magic = WALL_STORE_MAGIC, .version = WALL_STORE_VERSION, .place = place };

	send_fd(connection, &answer, sizeof(answer), file, MSG_DONTWAIT);
}

static void on_made(void *owner, int fd, const char *why)
{
	struct store *s = owner;

	s->ask = NULL;
	s->file = fd;
	say(s->asker, fd < 0 ? WALL_STORED_NOWHERE : WALL_STORED_DISK, fd);
	close(s->asker);
	s->asker = -1;
	if (fd >= 0)
		return;
	tenant_note(s->tenant, 0, JOURNAL_ACTION, "what its program keeps finds no room: %s", why);
	store_free(s, false);
}

/* All programs of a tenant together keep no more than its quota, but for what each rounds up. */
static bool fits(const struct tenant *tenant, uint64_t units)
{
	uint64_t quota = STORES_MOST * (4096u / WIRE_UNIT_BYTES);

	for (unsigned int i = 0; i < tenant->grant.share_count; i++)
		quota += tenant->grant.share[i].ledger.quota_units;
	return units <= quota && stores_units(tenant) <= quota - units;
}

/* Takes the connection and the pidfd. */
static void ask(struct tenant *tenant, int fd, const struct process *process, int pidfd, uint64_t units)
{
	const enum wall_stored_place place =
		fits(tenant, units) ? residence_store_place(tenant, units) : WALL_STORED_NOWHERE;
	struct store *s = place == WALL_STORED_DISK ? store_new(tenant, process, pidfd, units) : NULL;

	if (place != WALL_STORED_DISK)
		close(pidfd);
	if (s)
		s->ask = disk_ask(tenant->daemon, tenant->grant.id, units * WIRE_UNIT_BYTES, on_made, s);
	if (s && s->ask) {
		s->asker = fd;
		return;
	}
	if (s)
		store_free(s, false);
	say(fd, place == WALL_STORED_HOST ? WALL_STORED_HOST : WALL_STORED_NOWHERE, -1);
	close(fd);
}

void stores_hear(struct tenant *tenant, int take_fd, const struct wall_store *said)
{
	_cleanup_close_ int fd = take_fd, pidfd = -1;
	const uint64_t units = wire_units(said->bytes);
	struct process process;
	struct store *s;

	if (process_of_peer(fd, &process, &pidfd) < 0 || !moving_takes(tenant))
		return;
	s = find(tenant, &process);
	if (said->word == WALL_STORE_HAS && !s && residence_is_owners(tenant) && fits(tenant, units))
		s = store_new(tenant, &process, steal_fd(&pidfd), units);
	if (said->word == WALL_STORE_HAS) {
		say(fd, s ? WALL_STORED_DISK : WALL_STORED_NOWHERE, s ? s->file : -1);
		return;
	}
	/* What it had before it has no use for any more. */
	if (s)
		store_free(s, false);
	if (said->word == WALL_STORE_ASKS)
		ask(tenant, steal_fd(&fd), &process, steal_fd(&pidfd), units);
}

uint64_t stores_units(const struct tenant *tenant)
{
	uint64_t units = 0;

	for (const struct store *s = tenant->stores; s; s = s->next)
		units += s->units;
	return units;
}

void stores_end(struct tenant *tenant, bool leaving)
{
	while (tenant->stores)
		store_free(tenant->stores, leaving);
}

json_t *stores_save(const struct tenant *tenant, struct handover *h)
{
	json_t *list = json_array();

	for (const struct store *s = tenant->stores; s; s = s->next)
		if (s->file >= 0)
			json_array_append_new(list, json_pack("{s:i s:I s:I s:o}", "pid", (int)s->process.pid, "start",
							      (json_int_t)s->process.start_time, "units",
							      (json_int_t)s->units, "file", handover_give(h, s->file)));
	return list;
}

/* The process of a saved store, if it has not ended since: its pid may be another's. An older meted saved no start. */
static int find_saved(const json_t *one, struct process *ret, int *ret_pidfd)
{
	const json_t *start = json_object_get(one, "start");
	_cleanup_close_ int pidfd = -1;
	int r = process_find((pid_t)json_integer_value(json_object_get(one, "pid")), ret, &pidfd);

	if (r)
		return r;
	if (start && ret->start_time != (uint64_t)json_integer_value(start))
		return -ESRCH;
	*ret_pidfd = steal_fd(&pidfd);
	return 0;
}

void stores_restore(struct tenant *tenant, struct handover *h, const json_t *list)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		int file = handover_take(h, json_object_get(one, "file")), pidfd = -1;
		struct store *s = NULL;
		struct process process;

		if (!find_saved(one, &process, &pidfd))
			s = store_new(tenant, &process, pidfd,
				      (uint64_t)json_integer_value(json_object_get(one, "units")));
		if (s)
			s->file = file;
		else if (file >= 0)
			disk_end(tenant->daemon, file);
	}
}

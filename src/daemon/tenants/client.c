/* client.c: processes of tenants, from HELLO to their end. */
#include "daemon/tenants/client.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/tenants/account.h"
#include "daemon/daemon.h"
#include "daemon/health/faults.h"
#include "daemon/log.h"
#include "daemon/tenants/leaving.h"
#include "daemon/tenants/limit.h"
#include "daemon/tenants/mapped.h"
#include "daemon/tenants/others.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define EXEC_NS 3000000000u /* a driver frees what a program held while its process becomes another */
#define LOOK_MOST_NS 60000000000u

/* A program that has closed its descriptors is looked at ever more rarely. */
static void look_later(struct client *client, uint64_t every_ns)
{
	client->look_every_ns = every_ns < LOOK_MOST_NS ? every_ns : LOOK_MOST_NS;
	client->look_ns = clock_now_ns() + client->look_every_ns;
	daemon_sweep_soon(client->tenant->daemon);
}

const char *client_text(const struct client *client)
{
	static char text[64];

	snprintf(text, sizeof(text), "pid %d (%s)", (int)client->process.pid, client->process.command);
	return text;
}

struct client *client_find(struct tenant *tenant, const struct process *process)
{
	struct client *c = tenant->clients;

	while (c && (c->process.pid != process->pid || c->process.start_time != process->start_time))
		c = c->next;
	return c;
}

static const char *name_of(const struct client *client, char name[PAGE_NAME_BYTES])
{
	return page_name(client->tenant->grant.id, client->process.pid, client->process.start_time, name);
}

static void close_if_over(struct client *client)
{
	struct tenant *tenant = client->tenant;

	if (client->sessions || client->death)
		return;
	client_free(client, false);
	tenant_retry(tenant);
	daemon_reap_soon(tenant->daemon);
}

static void end(struct client *client)
{
	watch_free(client->death);
	client->death = NULL;
	arbitrate_detach(client, false);
	close_if_over(client);
}

/* What is to be done then takes a while, and a thousand may end at once: those who wait are seen in the next round. */
static void on_death(void *owner)
{
	struct client *client = owner;
	struct daemon *daemon = client->tenant->daemon;
	uid_t uid = client->tenant->grant.uid;
	uint64_t since_ns = clock_now_ns();

	if (!daemon_may_hear(daemon, uid) || !process_ended(client->pidfd))
		return;
	end(client);
	daemon_heard(daemon, uid, since_ns);
}

/* Everything but the page; takes the pidfd on success. */
static int client_new(struct tenant *tenant, const struct process *process, int *take_pidfd, struct client **ret)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		return -ENOMEM;
	client->tenant = tenant;
	client->process = *process;
	client->pidfd = *take_pidfd;
	client->death = watch_new(tenant->daemon->loop, client->pidfd, on_death, client);
	if (!client->death) {
		free(client);
		return -ENOMEM;
	}
	*take_pidfd = -1;
	*ret = client;
	return 0;
}

static void client_link(struct client *client)
{
	client->next = client->tenant->clients;
	client->tenant->clients = client;
	client->tenant->client_count++;
}

static void client_unlink(struct client *client)
{
	struct client **at = &client->tenant->clients;

	while (*at && *at != client)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = client->next;
	client->tenant->client_count--;
}

static int make_page(struct client *client, const struct wire_hello *hello, int *ret_fd)
{
	char name[PAGE_NAME_BYTES];
	struct wire_page head = {
		.magic = WIRE_PAGE_MAGIC,
		.version = WIRE_PAGE_VERSION,
		.device_count = client->tenant->grant.share_count,
		.pid = client->process.pid,
		.start_time = client->process.start_time,
		.grant_id = client->tenant->grant.id,
		.image = hello->image,
	};

	memcpy(head.command, client->process.command, sizeof(head.command));
	return page_create(&client->tenant->daemon->runtime, name_of(client, name), &head, &client->page, ret_fd);
}

static int resume(struct client *client, const struct wire_hello *hello, int *ret_fd)
{
	int fd = page_reopen(&client->tenant->daemon->runtime, &client->page);

	if (fd < 0)
		return fd;
	others_change(client->tenant);
	if (client->lost) {
		client->lost = false;
		account_reclaim(client, hello->held_units);
	}
	if (hello->image && client->page.map->image != hello->image) {
		if (client->page.map->image)
			account_empty(client);
		client->page.map->image = hello->image;
		arbitrate_hello(client, true);
	}
	others_publish(client->tenant, false);
	*ret_fd = fd;
	return 0;
}

int client_attach(struct tenant *tenant, const struct process *process, int *take_pidfd, const struct wire_hello *hello,
		  struct client **ret, int *ret_fd, bool *ret_resumed)
{
	struct client *client = client_find(tenant, process);
	int r;

	*ret_resumed = client;
	if (client) {
		r = resume(client, hello, ret_fd);
		if (r)
			return r;
		memcpy(client->process.command, process->command, sizeof(client->process.command));
		client->process.uid = process->uid;
		*ret = client;
		return 0;
	}
	if (!limit_admits_process(tenant))
		return -EDQUOT;
	r = client_new(tenant, process, take_pidfd, &client);
	if (r)
		return r;
	r = make_page(client, hello, ret_fd);
	if (r) {
		client_free(client, true);
		return r;
	}
	client_link(client);
	client->entry = book_add(tenant->daemon->book, tenant->grant.id, process->pid, process->start_time);
	tenant->attached_total++;
	tenant_joined(tenant);
	others_change(tenant);
	account_claim(client, hello->held_units);
	account_publish_to(client);
	residence_join(client, false);
	others_publish(tenant, true);
	trace_attach(client);
	arbitrate_attach(client, false);
	*ret = client;
	return 0;
}

int client_recover(struct tenant *tenant, const struct process *process, int *take_pidfd, const char *name,
		   int take_sealed, struct client **ret)
{
	_cleanup_close_ int sealed = take_sealed;
	struct client *client;
	int r;

	r = client_new(tenant, process, take_pidfd, &client);
	if (r)
		return r;
	r = page_open(&tenant->daemon->runtime, name, steal_fd(&sealed), &client->page);
	if (r) {
		client_free(client, true);
		return r;
	}
	client_link(client);
	client->entry = book_find(tenant->daemon->book, tenant->grant.id, process->pid, process->start_time);
	tenant_joined(tenant);
	others_change(tenant);
	account_recover(client);
	look_later(client, EXEC_NS);
	account_publish_to(client);
	residence_join(client, true);
	others_publish(tenant, true);
	trace_attach(client);
	*ret = client;
	return 0;
}

int client_recover_lost(struct tenant *tenant, const struct process *process, int *take_pidfd, struct book_entry *entry)
{
	_cleanup_close_ int fd = -1;
	struct client *client;
	int r;

	r = client_new(tenant, process, take_pidfd, &client);
	if (r)
		return r;
	r = make_page(client, &(struct wire_hello){ 0 }, &fd);
	if (r) {
		client_free(client, true);
		return r;
	}
	client_link(client);
	client->entry = entry;
	client->lost = true;
	tenant_joined(tenant);
	others_change(tenant);
	account_recover_lost(client);
	account_publish_to(client);
	residence_join(client, false);
	others_publish(tenant, true);
	trace_attach(client);
	return 0;
}

int client_reserve_place(struct client *client, unsigned int place)
{
	int r = page_reserve_objects(&client->tenant->daemon->runtime, &client->page);

	if (!r && client->page.map->object_places <= place)
		client->page.map->object_places = place + 1;
	return r;
}

int client_reserve_trace(struct client *client)
{
	return page_reserve_trace(&client->tenant->daemon->runtime, &client->page);
}

/* What is being told of it may be older than what it does now. */
static void forget_look(struct client *client)
{
	mapped_forget(client->look);
	client->look = NULL;
}

void client_join(struct client *client)
{
	forget_look(client);
	client->sessions++;
	client->parted_ns = 0;
}

void client_part(struct client *client)
{
	if (--client->sessions)
		return;
	client->parted_ns = clock_now_ns();
	look_later(client, EXEC_NS);
	close_if_over(client);
}

static void on_looked(void *owner, bool is_mapped)
{
	struct client *client = owner;
	struct tenant *tenant = client->tenant;

	client->look = NULL;
	look_later(client, 2 * client->look_every_ns);
	if (!is_mapped && client->death && !process_ended(client->pidfd)) {
		log_of_programs(
			tenant->grant.uid, tenant->grant.id,
			"grant %s: %s has become another program, which does not use the device: its account is closed",
			tenant->grant.name, client_text(client));
		end(client);
	}
	client_sweep(tenant, clock_now_ns()); /* the grant's next one */
}

static void look(struct client *client)
{
	const struct tenant *t = client->tenant;
	const struct mapped_whose whose = { t->grant.id, t->grant.uid };

	client->look = mapped_ask(t->daemon->loop, &client->page, client->process.pid, &whose, on_looked, client);
}

unsigned int client_sweep(struct tenant *tenant, uint64_t now_ns)
{
	unsigned int waiting = 0;

	for (struct client *c = tenant->clients, *next; c; c = next) {
		next = c->next;
		if (c->sessions || !c->death || !c->look_ns || c->lost)
			continue;
		waiting++;
		if (now_ns >= c->look_ns && !c->look)
			look(c);
	}
	return waiting;
}

void client_free(struct client *client, bool leaving)
{
	char name[PAGE_NAME_BYTES];

	forget_look(client);
	if (client->page.map && !leaving)
		others_change(client->tenant);
	client_unlink(client);
	residence_unstore(client, leaving);
	if (!leaving && (client->tenant->moving.active || client->tenant->checkpointing.active))
		residence_look_soon(client->tenant->daemon);
	if (client->page.map) {
		trace_forget(client);
		if (leaving)
			account_close(client);
		else
			leaving_close(client);
		arbitrate_detach(client, false);
		if (!leaving)
			book_remove(client->entry);
		if (!leaving)
			page_remove(&client->tenant->daemon->runtime, name_of(client, name));
		page_close(&client->page);
		if (!leaving)
			others_publish(client->tenant, true);
	}
	if (!leaving)
		faults_ended(client);
	watch_free(client->death);
	close(client->pidfd);
	free(client);
}

/* handover_tenants.c: see handover_tenants.h. */
#include "daemon/upgrade/handover_tenants.h"

#include "daemon/tenants/client.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/upgrade/handover.h"
#include "daemon/upgrade/handover_times.h"
#include "daemon/turns/resume.h"
#include "daemon/tenants/session.h"
#include "daemon/tenants/stores.h"
#include "daemon/tenants/tenant.h"
#include "daemon/workers/wall.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static json_t *session_save(struct handover *h, const struct session *s)
{
	const struct process *p = s->client ? &s->client->process : NULL;

	return json_pack("{s:o s:i s:I s:i s:I s:i s:i s:o}", "fd", handover_give(h, s->fd), "pid", p ? p->pid : 0,
			 "start", p ? (json_int_t)p->start_time : 0, "peer", s->peer_pid, "began",
			 (json_int_t)s->began_ns, "bad", (int)s->bad, "version", (int)s->version, "waiting",
			 tenant_waiting_json(s));
}

static json_t *shares_save(const struct tenant *t)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < t->grant.share_count; i++) {
		const struct ledger *l = &t->grant.share[i].ledger;

		json_array_append_new(list, json_pack("{s:I s:I}", "peak", (json_int_t)l->peak_units, "refused",
						      (json_int_t)l->refused));
	}
	return list;
}

/* What turns have come to. */
static json_t *times_save(struct tenant *t)
{
	json_t *list = json_array();
	struct place_totals p;

	for (unsigned int i = 0; i < t->grant.share_count; i++)
		for (unsigned int k = 0; k < WIRE_ENGINES; k++)
			if (resume_totals_get(t, i, (enum wire_engine)k, &p))
				json_array_append_new(list, handover_times_write(i, (enum wire_engine)k, &p));
	return list;
}

static json_t *events_save(const struct tenant *t)
{
	json_t *list = json_array();
	const struct event *e;

	for (unsigned int i = 0; (e = event_get(&t->events, i)); i++)
		json_array_append_new(list, json_pack("[I, I, s]", (json_int_t)e->time, (json_int_t)e->count, e->text));
	return list;
}

static json_t *tenant_save(struct handover *h, struct tenant *t)
{
	json_t *sessions = json_array();

	/* The last one first, as they are put before each other. Those who are held say HELLO to the next meted. */
	for (struct session *s = t->sessions; s; s = s->next)
		if (!s->ending && !s->held)
			json_array_insert_new(sessions, 0, session_save(h, s));
	return json_pack("{s:o s:I s:o s:o s:o s:o s:o s:o}", "bell", handover_give(h, t->bell_fd), "attached",
			 (json_int_t)t->attached_total, "shares", shares_save(t), "times", times_save(t), "events",
			 events_save(t), "sessions", sessions, "knocks", wall_save(t, h), "stores", stores_save(t, h));
}

static void listener_save(struct handover *h, json_t *listeners, struct daemon *daemon, const char *path, int fd)
{
	if (*path && fd >= 0)
		json_object_set_new(listeners, path + strlen(daemon->runtime.dir) + 1, handover_give(h, fd));
}

static const char *id_text(uint64_t id, char text[24])
{
	snprintf(text, 24, "%" PRIu64, id);
	return text;
}

void handover_tenants_save(struct daemon *daemon, struct handover *h)
{
	json_t *tenants = json_object(), *listeners = json_object();
	char id[24], wall[sizeof(((struct tenant *)NULL)->socket) + 16];

	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		listener_save(h, listeners, daemon, t->socket, t->listen_fd);
		listener_save(h, listeners, daemon, wall_path(t, wall, sizeof(wall)), t->wall_fd);
		json_object_set_new(tenants, id_text(t->grant.id, id), tenant_save(h, t));
	}
	json_object_set_new(listeners, "control.sock", handover_give(h, daemon->control_fd));
	handover_put(h, "tenants", tenants);
	handover_put(h, "listeners", listeners);
}

/* The side that comes. */

static json_t *part_of(const struct handover *h, const struct tenant *t)
{
	char id[24];

	return json_object_get(handover_get(h, "tenants"), id_text(t->grant.id, id));
}

static uint64_t number(const json_t *part, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(part, name));

	return n > 0 ? (uint64_t)n : 0;
}

static void events_restore(struct tenant *t, const json_t *list)
{
	json_t *e;
	size_t i;

	json_array_foreach(list, i, e)
	{
		const char *text = json_string_value(json_array_get(e, 2));

		event_restore(&t->events, json_integer_value(json_array_get(e, 0)),
			      (uint64_t)json_integer_value(json_array_get(e, 1)), text ? text : "");
	}
}

static void times_restore(struct tenant *t, const json_t *list)
{
	struct place_totals totals;
	enum wire_engine engine;
	unsigned int share;
	json_t *one;
	size_t n;

	json_array_foreach(list, n, one)
	{
		if (handover_times_read(one, t->grant.share_count, &share, &engine, &totals))
			resume_totals_set(t, share, engine, &totals);
		else
			log_line("grant %s: what was handed over of its turns is damaged: its programs' pages are used",
				 t->grant.name);
	}
}

void handover_tenant_restore(struct handover *h, struct tenant *t)
{
	json_t *part = part_of(h, t), *shares = json_object_get(part, "shares");

	if (!part)
		return;
	t->bell_fd = handover_take(h, json_object_get(part, "bell"));
	t->attached_total = number(part, "attached");
	for (unsigned int i = 0; i < t->grant.share_count; i++) {
		json_t *share = json_array_get(shares, i);

		ledger_saw_held(&t->grant.share[i].ledger, number(share, "peak"));
		t->grant.share[i].ledger.refused = number(share, "refused");
	}
	events_restore(t, json_object_get(part, "events"));
	times_restore(t, json_object_get(part, "times"));
}

static void session_restore(struct handover *h, struct tenant *t, const json_t *part)
{
	struct process process = { .pid = (pid_t)number(part, "pid"), .start_time = number(part, "start") };
	struct client *client = process.pid ? client_find(t, &process) : NULL;
	int fd = handover_take(h, json_object_get(part, "fd"));
	struct session *s;

	/* A process that has ended since has no use for it; one that has not goes on with another connection. */
	if (fd >= 0 && process.pid && !client) {
		close(fd);
		return;
	}
	s = fd < 0 ? NULL : session_new(t, fd);
	if (!s)
		return;
	s->peer_pid = (pid_t)number(part, "peer");
	s->began_ns = number(part, "began");
	s->bad = (unsigned int)number(part, "bad");
	s->version = (uint32_t)number(part, "version");
	s->client = client;
	if (!client) {
		daemon_sweep_soon(t->daemon);
		return;
	}
	client_join(client);
	arbitrate_hello(client, false);
	tenant_waiting_restore(s, json_object_get(part, "waiting"));
}

void handover_sessions_restore(struct daemon *daemon, struct handover *h)
{
	json_t *session;
	size_t i;

	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		json_t *part = part_of(h, t);

		json_array_foreach(json_object_get(part, "sessions"), i, session) session_restore(h, t, session);
		wall_restore(t, h, json_object_get(part, "knocks"));
		stores_restore(t, h, json_object_get(part, "stores"));
	}
}

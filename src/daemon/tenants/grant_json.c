/* grant_json.c: a grant as `mete ps --json` and the console see it. */
#include "daemon/daemon.h"
#include "base/clean_text.h"
#include "base/clock.h"
#include "daemon/health/faults.h"
#include "daemon/health/health.h"
#include "daemon/telemetry.h"
#include "daemon/tenants/account.h"
#include "daemon/tenants/container.h"
#include "daemon/tenants/end.h"
#include "daemon/tenants/grant_ask.h"
#include "daemon/tenants/tenant.h"
#include "daemon/tenants/leaving.h"
#include "daemon/turns/terms.h"
#include "daemon/workers/images.h"
#include "daemon/workers/wall.h"
#include "daemon/workers/worker.h"

#include <string.h>

static json_t *bytes_json(uint64_t units)
{
	return json_integer((json_int_t)(units * WIRE_UNIT_BYTES));
}

static json_t *driver_json(const struct grant *g)
{
	return json_pack("{s:s s:o s:o}", "kind", device_kind_name(g->kind), "libcuda", ask_path_json(g->libcuda),
			 "nvml", ask_path_json(g->libnvml));
}

static json_t *share_json(struct tenant *t, unsigned int i)
{
	struct grant_share *share = &t->grant.share[i];
	uint64_t held = account_measure(t, i), leaving = leaving_units(t, i);
	char uuid[DEVICE_UUID_TEXT];
	json_t *json;

	json = json_pack("{s:i s:s s:s s:I s:o s:o s:o s:o s:o s:I}", "index", (int)share->device.index, "uuid",
			 device_uuid_format(share->device.uuid, uuid), "name", share->device.name, "total_bytes",
			 (json_int_t)share->device.total_bytes, "quota_bytes", bytes_json(share->ledger.quota_units),
			 "held_bytes", bytes_json(held), "granted_bytes", bytes_json(share->ledger.granted_units),
			 "shared_bytes", bytes_json(share->ledger.object_units - leaving), "peak_bytes",
			 bytes_json(share->ledger.peak_units), "refused", (json_int_t)share->ledger.refused);
	if (json && ledger_shrink_pending(&share->ledger))
		json_object_set_new(json, "target_bytes", bytes_json(share->ledger.target_units));
	if (json && leaving)
		json_object_set_new(json, "leaving_bytes", bytes_json(leaving));
	terms_json(t, i, json);
	suspension_share_json(t, i, json);
	return json;
}

static json_t *client_json(struct tenant *t, struct client *c)
{
	json_t *devices = json_array();
	char command[PROCESS_COMMAND_BYTES];

	for (unsigned int i = 0; i < t->grant.share_count; i++) {
		json_t *held =
			json_pack("{s:i s:o s:o s:o}", "index", (int)t->grant.share[i].device.index, "held_bytes",
				  bytes_json(account_held(c, i)), "credit_bytes", bytes_json(account_credit(c, i)),
				  "peak_bytes", bytes_json(c->page.map->account[i].peak_units));

		if (held) {
			terms_client_json(c, i, held);
			suspension_client_json(c, i, held);
		}
		json_array_append_new(devices, held);
	}
	memcpy(command, c->process.command, sizeof(command));
	clean_text_ascii(command);
	return json_pack("{s:i s:s s:b s:b s:o}", "pid", (int)c->process.pid, "command", command, "attached",
			 c->sessions > 0, "worker", worker_find(t->daemon, c->process.pid) != NULL, "devices", devices);
}

static json_t *events_json(const struct tenant *t)
{
	json_t *events = json_array();
	const struct event *e;

	for (unsigned int i = 0; (e = event_get(&t->events, i)); i++)
		json_array_append_new(events, json_pack("{s:I s:I s:s}", "time", (json_int_t)e->time, "count",
							(json_int_t)e->count, "text", e->text));
	return events;
}

const char *grant_state(const struct tenant *t)
{
	uint32_t wait_s;

	if (t->listen_fd < 0)
		return "no socket";
	if ((t->grant.runner_pid && t->runner_fd < 0) || end_is_under_way(t))
		return "ending";
	for (unsigned int i = 0; i < t->grant.share_count; i++)
		if (health_state(t->daemon, t->grant.share[i].device.uuid) == DEVICE_LOST)
			return "lost";
	if (!faults_let_begin(t, &wait_s))
		return "quarantined";
	return t->clients ? "active" : "idle";
}

/* null: it waits for nobody. */
static json_t *expires_in(const struct tenant *t)
{
	uint64_t now = clock_now_ns();

	if (!t->expires_ns)
		return json_null();
	return json_integer(t->expires_ns > now ? (json_int_t)((t->expires_ns - now + 999999999u) / 1000000000u) : 0);
}

static json_t *labels_json(const struct grant *g)
{
	json_t *labels = json_object();

	for (int i = 0; i < (int)GRANT_LABELS; i++)
		json_object_set_new(labels, grant_label_name((enum grant_label)i),
				    *g->label[i] ? json_string(g->label[i]) : json_null());
	return labels;
}

json_t *grant_json(struct tenant *t)
{
	char wall[sizeof(t->socket) + 16];
	json_t *devices = json_array(), *processes = json_array(), *json;

	for (unsigned int i = 0; i < t->grant.share_count; i++)
		json_array_append_new(devices, share_json(t, i));
	for (struct client *c = t->clients; c; c = c->next)
		json_array_append_new(processes, client_json(t, c));
	json = json_pack("{s:s s:I s:i s:o s:s s:s s:o s:o s:o s:I s:b s:I s:o s:o s:o}", "name", t->grant.name, "id",
			 (json_int_t)t->grant.id, "uid", (int)t->grant.uid, "driver", driver_json(&t->grant), "state",
			 grant_state(t), "socket", t->socket, "wall", ask_path_json(wall_path(t, wall, sizeof(wall))),
			 "container", container_json(t), "runner_pid",
			 t->grant.runner_pid ? json_integer(t->grant.runner_pid) : json_null(), "created",
			 (json_int_t)t->grant.created, "overcommit", t->grant.overcommit, "attached_total",
			 (json_int_t)t->attached_total, "devices", devices, "processes", processes, "events",
			 events_json(t));
	json_object_set_new(json, "labels", labels_json(&t->grant));
	json_object_set_new(json, "gid", json_integer((json_int_t)t->grant.gid));
	json_object_set_new(json, "expires", t->grant.expires ? json_integer(t->grant.expires) : json_null());
	json_object_set_new(json, "expires_in_s", expires_in(t));
	if (t->grant.wall)
		json_object_set_new(json, "images", images_json(t));
	faults_json(t, json);
	suspension_grant_json(t, json);
	json_object_set_new(json, "guard", guarded_json(t));
	json_object_set_new(json, "guard_rule", json_string(guarded_rule_word(t->daemon)));
	json_object_set_new(json, "unknown_calls",
			    json_integer(t->telemetry ? (json_int_t)t->telemetry->unknown_calls : 0));
	return json;
}

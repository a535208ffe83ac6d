/* api_node.c: /api/v1/node: this node as it is now, its devices and its tenants. */
#include "daemon/http/api.h"

#include "daemon/tenants/account.h"
#include "daemon/daemon.h"
#include "daemon/health/sensors.h"
#include "daemon/http/http.h"
#include "daemon/journal.h"
#include "daemon/state.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/terms.h"
#include "daemon/workers/worker.h"
#include "daemon/upgrade/version.h"

#include <string.h>

/* Sums over the tenants of a device. */
struct device_sum {
	uint64_t held_bytes;
	double got_10s, wanted_10s;
};

static json_t *part(double x)
{
	return x < 0 ? json_null() : json_real(x);
}

static json_t *bytes(uint64_t units)
{
	return json_integer((json_int_t)(units * WIRE_UNIT_BYTES));
}

static void add_times(json_t *json, const struct engine_reading *r, bool gated)
{
	const struct {
		const char *name;
		double value;
	} row[] = { { "got_1s", r->share_1s },
		    { "got_10s", r->share_10s },
		    { "got_60s", r->share_60s },
		    { "wanted_10s", r->wanted_10s },
		    { "waited_10s", r->waited_10s } };

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		json_object_set_new(json, row[i].name, gated ? part(row[i].value) : json_null());
}

static json_t *share_json(struct tenant *t, unsigned int i, struct device_sum *sum)
{
	struct grant_share *s = &t->grant.share[i];
	const struct arbiter_terms *terms = &s->compute.terms;
	uint64_t held = account_measure(t, i);
	struct engine_reading r = { 0 };
	bool gated = arbitrate_read(t, i, WIRE_COMPUTE, &r);
	char uuid[DEVICE_UUID_TEXT];
	json_t *json = json_pack("{s:s s:i s:o s:o s:o s:f s:f s:s s:s s:i s:b s:I}", "uuid",
				 device_uuid_format(s->device.uuid, uuid), "index", (int)s->device.index, "quota_bytes",
				 bytes(s->ledger.quota_units), "held_bytes", bytes(held), "peak_bytes",
				 bytes(s->ledger.peak_units), "cores", terms->guarantee_ppm / 1e4, "cores_limit",
				 terms->limit_ppm / 1e4, "policy", policy_name((enum policy)s->compute.wish.policy),
				 "class", policy_class_name(terms->class), "weight", (int)terms->weight, "frozen",
				 terms->frozen, "refused", (json_int_t)s->ledger.refused);

	if (json)
		add_times(json, &r, gated);
	if (sum) {
		sum->held_bytes += held * WIRE_UNIT_BYTES;
		sum->got_10s += gated && r.share_10s > 0 ? r.share_10s : 0;
		sum->wanted_10s += gated && r.wanted_10s > 0 ? r.wanted_10s : 0;
	}
	return json;
}

/* By the machine's list; NULL: the device has gone. */
static struct device_sum *sum_of(struct daemon *daemon, struct device_sum *sums, const uint8_t *uuid)
{
	for (unsigned int i = 0; i < daemon->machine.device_count; i++)
		if (!memcmp(daemon->machine.device[i].uuid, uuid, DEVICE_UUID_BYTES))
			return &sums[i];
	return NULL;
}

static json_t *refusals_json(const struct tenant *t)
{
	json_t *json = json_object();

	for (unsigned int i = 0; t->telemetry && i < REFUSALS; i++)
		json_object_set_new(json, refusal_name((enum refusal)i),
				    json_integer((json_int_t)t->telemetry->refused[i]));
	return json;
}

/* By way; only those that there have been. */
static json_t *remote_json(const struct tenant *t)
{
	json_t *json = json_object();

	for (unsigned int way = 0; t->telemetry && way < TRAFFIC_WAYS; way++) {
		const uint64_t *count = t->telemetry->remote[way];
		unsigned int sessions = traffic_sessions(t->daemon, t->grant.id, (enum traffic_way)way);

		if (sessions || count[WORKER_RECEIVED_CALLS])
			json_object_set_new(json, traffic_way_name((enum traffic_way)way),
					    json_pack("{s:i s:I s:I s:I}", "sessions", (int)sessions, "calls",
						      (json_int_t)count[WORKER_RECEIVED_CALLS], "received_bytes",
						      (json_int_t)count[WORKER_RECEIVED_BYTES], "sent_bytes",
						      (json_int_t)count[WORKER_SENT_BYTES]));
	}
	return json;
}

static json_t *tenant_json(struct tenant *t, struct device_sum *sums)
{
	json_t *shares = json_array();
	char user[GRANT_NAME_BYTES];

	for (unsigned int i = 0; i < t->grant.share_count; i++)
		json_array_append_new(shares, share_json(t, i, sum_of(t->daemon, sums, t->grant.share[i].device.uuid)));
	return json_pack("{s:s s:I s:i s:s s:I s:s s:s s:b s:i s:i s:o s:o s:o s:i s:o}", "name", t->grant.name, "id",
			 (json_int_t)t->grant.id, "uid", (int)t->grant.uid, "user", telemetry_user(t->grant.uid, user),
			 "created", (json_int_t)t->grant.created, "state", state_tenant(t), "class",
			 policy_class_name(t->grant.share[0].compute.terms.class), "walled", t->grant.wall, "clients",
			 (int)state_clients(t), "workers", (int)worker_count(t->daemon, t->grant.id), "shares", shares,
			 "refusals", refusals_json(t), "remote", remote_json(t), "faults", (int)state_tenant_faults(t),
			 "last_active",
			 t->telemetry && t->telemetry->last_active ? json_integer(t->telemetry->last_active)
								   : json_null());
}

static json_t *sensor_json(struct daemon *daemon, const struct device *d, enum sensor sensor, double unit)
{
	unsigned int value;

	return sensors_get(daemon, d->uuid, sensor, &value) ? json_real(value * unit) : json_null();
}

static json_t *device_json(struct daemon *daemon, const struct device *d, const struct device_sum *sum)
{
	const char *why = state_device_reason(daemon, d->uuid);
	char uuid[DEVICE_UUID_TEXT];

	return json_pack("{s:i s:s s:s s:s s:I s:I s:I s:o s:s s:f s:f s:f s:s s:o s:i s:o s:o s:o}", "index",
			 (int)d->index, "uuid", device_uuid_format(d->uuid, uuid), "name", d->name, "driver",
			 device_kind_name(d->kind), "total_bytes", (json_int_t)d->total_bytes, "promised_bytes",
			 (json_int_t)daemon_promised_bytes(daemon, d->uuid, NULL), "held_bytes",
			 (json_int_t)sum->held_bytes, "used_bytes",
			 d->used_known ? json_integer((json_int_t)d->used_bytes) : json_null(), "policy",
			 policy_name(terms_default(daemon, d->uuid)), "promised_cores",
			 daemon_promised_ppm(daemon, d->uuid, NULL) / 1e4, "got_10s", sum->got_10s, "wanted_10s",
			 sum->wanted_10s, "state", state_device(daemon, d->uuid), "reason",
			 why ? json_string(why) : json_null(), "faults", (int)state_device_faults(daemon, d->uuid),
			 "power_w", sensor_json(daemon, d, SENSOR_POWER_MW, 1e-3), "temperature_c",
			 sensor_json(daemon, d, SENSOR_TEMPERATURE_C, 1), "utilisation",
			 sensor_json(daemon, d, SENSOR_UTILISATION_PCT, 1e-2));
}

void api_node(const struct http_request *request, struct http_reply *reply)
{
	struct daemon *daemon = request->daemon;
	struct device_sum sums[MACHINE_MAX_DEVICES] = { 0 };
	json_t *devices = json_array(), *tenants = json_array();
	const char *host = state_node();

	machine_keep_fresh(daemon);
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		json_array_insert_new(tenants, 0, tenant_json(t, sums)); /* the oldest first */
	for (unsigned int i = 0; i < daemon->machine.device_count; i++)
		json_array_append_new(devices, device_json(daemon, &daemon->machine.device[i], &sums[i]));
	http_reply_json(reply, json_pack("{s:s s:s s:I s:I s:o s:o s:I}", "version", daemon_version(), "node", host,
					 "time", (json_int_t)telemetry_now(daemon), "started",
					 (json_int_t)daemon->meter.started, "devices", devices, "tenants", tenants,
					 "last_event", (json_int_t)journal_last(daemon->journal)));
}

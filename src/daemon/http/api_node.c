/*
 * api_node.c: /api/v1/node: this node as it is now, its devices and its tenants. Every console asks for it every two
 * seconds, and its first picture waits for it: written as text, tenant after tenant (json_text.h).
 */
#include "daemon/http/api.h"

#include "base/json_text.h"
#include "daemon/tenants/account.h"
#include "daemon/daemon.h"
#include "daemon/health/sensors.h"
#include "daemon/http/http.h"
#include "daemon/journal.h"
#include "daemon/state.h"
#include "daemon/tenants/suspension.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/terms.h"
#include "daemon/workers/worker.h"
#include "daemon/upgrade/version.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define PART_DECIMALS 6u  /* of the device's time: ppm */
#define CORES_DECIMALS 4u /* percent, of ppm */

/* Sums over the tenants of a device. */
struct device_sum {
	uint64_t held_bytes, promised_bytes;
	uint32_t promised_ppm;
	double got_10s, wanted_10s;
	bool unmeasured; /* a tenant that is not measured has programs there: nobody knows the sums */
};

static void add_part(struct json_text *j, const char *key, bool known, double x)
{
	if (known && x >= 0)
		json_text_fixed(j, key, x, PART_DECIMALS);
	else
		json_text_null(j, key);
}

static void add_bytes(struct json_text *j, const char *key, uint64_t units)
{
	json_text_integer(j, key, (int64_t)(units * WIRE_UNIT_BYTES));
}

/* By the machine's list; NULL: the device has gone. */
static struct device_sum *sum_of(struct daemon *daemon, struct device_sum *sums, const uint8_t *uuid)
{
	for (unsigned int i = 0; i < daemon->machine.device_count; i++)
		if (!memcmp(daemon->machine.device[i].uuid, uuid, DEVICE_UUID_BYTES))
			return &sums[i];
	return NULL;
}

/* What was counted; null where nothing ever was, for a tenant that is not measured has not used 0 s. */
static void add_seconds(struct json_text *j, const struct meter *m, bool gated)
{
	static const char *const keys[METER_TIMES] = { "used_seconds", "asked_seconds", "waited_seconds" };

	for (unsigned int i = 0; i < METER_TIMES; i++)
		if (m && (gated || m->time_ns[i]))
			json_text_fixed(j, keys[i], (double)m->time_ns[i] / 1e9, PART_DECIMALS);
		else
			json_text_null(j, keys[i]);
}

static void add_up(struct device_sum *sum, const struct tenant *t, const struct grant_share *s, uint64_t held,
		   bool gated, const struct engine_reading *r)
{
	sum->unmeasured |= !gated && t->clients;
	sum->held_bytes += held * WIRE_UNIT_BYTES;
	sum->promised_bytes += s->ledger.quota_units * WIRE_UNIT_BYTES;
	sum->promised_ppm += s->compute.terms.guarantee_ppm;
	sum->got_10s += gated && r->share_10s > 0 ? r->share_10s : 0;
	sum->wanted_10s += gated && r->wanted_10s > 0 ? r->wanted_10s : 0;
}

/* What is asked of the device's time, as it came to. */
static void add_word(struct json_text *j, const struct share_word *word, const struct grant_compute *c)
{
	if (word_is_name(word))
		json_text_string(j, word->key, word_term_name(word, &c->wish, &c->terms));
	else if (word->type == WORD_PERCENT)
		json_text_fixed(j, word->key, word_term_number(word, &c->wish, &c->terms), CORES_DECIMALS);
	else
		json_text_integer(j, word->key, (int64_t)word_term_number(word, &c->wish, &c->terms));
}

/* Where its memory is. */
static void add_residence(struct json_text *j, const struct tenant *t, unsigned int i)
{
	json_t *said = json_object();
	const char *residence;

	suspension_share_json(t, i, said);
	residence = json_string_value(json_object_get(said, "residence"));
	json_text_string(j, "residence", residence ? residence : "resident");
	json_text_integer(j, "away_bytes", json_integer_value(json_object_get(said, "away_bytes")));
	json_text_integer(j, "disk_bytes", json_integer_value(json_object_get(said, "disk_bytes")));
	json_text_integer(j, "moved_pct", json_integer_value(json_object_get(said, "moved_pct")));
	json_decref(said);
}

static void add_share(struct json_text *j, struct tenant *t, unsigned int i, struct device_sum *sum)
{
	struct grant_share *s = &t->grant.share[i];
	uint64_t held = account_measure(t, i);
	struct engine_reading r = { 0 };
	bool gated = arbitrate_read(t, i, WIRE_COMPUTE, &r);
	char uuid[DEVICE_UUID_TEXT];

	json_text_open(j, NULL, '{');
	json_text_string(j, "uuid", device_uuid_format(s->device.uuid, uuid));
	json_text_integer(j, "index", s->device.index);
	add_bytes(j, "quota_bytes", s->ledger.quota_units);
	add_bytes(j, "held_bytes", held);
	add_bytes(j, "peak_bytes", s->ledger.peak_units);
	add_residence(j, t, i);
	for (size_t n = 0; n < SHARE_WORD_COUNT; n++)
		add_word(j, &word_table[n], &s->compute);
	json_text_bool(j, "frozen", s->compute.terms.frozen);
	json_text_integer(j, "refused", (int64_t)s->ledger.refused);
	add_part(j, "got_1s", gated, r.share_1s);
	add_part(j, "got_10s", gated, r.share_10s);
	add_part(j, "got_60s", gated, r.share_60s);
	add_part(j, "wanted_10s", gated, r.wanted_10s);
	add_part(j, "waited_10s", gated, r.waited_10s);
	add_seconds(j, t->telemetry ? &t->telemetry->share[i] : NULL, gated);
	json_text_close(j, '}');
	if (sum)
		add_up(sum, t, s, held, gated, &r);
}

static void add_refusals(struct json_text *j, const struct tenant *t)
{
	json_text_open(j, "refusals", '{');
	for (unsigned int i = 0; t->telemetry && i < REFUSALS; i++)
		json_text_integer(j, refusal_name((enum refusal)i), (int64_t)t->telemetry->refused[i]);
	json_text_close(j, '}');
}

/* By way; only those that there have been. */
static void add_remote(struct json_text *j, const struct tenant *t)
{
	json_text_open(j, "remote", '{');
	for (unsigned int way = 0; t->telemetry && way < TRAFFIC_WAYS; way++) {
		const uint64_t *count = t->telemetry->remote[way];
		unsigned int sessions = traffic_sessions(t->daemon, t->grant.id, (enum traffic_way)way);

		if (!sessions && !count[WORKER_RECEIVED_CALLS])
			continue;
		json_text_open(j, traffic_way_name((enum traffic_way)way), '{');
		json_text_integer(j, "sessions", sessions);
		json_text_integer(j, "calls", (int64_t)count[WORKER_RECEIVED_CALLS]);
		json_text_integer(j, "received_bytes", (int64_t)count[WORKER_RECEIVED_BYTES]);
		json_text_integer(j, "sent_bytes", (int64_t)count[WORKER_SENT_BYTES]);
		json_text_close(j, '}');
	}
	json_text_close(j, '}');
}

static void add_tenant(struct json_text *j, struct tenant *t, struct device_sum *sums)
{
	char user[GRANT_NAME_BYTES];

	json_text_open(j, NULL, '{');
	json_text_string(j, "name", t->grant.name);
	json_text_integer(j, "id", (int64_t)t->grant.id);
	json_text_integer(j, "uid", (int)t->grant.uid);
	json_text_string(j, "user", telemetry_user(t->grant.uid, user));
	for (int i = 0; i < (int)GRANT_LABELS; i++)
		if (*t->grant.label[i])
			json_text_string(j, grant_label_name((enum grant_label)i), t->grant.label[i]);
		else
			json_text_null(j, grant_label_name((enum grant_label)i));
	json_text_integer(j, "created", t->grant.created);
	json_text_string(j, "state", state_tenant(t));
	json_text_string(j, "class", policy_class_name(t->grant.share[0].compute.terms.class));
	json_text_bool(j, "walled", t->grant.wall);
	json_text_integer(j, "clients", state_clients(t));
	json_text_integer(j, "workers", worker_count(t->daemon, t->grant.id));
	json_text_open(j, "shares", '[');
	for (unsigned int i = 0; i < t->grant.share_count; i++)
		add_share(j, t, i, sum_of(t->daemon, sums, t->grant.share[i].device.uuid));
	json_text_close(j, ']');
	add_refusals(j, t);
	add_remote(j, t);
	json_text_integer(j, "faults", state_tenant_faults(t));
	if (t->telemetry && t->telemetry->last_active)
		json_text_integer(j, "last_active", t->telemetry->last_active);
	else
		json_text_null(j, "last_active");
	json_text_close(j, '}');
}

static void add_sensor(struct json_text *j, const char *key, struct daemon *daemon, const struct device *d,
		       enum sensor sensor, double unit)
{
	unsigned int value;

	if (sensors_get(daemon, d->uuid, sensor, &value))
		json_text_fixed(j, key, value * unit, 3);
	else
		json_text_null(j, key);
}

static void add_partition(struct json_text *j, const struct device *d)
{
	if (!*d->part.of) {
		json_text_null(j, "partition");
		return;
	}
	json_text_open(j, "partition", '{');
	json_text_string(j, "of", d->part.of);
	json_text_string(j, "mode", d->part.mode);
	if (d->part.number < 0)
		json_text_null(j, "number");
	else
		json_text_integer(j, "number", d->part.number);
	json_text_close(j, '}');
}

static void add_device(struct json_text *j, struct daemon *daemon, const struct device *d, const struct device_sum *sum)
{
	const struct device_meter *meter = telemetry_device(daemon, d->uuid);
	char uuid[DEVICE_UUID_TEXT];

	json_text_open(j, NULL, '{');
	json_text_integer(j, "index", d->index);
	json_text_string(j, "uuid", device_uuid_format(d->uuid, uuid));
	json_text_string(j, "name", d->name);
	json_text_string(j, "driver", device_kind_name(d->kind));
	json_text_bool(j, "per_user", machine_is_per_user(daemon, d->kind));
	add_partition(j, d);
	json_text_integer(j, "total_bytes", (int64_t)d->total_bytes);
	json_text_integer(j, "promised_bytes", (int64_t)sum->promised_bytes);
	json_text_integer(j, "held_bytes", (int64_t)sum->held_bytes);
	if (d->used_known)
		json_text_integer(j, "used_bytes", (int64_t)d->used_bytes);
	else
		json_text_null(j, "used_bytes");
	json_text_string(j, "policy", policy_name(terms_default(daemon, d->uuid)));
	json_text_fixed(j, "promised_cores", sum->promised_ppm / 1e4, CORES_DECIMALS);
	add_part(j, "got_10s", !sum->unmeasured, sum->got_10s);
	add_part(j, "wanted_10s", !sum->unmeasured, sum->wanted_10s);
	add_seconds(j, meter ? &meter->meter : NULL, true);
	json_text_string(j, "state", state_device(daemon, d->uuid));
	json_text_string(j, "reason", state_device_reason(daemon, d->uuid));
	json_text_integer(j, "faults", state_device_faults(daemon, d->uuid));
	add_sensor(j, "power_w", daemon, d, SENSOR_POWER_MW, 1e-3);
	add_sensor(j, "temperature_c", daemon, d, SENSOR_TEMPERATURE_C, 1);
	add_sensor(j, "utilisation", daemon, d, SENSOR_UTILISATION_PCT, 1e-2);
	json_text_close(j, '}');
}

/* The oldest first: the list of the daemon has them the other way round. */
static void add_tenants(struct json_text *j, struct daemon *daemon, struct device_sum *sums)
{
	struct tenant **list;
	size_t count = 0, n = 0;

	for (struct tenant *t = daemon->tenants; t; t = t->next)
		count++;
	list = calloc(count + 1, sizeof(struct tenant *));
	j->failed |= !list;
	for (struct tenant *t = daemon->tenants; list && t; t = t->next)
		list[n++] = t;
	json_text_open(j, "tenants", '[');
	while (n)
		add_tenant(j, list[--n], sums);
	json_text_close(j, ']');
	free(list);
}

void api_node(const struct http_request *request, struct http_reply *reply)
{
	struct daemon *daemon = request->daemon;
	struct device_sum sums[MACHINE_MAX_DEVICES] = { 0 };
	struct json_text j = { 0 };
	size_t bytes;
	char *text;

	machine_keep_fresh(daemon);
	telemetry_read(daemon);
	json_text_open(&j, NULL, '{');
	json_text_string(&j, "version", daemon_version());
	json_text_string(&j, "node", state_node());
	json_text_integer(&j, "time", telemetry_now(daemon));
	json_text_integer(&j, "started", daemon->meter.started);
	add_tenants(&j, daemon, sums);
	json_text_open(&j, "devices", '[');
	for (unsigned int i = 0; i < daemon->machine.device_count; i++)
		add_device(&j, daemon, &daemon->machine.device[i], &sums[i]);
	json_text_close(&j, ']');
	json_text_integer(&j, "last_event", (int64_t)journal_last(daemon->journal));
	json_text_close(&j, '}');
	text = json_text_take(&j, &bytes);
	http_reply_text(reply, "application/json", text, bytes);
}

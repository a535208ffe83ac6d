/*
 * verbs.c: what can be asked on the control socket: the table of requests, see requests.h, and those about the node;
 * those about grants are in tenants/grant_ask.h.
 *
 * A refusal is {"ok":false,"code":WORD,"error":LINE}; the line names the thing, the figures and the remedy, and is what
 * a user reads. codes.h has the words.
 */
#include "base/clock.h"
#include "daemon/ask.h"
#include "daemon/changes.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/health/health.h"
#include "daemon/health/partition.h"
#include "daemon/health/sensors.h"
#include "daemon/http/http.h"
#include "daemon/operator.h"
#include "daemon/requests.h"
#include "daemon/store/store.h"
#include "daemon/tenants/disk.h"
#include "daemon/tenants/grant_ask.h"
#include "daemon/tenants/placing.h"
#include "daemon/tenants/limit.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/terms.h"
#include "daemon/turns/trace.h"
#include "daemon/upgrade/upgrade.h"
#include "daemon/upgrade/version.h"

#include <string.h>
#include <unistd.h>

#define DEVICES_FRESH_NS 1000000000u

static enum verbs_result do_hello(struct ask *ask)
{
	time_t ends = http_certificate_ends(ask->daemon);

	return answer(
		ask,
		json_pack("{s:s s:i s:i s:s s:b s:s s:s s:o s:s s:b s:o}", "version", daemon_version(), "protocol",
			  DAEMON_PROTOCOL, "pid", (int)getpid(), "runtime_dir", ask->daemon->runtime.dir, "system",
			  ask->daemon->runtime.system, "turns", arbitrate_priority(), "http", http_address(ask->daemon),
			  "http_certificate_ends", ends ? json_integer((json_int_t)ends) : json_null(), "state_dir",
			  ask->daemon->state_dir, "replaced", upgrade_replaced(), "fence", fence_json(ask->daemon)));
}

/* The part of the last moments in which it was at work, whoever's that was; null: it does not say. */
static json_t *utilisation_json(const struct daemon *daemon, const struct device *d)
{
	unsigned int pct;

	return sensors_get(daemon, d->uuid, SENSOR_UTILISATION_PCT, &pct) ? json_real(pct / 100.0) : json_null();
}

static json_t *device_json(struct daemon *daemon, const struct device *d)
{
	char uuid[DEVICE_UUID_TEXT];
	uint64_t away, disk;
	json_t *json;

	json = json_pack("{s:s s:i s:s s:s s:I s:I s:o s:o s:i s:s s:f s:s}", "driver", device_kind_name(d->kind),
			 "index", (int)d->index, "uuid", device_uuid_format(d->uuid, uuid), "name", d->name,
			 "total_bytes", (json_int_t)d->total_bytes, "promised_bytes",
			 (json_int_t)daemon_promised_bytes(daemon, d->uuid, NULL), "held_bytes",
			 json_integer((json_int_t)daemon_held_bytes(daemon, d->uuid)), "used_bytes",
			 d->used_known ? json_integer((json_int_t)d->used_bytes) : json_null(), "granule_bytes",
			 (int)d->granule_bytes, "policy", policy_name(terms_default(daemon, d->uuid)), "promised_cores",
			 daemon_promised_ppm(daemon, d->uuid, NULL) / 1e4, "native",
			 store_native(daemon->store, d->uuid) ? "allow" : "hold");
	disk = residence_disk_of_device(daemon, d->uuid, &away);
	json_object_set_new(json, "away_bytes", json_integer((json_int_t)(away * WIRE_UNIT_BYTES)));
	json_object_set_new(json, "disk_bytes", json_integer((json_int_t)(disk * WIRE_UNIT_BYTES)));
	json_object_set_new(json, "per_user", json_boolean(machine_is_per_user(daemon, d->kind)));
	json_object_set_new(json, "partition", partition_json(d));
	json_object_set_new(json, "utilisation", utilisation_json(daemon, d));
	health_json(daemon, d->uuid, json);
	return json;
}

/* To ask a driver starts a process, and some take others' time to begin: others than owners get what was said just now.
 */
static bool asks_drivers(const struct ask *ask)
{
	uint64_t age_ns = clock_now_ns() - ask->daemon->machine.asked_ns;

	return !ask_is_known(ask) && (ask_is_owner(ask) || age_ns > DEVICES_FRESH_NS);
}

/* Where memory of devices goes that finds no room in the host's; null: there is none. */
static json_t *disk_json(const struct daemon *daemon)
{
	uint64_t most, taken = residence_disk_bytes(daemon, &most);

	if (!disk_there(daemon))
		return json_null();
	return json_pack("{s:s s:I s:I}", "folder", daemon->memory->disk, "taken_bytes", (json_int_t)taken,
			 "most_bytes", (json_int_t)most);
}

static enum verbs_result do_devices(struct ask *ask)
{
	struct machine *machine = &ask->daemon->machine;
	bool one = json_is_string(json_object_get(ask->request, "driver"));
	json_t *devices, *drivers;

	if (grant_refuse_kind(ask))
		return VERBS_ANSWERED;
	if (ask->turn == VERBS_FIRST && asks_drivers(ask))
		return one ? VERBS_ASK_DRIVER : VERBS_ASK_MACHINE;
	if (!one && ask->turn != VERBS_FIRST && ask->turn != VERBS_LAST && machine_sensors_pending(ask->daemon))
		return VERBS_LATER;
	devices = json_array();
	drivers = json_array();
	for (unsigned int i = 0; i < machine->device_count; i++)
		json_array_append_new(devices, device_json(ask->daemon, &machine->device[i]));
	for (unsigned int i = 0; i < MACHINE_DRIVERS; i++) {
		const struct driver *d = &machine->driver[i];

		json_array_append_new(drivers,
				      json_pack("{s:s s:b s:s s:o s:o s:o s:s s:o}", "kind", device_kind_name(d->kind),
						"usable", d->usable, "state", driver_state_name(d->state), "libcuda",
						ask_path_json(d->libcuda), "nvml", ask_path_json(d->libnvml),
						"version", ask_path_json(d->version), "status", d->status, "remedy",
						ask_path_json(d->state == DRIVER_FAILED || d->state == DRIVER_EMPTY
								      ? d->remedy
								      : "")));
	}
	return answer(ask, json_pack("{s:o s:o s:s s:s s:o}", "devices", devices, "drivers", drivers, "placement",
				     placing_rule_word(ask->daemon), "guard", guarded_rule_word(ask->daemon), "disk",
				     disk_json(ask->daemon)));
}

static void set_policy(struct ask *ask, const struct device *device)
{
	bool native = json_object_get(ask->request, "native"), policy = json_object_get(ask->request, "policy");
	char uuid[DEVICE_UUID_TEXT];
	uint64_t id;

	if (!operator_begin(ask, "policy", device_uuid_format(device->uuid, uuid), &id))
		return;
	if (native)
		terms_set_native(ask, device);
	if (!ask->answer && (policy || !native))
		terms_set_default(ask, device);
	operator_end(ask, id, ask->answer ? json_string_value(json_object_get(ask->answer, "error")) : NULL);
}

/* The devices' default policies. */
static enum verbs_result do_policy_set(struct ask *ask)
{
	struct machine *machine = &ask->daemon->machine;
	unsigned int at;

	if (ask->turn == VERBS_FIRST && clock_now_ns() - machine->asked_ns > GRANT_FRESH_NS)
		return VERBS_ASK_MACHINE;
	if (!ask_is_owner(ask))
		return refuse(ask, CODE_NOT_YOURS, "%s may set a device's policy", ask_owners());
	if (grant_entry_device(ask, ask->request, machine->device, machine->device_count, "this machine", &at))
		set_policy(ask, &machine->device[at]);
	return ask->answer ? VERBS_ANSWERED
			   : answer(ask, json_pack("{s:o}", "device", device_json(ask->daemon, &machine->device[at])));
}

static enum verbs_result do_policies(struct ask *ask)
{
	json_t *list = json_array();

	for (int i = 0; i < POLICIES; i++)
		json_array_append_new(list, json_pack("{s:s s:s}", "name", policy_name((enum policy)i), "describe",
						      policy_describe((enum policy)i)));
	return answer(ask, json_pack("{s:o}", "policies", list));
}

static enum verbs_result do_stop(struct ask *ask)
{
	unsigned int grants = 0;

	if (!ask_is_owner(ask))
		return refuse(ask, CODE_NOT_YOURS, "%s may stop this meted", ask_owners());
	for (struct tenant *t = ask->daemon->tenants; t; t = t->next)
		grants++;
	if (grants)
		return refuse(ask, CODE_BUSY, "%u grant(s) are being served: end their programs or delete them first",
			      grants);
	daemon_stop(ask->daemon);
	return answer(ask, json_object());
}

static enum verbs_result do_upgrade(struct ask *ask)
{
	json_t *binary = json_object_get(ask->request, "binary");
	char error[512];

	if (ask->turn == VERBS_TAKEN_OVER) {
		ask->answer = upgrade_answer(ask->daemon);
		return VERBS_ANSWERED;
	}
	if (!ask_is_owner(ask))
		return refuse(ask, CODE_NOT_YOURS, "%s may upgrade this meted", ask_owners());
	if (binary && !json_is_string(binary))
		return refuse(ask, CODE_MALFORMED, "\"binary\" must be a path");
	if (upgrade_begin(ask->daemon, json_string_value(binary), json_is_true(json_object_get(ask->request, "check")),
			  ask->asker->control, error, sizeof(error)))
		return refuse(ask, CODE_UPGRADE, "%s", error);
	return VERBS_HELD;
}

static enum verbs_result do_trace(struct ask *ask)
{
	char error[256];
	json_t *said;
	enum code code = trace_ask(ask->daemon, ask->asker->uid, ask->request, &said, error, sizeof(error));

	return code ? refuse(ask, code, "%s", error) : answer(ask, said);
}

#define FIELD_END                                                                                                      \
	{                                                                                                              \
		NULL, FIELD_TEXT, NULL, false, NULL                                                                    \
	}

/* clang-format off: a row is a line */
static const struct field named[] = { { "name", FIELD_TEXT, "a grant", true, NULL }, FIELD_END };
static const struct field maybe_named[] = { { "name", FIELD_TEXT, "a grant", false, NULL }, FIELD_END };
static const struct field device_alone[] = { { "device", FIELD_TEXT, DEVICE_SPEC_WORDS, true, NULL }, FIELD_END };
static const struct field devices_fields[] = {
	{ "known", FIELD_SWITCH, "", false, NULL },
	{ "driver", FIELD_TEXT, "auto, " DEVICE_KIND_WORDS, false, NULL },
	FIELD_END
};

/* The words of a share, as model/words.h has them. */
#define FIELD_OF_PERCENT FIELD_NUMBER, "percent"
#define FIELD_OF_POLICY FIELD_TEXT, "a policy"
#define FIELD_OF_CLASS FIELD_TEXT, "a class"
#define FIELD_OF_COUNT FIELD_NUMBER, ""
#define FIELD_OF_MS FIELD_NUMBER, "ms"
#define WORD_FIELD(type, member, term, key, ...) { key, FIELD_OF_##type, false, NULL },
#define SHARE_FIELDS                                                                                                   \
	{ "device", FIELD_WORD, DEVICE_SPEC_WORDS, false, NULL },                                                      \
	{ "mem_bytes", FIELD_WHOLE, "bytes", false, NULL },                                                            \
	{ "mem_pct", FIELD_NUMBER, "percent", false, NULL },                                                           \
	SHARE_WORDS(WORD_FIELD)

static const struct field share_new[] = { SHARE_FIELDS FIELD_END };
static const struct field share_change[] = { SHARE_FIELDS { "frozen", FIELD_SWITCH, "", false, NULL }, FIELD_END };
static const struct field container_files[] = {
	{ "settings", FIELD_TEXT, "", false, NULL },
	{ "preload", FIELD_TEXT, "", false, NULL },
	FIELD_END
};
static const struct field container_new[] = {
	{ "keep", FIELD_SWITCH, "", false, NULL },
	{ "spec", FIELD_TEXT, "absolute path", false, NULL },
	{ "files", FIELD_NAMES, "", false, container_files },
	FIELD_END
};
static const struct field labels[] = {
	{ "container", FIELD_TEXT, "", false, NULL },
	{ "pod", FIELD_TEXT, "", false, NULL },
	{ "namespace", FIELD_TEXT, "", false, NULL },
	FIELD_END
};
static const struct field create_fields[] = {
	{ "devices", FIELD_LIST, "", true, share_new },
	{ "driver", FIELD_TEXT, "auto, " DEVICE_KIND_WORDS, false, NULL },
	{ "name", FIELD_WORD, "a grant", false, NULL },
	{ "overcommit", FIELD_SWITCH, "", false, NULL },
	{ "placement", FIELD_TEXT, "spread, binpack or fit", false, NULL },
	{ "wall", FIELD_SWITCH, "", false, NULL },
	{ "spill", FIELD_SWITCH, "", false, NULL },
	{ "resident_bytes", FIELD_WHOLE, "bytes", false, NULL },
	{ "wait", FIELD_SWITCH, "", false, NULL },
	{ "known", FIELD_SWITCH, "", false, NULL },
	{ "expires_s", FIELD_WHOLE, "s", false, NULL },
	{ "runner_pid", FIELD_WHOLE, "pid", false, NULL },
	{ "container", FIELD_OBJECT, "", false, container_new },
	{ "labels", FIELD_OBJECT, "", false, labels },
	{ "images", FIELD_TEXT, "letters and digits", false, NULL },
	FIELD_END
};
static const struct field set_fields[] = {
	{ "name", FIELD_TEXT, "a grant", true, NULL },
	{ "devices", FIELD_LIST, "", true, share_change },
	{ "soon", FIELD_SWITCH, "", false, NULL },
	FIELD_END
};
static const struct field suspend_fields[] = {
	{ "name", FIELD_TEXT, "a grant", true, NULL },
	{ "drain_s", FIELD_WHOLE, "s", false, NULL },
	FIELD_END
};
static const struct field resume_fields[] = {
	{ "name", FIELD_TEXT, "a grant", true, NULL },
	{ "now", FIELD_SWITCH, "", false, NULL },
	FIELD_END
};
static const struct field move_fields[] = { { "name", FIELD_TEXT, "a grant", true, NULL },
					    { "device", FIELD_TEXT, "a device", false, NULL },
					    { "remote", FIELD_TEXT, "", false, NULL },
					    { "socket", FIELD_TEXT, "", false, NULL },
					    { "drain_s", FIELD_WHOLE, "s", false, NULL },
					    FIELD_END };
static const struct field bind_fields[] = {
	{ "name", FIELD_TEXT, "a grant", true, NULL },
	{ "runner_pid", FIELD_WHOLE, "pid", false, NULL },
	{ "files", FIELD_NAMES, "", false, container_files },
	{ "labels", FIELD_OBJECT, "", false, labels },
	FIELD_END
};
static const struct field label_fields[] = {
	{ "name", FIELD_TEXT, "a grant", true, NULL },
	{ "labels", FIELD_OBJECT, "", true, labels },
	FIELD_END
};
static const struct field token_fields[] = { { "read", FIELD_SWITCH, "", false, NULL }, FIELD_END };
static const struct field audit_fields[] = { { "limit", FIELD_WHOLE, "entries", false, NULL }, FIELD_END };
static const struct field policy_fields[] = {
	{ "device", FIELD_TEXT, DEVICE_SPEC_WORDS, false, NULL },
	{ "policy", FIELD_TEXT, "a policy", false, NULL },
	{ "native", FIELD_TEXT, "allow or hold", false, NULL },
	FIELD_END
};
static const struct field cordon_fields[] = {
	{ "device", FIELD_TEXT, DEVICE_SPEC_WORDS, true, NULL },
	{ "reason", FIELD_TEXT, "", false, NULL },
	FIELD_END
};
static const struct field drain_fields[] = {
	{ "device", FIELD_TEXT, DEVICE_SPEC_WORDS, true, NULL },
	{ "reason", FIELD_TEXT, "", false, NULL },
	{ "grace_s", FIELD_WHOLE, "s", false, NULL },
	{ "end", FIELD_SWITCH, "", false, NULL },
	FIELD_END
};
static const struct field events_fields[] = {
	{ "after", FIELD_WHOLE, "number of an event", false, NULL },
	{ "limit", FIELD_WHOLE, "events", false, NULL },
	{ "tenant", FIELD_TEXT, "a grant", false, NULL },
	{ "device", FIELD_TEXT, DEVICE_SPEC_WORDS, false, NULL },
	{ "kind", FIELD_TEXT, "a kind", false, NULL },
	FIELD_END
};
static const struct field changes_fields[] = {
	{ "seen", FIELD_TEXT, "of an answer", false, NULL },
	{ "within_s", FIELD_WHOLE, "s", false, NULL },
	FIELD_END
};
static const struct field metrics_fields[] = { { "compat", FIELD_TEXT, "dcgm", false, NULL }, FIELD_END };
static const struct field upgrade_fields[] = {
	{ "binary", FIELD_TEXT, "absolute path", false, NULL },
	{ "check", FIELD_SWITCH, "", false, NULL },
	FIELD_END
};
static const struct field trace_start_fields[] = {
	{ "grants", FIELD_LIST, "grants", false, NULL },
	{ "seconds", FIELD_NUMBER, "s", true, NULL },
	FIELD_END
};
static const struct field trace_fields[] = { { "trace", FIELD_WHOLE, "number of a trace", true, NULL }, FIELD_END };

const struct request requests[] = {
	{ "hello", do_hello, NULL },
	{ "devices", do_devices, devices_fields },
	{ "grant_create", grant_create_ask, create_fields },
	{ "grants", grants_ask, maybe_named },
	{ "grant_set", grant_set_ask, set_fields },
	{ "grant_suspend", grant_suspend_ask, suspend_fields },
	{ "grant_resume", grant_resume_ask, resume_fields },
	{ "grant_move", grant_move_ask, move_fields },
	{ "grant_delete", grant_delete_ask, named },
	{ "grant_end", grant_end_ask, named },
	{ "grant_bind", grant_bind_ask, bind_fields },
	{ "grant_label", grant_label_ask, label_fields },
	{ "grant_release", grant_release_ask, named },
	{ "token_new", console_ask, token_fields },
	{ "token_show", console_ask, token_fields },
	{ "token_revoke", console_ask, token_fields },
	{ "audit", console_ask, audit_fields },
	{ "stop", do_stop, NULL },
	{ "policies", do_policies, NULL },
	{ "policy_set", do_policy_set, policy_fields },
	{ "device_cordon", health_ask, cordon_fields },
	{ "device_uncordon", health_ask, device_alone },
	{ "device_drain", health_ask, drain_fields },
	{ "device_health", health_ask, device_alone },
	{ "limits", limits_ask, NULL },
	{ "events", journal_ask, events_fields },
	{ "changes", changes_ask, changes_fields },
	{ "metrics", metrics_ask, metrics_fields },
	{ "upgrade", do_upgrade, upgrade_fields },
	{ "trace_start", do_trace, trace_start_fields },
	{ "trace_read", do_trace, trace_fields },
	{ "trace_stop", do_trace, trace_fields },
	{ 0 },
};
/* clang-format on */

const char *field_type_name(enum field_type type)
{
	static const char *const names[] = {
		[FIELD_TEXT] = "text",	   [FIELD_WORD] = "text",
		[FIELD_WHOLE] = "whole number", [FIELD_NUMBER] = "number",
		[FIELD_SWITCH] = "true or false", [FIELD_OBJECT] = "object", [FIELD_NAMES] = "object",
		[FIELD_LIST] = "list",
	};

	return names[type];
}

static const struct field *find_field(const struct field *fields, const char *name)
{
	for (; fields && fields->name; fields++)
		if (!strcmp(fields->name, name))
			return fields;
	return NULL;
}

static bool sift(struct ask *ask, json_t *object, const struct field *fields);

/* A value of a field: an object, or a list of them, has fields of its own. */
static bool sift_value(struct ask *ask, json_t *value, const struct field *field)
{
	bool good = true;
	json_t *entry;
	size_t i;

	/* Numbers, words, lists and objects are judged where they are read, with their bounds. */
	if (!json_is_null(value) && ((field->type == FIELD_SWITCH && !json_is_boolean(value)) ||
				     (field->type == FIELD_TEXT && !json_is_string(value)))) {
		refuse(ask, CODE_MALFORMED, "\"%s\" must be %s", field->name,
		       field->type == FIELD_SWITCH ? "true or false" : "a text");
		return false;
	}
	if (json_is_object(value) && field->of && field->type != FIELD_NAMES)
		return sift(ask, value, field->of);
	json_array_foreach(value, i, entry)
		if (good && json_is_object(entry) && field->of)
			good = sift(ask, entry, field->of);
	return good;
}

static bool sift(struct ask *ask, json_t *object, const struct field *fields)
{
	const struct field *field;
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(object, next, name, value)
	{
		field = find_field(fields, name);
		if (field && !sift_value(ask, value, field))
			return false;
		if (!field && (object != ask->request || strcmp(name, "op")))
			json_object_del(object, name);
	}
	return true;
}

bool request_sift(struct ask *ask, const struct request *r)
{
	return sift(ask, ask->request, r->fields);
}

enum verbs_result verbs_treat(struct daemon *daemon, const struct asker *asker, json_t *request, enum verbs_turn turn,
			      json_t **ret_answer)
{
	const char *op = json_string_value(json_object_get(request, "op"));
	struct ask ask = { .daemon = daemon, .asker = asker, .request = request, .turn = turn };
	enum verbs_result result = VERBS_ANSWERED;
	const struct request *r = requests;

	while (op && r->op && strcmp(r->op, op))
		r++;
	if (!op)
		refuse(&ask, CODE_MALFORMED, "the request has no \"op\"");
	else if (!r->op)
		refuse(&ask, CODE_UNKNOWN_OP, "this meted (%s) knows no \"%.32s\"", daemon_version(), op);
	else if (turn != VERBS_FIRST || request_sift(&ask, r))
		result = r->treat(&ask);
	*ret_answer = ask.answer;
	return result;
}

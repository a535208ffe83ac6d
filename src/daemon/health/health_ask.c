/* health_ask.c: what operators ask about devices on the control socket: device_cordon, device_uncordon, device_drain,
 * device_health. */
#include "daemon/ask.h"
#include "daemon/tenants/client.h"
#include "daemon/daemon.h"
#include "daemon/health/health.h"
#include "daemon/operator.h"
#include "daemon/tenants/tenant.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define GRACE_S 300
#define GRACE_MOST_S 604800

/* The device that the request names. False: it was refused. */
static bool find(struct ask *ask, struct device *ret)
{
	struct machine *machine = &ask->daemon->machine;
	const char *spec = json_string_value(json_object_get(ask->request, "device"));
	int found = spec ? device_find(machine->device, machine->device_count, spec) : DEVICE_NOT_FOUND;
	char why[DEVICE_AMBIGUITY_BYTES];

	if (found >= 0) {
		*ret = machine->device[found];
		return true;
	}
	if (!spec)
		refuse(ask, CODE_MALFORMED, "the request names no device: give its index or UUID as \"device\"");
	else if (found == DEVICE_AMBIGUOUS)
		refuse(ask, CODE_AMBIGUOUS_DEVICE, "device %.64s: %s", spec,
		       device_ambiguity(machine->device, machine->device_count, spec, why));
	else
		refuse(ask, CODE_UNKNOWN_DEVICE,
		       "device %.64s: this machine has none of that index or UUID: `mete devices` lists them", spec);
	return false;
}

/* It was to go elsewhere, and could not. */
static json_t *why_it_stays(const struct tenant *t)
{
	return t->suspension.state == SUSPENSION_REFUSED ? json_string(t->suspension.why) : json_null();
}

static json_t *tenants_json(struct daemon *daemon, const uint8_t *uuid)
{
	json_t *list = json_array();

	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		json_int_t processes = 0;

		if (!tenant_present(t) || !grant_find_share(&t->grant, uuid))
			continue;
		for (struct client *c = t->clients; c; c = c->next)
			processes++;
		json_array_insert_new(list, 0,
				      json_pack("{s:s s:I s:o}", "name", t->grant.name, "processes", processes, "stays",
						why_it_stays(t)));
	}
	return list;
}

static json_t *describe(struct daemon *daemon, const struct device *d)
{
	char uuid[DEVICE_UUID_TEXT];
	json_t *json =
		json_pack("{s:s s:i s:s s:s s:o}", "driver", device_kind_name(d->kind), "index", (int)d->index, "uuid",
			  device_uuid_format(d->uuid, uuid), "name", d->name, "tenants", tenants_json(daemon, d->uuid));

	health_json(daemon, d->uuid, json);
	return json;
}

static bool read_grace(struct ask *ask, uint64_t *ret_s)
{
	json_t *grace = json_object_get(ask->request, "grace_s");
	json_int_t s = grace ? json_integer_value(grace) : GRACE_S;

	if ((grace && !json_is_integer(grace)) || s < 0 || s > GRACE_MOST_S) {
		refuse(ask, CODE_MALFORMED, "\"grace_s\" must be a whole number of seconds, 0 to %d", GRACE_MOST_S);
		return false;
	}
	*ret_s = (uint64_t)s;
	return true;
}

static int act(struct ask *ask, const char *op, const struct device *d, char *error, size_t size)
{
	char who[ASK_WHO_BYTES];
	const char *reason = json_string_value(json_object_get(ask->request, "reason"));
	uint64_t grace_s;

	if (!strcmp(op, "device_cordon"))
		return health_cordon(ask->daemon, d, ask_who(ask, who), reason, error, size);
	if (!strcmp(op, "device_uncordon"))
		return health_uncordon(ask->daemon, d, ask_who(ask, who), error, size);
	if (!read_grace(ask, &grace_s))
		return -EINVAL;
	return health_drain(ask->daemon, d, ask_who(ask, who), reason, grace_s,
			    json_is_true(json_object_get(ask->request, "end")), error, size);
}

/* An operator's act, written down before and after. */
static int act_noted(struct ask *ask, const char *op, const struct device *d, char *error, size_t size)
{
	char uuid[DEVICE_UUID_TEXT];
	uint64_t id;
	int r;

	if (!operator_begin(ask, op + strlen("device_"), device_uuid_format(d->uuid, uuid), &id))
		return -EIO;
	r = act(ask, op, d, error, size);
	operator_end(ask, id, r ? error : NULL);
	return r;
}

enum verbs_result health_ask(struct ask *ask)
{
	const char *op = json_string_value(json_object_get(ask->request, "op"));
	bool looks = !strcmp(op, "device_health");
	char error[512] = "";
	struct device d;
	int r;

	if (!looks && !ask_is_owner(ask))
		return refuse(ask, CODE_NOT_YOURS, "%s may take devices out and bring them back", ask_owners());
	if (ask->turn == VERBS_FIRST && (!looks || !ask->daemon->machine.asked_ns))
		return VERBS_ASK_MACHINE;
	if (!find(ask, &d))
		return VERBS_ANSWERED;
	r = looks ? 0 : act_noted(ask, op, &d, error, sizeof(error));
	if (r && !ask->answer)
		return refuse(ask, r == -ENODEV ? CODE_LOST : CODE_STORE, "%s", error);
	return ask->answer ? VERBS_ANSWERED : answer(ask, json_pack("{s:o}", "device", describe(ask->daemon, &d)));
}

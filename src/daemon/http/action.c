/* action.c: see action.h. */
#include "daemon/http/action.h"

#include "daemon/http/audit.h"
#include "daemon/codes.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/http/http.h"
#include "daemon/journal.h"
#include "daemon/tenants/tenant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEYS_MAX 4u
#define ERROR_BYTES 1024

struct action {
	const char *name;
	const char *op; /* on the control socket */
	const char *const keys[KEYS_MAX]; /* that the body may have, and that go into the request as they are */
	json_t *(*request)(const struct http_request *request, const struct action *action);
};

static json_t *about_tenant(const struct http_request *request, const struct action *action)
{
	return json_pack("{s:s s:s}", "op", action->op, "name", request->arg[0]);
}

static json_t *about_device(const struct http_request *request, const struct action *action)
{
	return json_pack("{s:s s:s}", "op", action->op, "device", request->arg[0]);
}

/* All shares of the tenant. One that is not there gets no entry, and is refused by its name. */
static json_t *about_frozen(const struct http_request *request, const struct action *action)
{
	struct tenant *t = tenant_find(request->daemon, request->arg[0]);
	json_t *devices = json_array(), *op = about_tenant(request, action);
	char uuid[DEVICE_UUID_TEXT];

	for (unsigned int i = 0; t && i < t->grant.share_count; i++)
		json_array_append_new(devices, json_pack("{s:s s:b}", "device",
							 device_uuid_format(t->grant.share[i].device.uuid, uuid),
							 "frozen", !strcmp(action->name, "freeze")));
	json_object_set_new(op, "devices", devices);
	return op;
}

static const struct action tenant_actions[] = {
	{ "resize", "grant_set", { "devices", "soon" }, about_tenant },
	{ "freeze", "grant_set", { NULL }, about_frozen },
	{ "thaw", "grant_set", { NULL }, about_frozen },
	{ "end", "grant_end", { NULL }, about_tenant },
	{ "release", "grant_release", { NULL }, about_tenant },
	{ 0 },
};

static const struct action device_actions[] = {
	{ "cordon", "device_cordon", { "reason" }, about_device },
	{ "drain", "device_drain", { "reason", "grace_s", "end" }, about_device },
	{ "uncordon", "device_uncordon", { NULL }, about_device },
	{ 0 },
};

static bool may_say(const struct action *action, const char *key)
{
	for (unsigned int i = 0; i < KEYS_MAX && action->keys[i]; i++)
		if (!strcmp(action->keys[i], key))
			return true;
	return false;
}

/* The body, an object with keys that the action knows; none is an empty one. NULL: refused. */
static json_t *read_body(const struct http_request *request, const struct action *action, struct http_reply *reply)
{
	json_t *body, *value;
	json_error_t why;
	const char *key;

	body = request->body_bytes ? json_loadb(request->body, request->body_bytes, JSON_REJECT_DUPLICATES, &why)
				   : json_object();
	if (!json_is_object(body)) {
		http_reply_error(reply, 400, "the body must be a JSON object");
		json_decref(body);
		return NULL;
	}
	json_object_foreach(body, key, value)
	{
		if (may_say(action, key))
			continue;
		http_reply_error(reply, 400, "%s knows no \"%.32s\": docs/console.md says what it takes", action->name,
				 key);
		json_decref(body);
		return NULL;
	}
	return body;
}

/* Does it. Value: the outcome for the audit log, in `text` when it was refused. */
static const char *perform(struct daemon *daemon, const char *who, json_t *op, struct http_reply *reply,
			   char text[ERROR_BYTES])
{
	const struct asker self = { .uid = geteuid(), .gid = getegid(), .who = who };
	json_t *answer = NULL;
	enum code code;

	verbs_treat(daemon, &self, op, VERBS_LAST, &answer);
	if (json_is_true(json_object_get(answer, "ok"))) {
		http_reply_json(reply, json_pack("{s:b}", "ok", 1));
		json_decref(answer);
		return "done";
	}
	snprintf(text, ERROR_BYTES, "%s",
		 answer ? json_string_value(json_object_get(answer, "error")) : "no memory: ask again");
	code = code_find(json_string_value(json_object_get(answer, "code")));
	http_reply_error(reply, answer ? code_http_status(code) : 503, "%s", text);
	json_decref(answer);
	return text;
}

static void note(const struct http_request *request, const struct action *action, const char *outcome)
{
	bool of_tenant = action->request != about_device;
	const struct machine *machine = &request->daemon->machine;
	int at = of_tenant ? -1 : device_find(machine->device, machine->device_count, request->arg[0]);

	journal_add(request->daemon, JOURNAL_ACTION, of_tenant ? request->arg[0] : NULL,
		    at >= 0 ? machine->device[at].uuid : NULL, "%s from the console by %s: %s", action->name,
		    request->who, outcome);
}

static void act(const struct http_request *request, struct http_reply *reply, const struct action *action, json_t *body)
{
	struct audit_entry entry = {
		.who = request->who, .action = action->name, .target = request->arg[0], .request = body
	};
	char text[ERROR_BYTES];
	const char *outcome;
	uint64_t id;
	json_t *op;
	int r = audit_begin(request->daemon->state_dir, &entry, &id, text, sizeof(text));

	if (r) {
		http_reply_error(reply, r == -EMSGSIZE ? 413 : 507, "%s", text);
		return;
	}
	op = action->request(request, action);
	for (unsigned int i = 0; i < KEYS_MAX && action->keys[i]; i++)
		if (json_object_get(body, action->keys[i]))
			json_object_set(op, action->keys[i], json_object_get(body, action->keys[i]));
	outcome = perform(request->daemon, request->who, op, reply, text);
	json_decref(op);
	audit_end(request->daemon->state_dir, id, outcome);
	note(request, action, outcome);
}

static void find_and_act(const struct http_request *request, struct http_reply *reply, const struct action *action)
{
	json_t *body;

	while (action->name && strcmp(action->name, request->arg[1]))
		action++;
	if (!action->name) {
		http_reply_error(reply, 404, "there is no action %.32s: docs/console.md lists what there is",
				 request->arg[1]);
		return;
	}
	body = read_body(request, action, reply);
	if (body)
		act(request, reply, action, body);
	json_decref(body);
}

void action_tenant(const struct http_request *request, struct http_reply *reply)
{
	if (!tenant_find(request->daemon, request->arg[0]))
		http_reply_error(reply, 404, "there is no grant %.64s: `mete ps` lists those that there are",
				 request->arg[0]);
	else
		find_and_act(request, reply, tenant_actions);
}

/* A name that is no UTF-8 is no device's, and cannot be written down. */
void action_device(const struct http_request *request, struct http_reply *reply)
{
	json_t *name = json_string(request->arg[0]);

	if (!name)
		http_reply_error(reply, 404, "there is no device %.64s: `mete devices` lists them", request->arg[0]);
	else
		find_and_act(request, reply, device_actions);
	json_decref(name);
}

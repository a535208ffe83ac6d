/* api.c: the routes that give data. */
#include "daemon/http/api.h"

#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/http/http.h"
#include "daemon/upgrade/version.h"

#include <stdlib.h>
#include <string.h>

void api_health(const struct http_request *request, struct http_reply *reply)
{
	(void)request;
	http_reply_json(reply, json_pack("{s:s s:s}", "status", "ok", "version", daemon_version()));
}

void api_token(const struct http_request *request, struct http_reply *reply)
{
	static const char *const may[] = { [TOKEN_NONE] = "nothing", [TOKEN_READS] = "read", [TOKEN_ACTS] = "act" };

	http_reply_json(reply, json_pack("{s:s}", "may", may[request->right]));
}

/* A value of the query as the control socket would get it: digits are numbers for the keys that want them. */
static void copy_query(const struct http_request *request, json_t *to, const char *key, bool number)
{
	const char *value = http_query(request, key);
	char *end;

	if (!value || !*value)
		return;
	if (number && strspn(value, "0123456789") == strlen(value) && strlen(value) < 19)
		json_object_set_new(to, key, json_integer(strtoll(value, &end, 10)));
	else
		json_object_set_new(to, key, json_string(value));
}

/* What the control socket would answer; its refusals become statuses. */
static void ask(const struct http_request *request, json_t *take_question, struct http_reply *reply)
{
	const struct asker asker = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	json_t *answer = NULL;

	verbs_treat(request->daemon, &asker, take_question, VERBS_LAST, &answer);
	json_decref(take_question);
	if (answer && !json_is_true(json_object_get(answer, "ok"))) {
		const char *code = json_string_value(json_object_get(answer, "code"));
		const char *error = json_string_value(json_object_get(answer, "error"));

		http_reply_error(reply, code && !strncmp(code, "unknown-", 8) ? 404 : 400, "%s", error ? error : "?");
		json_decref(answer);
		return;
	}
	json_object_del(answer, "ok");
	http_reply_json(reply, answer);
}

void api_events(const struct http_request *request, struct http_reply *reply)
{
	json_t *question = json_pack("{s:s}", "op", "events");

	copy_query(request, question, "after", true);
	copy_query(request, question, "limit", true);
	copy_query(request, question, "tenant", false);
	copy_query(request, question, "device", false);
	copy_query(request, question, "kind", false);
	ask(request, question, reply);
}

/* console_ask.c: what is asked on the control socket about the console: its token, and the log of actions. */
#include "daemon/ask.h"
#include "daemon/http/audit.h"
#include "daemon/daemon.h"
#include "daemon/http/token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ERROR_BYTES 4608
#define AUDIT_MOST 10000

/* Who has the token may do everything, so only those who may anyway get it. */
static bool may(struct ask *ask)
{
	if (ask_is_owner(ask))
		return true;
	refuse(ask, CODE_NOT_YOURS, "%s may see the console's token and its log", ask_owners());
	return false;
}

/* "read": the one that reads alone. */
static enum token_right asked_right(const struct ask *ask)
{
	return json_is_true(json_object_get(ask->request, "read")) ? TOKEN_READS : TOKEN_ACTS;
}

static void write_down(struct ask *ask, const char *action)
{
	char who[64], error[ERROR_BYTES];
	struct audit_entry entry = { .who = who,
				     .action = action,
				     .target = asked_right(ask) == TOKEN_READS ? "reader" : "token" };
	uint64_t id;

	snprintf(who, sizeof(who), "uid %u, pid %d", (unsigned int)ask->asker->uid, (int)ask->asker->pid);
	if (audit_begin(ask->daemon->state_dir, &entry, &id, error, sizeof(error)))
		refuse(ask, CODE_STORE, "%s", error);
	else
		audit_end(ask->daemon->state_dir, id, "done");
}

static enum verbs_result show(struct ask *ask, int r, char token[TOKEN_BYTES], const char *error)
{
	if (ask->answer)
		return VERBS_ANSWERED;
	if (r)
		return refuse(ask, r == -ENOENT ? CODE_NO_TOKEN : CODE_STORE, "%s", error);
	answer(ask, json_pack("{s:s}", "token", token));
	explicit_bzero(token, TOKEN_BYTES);
	return VERBS_ANSWERED;
}

static enum verbs_result make_token(struct ask *ask)
{
	char token[TOKEN_BYTES] = "", error[ERROR_BYTES];

	write_down(ask, "token new");
	return show(ask,
		    ask->answer ? 0
				: token_new(ask->daemon->state_dir, asked_right(ask), token, error, sizeof(error)),
		    token, error);
}

static enum verbs_result show_token(struct ask *ask)
{
	char token[TOKEN_BYTES] = "", error[ERROR_BYTES];

	return show(ask, token_read(ask->daemon->state_dir, asked_right(ask), token, error, sizeof(error)), token,
		    error);
}

/* A revocation is done also where it cannot be written down. */
static enum verbs_result revoke_token(struct ask *ask)
{
	char error[ERROR_BYTES];

	if (token_revoke(ask->daemon->state_dir, asked_right(ask), error, sizeof(error)))
		return refuse(ask, CODE_STORE, "%s", error);
	write_down(ask, "token revoke");
	return ask->answer ? VERBS_ANSWERED : answer(ask, json_object());
}

static enum verbs_result show_audit(struct ask *ask)
{
	json_t *limit = json_object_get(ask->request, "limit"), *list;
	json_int_t n = limit ? json_integer_value(limit) : AUDIT_MOST;
	char error[ERROR_BYTES];

	if (n < 1 || n > AUDIT_MOST)
		return refuse(ask, CODE_MALFORMED, "\"limit\" must be a whole number, 1 to %d", AUDIT_MOST);
	list = audit_last(ask->daemon->state_dir, (unsigned int)n, error, sizeof(error));
	return list ? answer(ask, json_pack("{s:o}", "actions", list)) : refuse(ask, CODE_STORE, "%s", error);
}

enum verbs_result console_ask(struct ask *ask)
{
	static const struct {
		const char *op;
		enum verbs_result (*fn)(struct ask *ask);
	} ops[] = {
		{ "token_new", make_token },
		{ "token_show", show_token },
		{ "token_revoke", revoke_token },
		{ "audit", show_audit },
	};
	const char *op = json_string_value(json_object_get(ask->request, "op"));
	size_t i = 0;

	while (strcmp(ops[i].op, op))
		i++;
	return may(ask) ? ops[i].fn(ask) : VERBS_ANSWERED;
}

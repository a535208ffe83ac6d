/* ask.c: how a request on the control socket is answered, or refused; see ask.h. */
#include "daemon/ask.h"

#include "base/clean_text.h"
#include "daemon/daemon.h"
#include "daemon/journal.h"
#include "daemon/owner.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What was asked of the machine and not given is an event; a slip of the pen is none. */
static void note_refused(struct ask *ask, const char *text)
{
	const char *op = json_string_value(json_object_get(ask->request, "op"));
	const char *name = json_string_value(json_object_get(ask->request, "name"));

	if (op && text && !strncmp(op, "grant_", 6) && code_is_event(ask->code))
		journal_add_of(ask->daemon, ask->asker->uid, JOURNAL_REFUSAL,
			       name && grant_name_valid(name) ? name : NULL, NULL, "uid %u: %s",
			       (unsigned int)ask->asker->uid, text);
}

enum verbs_result refuse(struct ask *ask, enum code code, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	clean_text_ascii(text);
	ask->answer = json_pack("{s:b s:s s:s}", "ok", 0, "code", code_word(code), "error", text);
	ask->code = code;
	if (!ask->quiet)
		refuse_aloud(ask);
	return VERBS_ANSWERED;
}

void refuse_aloud(struct ask *ask)
{
	telemetry_request_refused(ask->daemon, ask->code);
	note_refused(ask, json_string_value(json_object_get(ask->answer, "error")));
}

enum verbs_result answer(struct ask *ask, json_t *take_answer)
{
	if (take_answer)
		json_object_set_new(take_answer, "ok", json_true());
	ask->answer = take_answer;
	return VERBS_ANSWERED;
}

const char *ask_who(const struct ask *ask, char text[ASK_WHO_BYTES])
{
	if (ask->asker->who)
		snprintf(text, ASK_WHO_BYTES, "%s", ask->asker->who);
	else
		snprintf(text, ASK_WHO_BYTES, "uid %u", (unsigned int)ask->asker->uid);
	return text;
}

bool ask_is_owner(const struct ask *ask)
{
	return owner_is(ask->asker->uid);
}

const char *ask_owners(void)
{
	static char text[40];

	if (!geteuid())
		return "only root";
	snprintf(text, sizeof(text), "only root and uid %u", (unsigned int)geteuid());
	return text;
}

json_t *ask_path_json(const char *path)
{
	json_t *json = *path ? json_string(path) : NULL;

	return json ? json : json_null();
}

bool ask_is_known(const struct ask *ask)
{
	return json_is_true(json_object_get(ask->request, "known")) && ask->daemon->machine.asked_ns;
}

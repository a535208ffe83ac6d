/* audit.c: `mete audit`: what was done from the console, by whom, and what came of it. */
#include "verb/choose.h"
#include "client/control.h"
#include "client/grants.h"
#include "client/requests.h"
#include "verb/say.h"
#include "verb/table.h"
#include "verb/verb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT_MOST 10000

static const char *moment(json_t *entry, char text[32])
{
	time_t t = (time_t)json_number_value(json_object_get(entry, "time"));
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(text, 32, "%F %T", &tm))
		return "?";
	return text;
}

static void print_table(json_t *actions)
{
	static const char *const heads[] = { "TIME", "WHO", "ACTION", "TARGET", "REQUEST", "OUTCOME", NULL };
	struct table t;
	json_t *e;
	size_t i;

	table_begin(&t, heads);
	json_array_foreach (actions, i, e) {
		char *request = json_dumps(json_object_get(e, "request"), JSON_COMPACT | JSON_ENCODE_ANY);
		const char *outcome = json_string_value(json_object_get(e, "outcome"));
		char when[32];

		table_cell(&t, "%s", moment(e, when));
		table_cell(&t, "%s", device_text(e, "who"));
		table_cell(&t, "%s", device_text(e, "action"));
		table_cell(&t, "%s", device_text(e, "target"));
		table_cell(&t, "%s", request && strcmp(request, "null") ? request : "-");
		table_cell(&t, "%s", outcome ? outcome : "not known");
		free(request);
	}
	table_end(&t);
}

VERB(audit)
{
	const char *limit = option_value(line, "limit");
	struct control control = CONTROL_CLOSED;
	json_t *request, *answer = NULL;
	struct fault f;
	char *end;
	long n = 0;
	int r;

	if (limit)
		n = *limit >= '1' && *limit <= '9' ? strtol(limit, &end, 10) : 0;
	if (limit && (n < 1 || n > LIMIT_MOST || *end)) {
		say_error("--limit %s: it must be a number from 1 to %d", limit, LIMIT_MOST);
		return EXIT_USAGE;
	}
	request = request_plain("audit");
	if (limit)
		json_object_set_new(request, "limit", json_integer(n));
	r = control_ask_again(&control, CONTROL_FIND, request, &answer, NULL, &f);
	if (r == CONTROL_NOBODY)
		say_error("no meted runs in %s: start it first; each writes a log of its own", control.dir);
	else if (r)
		say_error("%s", f.text);
	else if (option_given(line, "json"))
		print_json("actions", json_incref(json_object_get(answer, "actions")));
	else
		print_table(json_object_get(answer, "actions"));
	json_decref(answer);
	control_close(&control);
	return r ? EXIT_FAILED : EXIT_DONE;
}

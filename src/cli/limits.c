/* limits.c: `mete limits`: what this user may take, and has taken. */
#include "base/size.h"
#include "verb/choose.h"
#include "client/control.h"
#include "client/grants.h"
#include "client/requests.h"
#include "verb/output.h"
#include "verb/say.h"
#include "verb/table.h"
#include "verb/verb.h"

#include <stdio.h>
#include <string.h>

/* Memory is in bytes, time in percent, all else is counted. */
static void add_figure(struct table *t, json_t *row, const char *key, const char *none)
{
	const char *limit = device_text(row, "limit");
	json_t *value = json_object_get(row, key);
	char text[SIZE_TEXT_BYTES];

	if (!json_is_integer(value))
		table_cell(t, "%s", none);
	else if (!strcmp(limit, "mem"))
		table_cell(t, "%s", size_format((uint64_t)json_integer_value(value), text));
	else
		table_cell(t, "%lld%s", (long long)json_integer_value(value), strcmp(limit, "cores") ? "" : " %");
}

static void print_rows(json_t *answer)
{
	static const char *const heads[] = { "LIMIT", "OF", ">HAVE", ">MOST", "KEY", NULL };
	struct table t;
	json_t *row;
	size_t i;

	table_begin(&t, heads);
	json_array_foreach(json_object_get(answer, "limits"), i, row)
	{
		table_cell(&t, "%s", device_text(row, "limit"));
		table_cell(&t, "%s", device_text(row, "of"));
		add_figure(&t, row, "have", "-");
		add_figure(&t, row, "most", "no bound");
		table_cell(&t, "%s", device_text(row, "key"));
	}
	table_end(&t);
	if (!json_is_true(json_object_get(answer, "bounded")))
		output_words("The settings bound neither root nor the user that meted runs as.", 0, 0,
			     output_columns());
}

VERB(limits)
{
	struct control control = CONTROL_CLOSED;
	json_t *answer = NULL;
	struct fault f;
	int r = control_ask_again(&control, CONTROL_START, request_plain("devices"), &answer, NULL, &f);

	json_decref(answer);
	if (!r)
		r = control_ask_again(&control, CONTROL_START, request_plain("limits"), &answer, NULL, &f);
	control_close(&control);
	if (r) {
		say_error("%s", f.text);
		return EXIT_FAILED;
	}
	if (option_given(line, "json"))
		print_json("limits", json_incref(json_object_get(answer, "limits")));
	else
		print_rows(answer);
	json_decref(answer);
	return EXIT_DONE;
}

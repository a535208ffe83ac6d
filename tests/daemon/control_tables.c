/* control_tables.c: the tables of the control protocol as JSON, for control_doc_test.py. */
#include "daemon/codes.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/requests.h"

#include <stdio.h>

static json_t *fields_json(const struct field *fields)
{
	json_t *list = json_array();

	for (; fields && fields->name; fields++) {
		json_t *row = json_pack("{s:s s:s s:s s:b}", "name", fields->name, "type",
					field_type_name(fields->type), "unit", fields->unit, "needed", fields->needed);

		if (fields->of)
			json_object_set_new(row, "of", fields_json(fields->of));
		json_array_append_new(list, row);
	}
	return list;
}

int main(void)
{
	json_t *all = json_pack("{s:i s:{} s:{} s:{}}", "protocol", DAEMON_PROTOCOL, "requests", "codes", "limits");
	const struct {
		const char *name;
		unsigned int value;
	} limits[] = {
		{ "bytes of a request", CONTROL_LINE_BYTES },
		{ "seconds for a request, once it has begun", CONTROL_LINE_S },
		{ "seconds for reading an answer", CONTROL_READ_S },
		{ "bytes of unread answers of all users", CONTROL_UNREAD_BYTES },
		{ "connections", CONTROL_CONNECTIONS },
		{ "connections kept for owners", CONTROL_CONNECTIONS_KEPT },
		{ "connections of a user", CONTROL_CONNECTIONS_OF_USER },
	};

	for (const struct request *r = requests; r->op; r++)
		json_object_set_new(json_object_get(all, "requests"), r->op, fields_json(r->fields));
	for (int i = CODE_NONE + 1; i < CODES; i++)
		json_object_set_new(json_object_get(all, "codes"), code_word((enum code)i),
				    json_integer(code_http_status((enum code)i)));
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		json_object_set_new(json_object_get(all, "limits"), limits[i].name, json_integer(limits[i].value));
	json_dumpf(all, stdout, JSON_INDENT(1));
	json_decref(all);
	return 0;
}

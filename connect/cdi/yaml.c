/* yaml.c: see yaml.h. libyaml says what is in the file; this puts it together. */
#include "connect/cdi/yaml.h"

#include <stdbool.h>
#include <string.h>
#include <yaml.h>

#define DEPTH_MOST 64

struct reading {
	yaml_parser_t parser;
	const char *trouble; /* NULL: none */
	size_t line;
	unsigned int depth;
};

static json_t *value_read(struct reading *r, yaml_event_t *event);

static bool next(struct reading *r, yaml_event_t *event)
{
	if (r->trouble)
		return false;
	if (yaml_parser_parse(&r->parser, event)) {
		r->line = event->start_mark.line + 1;
		return true;
	}
	r->trouble = r->parser.problem ? r->parser.problem : "cannot be read";
	r->line = r->parser.problem_mark.line + 1;
	return false;
}

/* Decimal, 0x1b6, 0o666, and 0666 as YAML 1.1 has it: a file's mode is written like that. */
static bool integer(const char *text, json_int_t *ret)
{
	const char *digits = text + (*text == '-');
	int base = !strncmp(digits, "0x", 2) ? 16 : *digits == '0' && digits[1] ? 8 : 10;
	const char *set = base == 16 ? "0123456789abcdefABCDEF" : base == 8 ? "01234567" : "0123456789";

	digits += base == 16 || !strncmp(digits, "0o", 2) ? 2 : 0;
	if (!*digits || strlen(digits) > 15 || digits[strspn(digits, set)])
		return false;
	*ret = strtoll(digits, NULL, base) * (*text == '-' ? -1 : 1);
	return true;
}

static json_t *scalar(const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	json_int_t number;

	if (plain && (!*text || !strcmp(text, "null") || !strcmp(text, "~")))
		return json_null();
	if (plain && (!strcmp(text, "true") || !strcmp(text, "false")))
		return json_boolean(*text == 't');
	if (plain && integer(text, &number))
		return json_integer(number);
	return json_stringn(text, event->data.scalar.length);
}

static json_t *sequence(struct reading *r)
{
	json_t *array = json_array();
	yaml_event_t event;

	while (next(r, &event)) {
		bool end = event.type == YAML_SEQUENCE_END_EVENT;

		if (!end)
			json_array_append_new(array, value_read(r, &event));
		yaml_event_delete(&event);
		if (end)
			break;
	}
	return array;
}

static json_t *mapping(struct reading *r)
{
	json_t *object = json_object();
	yaml_event_t key, value;

	while (next(r, &key)) {
		bool end = key.type == YAML_MAPPING_END_EVENT;

		if (!end && key.type != YAML_SCALAR_EVENT)
			r->trouble = "a key that is no word";
		if (!end && !r->trouble && json_object_get(object, (const char *)key.data.scalar.value))
			r->trouble = "a key that stands there twice";
		if (!end && !r->trouble && next(r, &value)) {
			json_object_set_new(object, (const char *)key.data.scalar.value, value_read(r, &value));
			yaml_event_delete(&value);
		}
		yaml_event_delete(&key);
		if (end)
			break;
	}
	return object;
}

static json_t *value_read(struct reading *r, yaml_event_t *event)
{
	json_t *value = NULL;

	if (r->depth++ == DEPTH_MOST)
		r->trouble = "it is nested too deep";
	else if (event->type == YAML_SCALAR_EVENT)
		value = scalar(event);
	else if (event->type == YAML_SEQUENCE_START_EVENT)
		value = sequence(r);
	else if (event->type == YAML_MAPPING_START_EVENT)
		value = mapping(r);
	else if (!r->trouble)
		r->trouble = "an alias, which is not understood here";
	r->depth--;
	return value ? value : json_null();
}

/* Up to the first value of the first document. */
static json_t *document(struct reading *r)
{
	json_t *value = NULL;
	yaml_event_t event;

	while (!value && next(r, &event)) {
		bool over = event.type == YAML_STREAM_END_EVENT || event.type == YAML_DOCUMENT_END_EVENT;

		if (over)
			r->trouble = "it is empty";
		else if (event.type != YAML_STREAM_START_EVENT && event.type != YAML_DOCUMENT_START_EVENT)
			value = value_read(r, &event);
		yaml_event_delete(&event);
	}
	return value;
}

json_t *yaml_load(const char *text, size_t bytes, char *why, size_t size)
{
	struct reading r = { 0 };
	json_t *value;

	if (!yaml_parser_initialize(&r.parser)) {
		snprintf(why, size, "no memory");
		return NULL;
	}
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, bytes);
	value = document(&r);
	if (r.trouble) {
		snprintf(why, size, "line %zu: %s", r.line, r.trouble);
		json_decref(value);
		value = NULL;
	}
	yaml_parser_delete(&r.parser);
	return value;
}

/*
 * json_edit.h: edits of a JSON text that leave it JSON: what a fuzz target does beside edits of bytes, of which nearly
 * all are refused by the parser.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t json_edit_random(uint32_t below);

struct json_edit {
	json_edit_random *random;
	const char *const *words; /* keys and values that mean something here */
	uint32_t word_count;
	uint32_t left; /* nodes to pass over */
	json_t *root;
};

static inline uint32_t json_edit_count(json_t *value)
{
	uint32_t n = 1;
	const char *key;
	json_t *one;
	size_t i;

	json_array_foreach(value, i, one) n += json_edit_count(one);
	json_object_foreach(value, key, one) n += json_edit_count(one);
	return n;
}

/* The node with this number, from 0. */
static inline json_t *json_edit_node(json_t *value, uint32_t *left)
{
	json_t *one, *found = NULL;
	const char *key;
	size_t i;

	if (!(*left)--)
		return value;
	json_array_foreach(value, i, one) if (!found) found = json_edit_node(one, left);
	json_object_foreach(value, key, one) if (!found) found = json_edit_node(one, left);
	return found;
}

static inline json_t *json_edit_any(const struct json_edit *e)
{
	uint32_t at = e->random(json_edit_count(e->root));

	return json_edit_node(e->root, &at);
}

/* A new value: a number at a limit, a word, a copy of something else in the text. */
static inline json_t *json_edit_value(const struct json_edit *e)
{
	static const json_int_t numbers[] = { 0,	 1,	   -1,	 16,	    17,
					      100,	 101,	   4095, INT32_MAX, (json_int_t)1 << 40,
					      INT64_MAX, INT64_MIN };

	switch (e->random(8)) {
	case 0:
		return json_integer(numbers[e->random(sizeof(numbers) / sizeof(*numbers))]);
	case 1:
		return json_real((double)e->random(2000) / 7 - 50);
	case 2:
		return e->random(2) ? json_boolean(e->random(2)) : json_null();
	case 3:
		return e->random(2) ? json_object() : json_array();
	case 4:
	case 5:
		return json_string(e->words[e->random(e->word_count)]);
	default:
		return json_deep_copy(json_edit_any(e));
	}
}

static inline const char *json_edit_key(const struct json_edit *e, json_t *object)
{
	uint32_t at = json_object_size(object) ? e->random((uint32_t)json_object_size(object)) : 0;
	const char *key;
	json_t *one;

	if (!e->random(4))
		return e->words[e->random(e->word_count)];
	json_object_foreach(object, key, one) if (!at--) return key;
	return e->words[e->random(e->word_count)];
}

static inline void json_edit_once(const struct json_edit *e)
{
	json_t *node = json_edit_any(e), *value = json_edit_value(e);
	const char *key;

	if (json_is_object(node)) {
		key = json_edit_key(e, node);
		if (e->random(4))
			json_object_set(node, key, value);
		else
			json_object_del(node, key);
	} else if (json_is_array(node) && json_array_size(node)) {
		if (e->random(2))
			json_array_set(node, e->random((uint32_t)json_array_size(node)), value);
		else if (e->random(2))
			json_array_append(node, value);
		else
			json_array_remove(node, e->random((uint32_t)json_array_size(node)));
	} else if (json_is_array(node)) {
		json_array_append(node, value);
	} else if (json_is_string(node) && json_is_string(value)) {
		json_string_set(node, json_string_value(value));
	} else if (json_is_integer(node) && json_is_integer(value)) {
		json_integer_set(node, json_integer_value(value));
	}
	json_decref(value);
}

/* Value: the new length; 0: the text is no JSON, or does not fit into `most`. */
static inline size_t json_edit(struct json_edit *e, uint8_t *data, size_t length, size_t most)
{
	char *text;
	size_t size = 0;

	e->root = json_loadb((const char *)data, length, 0, NULL);
	if (!e->root)
		return 0;
	for (uint32_t i = 1 + e->random(4); i; i--)
		json_edit_once(e);
	text = json_dumps(e->root, JSON_COMPACT);
	if (text && strlen(text) <= most) {
		size = strlen(text);
		memcpy(data, text, size);
	}
	free(text);
	json_decref(e->root);
	return size;
}

/* proto.c: see proto.h. */
#include "connect/kubernetes/proto.h"

#include <stdlib.h>
#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* What is still to be read; `bad` stays set. */
struct reader {
	const uint8_t *at, *end;
	bool bad;
};

static const struct proto_field entry_fields[] = { { 1, "key", PROTO_TEXT, false, NULL },
						   { 2, "value", PROTO_TEXT, false, NULL },
						   { 0 } };

void bytes_add(struct bytes *b, const void *data, size_t size)
{
	size_t need, room;
	uint8_t *grown;

	if (b->bad || !size)
		return;
	if (__builtin_add_overflow(b->size, size, &need) || need > SIZE_MAX / 2) {
		b->bad = true;
		return;
	}
	if (need > b->room) {
		room = need < 256 ? 256 : need * 2;
		grown = realloc(b->data, room);
		if (!grown) {
			b->bad = true;
			return;
		}
		b->data = grown;
		b->room = room;
	}
	memcpy(b->data + b->size, data, size);
	b->size = need;
}

void bytes_free(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){ 0 };
}

static uint64_t read_varint(struct reader *r)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70 && r->at < r->end; shift += 7) {
		uint8_t byte = *r->at++;

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	r->bad = true;
	return 0;
}

/* Moves on by `size`. Value: where it began. */
static const uint8_t *read_bytes(struct reader *r, uint64_t size)
{
	const uint8_t *at = r->at;

	if (r->bad || size > (uint64_t)(r->end - r->at)) {
		r->bad = true;
		return NULL;
	}
	r->at += size;
	return at;
}

static void skip(struct reader *r, enum wire wire)
{
	switch (wire) {
	case WIRE_VARINT:
		read_varint(r);
		return;
	case WIRE_FIXED64:
		read_bytes(r, 8);
		return;
	case WIRE_FIXED32:
		read_bytes(r, 4);
		return;
	case WIRE_BYTES:
		read_bytes(r, read_varint(r));
		return;
	}
	r->bad = true;
}

static json_t *decode(const struct proto_field *fields, const uint8_t *data, size_t size, unsigned int depth);

static json_t *read_text(const uint8_t *data, size_t size)
{
	return memchr(data, 0, size) ? NULL : json_stringn((const char *)data, size);
}

/* A map's entry; a key or a value that is absent is "". */
static bool add_entry(json_t *message, const struct proto_field *field, const uint8_t *data, size_t size,
		      unsigned int depth)
{
	json_t *entry = decode(entry_fields, data, size, depth), *map = json_object_get(message, field->name);
	const char *key = json_string_value(json_object_get(entry, "key"));
	const char *value = json_string_value(json_object_get(entry, "value"));

	if (!entry)
		return false;
	if (!map) {
		map = json_object();
		json_object_set_new(message, field->name, map);
	}
	json_object_set_new(map, key ? key : "", json_string(value ? value : ""));
	json_decref(entry);
	return true;
}

/* A value of the field; NULL: it is malformed. */
static json_t *read_value(struct reader *r, const struct proto_field *field, unsigned int depth)
{
	const uint8_t *data;
	uint64_t n = read_varint(r);

	if (field->type == PROTO_FLAG)
		return r->bad ? NULL : json_boolean(n != 0);
	if (field->type == PROTO_NUMBER)
		return r->bad ? NULL : json_integer((json_int_t)n);
	data = read_bytes(r, n);
	if (!data)
		return NULL;
	return field->type == PROTO_TEXT ? read_text(data, n) : decode(field->fields, data, n, depth + 1);
}

static void read_field(struct reader *r, json_t *message, const struct proto_field *field, enum wire wire,
		       unsigned int depth)
{
	bool varint = field->type == PROTO_FLAG || field->type == PROTO_NUMBER;
	json_t *value, *list;
	const uint8_t *data;
	uint64_t size;

	if (wire != (varint ? WIRE_VARINT : WIRE_BYTES)) {
		r->bad = true;
		return;
	}
	if (field->type == PROTO_MAP) {
		size = read_varint(r);
		data = read_bytes(r, size);
		r->bad = !data || !add_entry(message, field, data, size, depth + 1);
		return;
	}
	value = read_value(r, field, depth);
	if (!value) {
		r->bad = true;
		return;
	}
	if (!field->list) {
		json_object_set_new(message, field->name, value);
		return;
	}
	list = json_object_get(message, field->name);
	if (!list) {
		list = json_array();
		json_object_set_new(message, field->name, list);
	}
	json_array_append_new(list, value);
}

static json_t *decode(const struct proto_field *fields, const uint8_t *data, size_t size, unsigned int depth)
{
	struct reader r = { .at = data, .end = data + size, .bad = depth > PROTO_DEPTH_MOST };
	json_t *message = json_object();

	while (!r.bad && r.at < r.end) {
		uint64_t tag = read_varint(&r);
		const struct proto_field *field = fields;

		if (r.bad || tag >> 3 == 0 || tag > UINT32_MAX) {
			r.bad = true;
			break;
		}
		while (field->number && field->number != tag >> 3)
			field++;
		if (field->number)
			read_field(&r, message, field, (enum wire)(tag & 7), depth);
		else
			skip(&r, (enum wire)(tag & 7));
	}
	if (!r.bad)
		return message;
	json_decref(message);
	return NULL;
}

json_t *proto_decode(const struct proto_field *fields, const uint8_t *data, size_t size)
{
	static const uint8_t nothing;

	return decode(fields, size ? data : &nothing, size, 0);
}

static void add_varint(struct bytes *to, uint64_t value)
{
	uint8_t byte;

	do {
		byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		bytes_add(to, &byte, 1);
		value >>= 7;
	} while (value);
}

static void add_tag(struct bytes *to, uint32_t number, enum wire wire)
{
	add_varint(to, (uint64_t)number << 3 | wire);
}

static void add_sized(struct bytes *to, uint32_t number, const void *data, size_t size)
{
	add_tag(to, number, WIRE_BYTES);
	add_varint(to, size);
	bytes_add(to, data, size);
}

static void add_message(struct bytes *to, uint32_t number, const struct proto_field *fields, json_t *message)
{
	struct bytes inner = { 0 };

	proto_encode(fields, message, &inner);
	to->bad |= inner.bad;
	add_sized(to, number, inner.data, inner.size);
	bytes_free(&inner);
}

static void add_value(struct bytes *to, const struct proto_field *field, json_t *value)
{
	const char *key;
	json_t *one;

	if (field->type == PROTO_TEXT && json_is_string(value)) {
		add_sized(to, field->number, json_string_value(value), json_string_length(value));
	} else if (field->type == PROTO_FLAG && json_is_true(value)) {
		add_tag(to, field->number, WIRE_VARINT);
		add_varint(to, 1);
	} else if (field->type == PROTO_NUMBER && json_is_integer(value)) {
		add_tag(to, field->number, WIRE_VARINT);
		add_varint(to, (uint64_t)json_integer_value(value));
	} else if (field->type == PROTO_MESSAGE && json_is_object(value)) {
		add_message(to, field->number, field->fields, value);
	} else if (field->type == PROTO_MAP) {
		json_object_foreach (value, key, one) {
			json_t *entry = json_pack("{s:s s:O}", "key", key, "value", one);

			add_message(to, field->number, entry_fields, entry);
			json_decref(entry);
		}
	}
}

void proto_encode(const struct proto_field *fields, json_t *message, struct bytes *to)
{
	for (const struct proto_field *field = fields; field->number; field++) {
		json_t *value = json_object_get(message, field->name), *one;
		size_t i;

		if (!field->list)
			add_value(to, field, value);
		else
			json_array_foreach (value, i, one)
				add_value(to, field, one);
	}
}

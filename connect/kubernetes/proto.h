/*
 * proto.h: protobuf messages as JSON, by tables that say which field is which.
 *
 * A message is read into an object and written from one. Fields that a table does not name are skipped, fields that are
 * absent stay absent. Strings with a zero byte, and those that are not UTF-8, are malformed here, and so is a field of
 * another wire type than the table says. Of a single message that stands there twice the last counts; protobuf would
 * merge them, which no client of these services needs.
 * Source: protobuf's "Encoding" (wire types 0, 1, 2, 5; groups are refused).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTO_DEPTH_MOST 8
#define PROTO_BYTES_MOST (4u << 20) /* gRPC's own default for a message */

enum proto_type {
	PROTO_TEXT,
	PROTO_FLAG,
	PROTO_NUMBER,
	PROTO_MESSAGE,
	PROTO_MAP, /* of texts by texts */
};

struct proto_field {
	uint32_t number; /* 0 ends a table */
	const char *name;
	enum proto_type type;
	bool list;
	const struct proto_field *fields; /* of PROTO_MESSAGE */
};

/* Bytes that grow; { 0 } is empty. `bad`: something did not fit into memory, and the rest is worth nothing. */
struct bytes {
	uint8_t *data;
	size_t size, room;
	bool bad;
};

void bytes_add(struct bytes *b, const void *data, size_t size);
void bytes_free(struct bytes *b);

/* Value: a new object, or NULL: the bytes are no such message. */
json_t *proto_decode(const struct proto_field *fields, const uint8_t *data, size_t size);

/* Appends. What the table does not name is left out; a value of another type than the table says is as if absent. */
void proto_encode(const struct proto_field *fields, json_t *message, struct bytes *to);

/*
 * proto.h: protobuf messages as JSON, by tables of fields.
 *
 * A message is read into an object and written from one. Fields that a table does not name are skipped; absent fields
 * stay absent. Strings with a zero byte or invalid UTF-8 are malformed here, and so is a field whose wire type differs
 * from the table's. If a single message occurs twice, the last one counts; protobuf would merge them, which no client
 * of these services needs. Source: protobuf's "Encoding" (wire types 0, 1, 2, 5; groups are refused).
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
	PROTO_MAP, /* from texts to texts */
};

struct proto_field {
	uint32_t number; /* 0: end of the table */
	const char *name;
	enum proto_type type;
	bool list;
	const struct proto_field *fields; /* of PROTO_MESSAGE */
};

/* A growing buffer; { 0 } is empty. `bad`: memory was exhausted, and the contents are invalid. */
struct bytes {
	uint8_t *data;
	size_t size, room;
	bool bad;
};

void bytes_add(struct bytes *b, const void *data, size_t size);
void bytes_free(struct bytes *b);

/* Value: a new object, or NULL: not such a message. */
json_t *proto_decode(const struct proto_field *fields, const uint8_t *data, size_t size);

/*
 * Appends the message. Members that the table does not name are omitted; a value whose type differs from the table's
 * counts as absent.
 */
void proto_encode(const struct proto_field *fields, json_t *message, struct bytes *to);

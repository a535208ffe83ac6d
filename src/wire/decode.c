/* decode.c: the table of messages. */
#include "wire/decode.h"

#include <string.h>

struct row {
	const char *name;
	uint32_t size;
	bool request;
	size_t text_at; /* offset and length of a text that must hold a NUL; 0: none */
	size_t text_size;
};

#define TEXT(type, field) offsetof(struct type, field), sizeof(((struct type *)0)->field)

static const struct row rows[] = {
	[WIRE_HELLO] = { "HELLO", sizeof(struct wire_hello), true, TEXT(wire_hello, command) },
	[WIRE_WELCOME] = { "WELCOME", sizeof(struct wire_welcome), false, 0, 0 },
	[WIRE_RESERVE] = { "RESERVE", sizeof(struct wire_reserve), true, 0, 0 },
	[WIRE_RESERVED] = { "RESERVED", sizeof(struct wire_reserved), false, 0, 0 },
	[WIRE_INFO] = { "INFO", sizeof(struct wire_info), true, 0, 0 },
	[WIRE_INFO_IS] = { "INFO_IS", sizeof(struct wire_info_is), false, 0, 0 },
	[WIRE_SHARE] = { "SHARE", sizeof(struct wire_object_request), true, 0, 0 },
	[WIRE_IMPORT] = { "IMPORT", sizeof(struct wire_object_request), true, 0, 0 },
	[WIRE_DROP] = { "DROP", sizeof(struct wire_object_request), true, 0, 0 },
	[WIRE_SHARED] = { "SHARED", sizeof(struct wire_shared), false, 0, 0 },
	[WIRE_EVENT] = { "EVENT", sizeof(struct wire_event), true, TEXT(wire_event, text) },
	[WIRE_PROCESSES] = { "PROCESSES", sizeof(struct wire_processes), true, 0, 0 },
	[WIRE_ERROR] = { "ERROR", sizeof(struct wire_error), true, 0, 0 },
	[WIRE_PEER] = { "PEER", sizeof(struct wire_peer), true, 0, 0 },
	[WIRE_PEER_IS] = { "PEER_IS", sizeof(struct wire_peer_is), false, 0, 0 },
	[WIRE_STORE] = { "STORE", sizeof(struct wire_store), true, 0, 0 },
	[WIRE_STORED] = { "STORED", sizeof(struct wire_stored), false, 0, 0 },
	[WIRE_PROCESSES_ARE] = { "PROCESSES_ARE", sizeof(struct wire_processes_are), false, 0, 0 },
};

_Static_assert(sizeof(struct wire_hello) <= WIRE_MAX_REQUEST_BYTES, "requests fit the receive buffer");
_Static_assert(sizeof(struct wire_event) <= WIRE_MAX_REQUEST_BYTES, "requests fit the receive buffer");

static const struct row *row_find(uint32_t type)
{
	if (type >= sizeof(rows) / sizeof(rows[0]) || !rows[type].name)
		return NULL;
	return &rows[type];
}

enum wire_fault wire_check_request(const void *packet, size_t size)
{
	struct wire_header head;
	const struct row *row;

	if (size < sizeof(head))
		return WIRE_FAULT_SHORT;
	memcpy(&head, packet, sizeof(head));
	row = row_find(head.type);
	if (!row)
		return WIRE_FAULT_TYPE;
	if (!row->request)
		return WIRE_FAULT_DIRECTION;
	if (size < row->size)
		return WIRE_FAULT_SHORT;
	if (size > row->size)
		return WIRE_FAULT_LONG;
	if (head.size != size)
		return WIRE_FAULT_SIZE;
	if (head.status)
		return WIRE_FAULT_STATUS;
	if (row->text_size && !memchr((const char *)packet + row->text_at, 0, row->text_size))
		return WIRE_FAULT_TEXT;
	return WIRE_FAULT_NONE;
}

const char *wire_fault_text(enum wire_fault fault)
{
	switch (fault) {
	case WIRE_FAULT_NONE:
		return "well formed";
	case WIRE_FAULT_SHORT:
		return "shorter than its type needs";
	case WIRE_FAULT_LONG:
		return "longer than its type needs";
	case WIRE_FAULT_SIZE:
		return "its header names another size";
	case WIRE_FAULT_TYPE:
		return "of no known type";
	case WIRE_FAULT_DIRECTION:
		return "of a type that only meted sends";
	case WIRE_FAULT_STATUS:
		return "a request that carries a status";
	case WIRE_FAULT_TEXT:
		return "a text in it does not end";
	}
	return "malformed";
}

const char *wire_type_name(uint32_t type)
{
	const struct row *row = row_find(type);

	return row ? row->name : "unknown";
}

void wire_head(struct wire_header *head, enum wire_type type, size_t size, uint32_t serial, enum wire_status status)
{
	*head = (struct wire_header){ .type = type, .size = (uint32_t)size, .serial = serial, .status = status };
}

bool wire_key_empty(const uint8_t key[WIRE_KEY_BYTES])
{
	static const uint8_t none[WIRE_KEY_BYTES];

	return !memcmp(key, none, WIRE_KEY_BYTES);
}

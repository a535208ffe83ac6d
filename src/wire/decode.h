/*
 * decode.h: checks whether a packet is a message. Shared by both ends and by the tests.
 *
 * One row per message type: its name, its fixed size, and whether a client may send it. A packet that passes can be
 * read as its struct; the handler judges what its fields mean (whether the device exists, whether the key is known).
 */
#pragma once

#include "wire/message.h"

#include <stdbool.h>
#include <stddef.h>

enum wire_fault {
	WIRE_FAULT_NONE = 0,
	WIRE_FAULT_SHORT, /* shorter than a header, or than its type requires */
	WIRE_FAULT_LONG, /* longer than its type requires */
	WIRE_FAULT_SIZE, /* the size in the header differs from the packet's */
	WIRE_FAULT_TYPE, /* no such type */
	WIRE_FAULT_DIRECTION, /* a type that only meted sends */
	WIRE_FAULT_STATUS, /* a request with a status */
	WIRE_FAULT_TEXT, /* a text field without its NUL */
};

/* The largest packet that a client may send; receivers have room for one byte more, so that a longer one is noticed. */
#define WIRE_MAX_REQUEST_BYTES 512u

/* Judges a packet from a client. */
enum wire_fault wire_check_request(const void *packet, size_t size);

/* One clause for a log line: "shorter than its type needs". */
const char *wire_fault_text(enum wire_fault fault);

/* "RESERVE", or "unknown". */
const char *wire_type_name(uint32_t type);

/* Fills the header of a message of `size` bytes. */
void wire_head(struct wire_header *head, enum wire_type type, size_t size, uint32_t serial, enum wire_status status);

/* True if a key is all zero: no key. */
bool wire_key_empty(const uint8_t key[WIRE_KEY_BYTES]);

/*
 * held.h: messages for a program that arrived before the payloads that they refer to.
 *
 * They are kept in the order of their arrival; other messages pass. The number is bounded: a thread with too many
 * waits. Not locked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELD_MOST_BYTES (1u << 20)

struct held_message {
	struct held_message *next;
	uint64_t serial; /* the payload that it waits for */
	uint32_t bytes;
	_Alignas(8) uint8_t message[];
};

struct held {
	struct held_message *first, **last;
	size_t bytes;
};

void held_init(struct held *h);
void held_deinit(struct held *h);
bool held_has_room(const struct held *h, size_t bytes); /* always true for one message */
/* Adds a copy. Value: 0 or -ENOMEM. */
int held_add(struct held *h, uint64_t serial, const void *message, uint32_t bytes);
/* Removes the first message that waits for no payload beyond `serial`; the caller frees it. NULL: none. */
struct held_message *held_take(struct held *h, uint64_t serial);

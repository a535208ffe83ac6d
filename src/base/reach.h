/*
 * reach.h: checks whether memory can be read before it is read. An image comes without a size, and one whose header
 * claims more than there is must not crash the program that loads it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* True if all of [p, p + bytes) is readable now, and also if the kernel refuses to say. Preserves errno. */
bool reach_bytes(const void *p, size_t bytes);

/* Returns the length of a text; reads only readable memory. False: the text has no end there. */
bool reach_text(const char *p, size_t *ret_bytes);

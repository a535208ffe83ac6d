/*
 * reach.h: whether addresses can be read, asked before they are: an image comes without a size, and one that claims
 * more than it has must not end the program that loads it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether all of [p, p + bytes) is mapped and readable now. True where the kernel refuses to say. Keeps errno. */
bool reach_bytes(const void *p, size_t bytes);

/* The length of a text, looking only at memory that can be read. Value: false when it has no end there. */
bool reach_text(const char *p, size_t *ret_bytes);

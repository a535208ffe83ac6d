/* fnv.h: FNV-1a of 32 bits, for tables and names. It is no protection against an adversary who chooses the bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint32_t fnv_hash(const void *bytes, size_t count)
{
	const unsigned char *b = bytes;
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ b[i]) * 16777619u;
	return hash;
}

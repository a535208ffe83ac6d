/*
 * sha256.h: the hash that identifies images (FIPS 180-4). It has no dependencies, and uses the processor's own
 * instructions if available.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32u

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[64];
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t bytes);
void sha256_end(struct sha256 *s, uint8_t ret[SHA256_BYTES]);

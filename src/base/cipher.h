/*
 * cipher.h: the stream cipher ChaCha20 (RFC 8439, sections 2.3 and 2.4), for what must not be read from where it lies.
 *
 * It needs nothing but the processor, so that the injected libraries, which depend on libc alone, can have it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CIPHER_KEY_BYTES 32u
#define CIPHER_NONCE_BYTES 12u
#define CIPHER_BLOCK_BYTES 64u

struct cipher {
	uint32_t word[16]; /* as the RFC draws it; the block's number stands in word[12] */
};

void cipher_begin(struct cipher *c, const uint8_t key[CIPHER_KEY_BYTES], const uint8_t nonce[CIPHER_NONCE_BYTES]);
/*
 * Encrypts in place, or decrypts, `count` bytes of the stream from its block `first` on. The same key, nonce and block
 * must never be used for two texts.
 */
void cipher_apply(const struct cipher *c, uint32_t first, void *bytes, size_t count);

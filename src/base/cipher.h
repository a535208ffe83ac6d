/*
 * cipher.h: the stream cipher ChaCha20 (RFC 8439, sections 2.3 and 2.4), for stored data that must stay secret.
 *
 * It depends on no library, because the injected libraries may depend on libc alone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CIPHER_KEY_BYTES 32u
#define CIPHER_NONCE_BYTES 12u
#define CIPHER_BLOCK_BYTES 64u

struct cipher {
	uint32_t word[16]; /* the RFC's state; word[12] is the block counter */
};

void cipher_begin(struct cipher *c, const uint8_t key[CIPHER_KEY_BYTES], const uint8_t nonce[CIPHER_NONCE_BYTES]);
/*
 * Encrypts or decrypts `count` bytes in place, with the stream from block `first` on. The same key, nonce and block
 * must never be used for two texts.
 */
void cipher_apply(const struct cipher *c, uint32_t first, void *bytes, size_t count);

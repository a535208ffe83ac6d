/* sha256_test.c: hashes by the standard's examples, and the same whatever pieces the bytes come in. */
#include "remote/sha256.h"

#include "base/hex.h"
#include "base/tap.h"

#include <string.h>

static void hash_is(const char *text, size_t times, const char *want)
{
	uint8_t hash[SHA256_BYTES];
	char hex[2 * SHA256_BYTES + 1];
	struct sha256 s;

	sha256_begin(&s);
	for (size_t i = 0; i < times; i++)
		sha256_add(&s, text, strlen(text));
	sha256_end(&s, hash);
	hex_write(hash, SHA256_BYTES, hex);
	tap_ok(!strcmp(hex, want), "SHA-256 of %zu x %.16s", times, text);
}

static void hash_of(const uint8_t *data, size_t bytes, size_t piece, uint8_t ret[SHA256_BYTES])
{
	struct sha256 s;

	sha256_begin(&s);
	for (size_t at = 0; at < bytes; at += piece)
		sha256_add(&s, data + at, piece < bytes - at ? piece : bytes - at);
	sha256_end(&s, ret);
}

static void test_pieces(void)
{
	static uint8_t data[1000];
	uint8_t whole[SHA256_BYTES], pieces[SHA256_BYTES];
	unsigned int differ = 0;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * i >> 3);
	for (size_t bytes = 0; bytes <= sizeof(data); bytes += 37) {
		hash_of(data, bytes, sizeof(data), whole);
		for (size_t piece = 1; piece < 200; piece++) {
			hash_of(data, bytes, piece, pieces);
			differ += !!memcmp(whole, pieces, sizeof(whole));
		}
	}
	is(differ, 0);
}

int main(void)
{
	tap_begin();
	hash_is("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	hash_is("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	hash_is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	hash_is("aaaaaaaaaa", 100000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	test_pieces();
	return tap_end();
}

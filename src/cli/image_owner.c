/* image_owner.c: see image_owner.h. A key that was made anew under the same name is another client. */
#include "cli/image_owner.h"

#include "base/hex.h"

#include <string.h>

/* With its NUL, so that no two rows of texts are one. */
static void add_text(struct sha256 *s, const char *text)
{
	sha256_add(s, text, strlen(text) + 1);
}

void image_owner(enum relay_trust trust, const char *client, const struct keys *keys, const char *authority,
		 char ret[IMAGE_OWNER_BYTES])
{
	uint8_t hash[SHA256_BYTES], key[RELAY_KEY_BYTES];
	struct sha256 s;

	*ret = 0;
	if (trust != RELAY_KEY && trust != RELAY_CERT)
		return;
	sha256_begin(&s);
	add_text(&s, "mete: whose images");
	add_text(&s, trust == RELAY_KEY ? "key" : "certificate");
	add_text(&s, client);
	if (trust == RELAY_KEY) {
		if (!keys_find(keys, client, key))
			return;
		sha256_add(&s, key, sizeof(key));
		explicit_bzero(key, sizeof(key));
	} else {
		add_text(&s, authority ? authority : "");
	}
	sha256_end(&s, hash);
	explicit_bzero(&s, sizeof(s));
	hex_write(hash, SHA256_BYTES, ret);
}

/*
 * image_owner.h: the name under which meted keeps a client's images of kernels for its next programs (grant_create,
 * "images").
 */
#pragma once

#include "cli/keys.h"
#include "remote/relay/relay.h"
#include "remote/sha256.h"

#define IMAGE_OWNER_BYTES (2 * SHA256_BYTES + 1)

/*
 * Derives a word that only the holder of this client's credential gets: from its key, or from its name under this
 * authority. "" for a client without a credential: its images are kept as long as its grant exists.
 */
void image_owner(enum relay_trust trust, const char *client, const struct keys *keys, const char *authority,
		 char ret[IMAGE_OWNER_BYTES]);

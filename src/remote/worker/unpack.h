/*
 * unpack.h: what an entry of a fat binary holds, unpacked: LZ4 (toolkits before 13) and zstd. The image is its maker's
 * word: what an entry says of its size is checked before memory is taken for it.
 */
#pragma once

#include "remote/image.h"

#define UNPACK_MOST (UINT64_C(1) << 29) /* bytes of an entry */

struct unpacked {
	const uint8_t *data;
	uint64_t bytes;
	uint8_t *owned; /* or NULL: it is in the image, and there is no NUL behind it */
};

/*
 * The payload of the entry that begins `at`, of at most `most` bytes; what was packed, and PTX, has a NUL behind it.
 * False: damaged, packed in a way that nobody here knows, larger, or there is no memory. unpack_free() in every case.
 */
bool unpack(const struct image_entry *e, const uint8_t *at, uint64_t most, struct unpacked *ret);
void unpack_free(struct unpacked *u);

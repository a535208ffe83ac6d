/*
 * unpack.h: unpacks an entry of a fat binary: LZ4 (toolkits before 13) and zstd. The image is not trusted: the size
 * that an entry states is checked before memory is allocated for it.
 */
#pragma once

#include "remote/image.h"

#define UNPACK_MOST (UINT64_C(1) << 29) /* bytes of an entry */

struct unpacked {
	const uint8_t *data;
	uint64_t bytes;
	uint8_t *owned; /* or NULL: the data is in the image, without a terminating NUL */
};

/*
 * Returns the payload of the entry that begins at `at`, of at most `most` bytes; unpacked data, and PTX, end with a
 * NUL. False: damaged, of an unknown packing, too large, or no memory. unpack_free() must follow in every case.
 */
bool unpack(const struct image_entry *e, const uint8_t *at, uint64_t most, struct unpacked *ret);
void unpack_free(struct unpacked *u);

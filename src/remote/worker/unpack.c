/* unpack.c: see unpack.h. LZ4's block makes at most 255 bytes of one; zstd's frame says what it holds. */
#include "remote/worker/unpack.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define LZ4_RATIO 256u

static bool lz4_possible(const uint8_t *from, uint64_t bytes, uint64_t to)
{
	(void)from;
	return bytes <= LZ4_MAX_INPUT_SIZE && to / LZ4_RATIO <= bytes;
}

static bool lz4(const uint8_t *from, uint64_t bytes, uint8_t *to, uint64_t room)
{
	return LZ4_decompress_safe((const char *)from, (char *)to, (int)bytes, (int)room) == (int)room;
}

static bool zstd_possible(const uint8_t *from, uint64_t bytes, uint64_t to)
{
	const unsigned long long says = ZSTD_getFrameContentSize(from, bytes);

	return says == to || says == ZSTD_CONTENTSIZE_UNKNOWN;
}

static bool zstd(const uint8_t *from, uint64_t bytes, uint8_t *to, uint64_t room)
{
	return ZSTD_decompress(to, room, from, bytes) == room; /* an error is a larger number than any room */
}

static bool plain_possible(const uint8_t *from, uint64_t bytes, uint64_t to)
{
	(void)from;
	return bytes == to;
}

static bool plain(const uint8_t *from, uint64_t bytes, uint8_t *to, uint64_t room)
{
	memcpy(to, from, room);
	return bytes == room;
}

static const struct {
	bool (*possible)(const uint8_t *from, uint64_t bytes, uint64_t to);
	bool (*unpack)(const uint8_t *from, uint64_t bytes, uint8_t *to, uint64_t room);
} ways[] = {
	[IMAGE_PLAIN] = { plain_possible, plain },
	[IMAGE_LZ4] = { lz4_possible, lz4 },
	[IMAGE_ZSTD] = { zstd_possible, zstd },
	[IMAGE_PACKED_OTHERWISE] = { NULL, NULL },
};

bool unpack(const struct image_entry *e, const uint8_t *at, uint64_t most, struct unpacked *ret)
{
	const uint64_t bytes = e->packing == IMAGE_PLAIN ? e->payload_bytes : e->unpacked_bytes;
	const uint8_t *from = at + e->payload;

	*ret = (struct unpacked){ .data = from, .bytes = bytes };
	if (e->packing == IMAGE_PLAIN && e->kind != IMAGE_ENTRY_PTX)
		return true;
	if (bytes > most || bytes > UNPACK_MOST || !ways[e->packing].possible ||
	    !ways[e->packing].possible(from, e->payload_bytes, bytes))
		return false;
	ret->data = ret->owned = malloc(bytes + 1);
	if (!ret->owned || !ways[e->packing].unpack(from, e->payload_bytes, ret->owned, bytes))
		return false;
	ret->owned[bytes] = 0;
	return true;
}

void unpack_free(struct unpacked *u)
{
	free(u->owned);
	*u = (struct unpacked){ .data = NULL };
}

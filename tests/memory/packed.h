/* packed.h: PTX as an entry of a fat binary, packed as nvcc --compress-mode speed (LZ4) or size (zstd) does. */
#pragma once

#include <lz4.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct packed_fat {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes;
	uint16_t kind, entry_version;
	uint32_t entry_header_bytes;
	uint64_t payload_bytes;
	uint32_t packed_bytes, unused;
	uint16_t minor, major;
	uint32_t arch, name_offset, name_bytes;
	uint64_t flags, unused_too, unpacked_bytes;
	char payload[];
};

/* To be freed. */
static inline void *packed_text(const char *text, int zstd)
{
	const size_t bytes = strlen(text) + 1, room = 2 * bytes + 1024;
	struct packed_fat *f = calloc(1, sizeof(*f) + room);

	if (!f)
		abort();
	f->magic = 0xba55ed50u;
	f->version = 1;
	f->header_bytes = 16;
	f->kind = 1;
	f->entry_header_bytes = 64;
	f->arch = 70;
	f->flags = zstd ? 0x8011 : 0x2011;
	f->unpacked_bytes = bytes;
	f->packed_bytes = (uint32_t)(zstd ? ZSTD_compress(f->payload, room, text, bytes, 3)
					  : (size_t)LZ4_compress_default(text, f->payload, (int)bytes, (int)room));
	f->payload_bytes = (f->packed_bytes + 7) / 8 * 8;
	f->bytes = 64 + f->payload_bytes;
	return f;
}

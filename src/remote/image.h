/*
 * image.h: module images on their way: what the program hands over is found out and cut down, and put together again by
 * the worker.
 *
 * An image comes as an address: PTX text, a cubin (ELF), a fat binary, or a wrapper that points at one or at several.
 * It travels as a bundle, which holds no address: struct image_head, then for each member its length and its bytes,
 * padded to 8. Members of fat binaries that none of the devices could choose are left away.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum image_kind {
	IMAGE_TEXT = 1, /* with its NUL */
	IMAGE_ELF,
	IMAGE_FAT,     /* header and entries */
	IMAGE_WRAPPER, /* one fat binary, pointed at */
	IMAGE_LIST,    /* several, to be linked together */
	IMAGE_KINDS
};

struct image_head {
	uint32_t kind, count;
};

/* What devices the image is for: major * 10 + minor of each. None: nothing is left away. */
#define IMAGE_MOST_ARCHS 16u
struct image_archs {
	unsigned int count;
	uint32_t arch[IMAGE_MOST_ARCHS];
};

typedef void (*image_sink)(void *to, const void *data, size_t bytes);

/*
 * Writes the bundle of an image to the sink, in pieces. `bound`: how many bytes lie there, SIZE_MAX when nobody knows;
 * then what is not mapped is not read. False: it is no image, or it ends before it should; what was written is void.
 */
bool image_bundle(const void *image, size_t bound, const struct image_archs *archs, image_sink sink, void *to);

enum image_packing { IMAGE_PLAIN, IMAGE_LZ4, IMAGE_ZSTD, IMAGE_PACKED_OTHERWISE };

/* One entry of a fat binary, as its header says. */
struct image_entry {
	enum { IMAGE_ENTRY_OTHER, IMAGE_ENTRY_PTX, IMAGE_ENTRY_MACHINE } kind;
	uint32_t arch;	    /* 90 for sm_90 and compute_90 */
	bool exact, family; /* sm_90a: this target only; sm_100f: this major only */
	uint64_t bytes;	    /* header and payload: the next entry follows */
	enum image_packing packing;
	uint64_t payload;	/* where it begins, from the header's begin */
	uint64_t payload_bytes; /* as it lies there; of what is packed without the padding */
	uint64_t unpacked_bytes; /* what it says of itself; 0 where it is plain */
};

#define IMAGE_FAT_HEADER_BYTES 16u
#define IMAGE_ENTRY_HEADER_BYTES 64u

/* The bytes of the entries behind the header of a fat binary. False: it is none. */
bool image_fat_read(const uint8_t header[IMAGE_FAT_HEADER_BYTES], uint64_t *ret_bytes);
/* The entry whose header is given, where `left` bytes of entries are left, it included. False: damaged. */
bool image_entry_read(const uint8_t header[IMAGE_ENTRY_HEADER_BYTES], uint64_t left, struct image_entry *ret);

/* What a bundle is for the driver; points into the bundle. */
struct image_view {
	enum image_kind kind;
	uint32_t count;	      /* of members: list[0] to list[count - 1] */
	const void *image;
	struct {
		uint32_t magic, version;
		const void *data;
		const void *const *list;
	} wrapper;
	const void **list; /* owned */
};

/* Bytes of one of its members. */
uint64_t image_member_bytes(const void *member);
/* Whether kernels of this PTX or machine code take memory by themselves, from a heap of the driver's: by the name. */
bool image_takes_memory(const void *code, uint64_t bytes);

/* The bundle must stay where it is, aligned to 8. False: malformed, or no memory. */
bool image_view_init(struct image_view *v, const void *bundle, size_t bytes);
void image_view_deinit(struct image_view *v);

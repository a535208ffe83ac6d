/*
 * image.h: module images in transit: the client recognises and reduces what the program passes, and the worker
 * reassembles it.
 *
 * An image is given as an address: PTX text, a cubin (ELF), a fat binary, or a wrapper that points to one or several.
 * It is sent as a bundle, which contains no address: struct image_head, then for each member its length and its bytes,
 * padded to 8. Members of fat binaries that no device could choose are omitted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum image_kind {
	IMAGE_TEXT = 1, /* with its terminating NUL */
	IMAGE_ELF,
	IMAGE_FAT,     /* header and entries */
	IMAGE_WRAPPER, /* points to one fat binary */
	IMAGE_LIST,    /* points to several, which are to be linked together */
	IMAGE_KINDS
};

struct image_head {
	uint32_t kind, count;
};

/* The devices for which the image is needed: major * 10 + minor of each. None: nothing is omitted. */
#define IMAGE_MOST_ARCHS 16u
struct image_archs {
	unsigned int count;
	uint32_t arch[IMAGE_MOST_ARCHS];
};

typedef void (*image_sink)(void *to, const void *data, size_t bytes);

/*
 * Writes the bundle of an image to the sink, in pieces. `bound`: the number of readable bytes, SIZE_MAX if not known;
 * unmapped memory is then not read. False: it is not an image, or it is truncated; what was written is void.
 */
bool image_bundle(const void *image, size_t bound, const struct image_archs *archs, image_sink sink, void *to);

enum image_packing { IMAGE_PLAIN, IMAGE_LZ4, IMAGE_ZSTD, IMAGE_PACKED_OTHERWISE };

/* One entry of a fat binary, according to its header. */
struct image_entry {
	enum { IMAGE_ENTRY_OTHER, IMAGE_ENTRY_PTX, IMAGE_ENTRY_MACHINE } kind;
	uint32_t arch;	    /* 90 for sm_90 and compute_90 */
	bool exact, family; /* sm_90a: this target only; sm_100f: this major only */
	uint64_t bytes;	    /* of header and payload: the next entry follows */
	enum image_packing packing;
	uint64_t payload;	/* offset of the payload from the start of the header */
	uint64_t payload_bytes; /* as stored; of packed data without the padding */
	uint64_t unpacked_bytes; /* according to the header; 0 for plain data */
};

#define IMAGE_FAT_HEADER_BYTES 16u
#define IMAGE_ENTRY_HEADER_BYTES 64u

/* Reads the size of the entries behind the header of a fat binary. False: it is not one. */
bool image_fat_read(const uint8_t header[IMAGE_FAT_HEADER_BYTES], uint64_t *ret_bytes);
/* Reads the header of an entry. `left`: remaining bytes of entries, including this one. False: damaged. */
bool image_entry_read(const uint8_t header[IMAGE_ENTRY_HEADER_BYTES], uint64_t left, struct image_entry *ret);

/* A bundle in the form for the driver; points into the bundle. */
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

/* The size of one of its members. */
uint64_t image_member_bytes(const void *member);
/* True if kernels of this PTX or machine code allocate from the driver's heap, judged by the name of the function. */
bool image_takes_memory(const void *code, uint64_t bytes);

/* The bundle must stay in place, aligned to 8. False: malformed, or no memory. */
bool image_view_init(struct image_view *v, const void *bundle, size_t bytes);
void image_view_deinit(struct image_view *v);

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

/* What a bundle is for the driver; points into the bundle. */
struct image_view {
	const void *image;
	struct {
		uint32_t magic, version;
		const void *data;
		const void *const *list;
	} wrapper;
	const void **list; /* owned */
};

/* The bundle must stay where it is, aligned to 8. False: malformed, or no memory. */
bool image_view_init(struct image_view *v, const void *bundle, size_t bytes);
void image_view_deinit(struct image_view *v);

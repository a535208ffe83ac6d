/*
 * image.h: from a program image, as the driver API gets it, to the PTX texts in it.
 *
 * Kinds: PTX text; a bare fat binary (magic 0xBA55ED50); a wrapper round one or several of them (magic 0x466243b1); ELF
 * (machine code, which the software device cannot run). Fat binaries hold entries for several targets; the newest PTX
 * that is not above the device is taken, one per member name, decompressed (raw, LZ4 block, zstd).
 *
 * An image comes without a size: what is read is bounded by the sizes in the image's own headers, all of which go
 * through overflow checks. The bounded form, for files and for fuzzing, in addition never reads past `bytes`.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum image_outcome {
	IMAGE_OK = 0,
	IMAGE_NO_PTX = 1,  /* machine code, with PTX only for newer devices: CUDA_ERROR_NO_BINARY_FOR_GPU */
	IMAGE_TOO_NEW = 2, /* only PTX, all of it for newer devices: CUDA_ERROR_NO_BINARY_FOR_GPU */
	IMAGE_INVALID = 3, /* not an image, truncated or corrupt: CUDA_ERROR_INVALID_IMAGE */
};

struct image_text {
	const char *text; /* NUL-terminated */
	size_t bytes;	  /* without the NUL */
	uint32_t arch;	  /* 90 for sm_90; 0: only the text says it (a bare PTX text) */
	void *owned;	  /* memory to free, or NULL if the text is the image itself */
};

struct image_ptx {
	struct image_text *text; /* several for relocatable device code: to be linked together */
	size_t count;
};

/*
 * The PTX texts of `image` for a device of compute capability `arch` (90 for 9.0). Value: enum image_outcome or
 * -ENOMEM; above 0, `why` (may be NULL) holds one line that names the reason. `ret` borrows from the image: keep the
 * image while it lives.
 */
int image_find_ptx(const void *image, uint32_t arch, struct image_ptx *ret, char *why, size_t why_bytes);

/*
 * The same for an image of known size. A wrapper contains addresses and is refused here, because files never contain
 * one.
 */
int image_find_ptx_bounded(const void *image, size_t bytes, uint32_t arch, struct image_ptx *ret, char *why,
			   size_t why_bytes);

/* The same for a linker whose target is `arch`: another remedy stands in `why`. */
int image_find_ptx_linked(const void *image, size_t bytes, uint32_t arch, struct image_ptx *ret, char *why,
			  size_t why_bytes);

/*
 * Bytes of an image without a size, as its own headers say (PTX text: with the NUL). 0: not an image. A wrapper counts
 * as its first fat binary.
 */
size_t image_bytes(const void *image);

void image_ptx_deinit(struct image_ptx *ptx);

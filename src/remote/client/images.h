/* images.h: sends images of kernels to a worker, each once per session. */
#pragma once

#include "remote/client/session.h"
#include "remote/code.h"

/* An image of the program: its address, and an upper bound of its size (SIZE_MAX: not known). */
struct image_source {
	const void *image;
	size_t bound;
	bool plain; /* input to the linker that is not an image itself: sent as it is */
	uint8_t hash[SHA256_BYTES];
	uint64_t whole; /* size of its bundle */
};

/* Computes its hash for the devices of this session. False: it is not an image. */
bool images_name(struct session *session, struct image_source *s);
/* Sends it, unless it was sent and is not known to be missing (`again`). Value: CUresult. */
CUresult images_send(struct session *session, const struct image_source *s, bool again);
/* Records that the worker has images of these hashes. */
void images_held(const struct session *session, const void *hashes, size_t bytes);
/* Reads a whole file, with a NUL after it, as an image; the caller frees *ret. Value: the documented errors. */
CUresult images_file(const char *path, struct image_source *s, void **ret);
/* In the child of fork(): nothing was sent to its workers. */
void images_forget(void);

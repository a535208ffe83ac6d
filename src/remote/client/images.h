/* images.h: images on their way to a worker: each once per session. */
#pragma once

#include "remote/client/session.h"
#include "remote/code.h"

/* An image of the program's: where it lies, and how many bytes at most (SIZE_MAX: nobody knows). */
struct image_source {
	const void *image;
	size_t bound;
	bool plain; /* no image in itself: what is to be linked goes as it is */
	uint8_t hash[SHA256_BYTES];
	uint64_t whole; /* bytes of its bundle */
};

/* Works out what it is called for the devices of this session. False: it is no image. */
bool images_name(struct session *session, struct image_source *s);
/* Sends it, unless it has been sent and is not known to be missing (`again`). CUresult. */
CUresult images_send(struct session *session, const struct image_source *s, bool again);
/* The worker says that it has images of these hashes. */
void images_held(const struct session *session, const void *hashes, size_t bytes);
/* A whole file, with a NUL after it, as an image; *ret is to be freed. The documented errors. */
CUresult images_file(const char *path, struct image_source *s, void **ret);
/* In the child of fork(): nothing has been sent to its workers. */
void images_forget(void);

/*
 * image.h: whether mete's libraries can work in a root file system: which C library its programs use, how old that is,
 * for which processor it was built.
 *
 * Only looks. Symbolic links in the image are followed within it, whatever they say.
 */
#pragma once

#include "cli/fault.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define IMAGE_PRELOAD "/etc/ld.so.preload"

enum image_libc {
	IMAGE_NO_LIBC, /* programs are linked statically, or there are none */
	IMAGE_GLIBC,
	IMAGE_MUSL,
};

struct image {
	int fd; /* of the root; -1: closed */
	char root[PATH_MAX];
	enum image_libc libc;
	unsigned int glibc; /* as ELF_GLIBC() */
	uint16_t machine;   /* of the C library */
	char libdir[64];    /* where libc.so.6 lies: the loader looks there without being told */
	char preload[4096]; /* what the image's own preload file names, without mete's lines */
};

#define IMAGE_CLOSED ((struct image){ .fd = -1 })

/* Value: 0, or a negative errno with a fault when there is no such folder or it cannot be read. */
int image_open(struct image *im, const char *root, struct fault *f);
void image_close(struct image *im);

/* Opens a path in the image; links stay within it. Value: a descriptor or -errno. */
int image_open_at(const struct image *im, const char *path, int flags);

/* mete's parts that are to go in: what of it the container needs. */
struct image_parts {
	const char *first;   /* the library that programs get: the shim or the remote client */
	const char *driver;  /* the software device's; NULL: the driver is NVIDIA's, or behind a wall */
	const char *runtime; /* one of mete's runtime libraries; NULL: not wanted */
};

/*
 * Value: 0 when programs of the image can have a share; else -ENOEXEC and the reason with the remedy. *ret_runtime:
 * the runtime libraries can be loaded there.
 */
int image_judge(const struct image *im, const struct image_parts *parts, bool *ret_runtime, struct fault *f);

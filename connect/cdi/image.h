/*
 * image.h: whether mete's libraries can work in a root file system: which C library its programs use, how old that is,
 * for which processor it was built.
 *
 * Only looks. Symbolic links in the image are followed within it, whatever they say.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define IMAGE_PRELOAD "/etc/ld.so.preload"

enum image_libc {
	IMAGE_NO_LIBC, /* programs are linked statically, or there are none */
	IMAGE_GLIBC,
	IMAGE_MUSL,
};

#define IMAGE_PATH_BYTES 256
#define IMAGE_NAME_BYTES 64
#define IMAGE_LIBRARIES 2 /* C libraries of one image: the usual one, and that of the program that it is for */

struct image_library {
	unsigned int glibc; /* as ELF_GLIBC() */
	uint16_t machine;
	char libdir[IMAGE_PATH_BYTES];	     /* where libc.so.6 lies: the loader looks there without being told */
	char preload_file[IMAGE_NAME_BYTES]; /* what its loader reads: IMAGE_PRELOAD, or what the loader says */
};

/* The program that a container begins with, as its configuration says it. */
struct image_program {
	const char *name; /* a path, or a name to be looked for in the folders of `path` */
	const char *path;
};

struct image {
	int fd; /* of the root; -1: closed */
	char root[PATH_MAX];
	enum image_libc libc;
	struct image_library library[IMAGE_LIBRARIES];
	unsigned int library_count;	/* 0, unless it has glibc */
	char program[IMAGE_PATH_BYTES]; /* that was looked at; "": none was found */
	char loader[IMAGE_PATH_BYTES];	/* that this program asks for; "": it is linked statically */
	char preload[4096];		/* what the image's own preload files name, without mete's lines */
};

#define IMAGE_CLOSED ((struct image){ .fd = -1 })

/*
 * `program`: what containers of the image begin with; NULL: not known, then its shell. Value: 0, or a negative errno
 * with a fault when there is no such folder or it cannot be read.
 */
int image_open(struct image *im, const char *root, const struct image_program *program, struct fault *f);
void image_close(struct image *im);

/* Opens a path in the image; links stay within it. Value: a descriptor or -errno. */
int image_open_at(const struct image *im, const char *path, int flags);

/* Opens a plain file of the image for reading. Value: a descriptor; -EINVAL: it is none; or another -errno. */
int image_open_plain(const struct image *im, const char *path);

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

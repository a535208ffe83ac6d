/*
 * image.h: whether mete's libraries can work in a root file system: its programs' C library, its version and its
 * processor.
 *
 * Read-only. Symbolic links in the image are resolved within it, wherever they point.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define IMAGE_PRELOAD "/etc/ld.so.preload"

enum image_libc {
	IMAGE_NO_LIBC, /* programs are statically linked, or there are none */
	IMAGE_GLIBC,
	IMAGE_MUSL,
};

#define IMAGE_PATH_BYTES 256
#define IMAGE_NAME_BYTES 64
#define IMAGE_LIBRARIES 2 /* C libraries of one image: the usual one, and that of the program that it runs */

struct image_library {
	unsigned int glibc; /* as ELF_GLIBC() */
	uint16_t machine;
	char libdir[IMAGE_PATH_BYTES];	     /* the folder of libc.so.6, which the loader searches by default */
	char preload_file[IMAGE_NAME_BYTES]; /* the preload file that its loader reads: IMAGE_PRELOAD, or another one
					      * found in the loader */
};

/* The program with which a container starts, from its configuration. */
struct image_program {
	const char *name; /* a path, or a name to find in the folders of `path` */
	const char *path;
};

struct image {
	int fd; /* of the root; -1: closed */
	char root[PATH_MAX];
	enum image_libc libc;
	struct image_library library[IMAGE_LIBRARIES];
	unsigned int library_count;	/* 0 unless it has glibc */
	char program[IMAGE_PATH_BYTES]; /* that was examined; "": none was found */
	char loader[IMAGE_PATH_BYTES];	/* that this program requests; "": it is statically linked */
	char preload[4096];		/* the libraries in the image's own preload files, without mete's lines */
};

#define IMAGE_CLOSED ((struct image){ .fd = -1 })

/*
 * `program`: the first program of the image's containers; NULL: not known, its shell is used. Value: 0, or a negative
 * errno with a fault if there is no such folder or it cannot be read.
 */
int image_open(struct image *im, const char *root, const struct image_program *program, struct fault *f);
void image_close(struct image *im);

/* Opens a path in the image; links are resolved within it. Value: a descriptor or -errno. */
int image_open_at(const struct image *im, const char *path, int flags);

/*
 * Opens a plain file of the image for reading. Value: a descriptor; -EINVAL: it is not a plain file; or another -errno.
 */
int image_open_plain(const struct image *im, const char *path);

/* The parts of mete that the container needs. */
struct image_parts {
	const char *first;   /* the library that programs load first: the shim or the remote client */
	const char *driver;  /* the software device's; NULL: the driver is NVIDIA's, or behind a wall */
	const char *runtime; /* one of mete's runtime libraries; NULL: not wanted */
};

/*
 * Value: 0: programs of the image can have a share; otherwise -ENOEXEC and the reason with the remedy. *ret_runtime:
 * the runtime libraries can be loaded there.
 */
int image_judge(const struct image *im, const struct image_parts *parts, bool *ret_runtime, struct fault *f);

/*
 * loader.h: the loader (dynamic linker) of a program in an image, and the preload file that the loader reads.
 *
 * Most images have the loader at the path that the processor's ABI defines, and it reads /etc/ld.so.preload. Images
 * built by Nix have neither: each program names a loader in /nix/store, whose libraries are beside it, and which reads
 * another file. The name of that file is therefore read from the loader itself.
 */
#pragma once

#include "connect/cdi/image.h"

struct loader {
	char program[IMAGE_PATH_BYTES]; /* the program of the loader: for a script, its interpreter; "": not in the
					 * image */
	char asked[IMAGE_PATH_BYTES];	/* as the program names it; "": the program is statically linked */
	char dir[IMAGE_PATH_BYTES];	/* its folder in the image, with links resolved; "": it is not there */
	char preload[IMAGE_NAME_BYTES]; /* the preload file; "": it reads none */
};

/*
 * `program`: as in a container's configuration, searched in the folders of `path` ("/usr/bin:/bin") if it has no slash.
 * Fields that cannot be determined are left empty.
 */
void loader_find(const struct image *im, const char *program, const char *path, struct loader *ret);

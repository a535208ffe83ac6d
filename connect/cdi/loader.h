/*
 * loader.h: with which loader (dynamic linker) a program of an image begins, and what that is told to load first.
 *
 * Most images have the loader at the place that the processor's ABI names, and it reads /etc/ld.so.preload. Images made
 * by Nix have neither: each program names a loader in /nix/store, whose libraries lie beside it, and which reads
 * another file. So what a loader reads is looked up in the loader.
 */
#pragma once

#include "connect/cdi/image.h"

struct loader {
	char program[IMAGE_PATH_BYTES]; /* whose loader it is: of a script, its interpreter; "": not in the image */
	char asked[IMAGE_PATH_BYTES];	/* as the program names it; "": the program is linked statically */
	char dir[IMAGE_PATH_BYTES];	/* where it lies in the image, links followed; "": it is not there */
	char preload[IMAGE_NAME_BYTES]; /* the file that says what is loaded first; "": it reads none */
};

/*
 * `program`: as a container's configuration names it, looked for in the folders of `path` ("/usr/bin:/bin") when it has
 * no slash. What cannot be found out is left empty.
 */
void loader_find(const struct image *im, const char *program, const char *path, struct loader *ret);

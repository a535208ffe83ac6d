/*
 * link.h: cuLink: several texts become one image.
 *
 * The image is a fat binary with one PTX entry per text. The engine links them when it is loaded, and once at
 * cuLinkComplete, so that errors appear where the program expects them.
 */
#pragma once

#include "softdev/handle.h"
#include "softdev/jit.h"
#include "softdev/module.h"

struct link {
	struct handle head;
	struct source source;
	struct jit jit;
	void *image; /* owned; the result of cuLinkComplete */
};

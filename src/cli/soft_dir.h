/*
 * soft_dir.h: a folder for software devices of one command's own.
 *
 * The first process makes the devices and later ones take them as they are, so a command that configures them needs
 * some that nobody else is using. The folder goes with the command; what a killed one left, the next removes.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>

struct soft_dir {
	char path[PATH_MAX]; /* "": METE_SOFT_DIR is set, and is used as it is */
};

int soft_dir_make(struct soft_dir *d, struct fault *f);
void soft_dir_remove(struct soft_dir *d);

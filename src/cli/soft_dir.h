/*
 * soft_dir.h: a folder for the software devices of one command.
 *
 * The first process creates the devices, and later ones use them as they are. A command that configures its devices
 * therefore needs a folder that no other command uses. The folder is removed with the command; the next command
 * removes what a killed one left.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>

struct soft_dir {
	char path[PATH_MAX]; /* "": METE_SOFT_DIR is set, and is used as it is */
};

int soft_dir_make(struct soft_dir *d, struct fault *f);
void soft_dir_remove(struct soft_dir *d);

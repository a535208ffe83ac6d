/*
 * relay_dir.h: the folder of a `mete run --remote`, with the sockets of its relays and its log.
 *
 * Every process that uses it, mete and each relay, holds a lock on it. A folder without a lock was left by killed
 * processes. The last process that exits normally removes it with its contents; otherwise the next mete that creates
 * such a folder does.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>
#include <stdbool.h>

/* Makes one, this user's alone. Value: a descriptor that holds it, in children too; or a negative errno. */
int relay_dir_make(char path[PATH_MAX], struct fault *f);
/* Lets go of it, and removes it if nobody else holds it. Value: whether it is gone. */
bool relay_dir_leave(const char *path, int *held);

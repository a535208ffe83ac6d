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

/*
 * Creates one that only this user can access. Value: a descriptor that holds the lock, also in children; or a negative
 * errno.
 */
int relay_dir_make(char path[PATH_MAX], struct fault *f);
/* Releases the lock, and removes the folder if no other process holds it. Value: true if it was removed. */
bool relay_dir_leave(const char *path, int *held);

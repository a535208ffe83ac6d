/*
 * relay_dir.h: the folder of a `mete run --remote`, where its relays' sockets and its log are.
 *
 * Whoever uses it holds a lock on it, mete and each relay. What nobody holds any more was left by processes that were
 * killed: the last of them that was not, or the next mete that makes a folder, removes it with all that is in it.
 */
#pragma once

#include "client/fault.h"

#include <limits.h>
#include <stdbool.h>

/* Makes one, this user's alone. Value: a descriptor that holds it, in children too; or a negative errno. */
int relay_dir_make(char path[PATH_MAX], struct fault *f);
/* Lets go of it, and removes it if nobody else holds it. Value: whether it is gone. */
bool relay_dir_leave(const char *path, int *held);

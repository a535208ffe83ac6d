/*
 * empty_root.h: an empty folder, in which nothing can be created, as the root of all paths.
 *
 * The filter of system calls permits no paths, or only those of the driver's nodes (nodes.h). The empty root is behind
 * it: code that evades the filter finds no files.
 */
#pragma once

#include "remote/worker/nodes.h"

#include <stdbool.h>

/*
 * For all threads of the process, which share their root. With a namespace of mounts (`mounts`) nothing else is mounted
 * in it any more, so that no descriptor leads up to anything; without one the folder is the root, which takes the
 * privilege for that. `ret_nodes`: whether `nodes` are in it, which takes mounts. False: it has neither, or no folder
 * can be made; paths lead where they did.
 */
bool empty_root_enter(bool mounts, const struct nodes *nodes, bool *ret_nodes);

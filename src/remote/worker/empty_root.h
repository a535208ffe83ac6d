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
 * Changes the root for all threads of the process, which share it. With a mount namespace (`mounts`) nothing else
 * remains mounted, so that no descriptor leads to other files; without one the folder becomes the root, which requires
 * the privilege for that. `ret_nodes`: whether `nodes` are in it, which requires mounts. False: neither is possible, or
 * no folder can be created; paths lead where they did.
 */
bool empty_root_enter(bool mounts, const struct nodes *nodes, bool *ret_nodes);

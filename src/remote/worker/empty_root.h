/*
 * empty_root.h: a folder without anything, in which nothing can be made, as the root of all paths.
 *
 * The filter of system calls lets no path through, or those alone that lead to the driver's nodes (nodes.h). Behind it
 * lies this: whoever finds a way round it finds no files.
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

/*
 * empty_root.h: a folder without anything, in which nothing can be made, as the root of all paths.
 *
 * The filter of system calls lets no path through. Behind it lies this: whoever finds a way round it finds no files.
 */
#pragma once

#include <stdbool.h>

/*
 * For all threads of the process, which share their root. False: it is not permitted (only root may), or no folder can
 * be made; paths lead where they did.
 */
bool empty_root_enter(void);

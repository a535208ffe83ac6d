/* find.h: the libamdhip64 behind the face. */
#pragma once

/*
 * A handle of dlopen(), or NULL: there is none, and a line of the log says so.
 *
 * METE_HIP_DRIVER names it (the software device's). Else it is the one that is loaded already: a program whose library
 * path comes before LD_LIBRARY_PATH has loaded its own beside ours. Else, of the version that a loaded library asks
 * for, or the newest, the first in the folders of LD_LIBRARY_PATH, of ROCm and of the system.
 */
void *find_library(void);

/*
 * runtime_env.h: how programs get mete's CUDA runtime library if their driver is the software device.
 *
 * It is named in LD_LIBRARY_PATH and also in LD_PRELOAD. A program or library with a DT_RPATH to a toolkit (conda,
 * wheels, older cmake) would otherwise find NVIDIA's runtime there first, whereas a library that is already loaded
 * under the wanted name is used without a search. The measured cost is about 50 µs for each of the three versions in
 * every process (0.65 ms with the shim alone), on this path only; programs on a real driver keep their own runtime. It
 * cannot replace a runtime that is linked statically or opened by its full path.
 *
 * The fronts (src/fronts) use the same way: libraries and programs that frameworks call to get machine code, which is
 * PTX on the software device; so do libraries of NVIDIA's under their own names (src/libs).
 */
#pragma once

#include "client/fault.h"

#include <limits.h>
#include <stdbool.h>

/*
 * Writes the folder "runtime" beside that of the shim or the software device; all kinds of trees have it there. False:
 * no runtime library is there.
 */
bool runtime_env_dir(char ret[PATH_MAX], const char *beside);

/*
 * Returns the libraries in the folder, and with `fronts` those of src/fronts and src/libs beside it, separated by ":"
 * for LD_PRELOAD; the caller frees it. NULL: no memory. `client`: the remote client's folder, whose libraries replace
 * those of src/libs whatever the server's device is; NULL: the device is this process's.
 */
char *runtime_env_preload(const char *dir, bool fronts, const char *client);

/*
 * Sets what frameworks read beside libraries: the folder fronts/bin in PATH, and some variables, unless the user has
 * set them. False: no memory.
 */
bool runtime_env_tools(const char *dir);
/* Removes what runtime_env_tools() set. */
void runtime_env_leave_tools(void);
/* True if this entry of LD_PRELOAD, LD_LIBRARY_PATH, PYTHONPATH or PATH was made by a function of this header. */
bool runtime_env_is_entry(const char *entry, size_t length);

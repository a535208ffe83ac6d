/*
 * runtime_env.h: how programs get mete's CUDA runtime library, where their driver is the software device.
 *
 * By LD_LIBRARY_PATH, and by LD_PRELOAD as well: a program, or a library of it, that carries a DT_RPATH to some toolkit
 * (conda, wheels, older cmake) would find NVIDIA's runtime there before LD_LIBRARY_PATH is looked at, whereas a library
 * that is loaded already and has the wanted name is taken without a search. What that costs was measured: about 50 µs
 * for each of the three versions in every process that is started (0.65 ms with the shim alone), on this path only;
 * programs on a real driver keep their own runtime. What it cannot reach: a runtime linked in statically, and one that
 * is opened by its whole path.
 *
 * The fronts (src/fronts) go the same way: libraries and programs that frameworks call to get machine code, which is
 * PTX on the software device; and libraries of NVIDIA's under their own names (src/libs).
 */
#pragma once

#include "client/fault.h"

#include <limits.h>
#include <stdbool.h>

/*
 * Writes the folder beside that of the shim (or of the software device), "runtime", as it stands in trees of every
 * kind. Value: false when no runtime library is there.
 */
bool runtime_env_dir(char ret[PATH_MAX], const char *beside);

/*
 * The libraries in the folder, and with `fronts` those of src/fronts and src/libs beside it, separated by ":", as
 * LD_PRELOAD wants them; allocated. NULL: no memory. `client`: the remote client's folder, whose libraries stand in the
 * place of those of src/libs, whatever the server's device is; NULL: the device is this process's.
 */
char *runtime_env_preload(const char *dir, bool fronts, const char *client);

/*
 * What frameworks look at beside libraries: the folder of fronts/bin in PATH, and some variables of theirs, where the
 * user has not set them. False: no memory.
 */
bool runtime_env_tools(const char *dir);
/* Takes out what the above set. */
void runtime_env_leave_tools(void);
/* Is this an entry of LD_PRELOAD, LD_LIBRARY_PATH, PYTHONPATH or PATH that one of the above made? */
bool runtime_env_is_entry(const char *entry, size_t length);

/*
 * vendor_library.h: opens a vendor's library at its usual place.
 *
 * Folders like /usr/local/Ascend may belong to a user, and a meted that runs as root would execute whatever that user
 * puts there. Such a meted loads only files that nobody but root can change. A library that a setting names is opened
 * wherever it is.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

/*
 * Returns the file that may be loaded for `path`. False: it must not be loaded. For root this is the resolved path,
 * whose file and folders only root can change: a link on the path may belong to a user, who could redirect it
 * meanwhile.
 */
bool vendor_library_real(const char *path, char ret[PATH_MAX]);

/*
 * Opens the first of the places that can be opened; a name without a folder is left to the loader. NULL: none;
 * *ret_unsafe, if not NULL, is then a library that exists but was not trusted.
 */
void *vendor_library_open(const char *const *places, unsigned int count, const char **ret_unsafe);

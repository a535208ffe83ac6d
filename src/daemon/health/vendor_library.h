/*
 * vendor_library.h: opens a vendor's library where it usually lies.
 *
 * Folders like /usr/local/Ascend may belong to a user, for whom a meted that is root would run whatever is put there.
 * It takes from a folder only what nobody but root can change. A library that a setting names is opened wherever it is.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

/*
 * What may be loaded as `path`. False: not to be loaded. By root it is the file without links, which nobody else can
 * change or put another one in the place of: a link on the way may be a user's, who makes it lead elsewhere meanwhile.
 */
bool vendor_library_real(const char *path, char ret[PATH_MAX]);

/* The first of the places that can be opened; without a folder: the loader's to find. NULL: none; *ret_unsafe, if not
 * NULL, is then one that was there and passed over. */
void *vendor_library_open(const char *const *places, unsigned int count, const char **ret_unsafe);

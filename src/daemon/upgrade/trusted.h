/*
 * trusted.h: checks whether any user except root and meted's own could change a program before it is executed: its
 * file, or a folder of its path.
 */
#pragma once

#include <stddef.h>

/*
 * `path`: absolute, without links. Value: 0; -EPERM: a user could change it, and the line names the user and the
 * remedy; or another -errno.
 */
int trusted_check(const char *path, char *error, size_t error_size);

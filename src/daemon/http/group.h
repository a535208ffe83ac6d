/* group.h: the group whose members may connect to http.sock. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* False: there is no group of that name. */
bool http_find_group(const char *group, gid_t *ret);

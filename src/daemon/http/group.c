/* group.c: the group whose members reach http.sock. */
#include "daemon/http/group.h"

#include "daemon/http/http.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>

int http_check_group(const char *group, char *why, size_t size)
{
	if (getgrnam(group))
		return 0;
	snprintf(why, size, "there is no such group: `getent group` lists those that there are");
	return -EINVAL;
}

bool http_find_group(const char *group, gid_t *ret)
{
	const struct group *g = getgrnam(group);

	*ret = g ? g->gr_gid : (gid_t)-1;
	return g;
}

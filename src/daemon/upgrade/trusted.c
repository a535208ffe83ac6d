/* trusted.c: see trusted.h. */
#include "daemon/upgrade/trusted.h"

#include <errno.h>
#include <limits.h>
#include <linux/xattr.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Its group is one that we answer for, and there is no access list that says more than the mode. */
static bool group_is_ours(const char *path, const struct stat *st)
{
	return (!st->st_gid || st->st_gid == getegid()) && lgetxattr(path, XATTR_NAME_POSIX_ACL_ACCESS, NULL, 0) <= 0;
}

static int check_one(const char *path, char *error, size_t size)
{
	struct stat st;
	bool shared;

	if (lstat(path, &st)) {
		snprintf(error, size, "%s: %s", path, strerror(errno));
		return -errno;
	}
	/* In a folder as /tmp is nobody can replace what belongs to others. */
	shared = S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX;
	if (st.st_uid && st.st_uid != geteuid())
		snprintf(error, size, "%s belongs to uid %u, who could put another program there: chown %u %s", path,
			 (unsigned int)st.st_uid, (unsigned int)geteuid(), path);
	else if (st.st_mode & S_IWOTH && !shared)
		snprintf(error, size, "everybody can write to %s: chmod o-w %s", path, path);
	else if (st.st_mode & S_IWGRP && !shared && !group_is_ours(path, &st))
		snprintf(error, size, "gid %u, or who is in its access list, can write to %s: chmod g-w %s",
			 (unsigned int)st.st_gid, path, path);
	else
		return 0;
	return -EPERM;
}

int trusted_check(const char *path, char *error, size_t size)
{
	char at[PATH_MAX];
	int r = check_one("/", error, size);

	for (const char *end = path; !r && *end;) {
		end = strchrnul(end + 1, '/');
		snprintf(at, sizeof(at), "%.*s", (int)(end - path), path);
		r = check_one(at, error, size);
	}
	return r;
}

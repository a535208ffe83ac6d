/* folder.c: see folder.h. */
#include "daemon/folder.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define UNFINISHED ".new"

static bool is_plain(const char *name)
{
	return *name && strlen(name) <= NAME_MAX && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

static int open_any(int at, const char *name)
{
	int fd = is_plain(name) ? openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
				: (errno = EINVAL, -1);

	return fd < 0 ? -errno : fd;
}

/* One step of the way. */
static int step(int at, const char *name)
{
	_cleanup_close_ int fd = open_any(at, name);
	struct stat st;

	if (fd < 0)
		return steal_fd(&fd);
	if (fstat(fd, &st))
		return -errno;
	return st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH) ? -EPERM : steal_fd(&fd);
}

int folder_open(int at, const char *path)
{
	_cleanup_close_ int above = fcntl(at, F_DUPFD_CLOEXEC, 0);
	char name[NAME_MAX + 1];

	if (above < 0)
		return -errno;
	for (const char *end; *path; path = end + (*end == '/')) {
		int fd;

		end = strchrnul(path, '/');
		snprintf(name, sizeof(name), "%.*s", (int)(end - path), path);
		fd = step(above, name);
		cleanup_close(&above);
		above = fd;
		if (fd < 0)
			return fd;
	}
	return steal_fd(&above);
}

int folder_open_above(int at, const char *place, const char **ret_name)
{
	const char *slash = strrchr(place, '/');
	char above[PATH_MAX];

	*ret_name = slash ? slash + 1 : place;
	if (strlen(place) >= sizeof(above) || !is_plain(*ret_name))
		return -EINVAL;
	snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - place) : 0, place);
	return folder_open(at, above);
}

int folder_make(int at, const char *name, mode_t mode)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (mkdirat(at, name, 0700) && errno != EEXIST)
		return -errno;
	fd = step(at, name);
	if (fd < 0)
		return steal_fd(&fd);
	if (fstat(fd, &st) || ((st.st_mode & 07777) != mode && fchmod(fd, mode)))
		return -errno;
	return steal_fd(&fd);
}

int folder_take_back(int at, const char *name, uid_t uid)
{
	_cleanup_close_ int fd = open_any(at, name);
	struct stat st;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (fstat(fd, &st))
		return -errno;
	if (uid == geteuid() || st.st_uid != uid)
		return 0;
	if (fchown(fd, geteuid(), getegid()) || fchmod(fd, 0700))
		return -errno;
	fremovexattr(fd, XATTR_NAME_POSIX_ACL_DEFAULT); /* what he may have left to be inherited */
	return 0;
}

static struct posix_acl_xattr_entry entry(unsigned int tag, unsigned int rights, unsigned int id)
{
	return (struct posix_acl_xattr_entry){ .e_tag = htole16((uint16_t)tag),
					       .e_perm = htole16((uint16_t)rights),
					       .e_id = htole32(id) };
}

int folder_admit(int fd, uid_t uid)
{
	struct {
		struct posix_acl_xattr_header head;
		struct posix_acl_xattr_entry entry[5]; /* in the order that the kernel wants */
	} list = {
		.head = { .a_version = htole32(POSIX_ACL_XATTR_VERSION) },
		.entry = { entry(ACL_USER_OBJ, ACL_READ | ACL_WRITE | ACL_EXECUTE, (uint32_t)ACL_UNDEFINED_ID),
			   entry(ACL_USER, ACL_EXECUTE, uid), entry(ACL_GROUP_OBJ, 0, (uint32_t)ACL_UNDEFINED_ID),
			   entry(ACL_MASK, ACL_EXECUTE, (uint32_t)ACL_UNDEFINED_ID),
			   entry(ACL_OTHER, 0, (uint32_t)ACL_UNDEFINED_ID) },
	};

	return fsetxattr(fd, XATTR_NAME_POSIX_ACL_ACCESS, &list, sizeof(list), 0) ? -errno : 0;
}

int folder_write(int fd, const char *name, const char *text)
{
	_cleanup_close_ int file = -1;
	size_t length = strlen(text);
	ssize_t n;

	if (!is_plain(name))
		return -EINVAL;
	if (unlinkat(fd, UNFINISHED, 0) && errno != ENOENT)
		return -errno;
	file = openat(fd, UNFINISHED, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (file < 0 || fchmod(file, 0644))
		return -errno;
	n = write(file, text, length);
	if (n != (ssize_t)length)
		return n < 0 ? -errno : -ENOSPC;
	return renameat(fd, UNFINISHED, fd, name) ? -errno : 0;
}

void folder_remove(int at, const char *name)
{
	int fd = step(at, name);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *inner;

	if (!dir) {
		cleanup_close(&fd);
		return;
	}
	while ((inner = readdir(dir)))
		if (is_plain(inner->d_name) && unlinkat(fd, inner->d_name, 0) && errno == EISDIR)
			unlinkat(fd, inner->d_name, AT_REMOVEDIR);
	closedir(dir);
	unlinkat(at, name, AT_REMOVEDIR);
}

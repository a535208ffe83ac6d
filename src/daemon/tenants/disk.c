/* disk.c: see disk.h. */
#include "daemon/tenants/disk.h"

#include "base/cleanup.h"
#include "base/size.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/owner.h"
#include "daemon/tenants/residence.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#define BLOCK_BYTES 4096u /* the shim writes in multiples of it */

/* No link on the way: what it names today it names tomorrow. */
static int open_folder(const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static int new_file(int folder)
{
	int fd = openat(folder, ".", O_TMPFILE | O_EXCL | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* What a program will do there. */
static int try_file(int folder)
{
	_cleanup_close_ int fd = new_file(folder);
	void *block;
	ssize_t n;

	if (fd < 0)
		return fd;
	block = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		return -errno;
	n = pwrite(fd, block, BLOCK_BYTES, 0);
	n = n < 0 ? -errno : n == BLOCK_BYTES ? 0 : -EIO;
	munmap(block, BLOCK_BYTES);
	return (int)n;
}

static int say(int r, char *error, size_t size, const char *what, const char *remedy)
{
	snprintf(error, size, "%s: %s", what, remedy);
	return r;
}

static int judge(int fd, uint64_t *ret_free_bytes, char *error, size_t size)
{
	struct statfs fs;
	struct stat st;
	int r;

	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return say(-errno, error, size, strerror(errno), "name another folder");
	if (!owner_is(st.st_uid))
		return say(-EPERM, error, size, "it belongs to another user", "it has to be meted's own, of mode 700");
	if (st.st_mode & 077)
		return say(-EPERM, error, size, "others may enter it", "chmod 700");
	if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		return say(-EINVAL, error, size, "it is in the host's memory itself", "name a folder on a disk");
	r = try_file(fd);
	if (r == -EOPNOTSUPP || r == -EISDIR || r == -EINVAL || r == -ENOENT)
		return say(r, error, size, "its file system has no files without a name, or no direct writes",
			   "name a folder of ext4, XFS or Btrfs");
	if (r)
		return say(r, error, size, strerror(-r), "no file can be written there; correct that, or name another");
	if (ret_free_bytes)
		*ret_free_bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	return 0;
}

int disk_try(const char *path, uint64_t *ret_free_bytes, char *error, size_t size)
{
	int fd = open_folder(path), r;

	if (fd == -ELOOP)
		return say(fd, error, size, "a symbolic link is on the way", "name the folder itself");
	if (fd < 0)
		return say(fd, error, size, strerror(-fd), "make it (mkdir -m 700), or correct the path");
	r = judge(fd, ret_free_bytes, error, size);
	if (!r)
		return fd;
	close(fd);
	return r;
}

void disk_close(struct daemon *daemon)
{
	cleanup_close(&daemon->disk_fd);
	daemon->disk_fd = -1;
}

void disk_open(struct daemon *daemon)
{
	const struct residence_options *o = daemon->memory;
	char why[256], room[SIZE_TEXT_BYTES];
	uint64_t left = 0;

	disk_close(daemon);
	if (!o->disk)
		return;
	daemon->disk_fd = disk_try(o->disk, &left, why, sizeof(why));
	if (daemon->disk_fd < 0) {
		daemon->disk_fd = -1;
		log_line("memory.disk %s: %s; no memory goes to a disk", o->disk, why);
	} else if (left < o->disk_bytes) {
		log_line("memory.disk %s: its file system has room for %s, less than memory.disk_size", o->disk,
			 size_format(left, room));
	}
}

int disk_file(const struct daemon *daemon, uint64_t bytes, char *error, size_t size)
{
	_cleanup_close_ int fd = daemon->disk_fd < 0 ? -ENOENT : new_file(daemon->disk_fd);
	char text[SIZE_TEXT_BYTES];
	int r = fd < 0 ? fd : 0;

	/* A file system that cannot reserve finds out later, and the program's memory stays then. */
	if (!r && fallocate(fd, 0, 0, (off_t)bytes) && errno != EOPNOTSUPP)
		r = -errno;
	if (!r)
		return steal_fd(&fd);
	snprintf(error, size, "the disk takes no %s more: memory.disk %s: %s", size_format(bytes, text),
		 daemon->memory->disk, strerror(-r));
	return r;
}

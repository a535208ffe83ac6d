/*
 * empty_root.c: see empty_root.h. Where no file system can be mounted a folder does that has been removed while it is
 * in use: it stays empty for ever.
 */
#include "remote/worker/empty_root.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Nothing fits in it, and it cannot be written. */
static bool mount_somewhere(void)
{
	static const char *const places[] = { "/tmp", "/proc" };
	const unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (!mount("none", places[i], "tmpfs", flags, "size=4k,nr_inodes=1,mode=0555"))
			return !chdir(places[i]);
	return false;
}

/* The old root is put on top of the new one, and taken away from there with all that is mounted in it. */
static bool change_mounts(void)
{
	return !syscall(SYS_pivot_root, ".", ".") && !umount2(".", MNT_DETACH) && !chdir("/");
}

static bool change_root(void)
{
	char path[] = "/tmp/mete-worker-XXXXXX";
	_cleanup_close_ int fd = -1;

	if (!mkdtemp(path))
		return false;
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (rmdir(path) || fd < 0)
		return false;
	return !fchdir(fd) && !chroot(".");
}

bool empty_root_enter(bool mounts)
{
	/* Where "/" is what the machine was started from it cannot be taken away, but left. */
	if (mounts && mount_somewhere())
		return change_mounts() || !chroot(".");
	return change_root();
}

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

#define FLAGS (MS_NOSUID | MS_NODEV | MS_NOEXEC)

/* Where something can be mounted. Nothing fits in what is mounted, and it cannot be written. */
static const char *mount_somewhere(void)
{
	static const char *const places[] = { "/tmp", "/proc" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (!mount("none", places[i], "tmpfs", FLAGS | MS_RDONLY, "size=4k,nr_inodes=1,mode=0555"))
			return chdir(places[i]) ? NULL : places[i];
	return NULL;
}

/* The same with these nodes in it. */
static bool mount_with(const struct nodes *nodes)
{
	static const char place[] = "/tmp";

	if (!nodes->count || mount("none", place, "tmpfs", FLAGS, "size=64k,nr_inodes=64,mode=0755"))
		return false;
	if (nodes_put(nodes, place) && !mount(NULL, place, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | FLAGS, NULL) &&
	    !chdir(place))
		return true;
	umount2(place, MNT_DETACH);
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

bool empty_root_enter(bool mounts, const struct nodes *nodes, bool *ret_nodes)
{
	*ret_nodes = mounts && mount_with(nodes);
	/* Where "/" is what the machine was started from it cannot be taken away, but left. */
	if (*ret_nodes || (mounts && mount_somewhere()))
		return change_mounts() || !chroot(".");
	return change_root();
}

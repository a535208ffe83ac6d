/*
 * bind.c: see bind.h. Numbers from Linux's uapi/linux/mount.h and uapi/asm-generic/unistd.h, where these calls have the
 * same ones on all processors: headers of older systems lack them, and newer ones define them twice.
 */
#include "connect/cdi/bind.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL_OPEN_TREE 428
#define CALL_MOVE_MOUNT 429
#define CALL_MOUNT_SETATTR 442

#define TREE_CLONE 1u
#define MOVE_FROM_EMPTY 0x04u
#define MOVE_TO_EMPTY 0x40u
#define ATTR_RDONLY 0x1u
#define ATTR_NOSUID 0x2u
#define ATTR_NODEV 0x4u

struct attributes {
	uint64_t set, clear, propagation, userns_fd;
};

int bind_make(const char *source, int target, bool writable)
{
	struct attributes a = { .set = ATTR_NOSUID | ATTR_NODEV | (writable ? 0 : ATTR_RDONLY) };
	_cleanup_close_ int tree = (int)syscall(CALL_OPEN_TREE, AT_FDCWD, source, TREE_CLONE | O_CLOEXEC);

	if (tree < 0 || syscall(CALL_MOUNT_SETATTR, tree, "", AT_EMPTY_PATH, &a, sizeof(a)) ||
	    syscall(CALL_MOVE_MOUNT, tree, "", target, "", MOVE_FROM_EMPTY | MOVE_TO_EMPTY))
		return -errno;
	return 0;
}

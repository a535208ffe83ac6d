/* empty_root.c: see empty_root.h. A folder that has been removed while it is in use stays empty for ever. */
#include "remote/worker/empty_root.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

bool empty_root_enter(void)
{
	char path[] = "/tmp/mete-worker-XXXXXX";
	_cleanup_close_ int fd = -1;

	if (geteuid() || !mkdtemp(path))
		return false;
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (rmdir(path) || fd < 0)
		return false;
	return !fchdir(fd) && !chroot(".");
}

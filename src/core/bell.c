/* bell.c: see bell.h. */
#include "core/bell.h"

#include "core/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* These three are read without a lock. */
static _Atomic int doorbell = -1; /* -1: none */
static struct {
	_Atomic uint64_t device, inode;
} identity; /* what `doorbell` is */

int bell_fd(void)
{
	int fd = atomic_load_explicit(&doorbell, memory_order_acquire);
	struct file_identity is;

	if (fd < 0 || file_identify(fd, &is) < 0 ||
	    is.device != atomic_load_explicit(&identity.device, memory_order_relaxed) ||
	    is.inode != atomic_load_explicit(&identity.inode, memory_order_relaxed))
		return -1;
	return fd;
}

void bell_ring(void)
{
	static const uint64_t one = 1;
	int saved = errno, fd = bell_fd();

	if (fd >= 0)
		syscall(SYS_write, fd, &one, sizeof one);
	errno = saved;
}

/*
 * A thread that rings takes no lock. The new bell takes the old one's number in one step, so that nothing else ever
 * stands there; who sees the old one's identity with it just does not ring. meted looks by itself at whoever has said
 * HELLO.
 */
void bell_take(int fd)
{
	int old = bell_fd();
	struct file_identity is;

	if (file_identify(fd, &is) < 0)
		return;
	if (old >= 0)
		fd = (int)syscall(SYS_dup3, fd, old, O_CLOEXEC);
	else
		fd = connection_move_high((int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0));
	atomic_store_explicit(&identity.device, is.device, memory_order_relaxed);
	atomic_store_explicit(&identity.inode, is.inode, memory_order_relaxed);
	atomic_store_explicit(&doorbell, fd, memory_order_release);
}

void bell_drop(void)
{
	int fd = bell_fd();

	atomic_store_explicit(&doorbell, -1, memory_order_relaxed);
	if (fd >= 0)
		syscall(SYS_close, fd);
}

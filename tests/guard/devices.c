/* devices.c: devices that a tenant does not have, and other ways to reach one: io_uring, /proc, pidfd. */
#include "ground.h"
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int body_devices(void)
{
	int fd;

	mknod("/tmp/own", S_IFCHR | 0666, makedev(standin_major(), 1));
	fd = open("/tmp/own", O_RDWR);
	if (reached(fd) || errno != EPERM)
		return 2;
	if (reached(node(1)) || !reached(node(0)))
		return 3;
	mknod("/tmp/mine", S_IFCHR | 0666, makedev(standin_major(), CONTROL));
	fd = open("/tmp/mine", O_RDWR);
	struct session s;

	if (session_on(&s, fd))
		return 4;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

static int body_uring(void)
{
	struct io_uring_sqe command = { .opcode = 46 /* URING_CMD */, .fd = node(CONTROL) };
	struct io_uring_sqe refused = {
		.opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (uintptr_t) "/dev/standin1", .open_flags = O_RDWR
	};
	struct io_uring_sqe opened = { .opcode = IORING_OP_OPENAT,
				       .fd = AT_FDCWD,
				       .flags = IOSQE_ASYNC,
				       .addr = (uintptr_t) "/dev/standin255",
				       .open_flags = O_RDWR };
	struct session s;
	int r = ring_once(&command), fd;

	if (r >= 0 || r <= -1000)
		return 2;
	fd = ring_once(&refused);
	if (fd != -EPERM && (!front_notify || reached(fd)))
		return 3;
	fd = ring_once(&opened);
	enter("");
	if (fd < 0 || session_on(&s, fd))
		return 4;
	return expect(grab(&s, MIB(64), MIB(65536)), 512);
}

static int body_reopen(void)
{
	struct session s;
	char path[64];
	int fd = take_fd(passed[1]), pid = (int)getppid(), pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	fd = open(path, O_RDWR);
	if (session_on(&s, fd) || grab(&s, MIB(64), MIB(256)) != MIB(256))
		return 2;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, hold_fds[0], 0);
	if (fd < 0 || session_on(&s, fd))
		return 3;
	return expect(grab(&s, MIB(64), MIB(65536)), 256);
}

void case_devices(void)
{
	int fd = node(CONTROL);

	ok(!as("c", body_devices), "a node made with mknod is the same device; another's is refused");
	ok(!as("c", body_uring), "io_uring: no calls, and opens are the tenant's");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, passed))
		exit(1);
	send_fd(passed[0], fd);
	hold_fds[0] = fd;
	ok(!as("c", body_reopen), "descriptors opened again through /proc, and fetched from another process");
	close(fd);
	clean("devices");
}

/* raw_fd.h: descriptors in a program's process: used by system calls alone, and identified by device and inode. */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's struct stat and the C library's are the same on the architectures that we build for. */
static inline bool raw_fd_identify(int fd, uint64_t *ret_device, uint64_t *ret_inode)
{
	struct stat st;

	if (syscall(SYS_fstat, fd, &st) < 0)
		return false;
	*ret_device = st.st_dev;
	*ret_inode = st.st_ino;
	return true;
}

static inline bool raw_fd_is(int fd, uint64_t device, uint64_t inode)
{
	uint64_t d, i;

	return raw_fd_identify(fd, &d, &i) && d == device && i == inode;
}

static inline void raw_fd_close(int fd)
{
	if (fd >= 0)
		syscall(SYS_close, fd);
}

/* file_identity.h: identifies the file behind a descriptor, independent of its number. */
#pragma once

#include "base/raw_fd.h"

#include <errno.h>

struct file_identity {
	uint64_t device, inode;
};

/* Returns 0, or -EBADF if the descriptor is not open. */
static inline int file_identify(int fd, struct file_identity *ret)
{
	return fd >= 0 && raw_fd_identify(fd, &ret->device, &ret->inode) ? 0 : -EBADF;
}

static inline bool file_same(const struct file_identity *a, const struct file_identity *b)
{
	return a->device == b->device && a->inode == b->inode;
}

/* ring.h: one entry of io_uring at a time, for the cases that go that way. */
#pragma once

#include <linux/io_uring.h>

#define RING_ENTRIES 4

struct ring {
	int fd;
	struct io_uring_params p;
	char *sq, *cq;
	struct io_uring_sqe *entries;
};

/* Makes a ring; `flags` are IORING_SETUP_... Value: 0, or -errno. */
int ring_open(struct ring *r, unsigned int flags);
void ring_close(struct ring *r);
/* Hands one entry to the kernel. Value: 0, or -errno. */
int ring_put(struct ring *r, const struct io_uring_sqe *e);
/* Waits for the answer to it. Value: 0 with the result; -ETIMEDOUT: none within that time. */
int ring_answer(struct ring *r, int ms, int *ret);
/* One entry through a ring of its own. Value: its result; below -1000: there was none. */
int ring_once(const struct io_uring_sqe *e);

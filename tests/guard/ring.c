/* ring.c: see ring.h. */
#include "ring.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RESULT_MS 5000

static void *area(int fd, uint64_t size, uint64_t at)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
}

static _Atomic unsigned int *word(char *area, unsigned int at)
{
	return (_Atomic unsigned int *)(void *)(area + at);
}

int ring_open(struct ring *r, unsigned int flags)
{
	struct io_uring_params *p = &r->p;

	*r = (struct ring){ .p = { .flags = flags, .sq_thread_idle = 2000 } };
	r->fd = (int)syscall(__NR_io_uring_setup, RING_ENTRIES, p);
	if (r->fd < 0)
		return -errno;
	r->sq = area(r->fd, p->sq_off.array + p->sq_entries * 4, IORING_OFF_SQ_RING);
	r->cq = area(r->fd, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	r->entries = area(r->fd, p->sq_entries * sizeof *r->entries, IORING_OFF_SQES);
	if (r->sq != MAP_FAILED && r->cq != MAP_FAILED && r->entries != MAP_FAILED)
		return 0;
	close(r->fd);
	return -ENOMEM;
}

void ring_close(struct ring *r)
{
	const struct io_uring_params *p = &r->p;

	munmap(r->sq, p->sq_off.array + p->sq_entries * 4);
	munmap(r->cq, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe));
	munmap(r->entries, p->sq_entries * sizeof *r->entries);
	close(r->fd);
}

int ring_put(struct ring *r, const struct io_uring_sqe *e)
{
	unsigned int tail = atomic_load(word(r->sq, r->p.sq_off.tail)), at = tail & (r->p.sq_entries - 1);

	r->entries[at] = *e;
	((unsigned int *)(void *)(r->sq + r->p.sq_off.array))[at] = at;
	atomic_store(word(r->sq, r->p.sq_off.tail), tail + 1);
	if (r->p.flags & IORING_SETUP_SQPOLL)
		return 0;
	return syscall(__NR_io_uring_enter, r->fd, 1, 0, 0, NULL, 0) == 1 ? 0 : -errno;
}

int ring_answer(struct ring *r, int ms, int *ret)
{
	unsigned int head = atomic_load(word(r->cq, r->p.cq_off.head));

	for (int i = 0; atomic_load(word(r->cq, r->p.cq_off.tail)) == head; i++) {
		if (i == ms)
			return -ETIMEDOUT;
		if (atomic_load(word(r->sq, r->p.sq_off.flags)) & IORING_SQ_NEED_WAKEUP)
			syscall(__NR_io_uring_enter, r->fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
		usleep(1000);
	}
	*ret = ((struct io_uring_cqe *)(void *)(r->cq + r->p.cq_off.cqes))[head & (r->p.cq_entries - 1)].res;
	atomic_store(word(r->cq, r->p.cq_off.head), head + 1);
	return 0;
}

int ring_once(const struct io_uring_sqe *e)
{
	struct ring r;
	int result = -1002;

	if (ring_open(&r, 0))
		return -1000;
	if (ring_put(&r, e))
		result = -1001;
	else
		ring_answer(&r, RESULT_MS, &result);
	ring_close(&r);
	return result;
}

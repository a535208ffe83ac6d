/* loop.c: see loop.h. */
#include "connect/kubernetes/loop.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

int loop_open(struct loop *l)
{
	l->fd = epoll_create1(EPOLL_CLOEXEC);
	return l->fd < 0 ? -errno : 0;
}

void loop_close(struct loop *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

int loop_add(struct loop *l, struct watch *w, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = w };

	return epoll_ctl(l->fd, EPOLL_CTL_ADD, w->fd, &e) ? -errno : 0;
}

void loop_change(struct loop *l, struct watch *w, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = w };

	epoll_ctl(l->fd, EPOLL_CTL_MOD, w->fd, &e);
}

void loop_leave(struct loop *l, struct watch *w)
{
	epoll_ctl(l->fd, EPOLL_CTL_DEL, w->fd, NULL);
}

void loop_remove(struct loop *l, struct watch *w)
{
	if (w->fd < 0)
		return;
	loop_leave(l, w);
	close(w->fd);
	w->fd = -1;
}

/* Value: 1 when one was served, 0, or -errno. */
static int serve_one(struct loop *l, int timeout_ms)
{
	struct epoll_event e;
	int n = epoll_wait(l->fd, &e, 1, timeout_ms);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n) {
		struct watch *w = e.data.ptr;

		w->ready(w, e.events);
	}
	return n;
}

int loop_turn(struct loop *l, int timeout_ms)
{
	int r = serve_one(l, timeout_ms);

	return r < 0 ? r : 0;
}

int loop_turns(struct loop *l, int timeout_ms, uint64_t most_ns)
{
	uint64_t began = clock_now_ns();
	int r = serve_one(l, timeout_ms);

	while (r > 0 && clock_now_ns() - began < most_ns)
		r = serve_one(l, 0);
	return r < 0 ? r : 0;
}

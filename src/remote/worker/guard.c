/*
 * guard.c: see guard.h.
 *
 * The end of the socket is the end of the client, at any instruction. The worker then ends without a word to the
 * driver: a thread of it may be waiting for a kernel that never ends, and what the process held the kernel gives back.
 */
#include "remote/worker/guard.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void *watch(void *argument)
{
	struct guard *guard = argument;

	for (;;) {
		struct pollfd p[3] = { { .fd = guard->client, .events = POLLRDHUP },
				       { .fd = guard->process, .events = POLLIN },
				       { .fd = guard->control, .events = POLLIN } };

		if (poll(p, 3, -1) < 0 && errno != EINTR)
			_exit(1);
		if (p[0].revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL) || p[1].revents)
			_exit(0);
		if (p[2].revents && guard->on_control)
			guard->on_control(guard->owner);
	}
	return NULL;
}

int guard_start(struct guard *guard)
{
	sigset_t all, old;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(&thread, NULL, watch, guard);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!r)
		pthread_detach(thread);
	return r;
}

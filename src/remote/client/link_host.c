/*
 * link_host.c: see link_host.h.
 *
 * The thread sleeps while nothing is expected: then other threads read, and a program without host functions has no
 * such thread. All signals are blocked in it.
 */
#include "remote/client/gate.h"
#include "remote/client/link_host.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS 100000000u
#define QUEUE_MOST 65536u /* the worker is not to fill this process's memory */
#define SIGSET_BYTES 8u /* the kernel's */

struct item {
	struct item *next;
	size_t bytes;
	uint64_t body[]; /* aligned as in the message */
};

struct link_host {
	struct link *link;
	pthread_mutex_t lock; /* guards what follows */
	struct item *first, *last;
	uint32_t expected; /* functions that may be asked for, once or any number of times */
	uint32_t queued;   /* of items */
	uint32_t changes;  /* of all this; a futex */
	uint32_t *ended;   /* set when the thread is to end: the futex that it sets when it does */
};

static void changed_locked(struct link_host *h)
{
	__atomic_fetch_add(&h->changes, 1, __ATOMIC_RELEASE);
}

static void wake(struct link_host *h)
{
	int saved = errno;

	syscall(SYS_futex, &h->changes, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	link_changed(h->link);
	errno = saved;
}

static void run(struct link_host *h, struct item *item)
{
	h->link->handlers->host(h->link->arg, item->body, item->bytes);
	free(item);
	pthread_mutex_lock(&h->lock);
	h->queued--;
	pthread_mutex_unlock(&h->lock);
}

static void *serve(void *arg)
{
	struct link_host *h = arg;
	uint32_t changes, expected;
	struct item *item;
	uint32_t *ended;

	pthread_detach(pthread_self());
	gate_exempt();
	for (;;) {
		pthread_mutex_lock(&h->lock);
		item = h->first;
		if (item && !(h->first = item->next))
			h->last = NULL;
		changes = h->changes;
		expected = h->expected;
		ended = h->ended;
		pthread_mutex_unlock(&h->lock);
		if (item)
			run(h, item);
		else if (ended)
			break;
		else if (!expected || link_lost(h->link))
			syscall(SYS_futex, &h->changes, FUTEX_WAIT_PRIVATE, changes, NULL, NULL, 0);
		else
			link_until(h->link, &h->changes, changes, LOOK_NS);
	}
	free(h);
	__atomic_store_n(ended, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, ended, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return NULL;
}

static int start(struct link_host *h)
{
	uint64_t all = ~UINT64_C(0), old = 0;
	pthread_t thread;
	int r;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, SIGSET_BYTES);
	r = pthread_create(&thread, NULL, serve, h);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, SIGSET_BYTES);
	return -r;
}

/* Under `writing`, which is nobody's here: so that two threads do not make it twice. */
static int make_locked(struct link *link)
{
	struct link_host *h;
	int r;

	if (link->host)
		return 0;
	if (!link->handlers->host)
		return -ENOSYS;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->link = link;
	pthread_mutex_init(&h->lock, NULL);
	r = start(h);
	if (r < 0)
		free(h);
	else
		__atomic_store_n(&link->host, h, __ATOMIC_RELEASE);
	return r;
}

static struct link_host *host_of(struct link *link)
{
	return __atomic_load_n(&link->host, __ATOMIC_ACQUIRE);
}

int link_expect_host(struct link *link, bool more)
{
	struct link_host *h;
	int saved = errno, r;

	pthread_mutex_lock(&link->writing);
	r = make_locked(link);
	pthread_mutex_unlock(&link->writing);
	h = host_of(link);
	if (!r) {
		pthread_mutex_lock(&h->lock);
		h->expected += more ? 1 : UINT32_MAX;
		changed_locked(h);
		pthread_mutex_unlock(&h->lock);
		wake(h);
	}
	errno = saved;
	return r;
}

bool link_host_queue(struct link *link, const void *body, size_t bytes)
{
	struct link_host *h = host_of(link);
	struct item *item;

	if (!h)
		return false;
	item = malloc(sizeof(*item) + bytes);
	if (!item)
		return false;
	item->next = NULL;
	item->bytes = bytes;
	memcpy(item->body, body, bytes);
	pthread_mutex_lock(&h->lock);
	if (h->queued >= QUEUE_MOST) {
		pthread_mutex_unlock(&h->lock);
		free(item);
		return false;
	}
	h->queued++;
	if (h->last)
		h->last->next = item;
	else
		h->first = item;
	h->last = item;
	changed_locked(h);
	pthread_mutex_unlock(&h->lock);
	wake(h);
	return true;
}

void link_host_wake(struct link *link)
{
	struct link_host *h = host_of(link);

	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	changed_locked(h);
	pthread_mutex_unlock(&h->lock);
	wake(h);
}

void link_host_end(struct link *link)
{
	struct link_host *h = host_of(link);
	uint32_t ended = 0;

	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->ended = &ended;
	changed_locked(h);
	pthread_mutex_unlock(&h->lock);
	wake(h);
	while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &ended, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	link->host = NULL;
}

/* mapped.c: see mapped.h. */
#include "daemon/tenants/mapped.h"

#include "base/cleanup.h"
#include "daemon/loop.h"
#include "daemon/owner.h"
#include "daemon/subordinate.h"
#include "daemon/tenants/page.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 32u
#define USER_MOST 2u /* of a user other than meted's own */
#define STACK_BYTES (256u << 10)
#define NICE 10 /* nobody waits for it */

struct mapped {
	struct mapped *next;
	struct mapped_whose whose;
	struct watch *watch; /* NULL: it has been told, or is forgotten; it stays until the thread is done with it */
	bool told;
	mapped_fn fn;
	void *owner;
	int event_fd;
	/* the thread's */
	struct page_look look;
	pid_t pid;
	_Atomic bool is, done;
};

/* Threads under way, and those that have ended since; the loop's alone. */
static struct mapped *all;

static void *look(void *data)
{
	struct mapped *m = data;

	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	atomic_store(&m->is, page_look_is_mapped(&m->look, m->pid));
	eventfd_write(m->event_fd, 1);
	/* Last: it may be freed from now on. */
	atomic_store(&m->done, true);
	return NULL;
}

static void reap(void)
{
	struct mapped **at = &all, *m;

	while ((m = *at)) {
		if (m->watch || !atomic_load(&m->done)) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		close(m->event_fd);
		free(m);
	}
}

static bool has_place(const struct mapped_whose *whose)
{
	unsigned int count = 0, of_user = 0;
	uid_t user = subordinate_user(whose->uid);

	for (const struct mapped *m = all; m; m = m->next) {
		if (m->told)
			continue;
		if (m->whose.grant_id == whose->grant_id)
			return false;
		count++;
		of_user += subordinate_user(m->whose.uid) == user;
	}
	return count < THREADS && (owner_is(whose->uid) || of_user < USER_MOST);
}

static void on_looked(void *owner)
{
	struct mapped *m = owner;

	watch_free(m->watch);
	m->watch = NULL;
	m->told = true;
	m->fn(m->owner, atomic_load(&m->is));
}

/* Signals are the loop's. */
static int begin(struct mapped *m)
{
	pthread_attr_t attributes;
	sigset_t every, before;
	pthread_t thread;
	int r;

	sigfillset(&every);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	r = pthread_create(&thread, &attributes, look, m);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -r;
}

struct mapped *mapped_ask(uv_loop_t *loop, const struct page *page, pid_t pid, const struct mapped_whose *whose,
			  mapped_fn fn, void *owner)
{
	struct mapped *m;

	reap();
	m = has_place(whose) ? calloc(1, sizeof(*m)) : NULL;
	if (!m)
		return NULL;
	*m = (struct mapped){ .whose = *whose, .fn = fn, .owner = owner, .pid = pid };
	page_look_begin(page, &m->look);
	m->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	m->watch = m->event_fd < 0 ? NULL : watch_new(loop, m->event_fd, on_looked, m);
	if (m->watch && !begin(m)) {
		m->next = all;
		all = m;
		return m;
	}
	watch_free(m->watch);
	cleanup_close(&m->event_fd);
	free(m);
	return NULL;
}

void mapped_forget(struct mapped *mapped)
{
	if (!mapped)
		return;
	watch_free(mapped->watch);
	mapped->watch = NULL;
}

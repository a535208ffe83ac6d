/* thread.c: see thread.h. */
#include "shim/rm/thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* As compat.h does for others. */
#ifdef COMPAT_BIND
COMPAT_BIND(pthread_create);
COMPAT_BIND(pthread_detach);
#endif

bool thread_start(void *(*body)(void *))
{
	/* The kernel's sets of signals: 64 of them. */
	uint64_t all = UINT64_MAX, before = 0;
	pthread_t thread;
	int r;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
	r = pthread_create(&thread, NULL, body, NULL);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
	if (!r)
		pthread_detach(thread);
	return !r;
}

void thread_wait(_Atomic uint32_t *word, uint32_t is, uint64_t ns, bool shared)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };

	syscall(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, is, ns == UINT64_MAX ? NULL : &t, NULL, 0);
}

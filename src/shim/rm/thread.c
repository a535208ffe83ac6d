/* thread.c: see thread.h. */
#include "shim/rm/thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10)

bool thread_start(void *(*body)(void *))
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (pthread_attr_init(&attr))
		return false;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* Where a program has much thread-local storage this is refused or too little: then the usual size. */
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	r = pthread_create(&thread, &attr, body, NULL);
	if (r) {
		pthread_attr_setstacksize(&attr, 8u << 20);
		r = pthread_create(&thread, &attr, body, NULL);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return !r;
}

void thread_wait(_Atomic uint32_t *word, uint32_t is, uint64_t ns, bool shared)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };

	syscall(SYS_futex, word, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, is, ns == UINT64_MAX ? NULL : &t, NULL, 0);
}

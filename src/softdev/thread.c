/* thread.c: see thread.h. */
#include "softdev/thread.h"

#include "softdev/ptx/stack.h"

#include <pthread.h>
#include <signal.h>

bool thread_start(void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	bool good;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	stack_deepen(&attr);
	good = !pthread_create(&thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return good;
}

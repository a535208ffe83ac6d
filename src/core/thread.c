/* thread.c: see thread.h. */
#include "core/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIGSET_BYTES 8u /* the kernel's */

bool thread_start(void *(*body)(void *), void *data)
{
	uint64_t all = UINT64_MAX, old = 0;
	int saved = errno;
	pthread_t thread;
	bool made;

	/* A new thread has the mask of its maker; the program's is as it was a moment later. */
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, SIGSET_BYTES);
	made = !pthread_create(&thread, NULL, body, data);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, SIGSET_BYTES);
	errno = saved;
	return made;
}

void thread_begin(const char *name)
{
	pthread_detach(pthread_self());
	syscall(SYS_prctl, PR_SET_NAME, name, 0, 0, 0);
	syscall(SYS_prctl, PR_SET_TIMERSLACK, 1ul, 0, 0, 0);
}

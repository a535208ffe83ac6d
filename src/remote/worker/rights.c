/* rights.c: see rights.h. Privileges are each thread's own; the folder that is the root of paths is all threads'. */
#include "remote/worker/rights.h"

#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t asked;
	bool keeps, ended;
	bool (*act)(void *);
	void *argument;
	bool result;
} keeper = { .mutex = PTHREAD_MUTEX_INITIALIZER, .asked = PTHREAD_COND_INITIALIZER };

static bool give_up(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2];

	memset(none, 0, sizeof(none));
	return !syscall(SYS_capset, &head, none);
}

static void *keep(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&keeper.mutex);
	while (!keeper.ended)
		pthread_cond_wait(&keeper.asked, &keeper.mutex);
	pthread_mutex_unlock(&keeper.mutex);
	keeper.result = keeper.act(keeper.argument);
	return NULL;
}

bool rights_keep(void)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	keeper.keeps = !pthread_create(&keeper.thread, NULL, keep, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return give_up() && keeper.keeps;
}

bool rights_use(bool (*act)(void *), void *argument)
{
	if (!keeper.keeps)
		return act(argument);
	pthread_mutex_lock(&keeper.mutex);
	keeper.act = act;
	keeper.argument = argument;
	keeper.ended = true;
	pthread_cond_signal(&keeper.asked);
	pthread_mutex_unlock(&keeper.mutex);
	pthread_join(keeper.thread, NULL);
	keeper.keeps = false;
	return keeper.result;
}

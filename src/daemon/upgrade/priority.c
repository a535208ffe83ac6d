/*
 * priority.c: see priority.h. What is raised is the thread that calls execve(), and what it becomes; and all others of
 * the process, for execve() waits until each of them has run to its end.
 */
#include "daemon/upgrade/priority.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL_TIME 10 /* as the thread that gives turns: users are allowed no more */
#define OTHERS 64u

struct before {
	pid_t thread;
	int policy;
	struct sched_param param;
};

static struct before others[OTHERS];
static unsigned int other_count;

/* 0, or below where it is not permitted. Threads and children that are begun meanwhile run as usual. */
static int raise_one(pid_t thread, struct before *ret)
{
	struct sched_param now = { .sched_priority = REAL_TIME };

	ret->thread = thread;
	ret->policy = sched_getscheduler(thread);
	if (ret->policy < 0 || sched_getparam(thread, &ret->param))
		return -1;
	return sched_setscheduler(thread, SCHED_FIFO | SCHED_RESET_ON_FORK, &now);
}

/* That children begin as usual is a promise that not everybody may take back; then it stays. */
static void lower_one(const struct before *b)
{
	if (sched_setscheduler(b->thread, b->policy, &b->param))
		sched_setscheduler(b->thread, b->policy | SCHED_RESET_ON_FORK, &b->param);
}

static void raise_others(void)
{
	pid_t own = (pid_t)syscall(SYS_gettid), thread;
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;

	other_count = 0;
	while (dir && other_count < OTHERS && (entry = readdir(dir))) {
		thread = (pid_t)atoi(entry->d_name);
		if (thread > 0 && thread != own && !raise_one(thread, &others[other_count]))
			other_count++;
	}
	if (dir)
		closedir(dir);
}

json_t *priority_raise(void)
{
	struct before own;

	if (raise_one(0, &own))
		return json_null();
	raise_others();
	return json_pack("{s:i s:i}", "policy", own.policy, "priority", own.param.sched_priority);
}

void priority_restore(const json_t *before)
{
	struct before own = { .policy = (int)json_integer_value(json_object_get(before, "policy")),
			      .param.sched_priority = (int)json_integer_value(json_object_get(before, "priority")) };

	if (json_is_object(before))
		lower_one(&own);
	while (other_count)
		lower_one(&others[--other_count]);
}

/* priority.c: see priority.h. What is raised is the thread that calls execve(), and what it becomes. */
#include "daemon/upgrade/priority.h"

#include <sched.h>

#define REAL_TIME 11 /* one above the thread that gives turns */

json_t *priority_raise(void)
{
	struct sched_param before, now = { .sched_priority = REAL_TIME };
	int policy = sched_getscheduler(0);

	/* Threads and children that are begun meanwhile run as usual. */
	if (policy < 0 || sched_getparam(0, &before) || sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &now))
		return json_null();
	return json_pack("{s:i s:i}", "policy", policy, "priority", before.sched_priority);
}

void priority_restore(const json_t *before)
{
	int policy = (int)json_integer_value(json_object_get(before, "policy"));
	struct sched_param p = { .sched_priority = (int)json_integer_value(json_object_get(before, "priority")) };

	if (!json_is_object(before))
		return;
	/* That children begin as usual is a promise that not everybody may take back; then it stays. */
	if (sched_setscheduler(0, policy, &p))
		sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &p);
}

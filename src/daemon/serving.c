/* serving.c: see serving.h. */
#include "daemon/serving.h"

#include "base/clock.h"
#include "model/bucket.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>

#define RAISED_NICE (-10)
#define PART 0.25	   /* of a core, for good */
#define AT_ONCE_NS 500e6   /* of processor time: 200 programs that begin together take less */
#define DEBT_NS 500e6	   /* more is forgiven: two seconds after a flood it is raised again */
#define LOOK_NS 10000000u

static struct {
	bool may_rise, raised;
	uint64_t looked_ns, used_ns;
	struct bucket bucket;
} serving;

static uint64_t processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool set_raised(bool raised)
{
	if (setpriority(PRIO_PROCESS, 0, raised ? RAISED_NICE : 0))
		return false;
	serving.raised = raised;
	return true;
}

void serving_begin(void)
{
	struct sched_param none = { 0 };
	int nice = getpriority(PRIO_PROCESS, 0);

	/* The meted before this one may have raised it. */
	if ((nice && nice != RAISED_NICE) || !set_raised(true))
		return;
	/* Threads and children begin as usual. */
	if (sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none)) {
		set_raised(false);
		return;
	}
	serving.may_rise = true;
	serving.looked_ns = clock_now_ns();
	serving.used_ns = processor_ns();
	serving.bucket = (struct bucket){ .rate = PART, .tokens_ns = AT_ONCE_NS };
}

void serving_round(void)
{
	uint64_t now_ns = clock_now_ns(), used_ns;
	bool raise;

	if (!serving.may_rise || now_ns - serving.looked_ns < LOOK_NS)
		return;
	used_ns = processor_ns();
	bucket_spend(&serving.bucket, (int64_t)(used_ns - serving.used_ns));
	bucket_refill(&serving.bucket, now_ns - serving.looked_ns, AT_ONCE_NS);
	if (serving.bucket.tokens_ns < -DEBT_NS)
		serving.bucket.tokens_ns = -DEBT_NS;
	serving.looked_ns = now_ns;
	serving.used_ns = used_ns;
	raise = serving.bucket.tokens_ns > 0;
	if (raise != serving.raised && !set_raised(raise))
		serving.may_rise = false;
}

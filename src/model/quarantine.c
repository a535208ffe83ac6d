/* quarantine.c: see quarantine.h. */
#include "model/quarantine.h"

#include <string.h>

uint64_t quarantine_left_ns(const struct quarantine *q, uint64_t now_ns)
{
	return q->until_ns > now_ns ? q->until_ns - now_ns : 0;
}

void quarantine_release(struct quarantine *q)
{
	*q = (struct quarantine){ 0 };
}

static void forget(struct quarantine *q, const struct quarantine_rule *rule, uint64_t now_ns)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < q->faults; i++)
		if (now_ns - q->fault_ns[i] < rule->window_ns)
			q->fault_ns[kept++] = q->fault_ns[i];
	q->faults = kept;
	if (q->level && now_ns > q->until_ns && now_ns - q->until_ns >= q->length_ns)
		q->level = 0;
}

static uint64_t length_of(const struct quarantine_rule *rule, unsigned int level)
{
	uint64_t ns = rule->time_ns;

	while (level-- && ns < rule->most_ns)
		ns *= 2;
	return ns < rule->most_ns ? ns : rule->most_ns;
}

bool quarantine_fault(struct quarantine *q, const struct quarantine_rule *rule, uint64_t now_ns)
{
	if (!rule->count || quarantine_left_ns(q, now_ns))
		return false; /* who is shut out cannot be shut out more */
	forget(q, rule, now_ns);
	if (q->faults == QUARANTINE_FAULTS)
		memmove(&q->fault_ns[0], &q->fault_ns[1], --q->faults * sizeof(q->fault_ns[0]));
	q->fault_ns[q->faults++] = now_ns;
	if (q->faults < rule->count)
		return false;
	q->faults = 0;
	q->length_ns = length_of(rule, q->level++);
	q->until_ns = now_ns + q->length_ns;
	return true;
}

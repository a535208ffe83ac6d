/* rate.c: see rate.h. */
#include "model/rate.h"

#include <string.h>

/* Its place, or that of whoever has not asked for longest. */
static unsigned int place_of(struct rate *rate, const struct unproven_source *source)
{
	unsigned int at = 0;

	for (unsigned int i = 0; i < RATE_SOURCES; i++) {
		if (rate->place[i].at_ns && unproven_same(&rate->place[i].source, source))
			return i;
		if (rate->place[i].at_ns < rate->place[at].at_ns)
			at = i;
	}
	memset(&rate->place[at], 0, sizeof(rate->place[at]));
	rate->place[at].source = *source;
	return at;
}

bool rate_admits(struct rate *rate, const struct rate_rule *rule, const struct unproven_source *source, uint64_t now_ns)
{
	uint64_t cost_ns = 1000000000u / rule->each_second;
	unsigned int at = place_of(rate, source);
	uint64_t passed_ns = now_ns - rate->place[at].at_ns, *spent_ns = &rate->place[at].spent_ns;

	*spent_ns = *spent_ns > passed_ns ? *spent_ns - passed_ns : 0;
	rate->place[at].at_ns = now_ns ? now_ns : 1;
	if (*spent_ns + cost_ns > cost_ns * rule->at_once)
		return false;
	*spent_ns += cost_ns;
	return true;
}

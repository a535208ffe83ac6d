/* admission.c: see admission.h. A few hundred places at most, looked through one by one: no list to keep in step. */
#include "model/admission.h"

#include <stddef.h>

static unsigned int count_of(const struct admission *there, unsigned int count, uint32_t uid)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < count; i++)
		n += !there[i].owner && there[i].uid == uid;
	return n;
}

static bool may_yield(const struct admission *a)
{
	return !a->owner && !a->busy;
}

static const struct admission *oldest_of(const struct admission *there, unsigned int count, uint32_t uid)
{
	const struct admission *oldest = NULL;

	for (unsigned int i = 0; i < count; i++)
		if (may_yield(&there[i]) && there[i].uid == uid &&
		    (!oldest || there[i].idle_since_ns < oldest->idle_since_ns))
			oldest = &there[i];
	return oldest;
}

/* Of the user with most places, but more than `mine`, the oldest that is idle; of several such users the oldest of all.
 */
static const struct admission *oldest_of_most(const struct admission *there, unsigned int count, unsigned int mine)
{
	const struct admission *best = NULL;
	unsigned int most = mine;

	for (unsigned int i = 0; i < count; i++) {
		unsigned int n;

		if (!may_yield(&there[i]))
			continue;
		n = count_of(there, count, there[i].uid);
		if (n > most || (best && n == most && there[i].idle_since_ns < best->idle_since_ns)) {
			best = &there[i];
			most = n;
		}
	}
	return best;
}

enum admission_answer admission_ask(const struct admission_rule *rule, const struct admission *there,
				    unsigned int count, uint32_t uid, bool owner, const struct admission **ret_yields)
{
	const struct admission *yields = NULL;
	unsigned int others = 0, mine = owner ? 0 : count_of(there, count, uid);

	for (unsigned int i = 0; i < count; i++)
		others += !there[i].owner;
	if (count < rule->most && (owner || (mine < rule->per_uid && others < rule->most - rule->kept)))
		return ADMISSION_FREE;
	if (mine < rule->per_uid)
		yields = oldest_of_most(there, count, mine);
	if (!yields && !owner)
		yields = oldest_of(there, count, uid);
	*ret_yields = yields;
	return yields ? ADMISSION_YIELDS : ADMISSION_NONE;
}

/* spent.c: see spent.h. */
#include "model/spent.h"

/* Its place; SPENT_USERS: it has none, for it has had nothing lately. */
static unsigned int find(const struct spent *spent, uint32_t uid, uint64_t now_ns)
{
	unsigned int i = 0;

	while (i < SPENT_USERS && (spent->user[i].uid != uid || spent->user[i].until_ns <= now_ns))
		i++;
	return i;
}

/* That of whoever owes least. */
static unsigned int take_place(struct spent *spent, uint32_t uid, uint64_t now_ns)
{
	unsigned int at = 0;

	for (unsigned int i = 1; i < SPENT_USERS; i++)
		if (spent->user[i].until_ns < spent->user[at].until_ns)
			at = i;
	spent->user[at].uid = uid;
	spent->user[at].until_ns = now_ns;
	return at;
}

static unsigned int count_active(const struct spent *spent, uint64_t now_ns)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < SPENT_USERS; i++)
		n += spent->user[i].until_ns > now_ns;
	return n;
}

uint64_t spent_wait_ns(const struct spent *spent, const struct spent_rule *rule, uint32_t uid, uint64_t now_ns)
{
	unsigned int at = find(spent, uid, now_ns);
	uint64_t free_ns;

	if (at == SPENT_USERS)
		return 0;
	free_ns = now_ns + rule->at_once_ns * rule->part / count_active(spent, now_ns);
	return spent->user[at].until_ns > free_ns ? spent->user[at].until_ns - free_ns : 0;
}

void spent_add(struct spent *spent, const struct spent_rule *rule, uint32_t uid, uint64_t took_ns, uint64_t now_ns)
{
	unsigned int at = find(spent, uid, now_ns), part;

	if (at == SPENT_USERS)
		at = take_place(spent, uid, now_ns);
	part = 2 * count_active(spent, now_ns);
	spent->user[at].until_ns += took_ns * (part > rule->part ? part : rule->part);
}

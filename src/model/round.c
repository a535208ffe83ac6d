/* round.c: see round.h. */
#include "model/round.h"

static unsigned int find(const struct round *round, uint32_t uid)
{
	unsigned int i = 0;

	while (i < round->count && round->user[i].uid != uid)
		i++;
	return i;
}

void round_begin(struct round *round)
{
	round->count = 0;
}

bool round_admits(const struct round *round, uint32_t uid, uint64_t part_ns)
{
	unsigned int at = find(round, uid);

	return at < round->count ? round->user[at].had_ns < part_ns : at < ROUND_USERS;
}

void round_add(struct round *round, uint32_t uid, uint64_t took_ns)
{
	unsigned int at = find(round, uid);

	if (at == ROUND_USERS)
		return;
	if (at == round->count) {
		round->user[at].uid = uid;
		round->user[at].had_ns = 0;
		round->count++;
	}
	round->user[at].had_ns += took_ns;
}

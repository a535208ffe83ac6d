/* unproven.c: see unproven.h. A few hundred places at most, looked through one by one: no list to keep in step. */
#include "model/unproven.h"

#include <stddef.h>
#include <string.h>

bool unproven_same(const struct unproven_source *a, const struct unproven_source *b)
{
	return !memcmp(a, b, sizeof(*a));
}

struct unproven_source unproven_source_of(const uint8_t *address, unsigned int bytes)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct unproven_source s = { 0 };

	if (bytes == 16 && !memcmp(address, mapped, sizeof(mapped))) {
		address += 12;
		bytes = 4;
	}
	if (bytes == 4) {
		memcpy(s.bytes, mapped, sizeof(mapped));
		memcpy(s.bytes + 12, address, 4);
	} else if (bytes == 16) {
		memcpy(s.bytes, address, 8);
	}
	return s;
}

/* ---- who has proved itself ---- */

bool unproven_knows(const struct unproven_known *known, const struct unproven_source *source)
{
	for (unsigned int i = 0; i < UNPROVEN_KNOWN; i++)
		if (known->place[i].at_ns && unproven_same(&known->place[i].source, source))
			return true;
	return false;
}

void unproven_remember(struct unproven_known *known, const struct unproven_source *source, uint64_t now_ns)
{
	unsigned int at = 0;

	for (unsigned int i = 0; i < UNPROVEN_KNOWN; i++) {
		if (known->place[i].at_ns && unproven_same(&known->place[i].source, source)) {
			at = i;
			break;
		}
		if (known->place[i].at_ns < known->place[at].at_ns)
			at = i;
	}
	known->place[at].source = *source;
	known->place[at].at_ns = now_ns ? now_ns : 1;
}

/* ---- who yields ---- */

static unsigned int count_of(const struct unproven *there, unsigned int count, const struct unproven_source *source)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < count; i++)
		n += unproven_same(&there[i].source, source);
	return n;
}

static const struct unproven *oldest_of(const struct unproven *there, unsigned int count,
					const struct unproven_source *source)
{
	const struct unproven *oldest = NULL;

	for (unsigned int i = 0; i < count; i++)
		if (unproven_same(&there[i].source, source) && (!oldest || there[i].since_ns < oldest->since_ns))
			oldest = &there[i];
	return oldest;
}

/* Of the source of this kind that has most places the oldest; of several such sources the oldest of all. */
static const struct unproven *oldest_of_kind(const struct unproven *there, unsigned int count, bool known)
{
	const struct unproven *best = NULL;
	unsigned int most = 0;

	for (unsigned int i = 0; i < count; i++) {
		unsigned int n;

		if (there[i].known != known)
			continue;
		n = count_of(there, count, &there[i].source);
		if (n > most || (n == most && there[i].since_ns < best->since_ns)) {
			best = &there[i];
			most = n;
		}
	}
	return best;
}

const struct unproven *unproven_yields(const struct unproven_rule *rule, const struct unproven *there,
				       unsigned int count, const struct unproven_source *newcomer, bool known)
{
	unsigned int same = 0;

	for (unsigned int i = 0; i < count; i++)
		same += there[i].known == known;
	if (count_of(there, count, newcomer) >= rule->per_source)
		return oldest_of(there, count, newcomer);
	if (same >= rule->most - rule->kept)
		return oldest_of_kind(there, count, known);
	if (count < rule->most)
		return NULL;
	/* Full: whoever is above what is kept for its kind yields, and that is the other kind unless this one is. */
	return oldest_of_kind(there, count, same > rule->kept ? known : !known);
}

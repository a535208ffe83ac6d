/* unproven.c: see unproven.h. A few hundred places at most, looked through one by one: no list to keep in step. */
#include "model/unproven.h"

#include <stddef.h>
#include <string.h>

#define HALF_NS UINT64_C(5000000000)

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

/* Of the source of this kind with most tries, else with most places, the oldest; of several such sources of all. */
static const struct unproven *oldest_of_kind(const struct unproven *there, unsigned int count, bool known)
{
	const struct unproven *best = NULL;
	unsigned int most = 0;

	for (unsigned int i = 0; i < count; i++) {
		unsigned int n;

		if (there[i].known != known || (best && there[i].tries < best->tries))
			continue;
		n = count_of(there, count, &there[i].source);
		if (!best || there[i].tries > best->tries || n > most ||
		    (n == most && there[i].since_ns < best->since_ns)) {
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

bool unproven_drops(const struct unproven *yields, uint32_t tries, uint64_t now_ns)
{
	return yields && tries > UNPROVEN_BURST && tries >= yields->tries / 2 &&
	       now_ns - yields->since_ns < UNPROVEN_DWELL_NS;
}

/* ---- who has tried ---- */

static uint32_t faded(uint32_t count, uint64_t since_ns, uint64_t now_ns)
{
	uint64_t halves = now_ns > since_ns ? (now_ns - since_ns) / HALF_NS : 0;

	return halves < 32 ? count >> halves : 0;
}

/* The source's place, or the one among its few that counts least. */
static unsigned int place_of(const struct unproven_tries *t, const struct unproven_source *source, uint64_t now_ns)
{
	uint32_t hash = 2166136261u;
	unsigned int first, least;

	for (unsigned int i = 0; i < UNPROVEN_SOURCE_BYTES; i++)
		hash = (hash ^ source->bytes[i]) * 16777619u;
	first = least = (hash ^ hash >> 16) % (UNPROVEN_TRIES / UNPROVEN_WAYS) * UNPROVEN_WAYS;
	for (unsigned int i = first; i < first + UNPROVEN_WAYS; i++) {
		if (t->place[i].count && unproven_same(&t->place[i].source, source))
			return i;
		if (faded(t->place[i].count, t->place[i].at_ns, now_ns) <
		    faded(t->place[least].count, t->place[least].at_ns, now_ns))
			least = i;
	}
	return least;
}

uint32_t unproven_tries(const struct unproven_tries *t, const struct unproven_source *source, uint64_t now_ns)
{
	unsigned int at = place_of(t, source, now_ns);

	return unproven_same(&t->place[at].source, source) ? faded(t->place[at].count, t->place[at].at_ns, now_ns) : 0;
}

void unproven_tried(struct unproven_tries *t, const struct unproven_source *source, uint64_t now_ns)
{
	unsigned int at = place_of(t, source, now_ns);
	uint32_t count = unproven_tries(t, source, now_ns);

	/* What has faded stays so: the time goes on in whole halves. */
	if (!count)
		t->place[at].at_ns = now_ns;
	else
		t->place[at].at_ns += (now_ns - t->place[at].at_ns) / HALF_NS * HALF_NS;
	t->place[at].source = *source;
	t->place[at].count = count < UINT32_MAX ? count + 1 : count;
}

void unproven_proved(struct unproven_tries *t, const struct unproven_source *source, uint64_t now_ns)
{
	unsigned int at = place_of(t, source, now_ns);

	if (t->place[at].count && unproven_same(&t->place[at].source, source))
		t->place[at].count--;
}

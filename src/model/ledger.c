/* ledger.c: decisions about a tenant's memory on one device. */
#include "model/ledger.h"

#include <string.h>

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

void ledger_init(struct ledger *l, uint64_t quota_units)
{
	*l = (struct ledger){ .quota_units = quota_units, .target_units = quota_units };
}

static uint64_t charged(const struct ledger *l)
{
	return l->granted_units + l->object_units;
}

uint64_t ledger_room(const struct ledger *l)
{
	return less(min_u64(l->quota_units, l->target_units), charged(l));
}

uint64_t ledger_excess(const struct ledger *l)
{
	return less(charged(l), min_u64(l->quota_units, l->target_units));
}

static enum ledger_answer ask_all(const struct ledger *l, const struct ledger_request *q, struct ledger_units *ret)
{
	if (q->settling)
		return LEDGER_WAIT;
	if (!q->recalled) {
		ret->units = UINT64_MAX;
		return LEDGER_RECALL;
	}
	ret->units = ledger_room(l);
	return LEDGER_GRANT;
}

enum ledger_answer ledger_ask(const struct ledger *l, const struct ledger_request *q, struct ledger_units *ret)
{
	uint64_t room = ledger_room(l);
	uint64_t short_units = less(q->need_units, q->credit_units);
	uint64_t want = q->want_units > q->need_units ? q->want_units : q->need_units;

	*ret = (struct ledger_units){ 0 };
	if (q->all)
		return ask_all(l, q, ret);
	if (short_units <= room) {
		ret->units = min_u64(less(want, q->credit_units), room);
		return LEDGER_GRANT;
	}
	if (!q->recalled && q->need_units <= min_u64(l->quota_units, l->target_units)) {
		ret->units = short_units - room + ledger_excess(l);
		ret->comfort_units = less(want, q->credit_units) - short_units;
		return LEDGER_RECALL;
	}
	return q->settling ? LEDGER_WAIT : LEDGER_NO_ROOM;
}

void ledger_grant(struct ledger *l, uint64_t units)
{
	l->granted_units += units;
}

void ledger_ungrant(struct ledger *l, uint64_t units)
{
	l->granted_units = less(l->granted_units, units);
}

void ledger_grant_to_object(struct ledger *l, uint64_t units)
{
	ledger_ungrant(l, units);
	l->object_units += units;
}

void ledger_object_add(struct ledger *l, uint64_t units)
{
	l->object_units += units;
}

void ledger_object_remove(struct ledger *l, uint64_t units)
{
	l->object_units = less(l->object_units, units);
}

void ledger_saw_held(struct ledger *l, uint64_t held_units)
{
	if (held_units > l->peak_units)
		l->peak_units = held_units;
}

bool ledger_resize(struct ledger *l, uint64_t quota_units)
{
	if (charged(l) > quota_units)
		return false;
	l->quota_units = l->target_units = quota_units;
	return true;
}

void ledger_shrink_soon(struct ledger *l, uint64_t target_units)
{
	l->target_units = target_units;
}

bool ledger_shrink_pending(const struct ledger *l)
{
	return l->target_units < l->quota_units;
}

bool ledger_shrink_done(struct ledger *l)
{
	return ledger_shrink_pending(l) && ledger_resize(l, l->target_units);
}

/* Without more than there is. */
static uint64_t with_comfort(const uint64_t *credit, unsigned int count, const struct ledger_units *want)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < count; i++)
		sum += credit[i];
	return min_u64(want->units, sum) + min_u64(want->comfort_units, less(sum, want->units) / 2);
}

uint64_t ledger_recall_plan(const uint64_t *credit, unsigned int count, const struct ledger_units *want,
			    uint64_t *ret_take)
{
	uint64_t units = with_comfort(credit, count, want), left = units;

	memset(ret_take, 0, count * sizeof(*ret_take));
	while (left) {
		unsigned int best = count;

		for (unsigned int i = 0; i < count; i++)
			if (credit[i] > ret_take[i] && !ret_take[i] && (best == count || credit[i] > credit[best]))
				best = i;
		if (best == count)
			break;
		ret_take[best] = min_u64(credit[best], left);
		left -= ret_take[best];
	}
	return units - left;
}

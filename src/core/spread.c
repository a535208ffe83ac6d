/* spread.c: see spread.h. */
#include "core/spread.h"
#include "core/attach.h"

#include <string.h>

/* Whether a process waits for device `a` before it waits for `b`. */
static bool is_before(const struct wire_welcome *w, unsigned int a, unsigned int b)
{
	int order = memcmp(w->device[a].uuid, w->device[b].uuid, sizeof w->device[a].uuid);

	return order ? order < 0 : a < b;
}

/* Value: how many devices there are in ret_order, in the order of all processes. */
static unsigned int in_order(uint32_t devices, unsigned int ret_order[WIRE_MAX_DEVICES])
{
	const struct wire_welcome *w = attach_welcome();
	unsigned int n = 0;

	for (unsigned int d = 0; d < WIRE_MAX_DEVICES; d++) {
		unsigned int at = n;

		if (!(devices & 1u << d))
			continue;
		for (; at && is_before(w, d, ret_order[at - 1]); at--)
			ret_order[at] = ret_order[at - 1];
		ret_order[at] = d;
		n++;
	}
	return n;
}

/* The times of one launch on two devices are learnt apart. */
static void begin_beside(const struct face *f, struct launch *l, const struct work *w, unsigned int device)
{
	struct work there = *w;

	there.key = estimate_mix(w->key, device) | 1;
	pace_begin_beside_by(f, l, &there, device);
}

void spread_begin_by(const struct face *f, struct spread *s, const struct work *w, uint32_t devices)
{
	unsigned int order[WIRE_MAX_DEVICES], n, home;
	const struct stream *queue = pace_record(f, w);

	s->count = 0;
	if (!queue)
		return;
	home = queue->lane->device;
	n = in_order((devices | 1u << home) & ((1u << atomic_load(&pace_count)) - 1), order);
	for (unsigned int i = 0; i < n; i++) {
		struct launch *l = &s->part[s->count];

		if (order[i] == home)
			pace_begin_slow_by(f, l, w);
		else
			begin_beside(f, l, w, order[i]);
		if (!l->pace)
			continue;
		pace_hold(l);
		s->count++;
		if (pace_is_capturing(l)) /* it becomes a node, and waits when that is launched */
			break;
	}
	for (unsigned int i = 0; i < s->count; i++)
		pace_let_go(&s->part[i]);
}

/* Value: how many parts there are in ret_order, in the order of all processes; the others are not gated. */
static unsigned int parts_in_order(const struct face *f, const struct work *work, unsigned int count,
				   unsigned int ret_order[SPREAD_PARTS], unsigned int ret_device[SPREAD_PARTS])
{
	const struct wire_welcome *w = attach_welcome();
	unsigned int n = 0;

	for (unsigned int i = 0; i < count; i++) {
		const struct stream *queue = pace_record(f, &work[i]);
		unsigned int at = n;

		if (!queue)
			continue;
		ret_device[i] = queue->lane->device;
		for (; at && is_before(w, ret_device[i], ret_device[ret_order[at - 1]]); at--)
			ret_order[at] = ret_order[at - 1];
		ret_order[at] = i;
		n++;
	}
	return n;
}

/*
 * Parts of one device, which a driver refuses, are not held for each other: the second would wait for the first one's
 * end.
 */
void spread_parts_begin_by(const struct face *f, struct launch *part, const struct work *work, unsigned int count)
{
	unsigned int order[SPREAD_PARTS], device[SPREAD_PARTS], n, held = 0;

	for (unsigned int i = 0; i < count; i++)
		part[i].pace = NULL;
	n = parts_in_order(f, work, count, order, device);
	for (unsigned int i = 0; i < n; i++) {
		while (held < i && device[order[held]] != device[order[i]])
			pace_hold(&part[order[held++]]);
		pace_begin_slow_by(f, &part[order[i]], &work[order[i]]);
	}
	while (held)
		pace_let_go(&part[order[--held]]);
}

void spread_end(struct spread *s, bool launched)
{
	for (unsigned int i = 0; i < s->count; i++)
		pace_end(&s->part[i], launched);
}

/* gang.c: see gang.h. */
#include "model/gang.h"

#include <string.h>

#define STEP_NS                                                                                                        \
	UINT64_C(1000000000)	  /* who has not been seen to wait for another engine for so long is in no lock step */
#define LATE_NS UINT64_C(5000000) /* turns that should have begun so long ago are planned anew */
#define ACTIVE_NS UINT64_C(50000000) /* who has not wanted an engine for so long is no member */

struct look {
	struct arbiter_view view[GANG_MOST];
	uint32_t active, holds, may, soon, wants, waits, idle, free;
	uint64_t from_ns;   /* when the first of its turns is to begin; 0: not known */
	uint64_t flight_ns; /* when all engines could be free of others */
	unsigned int count;
};

static struct look look_at(struct gang *g, const struct gang_member *members, unsigned int count, uint64_t now_ns)
{
	struct look l = { .count = count < GANG_MOST ? count : GANG_MOST };

	for (unsigned int i = 0; i < l.count; i++) {
		struct arbiter_view v;

		if (!members[i].arbiter)
			continue;
		v = arbiter_view(members[i].arbiter, members[i].tenant);

		l.view[i] = v;
		if (v.wants)
			g->wanted_ns[i] = now_ns;
		l.wants |= v.wants ? 1u << i : 0;
		l.waits |= v.waits ? 1u << i : 0;
		l.idle |= v.holds && !v.wants ? 1u << i : 0;
		/* Where nobody else is, it is always its turn. */
		if (!v.beside || !g->wanted_ns[i] || now_ns - g->wanted_ns[i] >= ACTIVE_NS)
			continue;
		l.active |= 1u << i;
		l.holds |= v.holds ? 1u << i : 0;
		l.free |= v.free ? 1u << i : 0;
		l.may |= v.may ? 1u << i : 0;
		l.soon |= v.soon ? 1u << i : 0;
		if (v.flight_ns > l.flight_ns)
			l.flight_ns = v.flight_ns;
		if (v.next && v.from_ns && (!l.from_ns || v.from_ns < l.from_ns))
			l.from_ns = v.from_ns;
	}
	return l;
}

/* Opening, open, ending: from what was seen the last time to now. */
static void move_on(struct gang *g, const struct look *l, uint64_t now_ns)
{
	uint32_t lost = g->had & ~l->holds & l->active;

	if (!l->holds) {
		g->open = g->ending = false;
	} else if (!g->open) {
		g->open = true;
		g->ending = false;
		g->from_ns = 0;
	} else if (lost) {
		g->ending = true;
	}
	g->had = l->holds;
	if (g->open || (g->from_ns && now_ns > g->from_ns + LATE_NS))
		g->from_ns = 0;
	else if (g->from_ns > now_ns && !(l->active & ~l->free))
		g->from_ns = now_ns;
	/* Once it is known it stays: who is told another end of his turn takes it for a new turn. */
	if (!g->open && !g->from_ns && l->from_ns && !(l->active & ~l->soon))
		g->from_ns = l->from_ns > l->flight_ns ? l->from_ns : l->flight_ns;
}

bool gang_in_step(const struct gang *g, uint64_t now_ns)
{
	return g->step_ns && now_ns - g->step_ns < STEP_NS;
}

static struct arbiter_gang ask(const struct gang *g, const struct look *l, unsigned int i, uint64_t now_ns)
{
	uint32_t me = 1u << i, others = l->active & ~me;
	struct arbiter_gang a = { 0 };

	a.wants = (others & (l->waits | l->holds)) != 0 && l->active & me;
	if (!(l->active & me) || !others || !gang_in_step(g, now_ns))
		return (struct arbiter_gang){ 0 };
	if (g->ending) {
		a.held = true;
		a.until_ns = l->holds & me ? now_ns : 0;
	} else if (g->open) {
		a.called = !(l->holds & me);
		a.from_ns = a.called ? now_ns : 0;
		a.stays = true;
	} else if (g->from_ns) {
		a.called = true;
		a.from_ns = g->from_ns;
	} else {
		a.held = others & l->waits & ~l->may;
	}
	return a;
}

uint32_t gang_decide(struct gang *g, const struct gang_member *members, unsigned int count, bool give, uint64_t now_ns)
{
	struct look l = look_at(g, members, count, now_ns);
	uint32_t changed = 0;

	/* It does nothing with its turn here, while there it works or waits for one. */
	for (unsigned int i = 0; i < l.count; i++)
		if (l.idle & 1u << i && l.wants & ~(1u << i))
			g->step_ns = now_ns;
	move_on(g, &l, now_ns);
	for (unsigned int i = 0; i < l.count; i++) {
		struct arbiter_gang a = { 0 };

		if (give)
			a = ask(g, &l, i, now_ns);

		if (members[i].arbiter && arbiter_gang(members[i].arbiter, members[i].tenant, &a))
			changed |= 1u << i;
	}
	return changed;
}

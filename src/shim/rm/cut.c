/* cut.c: see cut.h. */
#include "shim/rm/cut.h"

#include "wire/turn.h"

static bool silent(const struct cut_view *v, uint64_t now_ns)
{
	return v->lost || now_ns > v->news_ns + CUT_SILENCE_NS + v->bound_ns;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static enum cut_action when_open(struct cut *c, const struct cut_view *v, uint64_t now_ns, uint64_t *ret_look_ns)
{
	c->closed_ns = 0;
	if (!(v->gate & WIRE_GATED))
		*ret_look_ns = now_ns + CUT_FREE_NS;
	else if (!v->busy_since_ns)
		*ret_look_ns = now_ns + CUT_IDLE_NS;
	else if (v->until_ns > now_ns)
		*ret_look_ns = v->until_ns < now_ns + CUT_IDLE_NS ? v->until_ns : now_ns + CUT_IDLE_NS;
	else
		*ret_look_ns = now_ns + CUT_LOOK_NS;
	return c->off ? CUT_ON : CUT_NOTHING;
}

enum cut_action cut_decide(struct cut *c, const struct cut_view *v, uint64_t now_ns, uint64_t *ret_look_ns)
{
	uint64_t end_ns;

	if (!(v->gate & WIRE_GATED) || v->gate & WIRE_OPEN)
		return when_open(c, v, now_ns, ret_look_ns);
	if (!c->closed_ns)
		c->closed_ns = now_ns;
	*ret_look_ns = now_ns + CUT_OFF_NS;
	if (silent(v, now_ns))
		return c->off ? CUT_ON : CUT_NOTHING;
	if (c->off)
		return CUT_NOTHING;
	if (!v->busy_since_ns) {
		*ret_look_ns = now_ns + CUT_OFF_NS;
		return CUT_NOTHING;
	}
	/* Work that began behind the closed gate (a wait that was stuck) has its time to spare as well. */
	end_ns = later(c->closed_ns, v->busy_since_ns < now_ns ? v->busy_since_ns : now_ns) + CUT_SPARE_NS;
	if (now_ns < end_ns) {
		*ret_look_ns = end_ns;
		return CUT_NOTHING;
	}
	return CUT_OFF;
}

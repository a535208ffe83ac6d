/* resume.c: from one meted to the next, see resume.h. */
#include "daemon/turns/resume.h"

#include "base/clock.h"
#include "daemon/tenants/client.h"
#include "daemon/tenants/tenant.h"
#include "daemon/turns/state.h"

bool resume_totals_get(struct tenant *t, unsigned int device, enum wire_engine engine, struct place_totals *ret)
{
	struct place *p = t->places.at[device][engine];
	struct arbiter_reading r;

	if (!p)
		return false;
	arbitrate_lock();
	r = engine_totals(p, clock_now_ns());
	*ret = (struct place_totals){ .charged_ns = r.charged_ns,
				      .wanted_ns = r.wanted_ns,
				      .waited_ns = r.waited_ns,
				      .lag_ns = r.lag_ns,
				      .longest_ns = p->longest_ns,
				      .bypassed = p->bypassed };
	arbiter_rights(p->engine->arbiter, p->at, &ret->rights);
	arbitrate_unlock();
	return true;
}

void resume_totals_set(struct tenant *t, unsigned int device, enum wire_engine engine,
		       const struct place_totals *totals)
{
	struct place *p = t->places.at[device][engine];

	if (!p)
		return;
	arbitrate_lock();
	arbiter_resume(p->engine->arbiter, p->at, totals->charged_ns, totals->lag_ns);
	arbiter_resume_rights(p->engine->arbiter, p->at, &totals->rights, clock_now_ns());
	arbiter_resume_wants(p->engine->arbiter, p->at, totals->wanted_ns, totals->waited_ns);
	p->handed_over = true;
	p->resumed_ns = totals->charged_ns;
	p->resumed_lag_ns = totals->lag_ns;
	p->resumed = totals->rights;
	p->longest_ns = totals->longest_ns;
	p->bypassed = totals->bypassed;
	arbitrate_unlock();
}

/* NULL: there is none. */
static struct window *window_of(struct tenant *t, struct client *c, unsigned int device, enum wire_engine engine,
				enum resume_window which)
{
	struct place *p = t->places.at[device][engine];

	if (which == RESUME_SEAT)
		return c && c->seats.at[device][engine] ? c->seats.at[device][engine]->window : NULL;
	return !p ? NULL : which == RESUME_SECOND ? p->second : p->minute;
}

unsigned int resume_window_get(struct tenant *t, struct client *c, unsigned int device, enum wire_engine engine,
			       enum resume_window which, struct window_sample ret[RESUME_SAMPLES])
{
	struct window *w;
	unsigned int count = 0;

	arbitrate_lock();
	w = window_of(t, c, device, engine, which);
	if (w)
		count = window_save(w, ret, RESUME_SAMPLES);
	arbitrate_unlock();
	return count;
}

void resume_window_set(struct tenant *t, struct client *c, unsigned int device, enum wire_engine engine,
		       enum resume_window which, const struct window_sample *sample, unsigned int count)
{
	struct window *w;

	arbitrate_lock();
	w = window_of(t, c, device, engine, which);
	if (w)
		window_load(w, sample, count);
	arbitrate_unlock();
}

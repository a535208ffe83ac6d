/* leads.c: see leads.h. */
#include "model/leads.h"

#define LEAST_NS 20000u
#define UP_NS 6000u
#define DOWN_NS 4000u
#define TOO_EARLY_NS 24000u
#define CHANGE_NS 30000u
#define TOLERANCE_NS 15000u

static uint64_t floor_with(struct lead_floor *f, uint64_t gap_ns)
{
	uint64_t *now = &f->least_ns[1];

	*now = !f->seen || gap_ns < *now ? gap_ns : *now;
	if (!f->rounds || *now < f->least_ns[0])
		f->least_ns[0] = *now;
	gap_ns = f->least_ns[0];
	if (++f->seen == LEAD_ROUND) {
		f->least_ns[0] = *now;
		f->seen = 0;
		f->rounds = 1;
	}
	return gap_ns;
}

static void shorten(struct lead *l, uint64_t ns)
{
	l->ns = l->ns > LEAST_NS + ns ? l->ns - ns : LEAST_NS;
}

void lead_learn(struct lead *l, struct lead_floor *f, uint64_t gap_ns)
{
	if (!gap_ns)
		shorten(l, f->least_ns[0] >= CHANGE_NS ? TOO_EARLY_NS : DOWN_NS);
	else if (gap_ns > floor_with(f, gap_ns) + TOLERANCE_NS)
		l->ns = l->ns + UP_NS < LEAD_MOST_NS ? l->ns + UP_NS : LEAD_MOST_NS;
	else
		shorten(l, DOWN_NS);
}

void lead_interrupted(struct lead *l, const struct lead_floor *f)
{
	if (f->least_ns[0] < CHANGE_NS)
		shorten(l, TOO_EARLY_NS);
}

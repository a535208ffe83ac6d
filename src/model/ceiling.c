/* ceiling.c: see ceiling.h. */
#include "model/ceiling.h"

#define WINDOW_US ((uint32_t)(CEILING_WINDOW_NS / 1000))

/* The n-th of the points, oldest first. */
static const struct ceiling_point *point(const struct ceiling *c, unsigned int n)
{
	return &c->points[(c->next + CEILING_POINTS - c->count + n) % CEILING_POINTS];
}

static const struct ceiling_point *newest(const struct ceiling *c)
{
	return point(c, c->count - 1);
}

/* How long ago that was, and how much the tenant has had since then, microseconds. */
static double age_us(const struct ceiling *c, unsigned int n)
{
	return newest(c)->at_us - point(c, n)->at_us;
}

static double since_us(const struct ceiling *c, unsigned int n)
{
	return (int32_t)(newest(c)->had_us - point(c, n)->had_us);
}

void ceiling_note(struct ceiling *c, uint64_t now_ns, uint64_t had_ns)
{
	struct ceiling_point now = { (uint32_t)(now_ns / 1000), (uint32_t)(had_ns / 1000) };

	/* It was charged too much: it did not have that then, either. */
	for (unsigned int n = 1; n <= c->count; n++) {
		struct ceiling_point *p = &c->points[(c->next + CEILING_POINTS - n) % CEILING_POINTS];

		if ((int32_t)(p->had_us - now.had_us) <= 0)
			break;
		p->had_us = now.had_us;
	}
	/* The newest one is the present, until it is a step younger than the one before. */
	if (c->count > 1 && now.at_us - point(c, c->count - 2)->at_us < CEILING_STEP_US) {
		c->points[(c->next + CEILING_POINTS - 1) % CEILING_POINTS] = now;
		return;
	}
	/* After a long silence nothing of before is in the window. */
	if (c->count && now.at_us - newest(c)->at_us > 2 * WINDOW_US)
		c->count = 0;
	c->points[c->next] = now;
	c->next = (c->next + 1) % CEILING_POINTS;
	c->count += c->count < CEILING_POINTS;
}

/* The first point that is younger than that. */
static unsigned int younger(const struct ceiling *c, double than_us)
{
	unsigned int low = 0, high = c->count - 1;

	while (low < high) {
		unsigned int n = (low + high) / 2;

		if (age_us(c, n) < than_us)
			high = n;
		else
			low = n + 1;
	}
	return low;
}

/* What the tenant has had in the last back_us, where point n is the first one in that time. */
static double had_us(const struct ceiling *c, unsigned int n, double back_us)
{
	double part;

	if (!n)
		return since_us(c, 0);
	part = (back_us - age_us(c, n)) / (age_us(c, n - 1) - age_us(c, n));
	part = part < 0 ? 0 : part > 1 ? 1 : part;
	return since_us(c, n) + part * (since_us(c, n - 1) - since_us(c, n));
}

double ceiling_left_ns(const struct ceiling *c, double most_ns)
{
	if (!c->count)
		return most_ns;
	return most_ns - 1e3 * had_us(c, younger(c, WINDOW_US), WINDOW_US);
}

/*
 * Goes along with the window's beginning from now on, until what is left, which changes by `spends` for each unit of
 * time, crosses zero. Microseconds.
 */
static double crossing_us(const struct ceiling *c, double left_us, double back_us, double spends)
{
	unsigned int n = younger(c, back_us);
	double passed = 0, had = had_us(c, n, back_us);

	for (; n < c->count; n++) {
		double us = back_us - age_us(c, n) - passed, change = had - since_us(c, n) - spends * us;

		if (us > 0 && (spends > 0 ? left_us + change <= 0 : left_us + change >= 0))
			return passed + (change ? us * left_us / -change : 0);
		left_us += change;
		passed += us > 0 ? us : 0;
		had = since_us(c, n);
	}
	return passed + (spends > 0 && left_us > 0 ? left_us / spends : 0);
}

uint64_t ceiling_lasts_ns(const struct ceiling *c, double most_ns, uint64_t after_ns, double less_ns)
{
	double back = (double)WINDOW_US - (double)after_ns / 1e3, left;

	if (!c->count || back <= 0)
		return most_ns > less_ns ? (uint64_t)(most_ns - less_ns) : 0;
	left = (most_ns - less_ns) / 1e3 - had_us(c, younger(c, back), back);
	return left > 0 ? (uint64_t)(1e3 * crossing_us(c, left, back, 1)) : 0;
}

uint64_t ceiling_wait_ns(const struct ceiling *c, double most_ns, double room_ns)
{
	double left = ceiling_left_ns(c, most_ns) - room_ns;

	return left >= 0 ? 0 : (uint64_t)(1e3 * crossing_us(c, left / 1e3, WINDOW_US, 0)) + 1;
}

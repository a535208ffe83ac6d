/* lags.c: see lags.h. */
#include "model/lags.h"

/* Gives `ns` to those that want but `except`, each in proportion to its share. */
static void spread(struct lags *l, double ns, int except)
{
	double shares = 0;

	for (unsigned int i = 0; i < l->count; i++)
		if (l->list[i] != except)
			shares += l->of[l->list[i]].share;
	if (shares <= 0)
		return;
	for (unsigned int i = 0; i < l->count; i++)
		if (l->list[i] != except)
			l->of[l->list[i]].ns += ns * l->of[l->list[i]].share / shares;
}

static void fade(struct lag *g, uint64_t now_ns)
{
	double faded = g->share * (double)(now_ns > g->left_ns ? now_ns - g->left_ns : 0);

	if (g->ns > 0)
		g->ns = g->ns > faded ? g->ns - faded : 0;
	else
		g->ns = -g->ns > faded ? g->ns + faded : 0;
}

void lags_enter(struct lags *l, unsigned int tenant, uint64_t now_ns)
{
	struct lag *g = &l->of[tenant];

	if (g->wants)
		return;
	lags_settle(l);
	fade(g, now_ns);
	if (l->count)
		spread(l, -g->ns, -1);
	else
		g->ns = 0;
	g->wants = true;
	l->list[l->count++] = (uint16_t)tenant;
}

void lags_leave(struct lags *l, unsigned int tenant, uint64_t now_ns)
{
	struct lag *g = &l->of[tenant];

	if (!g->wants)
		return;
	lags_settle(l);
	for (unsigned int i = 0; i < l->count; i++) {
		if (l->list[i] != tenant)
			continue;
		l->list[i] = l->list[--l->count];
		break;
	}
	g->wants = false;
	g->left_ns = now_ns;
	spread(l, g->ns, -1);
}

void lags_share(struct lags *l, unsigned int tenant, double share)
{
	l->of[tenant].share = share;
}

void lags_spend(struct lags *l, unsigned int tenant, double ns)
{
	l->of[tenant].ns -= ns;
	l->spent_ns += ns;
}

void lags_settle(struct lags *l)
{
	double spent = l->spent_ns;

	l->spent_ns = 0;
	if (spent != 0)
		spread(l, spent, -1);
}

void lags_clamp(struct lags *l, unsigned int tenant, double low_ns, double high_ns)
{
	struct lag *g = &l->of[tenant];
	double to = g->ns < low_ns ? low_ns : g->ns > high_ns ? high_ns : g->ns;

	if (to == g->ns)
		return;
	if (g->wants && l->count > 1)
		spread(l, g->ns - to, (int)tenant);
	g->ns = to;
}

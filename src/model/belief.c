/* belief.c: see belief.h. */
#include "model/belief.h"

void belief_init(struct belief *b)
{
	b->ns = BELIEF_FIRST_NS;
}

void belief_pass(struct belief *b, uint64_t ns, int waited)
{
	double to = b->ns + (waited ? -(double)ns : (double)ns / BELIEF_EARNS);

	if (waited)
		b->ns = to > 0 ? to : 0;
	else if (b->ns < BELIEF_FIRST_NS)
		b->ns = to < BELIEF_FIRST_NS ? to : BELIEF_FIRST_NS;
}

void belief_prove(struct belief *b, uint64_t took_ns)
{
	double to = b->ns + (double)took_ns;

	if (took_ns >= BELIEF_LONG_NS)
		b->ns = to < BELIEF_MOST_NS ? to : BELIEF_MOST_NS;
}

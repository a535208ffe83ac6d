/*
 * belief.h: for how long work of unknown length is believed to be there, beyond what everybody is believed.
 *
 * A program's page says that work of unknown length is in flight. That may be a long kernel, beside which others must
 * not begin one more, or nothing but a word, for which nobody should wait. Only its measured end tells. So all who use
 * an engine have one account of belief: to wait for such work spends it, as long as somebody waits, and long work that
 * was of unknown length and has been measured gives it back. Words alone use it up once; work that is there earns more
 * than waiting for it costs. A tenant, a user or a program has no account of its own, because new ones are free.
 */
#pragma once

#include <stdint.h>

#define BELIEF_FIRST_NS 1500000000.0 /* at the beginning; it comes back to this by itself */
#define BELIEF_MOST_NS 18000000000.0
#define BELIEF_EARNS 60.0		    /* of so much time it earns one part */
#define BELIEF_LONG_NS UINT64_C(1000000000) /* shorter work says nothing about long work */

struct belief {
	double ns;
};

void belief_init(struct belief *b);
/* Time passes; `waited`: somebody has waited meanwhile who would not have without belief. */
void belief_pass(struct belief *b, uint64_t ns, int waited);
/* Work that was of unknown length has ended, and took so long. */
void belief_prove(struct belief *b, uint64_t took_ns);

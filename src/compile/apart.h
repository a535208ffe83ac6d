/*
 * apart.h: loads of all lanes whose addresses are a pattern (pattern.h), or a line whose elements do not lie one
 * behind the other. How far they lie apart is known when the code is made: they become loads of whole vectors, of which
 * each lane's element is picked by a permutation, or loads of several lanes' elements that lie beside each other.
 * Gathers of the host take several times as long.
 *
 * All from the first to the last byte must be accessible, which is more than is touched: where it is not, the
 * interpreter executes the loads. They are checked together where they have one address register.
 */
#pragma once

#include "compile/plan.h"
#include "compile/value.h"

/* Whether the load at operation i, whose address is in the state s, is made in this way. */
bool apart_fits(const struct flow *f, uint32_t i, const struct access_form *a, const struct state *s);
/* Whether the check for it is made there, since no load before it has its register. */
bool apart_checks(const struct flow *f, uint32_t i, const struct state *s);
void apart_load(struct emit *e, const struct plan *p);

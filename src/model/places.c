/*
 * places.c: the places of turns in a cycle, and how long a turn is.
 */
#include "model/arbiter_state.h"

#include "model/cycle.h"
#include "model/rounding.h"

#include <math.h>

#define ROUNDED_NS (9 * MS / 10) /* kernels matter from this length on */
#define ROUNDED_LONGER 1.75	 /* so much longer are cycles where turns are rounded */

static double within(double ns, double least, double most)
{
	return ns < least ? least : ns > most ? most : ns;
}

uint64_t places_base_ns(const struct arbiter *a, enum pool p)
{
	uint64_t more = a->lags[p].count > 2 ? a->lags[p].count - 2 : 0, ns = CYCLE_NS + more * CYCLE_MORE_NS;

	return ns < CYCLE_MOST_NS ? ns : CYCLE_MOST_NS;
}

/* Longer where a change of hands takes longer than cycles are made for. */
static uint64_t scaled(const struct arbiter *a, uint64_t ns)
{
	return a->change_ns > CHANGE_NS ? ns * a->change_ns / CHANGE_NS : ns;
}

/* Places hold shares where they are, however long cycles are: so these are as long as changes of hands want. */
static uint64_t placed_ns(const struct arbiter *a, enum pool p)
{
	uint64_t ns = places_base_ns(a, p);

	ns = scaled(a, ns + ns / 4);
	return ns < CYCLE_MOST_NS ? ns : CYCLE_MOST_NS;
}

/*
 * Where turns are rounded, those of a longer cycle are not off by more, and its changes of hands are fewer. No turn is
 * longer than TURN_MOST_NS for that.
 */
static uint64_t longer_ns(const struct arbiter *a, enum pool p, uint64_t ns)
{
	uint64_t longer = (uint64_t)((double)ns * ROUNDED_LONGER);
	double largest = 0;

	for (unsigned int n = 0; n < a->lags[p].count; n++)
		largest = fmax(largest, a->lags[p].of[a->lags[p].list[n]].share);
	if (largest * (double)longer > (double)TURN_MOST_NS)
		longer = (uint64_t)((double)TURN_MOST_NS / largest);
	longer = longer < CYCLE_MOST_NS ? longer : CYCLE_MOST_NS;
	return longer > ns ? longer : ns;
}

/* In which each of those who want the engine has its quantum. */
uint64_t places_cycle_ns(const struct arbiter *a, enum pool p)
{
	uint64_t ns = placed_ns(a, p), longer;

	if (!a->placed[p])
		return places_base_ns(a, p);
	if (!a->rounded[p])
		return WINDOW_NS / (WINDOW_NS / ns);
	longer = WINDOW_NS / (WINDOW_NS / longer_ns(a, p, ns));
	return a->whole_ns[p] && a->whole_ns[p] < longer ? a->whole_ns[p] : longer;
}

static uint64_t change_ns(const struct arbiter *a)
{
	return a->change_ns > CHANGE_NS ? a->change_ns : CHANGE_NS;
}

/* The places of their turns in a cycle, in an order that stays as it is when somebody else begins to want it. */
void places_lay_out(struct arbiter *a, enum pool p)
{
	const struct lags *l = &a->lags[p];

	a->divided[p] = 0;
	for (unsigned int n = 0; n < a->count; n++) {
		if (!l->of[a->list[n]].wants)
			continue;
		a->tenant[a->list[n]].before = a->divided[p];
		a->divided[p] += l->of[a->list[n]].share;
	}
}

/*
 * Whether turns are rounded to kernels: those of each tenant are alike, and of a length that matters and fits into a
 * turn more than once. If so, whether there is a cycle in which hardly anything is to be rounded.
 */
void places_fit(struct arbiter *a, enum pool p)
{
	const struct lags *l = &a->lags[p];
	struct cycle_part parts[ARBITER_TENANTS];
	uint64_t longest = 0;
	bool alike = true;

	for (unsigned int n = 0; n < l->count; n++) {
		const struct tenant *t = &a->tenant[l->list[n]];

		alike &= t->alike >= ALIKE && t->unit_ns && !t->terms.turn_ns;
		longest = t->unit_ns > longest ? t->unit_ns : longest;
		parts[n] = (struct cycle_part){ .share = l->of[l->list[n]].share, .kernel_ns = t->unit_ns };
	}
	a->units_changed[p] = false;
	a->rounded[p] = alike && longest >= ROUNDED_NS && longest <= a->params.quantum_max_ns / 2;
	if (a->rounded[p])
		a->whole_ns[p] = cycle_of_kernels(parts, l->count, placed_ns(a, p) * 3 / 2, change_ns(a), TURN_MOST_NS,
						  WINDOW_NS);
}

/*
 * Everybody who wants the engine has a place in the cycle, and they fill it. Where somebody is behind, or a turn was
 * longer than any quantum, or goes along with turns on other devices, turns do not keep to places.
 */
bool places_kept(const struct arbiter *a, enum pool p)
{
	uint64_t most = scaled(a, a->params.quantum_max_ns) * (a->rounded[p] ? 4 : 3);

	return a->divided[p] >= 0.99 && a->lags[p].count > 1 && !a->behind && a->longest_ns <= most &&
	       a->gone_ns <= (double)most && (!a->ganged_ns || a->now_ns > a->ganged_ns + WINDOW_NS);
}

double places_share(const struct arbiter *a, int i)
{
	double share = a->lags[pool_of(&a->tenant[i])].of[i].share;

	return share > 1e-4 ? share : 1e-4;
}

uint64_t places_quantum_ns(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];
	uint64_t ns = (uint64_t)(places_share(a, i) * (double)places_cycle_ns(a, pool_of(t)));
	uint64_t max = a->params.quantum_max_ns, most = max;

	if (a->placed[pool_of(t)])
		most = scaled(a, max + max / 2);
	if (a->placed[pool_of(t)] && a->rounded[pool_of(t)] && most < TURN_MOST_NS)
		most = TURN_MOST_NS;
	if (t->terms.turn_ns)
		return t->terms.turn_ns;
	if (ns < a->params.quantum_min_ns)
		return a->params.quantum_min_ns;
	return ns > most ? most : ns;
}

bool places_has(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];

	return !t->terms.turn_ns && a->placed[pool_of(t)];
}

/*
 * How long after the beginning of its place, of those before and after it the nearest one; below 0: before that. What
 * lies behind a long place is nearer to that than to the next one.
 */
double places_after_ns(const struct arbiter *a, int i, uint64_t at_ns)
{
	uint64_t cycle = places_cycle_ns(a, pool_of(&a->tenant[i]));
	double after = (double)(at_ns % cycle) - a->tenant[i].before * (double)cycle;

	return after - (double)cycle * floor(after / (double)cycle + 0.5 - places_share(a, i) / 4);
}

/* The lag that it will have at at_ns, with whoever had the turn last still at work. */
static double lag_at(const struct arbiter *a, int i, uint64_t at_ns)
{
	enum pool p = pool_of(&a->tenant[i]);
	double ns = at_ns > a->now_ns ? (double)(at_ns - a->now_ns) : 0;
	int last = a->holder[p] >= 0 ? a->holder[p] : a->last[p];

	return rights_lag(a, i) + (places_share(a, i) - (i == last)) * ns;
}

/*
 * By how much it is ahead of its share, once its turn is over that lies nearest. In the middle of the time between two
 * of its turns a tenant that is even has no lag, so it is owed share * (1 - share) of half a cycle when its place
 * begins, and owes as much when it ends. after_ns: at_ns is so long after the beginning of its place.
 */
static double off_at(const struct arbiter *a, int i, double after_ns, uint64_t at_ns)
{
	double cycle = (double)places_cycle_ns(a, pool_of(&a->tenant[i])), share = places_share(a, i);

	return share * (1 - share) * cycle / 2 + share * after_ns - lag_at(a, i, at_ns);
}

/* The number of the cycle in which its place begins nearest to at_ns. */
static uint64_t nearest_cycle(const struct arbiter *a, int i, uint64_t at_ns)
{
	double cycle = (double)places_cycle_ns(a, pool_of(&a->tenant[i]));
	double n = ((double)at_ns - places_after_ns(a, i, at_ns)) / cycle - a->tenant[i].before;

	return n > 0 ? (uint64_t)(n + 0.5) : 0;
}

/*
 * The number of the cycle of its next turn: its next place behind that of whoever had the turn last. Where turns have
 * come to be off by half a cycle, the nearest one; of a holder that goes on, the one in which it is.
 */
static uint64_t next_cycle(const struct arbiter *a, int i, uint64_t at_ns)
{
	enum pool p = pool_of(&a->tenant[i]);
	int last = a->holder[p] >= 0 ? a->holder[p] : a->last[p];
	uint64_t near = nearest_cycle(a, i, at_ns), n;

	if (last < 0 || !a->lags[p].of[last].wants || a->holder[p] == i)
		return near;
	n = a->tenant[last].cycle + (last == i || a->tenant[i].before < a->tenant[last].before);
	return n + 1 >= near && n <= near + 1 ? n : near;
}

/* How long at_ns is after the beginning of its place in that cycle; below 0: before that. */
static double after_place(const struct arbiter *a, int i, uint64_t number, uint64_t at_ns)
{
	uint64_t cycle = places_cycle_ns(a, pool_of(&a->tenant[i]));

	return (double)(int64_t)(at_ns - number * cycle) - a->tenant[i].before * (double)cycle;
}

/* Its next turn, for rounding.h. */
static struct rounding_turn turn_of(const struct arbiter *a, int i, uint64_t from_ns)
{
	const struct tenant *t = &a->tenant[i];
	uint64_t cycle = places_cycle_ns(a, pool_of(t)), number = next_cycle(a, i, from_ns), was;
	const struct places_was *w;

	was = number - (WINDOW_NS + cycle / 2) / cycle;
	w = &t->was[was % PLACES_KEPT];
	return (struct rounding_turn){ .place_ns = places_share(a, i) * (double)cycle,
				       .kernel_ns = (double)t->unit_ns,
				       .off_ns = off_at(a, i, after_place(a, i, number, from_ns), from_ns),
				       .known = w->over && w->cycle == (uint32_t)was,
				       .begun_ns = w->begun_ns,
				       .ended_ns = w->ended_ns };
}

/* How many kernels a turn has that begins at from_ns. */
static unsigned int kernels_of(const struct arbiter *a, int i, uint64_t from_ns, uint64_t most_ns)
{
	const struct tenant *t = &a->tenant[i];
	struct rounding_turn turns[ROUNDING_TURNS + 1];
	double late = after_place(a, i, next_cycle(a, i, from_ns), from_ns);
	unsigned int first = 0, count = 1, kernels;

	turns[0] = turn_of(a, i, from_ns);
	while (first + 1 < a->count && a->list[first] != i)
		first++;
	/* Those whose places come next, in their order. */
	for (unsigned int n = 1; n < a->count && count <= ROUNDING_TURNS; n++) {
		int next = a->list[(first + n) % a->count];

		if (a->lags[pool_of(t)].of[next].wants)
			turns[count++] = turn_of(a, next, from_ns);
	}
	kernels = rounding_kernels(turns, count, late, (double)change_ns(a), (unsigned int)(most_ns / t->unit_ns));
	return kernels ? kernels : 1;
}

/* A turn begins: what it is off by, and what the turn before was off by at its end, is looked at a second later. */
void places_note(struct arbiter *a, int i, uint64_t from_ns)
{
	enum pool p = pool_of(&a->tenant[i]);
	struct tenant *t = &a->tenant[i], *last = a->last[p] >= 0 ? &a->tenant[a->last[p]] : NULL;
	uint64_t number = next_cycle(a, i, from_ns), next;
	double late = after_place(a, i, number, from_ns);
	struct places_was *was;

	if (!places_has(a, i) || !a->rounded[p])
		return;
	if (last && last != t && a->lags[p].of[a->last[p]].wants) {
		next = next_cycle(a, a->last[p], from_ns);
		was = &last->was[last->cycle % PLACES_KEPT];
		was->over = was->cycle == (uint32_t)last->cycle;
		was->ended_ns = (float)off_at(a, a->last[p], after_place(a, a->last[p], next, from_ns), from_ns);
	}
	t->was[number % PLACES_KEPT] = (struct places_was){ .cycle = (uint32_t)number,
							    .begun_ns = (float)(off_at(a, i, late, from_ns) - late) };
	t->cycle = number;
}

/*
 * How long a turn lasts that begins at from_ns. A cycle has a place for each tenant's turn. The turn is as long as it
 * takes to be even at the end of the place: what a turn is too short or too long by, because kernels do not end where
 * they should, is in the next one, and the cycle keeps its length.
 */
uint64_t places_turn_ns(const struct arbiter *a, int i, uint64_t from_ns)
{
	const struct tenant *t = &a->tenant[i];
	double ns = (double)places_quantum_ns(a, i), cycle = (double)places_cycle_ns(a, pool_of(t)), due, half;
	uint64_t most;

	if (!places_has(a, i))
		return (uint64_t)ns;
	if (a->rounded[pool_of(t)] && t->unit_ns) {
		most = (uint64_t)(ns * 5 / 4) + t->unit_ns;
		return kernels_of(a, i, from_ns, most) * t->unit_ns + t->unit_ns / 2;
	}
	due = places_share(a, i) * cycle - off_at(a, i, places_after_ns(a, i, from_ns), from_ns);
	/* Of its kernels one ends before that and the next one after it: the nearer one is the last. */
	half = (double)t->next_ns / 2;
	return (uint64_t)(within(due, ns / 2, ns * 3 / 2) + (half < ns / 2 ? half : ns / 2));
}

/* It is ahead of its share by so little that it has a kernel by the end of its next place nevertheless. */
bool places_due(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];
	struct rounding_turn turn;

	if (!places_has(a, i) || !a->rounded[pool_of(t)])
		return false;
	turn = turn_of(a, i, a->now_ns);
	return turn.place_ns - turn.off_ns > turn.kernel_ns / 2;
}

/* How far the place of i in a cycle is behind that of whoever had the turn last. */
double places_behind_last(const struct arbiter *a, int i)
{
	enum pool p = pool_of(&a->tenant[i]);
	int last = a->holder[p] >= 0 ? a->holder[p] : a->last[p];
	double before = last >= 0 && a->lags[p].of[last].wants ? a->tenant[last].before : 0;
	double behind = a->tenant[i].before - before;

	return behind > 0 && i != last ? behind : behind + a->divided[p];
}

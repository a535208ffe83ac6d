/* placement.c: see placement.h. */
#include "model/placement.h"

#include <string.h>
#include <strings.h>

#define LEAST_BYTES 512u
#define QUANTUM_PPM 40000 /* losses that differ by less are equal; the figure is that of the published rule, 40 milli  \
			   */
#define TIES 4194304	  /* above any secondary loss */
#define CPU_PPM_PER_MILLI 100 /* 10 cores feed a card: 10 000 milli-cores are 1 000 000 ppm */
#define FAR_PPM 1000000	      /* what a pair of cards costs that are not near */

static const char *const rule_names[] = { "spread", "binpack", "fit" };

const char *placement_rule_name(enum placement_rule rule)
{
	return rule_names[rule];
}

int placement_rule_find(const char *word)
{
	for (int i = 0; i < PLACEMENT_RULES; i++)
		if (!strcmp(rule_names[i], word))
			return i;
	return -1;
}

/* One card. */

static uint64_t part(uint64_t of, uint32_t ppm)
{
	return of / PLACEMENT_WHOLE_PPM * ppm + of % PLACEMENT_WHOLE_PPM * ppm / PLACEMENT_WHOLE_PPM;
}

static uint64_t size_of(const struct placement_ask *ask, const struct placement_card *card)
{
	if (ask->bytes)
		return ask->bytes;
	if (ask->bytes_ppm)
		return part(card->total_bytes, ask->bytes_ppm) / LEAST_BYTES * LEAST_BYTES;
	return card->left_bytes > LEAST_BYTES ? card->left_bytes : LEAST_BYTES;
}

uint64_t placement_need_bytes(const struct placement_ask *ask, const struct placement_card *card)
{
	return ask->leaves ? ask->stays_bytes : size_of(ask, card);
}

static bool contains(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (; text && length && *text; text++)
		if (!strncasecmp(text, word, length))
			return true;
	return false;
}

static bool named(const struct placement_card *card, const char *const *words)
{
	for (; *words; words++)
		if (contains(card->name, *words) || contains(card->uuid, *words))
			return true;
	return false;
}

static bool is_wanted(const struct placement_card *card, const struct placement_ask *ask)
{
	return (!ask->allow || named(card, ask->allow)) && (!ask->deny || !named(card, ask->deny));
}

/* Value: the first thing that is in the way, with its figures. */
static enum placement_why why_not(const struct placement_card *card, const struct placement_ask *ask, uint64_t *asked,
				  uint64_t *left)
{
	uint64_t bytes = size_of(ask, card), promised = placement_need_bytes(ask, card);

	*asked = *left = 0;
	if (!is_wanted(card, ask))
		return PLACEMENT_MODEL;
	if (card->state != PLACEMENT_ACTIVE && card->state != PLACEMENT_NATIVE)
		return PLACEMENT_OUT_OF_SERVICE;
	*asked = bytes;
	*left = card->total_bytes;
	if (bytes > card->total_bytes)
		return PLACEMENT_OVER_CARD;
	*asked = 0;
	*left = card->sharers;
	if (ask->alone && card->sharers)
		return PLACEMENT_NOT_ALONE;
	*asked = promised;
	*left = card->left_bytes;
	if (!ask->overcommit && promised > card->left_bytes)
		return PLACEMENT_MEMORY;
	*asked = ask->time_ppm;
	*left = card->left_ppm;
	if (ask->time_ppm && card->state == PLACEMENT_NATIVE)
		return PLACEMENT_HELD_BY_NATIVE;
	return ask->time_ppm > card->left_ppm && !ask->overcommit ? PLACEMENT_TIME : PLACEMENT_FITS;
}

bool placement_fits(const struct placement_card *card, unsigned int number, const struct placement_ask *ask,
		    struct placement_verdict *ret)
{
	*ret = (struct placement_verdict){ .card = number, .need = 1 };
	ret->why = number < 64 && ask->with >> number & 1 ? PLACEMENT_OWN : why_not(card, ask, &ret->asked, &ret->left);
	return ret->why == PLACEMENT_FITS;
}

/* The card after the share is on it. */
static struct placement_card after(const struct placement_card *card, const struct placement_ask *ask)
{
	struct placement_card c = *card;
	uint64_t bytes = placement_need_bytes(ask, card);

	c.left_bytes -= bytes < c.left_bytes ? bytes : c.left_bytes;
	c.left_ppm -= ask->time_ppm < c.left_ppm ? ask->time_ppm : c.left_ppm;
	c.sharers++;
	return c;
}

/* What of the card is promised to nobody: the mean of its two axes, in ppm. */
static int64_t value_of(const struct placement_card *card)
{
	uint64_t memory = card->total_bytes
				  ? (uint64_t)((__uint128_t)card->left_bytes * PLACEMENT_WHOLE_PPM / card->total_bytes)
				  : 0;

	return (int64_t)(memory + card->left_ppm) / 2;
}

/* Fragmentation. */

static bool serves(const struct placement_card *card)
{
	return card->state == PLACEMENT_ACTIVE;
}

static bool cpu_suffices(int64_t left_milli, const struct placement_ask *ask)
{
	return left_milli < 0 || ask->cpu_milli <= (uint64_t)left_milli;
}

/* What of the card a type cannot use. */
static int64_t lost_to(const struct placement_card *card, const struct placement_ask *type, int64_t cpu_left)
{
	uint64_t asked, left;

	if (!serves(card))
		return 0;
	return cpu_suffices(cpu_left, type) && why_not(card, type, &asked, &left) == PLACEMENT_FITS ? 0
												    : value_of(card);
}

/* Over the mix, weighed; in ppm. `just`: the type that stands for an empty mix. */
static int64_t fragments_of(const struct placement_card *card, const struct placement_type *mix, size_t count,
			    int64_t cpu_left)
{
	int64_t sum = 0, weights = 0;

	for (size_t i = 0; i < count; i++) {
		sum += lost_to(card, &mix[i].ask, cpu_left) * mix[i].weight;
		weights += mix[i].weight;
	}
	return weights ? sum / weights : 0;
}

int64_t placement_fragments(const struct placement_node *node, const struct placement_type *mix, size_t mix_count)
{
	int64_t sum = 0;

	for (unsigned int i = 0; i < node->count; i++)
		sum += fragments_of(&node->card[i], mix, mix_count, node->cpu_left_milli);
	return sum;
}

/* Time of cards that the processors left cannot feed, in ppm of a card. */
static int64_t starved(int64_t idle_ppm, int64_t cpu_left)
{
	int64_t fed = cpu_left * CPU_PPM_PER_MILLI;

	return cpu_left >= 0 && idle_ppm > fed ? idle_ppm - fed : 0;
}

/* What is the same for every card of a node: worked out once for a choice. */
struct scale {
	const struct placement_node *node;
	const struct placement_ask *ask;
	enum placement_rule rule;
	const struct placement_type *mix;
	size_t mix_count;
	struct placement_type same; /* of an empty mix */
	int64_t idle_ppm, cpu_after;
	int64_t fragments[PLACEMENT_CARDS]; /* before, and after where the processors taken change that */
	int64_t worse_elsewhere;
};

static void scale_init(struct scale *s, const struct placement_node *node, const struct placement_ask *ask,
		       enum placement_rule rule, const struct placement_type *mix, size_t mix_count)
{
	*s = (struct scale){ .node = node, .ask = ask, .rule = rule, .mix = mix, .mix_count = mix_count };
	s->cpu_after = node->cpu_left_milli < 0 ? -1 : node->cpu_left_milli - (int64_t)ask->cpu_milli;
	if (rule != PLACEMENT_FIT)
		return;
	if (!mix_count) {
		s->same = (struct placement_type){ *ask, 1 };
		s->same.ask.with = 0;
		s->mix = &s->same;
		s->mix_count = 1;
	}
	for (unsigned int i = 0; i < node->count; i++) {
		s->fragments[i] = fragments_of(&node->card[i], s->mix, s->mix_count, node->cpu_left_milli);
		s->idle_ppm += serves(&node->card[i]) ? node->card[i].left_ppm : 0;
		if (s->cpu_after != node->cpu_left_milli)
			s->worse_elsewhere +=
				fragments_of(&node->card[i], s->mix, s->mix_count, s->cpu_after) - s->fragments[i];
	}
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static int64_t capped(int64_t n, int64_t most)
{
	return n < most ? n : most;
}

/* What is left over on the card, then its tenants: below TIES. */
static int64_t packed_loss(const struct placement_card *card, const struct placement_ask *ask)
{
	const struct placement_card c = after(card, ask);

	return value_of(&c) * 4 + (3 - capped(card->sharers, 3));
}

static int64_t fit_loss(const struct scale *s, unsigned int at)
{
	const struct placement_card *card = &s->node->card[at], c = after(card, s->ask);
	int64_t own = fragments_of(&c, s->mix, s->mix_count, s->cpu_after);
	int64_t elsewhere = s->worse_elsewhere;
	int64_t time = (int64_t)card->left_ppm - c.left_ppm;
	int64_t starve = starved(s->idle_ppm - time, s->cpu_after) - starved(s->idle_ppm, s->node->cpu_left_milli);

	if (elsewhere)
		elsewhere -= fragments_of(card, s->mix, s->mix_count, s->cpu_after) - s->fragments[at];
	return floor_div(own - s->fragments[at] + elsewhere + starve / 2, QUANTUM_PPM) * TIES +
	       packed_loss(card, s->ask);
}

static int64_t card_loss(const struct scale *s, unsigned int at)
{
	const struct placement_card *card = &s->node->card[at];

	switch (s->rule) {
	case PLACEMENT_FIT:
		return fit_loss(s, at);
	case PLACEMENT_BINPACK:
		return packed_loss(card, s->ask);
	default:
		/* In units of 512 bytes, so that tenants decide among equals only. */
		return -(int64_t)(card->left_bytes / LEAST_BYTES) * 4096 + capped(card->sharers, 4095);
	}
}

/* How far two cards are from each other, in ppm of what a card is worth. */
static int64_t distance(const struct placement_card *a, const struct placement_card *b)
{
	return a->group >= 0 && b->group >= 0 && a->group != b->group ? FAR_PPM : 0;
}

/* One unit of a card's worth, in the rule's own measure of loss. */
static int64_t worth(const struct scale *s, unsigned int at, int64_t ppm)
{
	switch (s->rule) {
	case PLACEMENT_FIT:
		return ppm / QUANTUM_PPM * TIES;
	case PLACEMENT_BINPACK:
		return ppm * 4;
	default:
		return (int64_t)part(s->node->card[at].total_bytes / LEAST_BYTES, (uint32_t)ppm) * 4096;
	}
}

/* The cards near this one that serve and nobody has: a share on it would break their clique. */
static int64_t neighbours(const struct placement_node *node, unsigned int at)
{
	int64_t n = 0;

	for (unsigned int i = 0; i < node->count; i++)
		n += i != at && node->card[at].group >= 0 && node->card[i].group == node->card[at].group &&
		     serves(&node->card[i]) && !node->card[i].sharers;
	return n;
}

static int64_t far_from_own(const struct scale *s, unsigned int at)
{
	int64_t sum = 0;

	for (unsigned int i = 0; i < s->node->count && i < 64; i++)
		if (s->ask->with >> i & 1)
			sum += worth(s, at, distance(&s->node->card[i], &s->node->card[at]));
	return sum;
}

/* Sets. */

struct search {
	const struct scale *scale;
	unsigned int fit[PLACEMENT_CARDS], fits, need;
	int64_t loss[PLACEMENT_CARDS]; /* by place in fit[] */
	unsigned int trying[PLACEMENT_CARDS];
	struct placement_choice *best;
	bool found;
};

static int64_t joined(const struct search *s, unsigned int taken, unsigned int next)
{
	const struct placement_card *card = s->scale->node->card;
	int64_t sum = s->loss[next];

	for (unsigned int i = 0; i < taken; i++)
		sum += worth(s->scale, s->fit[next], distance(&card[s->fit[s->trying[i]]], &card[s->fit[next]]));
	return sum;
}

/* All sets of `need` of the cards that fit, in ascending order: the first of equal ones stays. */
static void search_sets(struct search *s, unsigned int taken, unsigned int from, int64_t loss)
{
	if (taken == s->need) {
		if (s->found && loss >= s->best->loss)
			return;
		s->found = true;
		s->best->loss = loss;
		for (unsigned int i = 0; i < taken; i++)
			s->best->card[i] = s->fit[s->trying[i]];
		return;
	}
	for (unsigned int i = from; i + (s->need - taken) <= s->fits; i++) {
		int64_t more = joined(s, taken, i);

		s->trying[taken] = i;
		search_sets(s, taken + 1, i + 1, loss + more);
	}
}

/* Too many for all sets: each time the one that adds least. */
static void search_greedy(struct search *s)
{
	bool used[PLACEMENT_CARDS] = { 0 };
	unsigned int n = 0;

	s->best->loss = 0;
	for (unsigned int taken = 0; taken < s->need; taken++) {
		unsigned int best = s->fits;
		int64_t least = 0;

		for (unsigned int i = 0; i < s->fits; i++) {
			int64_t more = used[i] ? 0 : joined(s, taken, i);

			if (!used[i] && (best == s->fits || more < least)) {
				best = i;
				least = more;
			}
		}
		used[best] = true;
		s->trying[taken] = best;
		s->best->loss += least;
	}
	for (unsigned int i = 0; i < s->fits; i++)
		if (used[i])
			s->best->card[n++] = s->fit[i];
}

/* One card: the worst connected of the equal ones, then the lowest number. */
static void search_one(struct search *s)
{
	int64_t least_near = 0;

	for (unsigned int i = 0; i < s->fits; i++) {
		int64_t near = neighbours(s->scale->node, s->fit[i]);

		if (s->found && (s->loss[i] > s->best->loss || (s->loss[i] == s->best->loss && near >= least_near)))
			continue;
		s->found = true;
		s->best->loss = s->loss[i];
		s->best->card[0] = s->fit[i];
		least_near = near;
	}
}

/* Verdicts. */

static unsigned int need_of(const struct placement_ask *ask)
{
	return ask->cards ? ask->cards : 1;
}

/* Whether `v` came further than `than`. Of a figure, what is missing least is nearest. */
static bool nearer(const struct placement_verdict *v, const struct placement_verdict *than)
{
	return v->why > than->why || (v->why == than->why && v->left > than->left);
}

/* Of the node as a whole. Value: false when that decides already. */
static bool judge_node(const struct placement_node *node, const struct placement_ask *ask,
		       struct placement_verdict *ret)
{
	*ret = (struct placement_verdict){ .need = need_of(ask), .asked = need_of(ask), .left = node->count };
	if (node->cordoned)
		ret->why = PLACEMENT_NODE_CORDONED;
	else if (!node->count)
		ret->why = PLACEMENT_NO_CARDS;
	else if (need_of(ask) > node->count)
		ret->why = PLACEMENT_FEW_CARDS;
	if (ret->why != PLACEMENT_FITS || cpu_suffices(node->cpu_left_milli, ask))
		return ret->why == PLACEMENT_FITS;
	ret->why = PLACEMENT_NO_CPU;
	ret->asked = ask->cpu_milli;
	ret->left = (uint64_t)node->cpu_left_milli;
	return false;
}

/* fit[]: the cards that hold it; NULL where only the verdict is wanted. */
static unsigned int judge(const struct placement_node *node, const struct placement_ask *ask,
			  struct placement_verdict *ret, unsigned int *fit)
{
	struct placement_verdict one, nearest = { .why = PLACEMENT_FITS };
	unsigned int fits = 0;

	if (!judge_node(node, ask, ret))
		return 0;
	for (unsigned int i = 0; i < node->count && i < PLACEMENT_CARDS; i++) {
		if (!placement_fits(&node->card[i], i, ask, &one)) {
			if (nearest.why == PLACEMENT_FITS || nearer(&one, &nearest))
				nearest = one;
			continue;
		}
		if (fit)
			fit[fits] = i;
		fits++;
	}
	if (fits < need_of(ask)) {
		*ret = nearest;
		ret->need = need_of(ask);
	}
	ret->fitting = fits;
	return fits;
}

void placement_judge(const struct placement_node *node, const struct placement_ask *ask, struct placement_verdict *ret)
{
	judge(node, ask, ret, NULL);
}

void placement_choose(const struct placement_node *node, const struct placement_ask *ask, enum placement_rule rule,
		      const struct placement_type *mix, size_t mix_count, struct placement_choice *ret)
{
	struct search s;
	struct scale scale;

	*ret = (struct placement_choice){ 0 };
	s.fits = judge(node, ask, &ret->verdict, s.fit);
	if (ret->verdict.why != PLACEMENT_FITS)
		return;
	scale_init(&scale, node, ask, rule, mix, mix_count);
	s.scale = &scale;
	s.need = ret->count = need_of(ask);
	s.best = ret;
	s.found = false;
	for (unsigned int i = 0; i < s.fits; i++)
		s.loss[i] = card_loss(&scale, s.fit[i]) + far_from_own(&scale, s.fit[i]);
	if (s.need == 1)
		search_one(&s);
	else if (s.fits <= PLACEMENT_SEARCH)
		search_sets(&s, 0, 0, 0);
	else
		search_greedy(&s);
}

/* The room of what does not fit, in the way in which spread sees it. */
static int64_t order_loss(const struct scale *s, unsigned int at, bool fits)
{
	struct scale spread = *s;

	if (fits)
		return card_loss(s, at) + far_from_own(s, at);
	spread.rule = PLACEMENT_SPREAD;
	return card_loss(&spread, at);
}

void placement_order(const struct placement_node *node, const struct placement_ask *ask, enum placement_rule rule,
		     const struct placement_type *mix, size_t mix_count, unsigned int *order)
{
	struct scale scale;
	struct placement_verdict v;
	int64_t loss[PLACEMENT_CARDS];
	bool fits[PLACEMENT_CARDS];

	scale_init(&scale, node, ask, rule, mix, mix_count);
	for (unsigned int i = 0; i < node->count && i < PLACEMENT_CARDS; i++) {
		unsigned int at = i;

		fits[i] = placement_fits(&node->card[i], i, ask, &v);
		loss[i] = order_loss(&scale, i, fits[i]);
		for (; at && (fits[i] > fits[order[at - 1]] ||
			      (fits[i] == fits[order[at - 1]] && loss[i] < loss[order[at - 1]]));
		     at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

int placement_best(const struct placement_node *node, size_t count, const struct placement_ask *ask,
		   enum placement_rule rule, const struct placement_type *mix, size_t mix_count,
		   struct placement_choice *choice)
{
	int best = -1;

	for (size_t i = 0; i < count; i++) {
		placement_choose(&node[i], ask, rule, mix, mix_count, &choice[i]);
		if (choice[i].verdict.why == PLACEMENT_FITS && (best < 0 || choice[i].loss < choice[best].loss))
			best = (int)i;
	}
	return best;
}

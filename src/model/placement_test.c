/*
 * placement_test.c: what fits, what is said of what does not, which card is chosen; and by simulation that fit packs a
 * cluster better than best fit does, which packs it better than chance.
 */
#include "base/tap.h"
#include "model/placement.h"

#include <time.h>

#define GIB (UINT64_C(1) << 30)
#define PCT 10000u

static struct placement_card card(unsigned int gib, unsigned int left_gib, unsigned int left_pct, unsigned int sharers)
{
	return (struct placement_card){ gib * GIB,	  left_gib * GIB, left_pct * PCT, sharers,
					PLACEMENT_ACTIVE, "Card 80G",	  "GPU-1a2b",	  -1 };
}

static struct placement_node node_of(const struct placement_card *cards, unsigned int n)
{
	return (struct placement_node){ cards, n, false, -1 };
}

/* Refusals. */

static const char *const a100[] = { "a100", NULL }, *const eighty[] = { "80g", NULL },
			 *const by_uuid[] = { "GPU-1A", NULL };

static const struct {
	const char *name;
	struct placement_card card;
	struct placement_ask ask;
	enum placement_why why;
	const char *text;
} refusals[] = {
	{ "memory",
	  { 16 * GIB, 2 * GIB, 50 * PCT, 1, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes = 4 * GIB },
	  PLACEMENT_MEMORY,
	  "card 0 (C) has 2 GiB not promised, asked were 4 GiB" },
	{ "memory, to the byte",
	  { 16 * GIB, 4 * GIB - 1, 50 * PCT, 1, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes = 4 * GIB },
	  PLACEMENT_MEMORY,
	  NULL },
	{ "memory that is there",
	  { 16 * GIB, 4 * GIB, 50 * PCT, 1, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes = 4 * GIB },
	  PLACEMENT_FITS,
	  "fits" },
	{ "a part of the memory",
	  { 16 * GIB, 4 * GIB, 50 * PCT, 1, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes_ppm = 25 * PCT },
	  PLACEMENT_FITS,
	  NULL },
	{ "too large a part",
	  { 16 * GIB, 4 * GIB, 50 * PCT, 1, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes_ppm = 26 * PCT },
	  PLACEMENT_MEMORY,
	  NULL },
	{ "all that is left, which is nothing",
	  { 16 * GIB, 0, 50 * PCT, 1, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { 0 },
	  PLACEMENT_MEMORY,
	  "card 0 (C) has 0 B not promised, asked were 512 B" },
	{ "more than the card has",
	  { 16 * GIB, 16 * GIB, 50 * PCT, 0, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes = 17 * GIB, .overcommit = true },
	  PLACEMENT_OVER_CARD,
	  "card 0 (C) has 16 GiB in all, asked were 17 GiB" },
	{ "overcommitted",
	  { 16 * GIB, 0, 0, 9, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes = 16 * GIB, .time_ppm = 100 * PCT, .overcommit = true },
	  PLACEMENT_FITS,
	  NULL },
	{ "memory that leaves: promises to others do not count",
	  { 16 * GIB, 0, 50 * PCT, 9, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes = 16 * GIB, .time_ppm = 50 * PCT, .leaves = true },
	  PLACEMENT_FITS,
	  NULL },
	{ "memory that leaves: what stays does",
	  { 16 * GIB, GIB, 50 * PCT, 9, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes = 16 * GIB, .leaves = true, .stays_bytes = 2 * GIB },
	  PLACEMENT_MEMORY,
	  "card 0 (C) has 1 GiB not promised, asked were 2 GiB" },
	{ "memory that leaves: time does",
	  { 16 * GIB, 16 * GIB, 125000, 0, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes = GIB, .time_ppm = 25 * PCT, .leaves = true },
	  PLACEMENT_TIME,
	  NULL },
	{ "memory that leaves: more than the card has",
	  { 16 * GIB, 16 * GIB, 100 * PCT, 0, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes = 17 * GIB, .leaves = true },
	  PLACEMENT_OVER_CARD,
	  NULL },
	{ "time",
	  { 16 * GIB, 16 * GIB, 125000, 0, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes = GIB, .time_ppm = 25 * PCT },
	  PLACEMENT_TIME,
	  "card 0 (C) has 12.5 % of its time not promised, asked were 25 %" },
	{ "native programs",
	  { 16 * GIB, 16 * GIB, 100 * PCT, 0, PLACEMENT_NATIVE, "C", "u", -1 },
	  { .bytes = GIB, .time_ppm = 25 * PCT },
	  PLACEMENT_HELD_BY_NATIVE,
	  "card 0 (C) runs native programs unheld, so no time of it can be guaranteed" },
	{ "native programs, no time asked",
	  { 16 * GIB, 16 * GIB, 100 * PCT, 0, PLACEMENT_NATIVE, "C", "u", -1 },
	  { .bytes = GIB },
	  PLACEMENT_FITS,
	  NULL },
	{ "cordoned",
	  { 16 * GIB, 16 * GIB, 100 * PCT, 0, PLACEMENT_CORDONED, "C", "u", -1 },
	  { .bytes = GIB },
	  PLACEMENT_OUT_OF_SERVICE,
	  "card 0 (C) is cordoned" },
	{ "lost",
	  { 16 * GIB, 16 * GIB, 100 * PCT, 0, PLACEMENT_LOST, "", "u", -1 },
	  { .bytes = GIB },
	  PLACEMENT_OUT_OF_SERVICE,
	  "card 0 is lost" },
	{ "one alone",
	  { 16 * GIB, 15 * GIB, 100 * PCT, 1, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes = GIB, .alone = true },
	  PLACEMENT_NOT_ALONE,
	  "card 0 (C) has 1 tenants, asked was one alone" },
	{ "model not allowed",
	  { 16 * GIB, 16 * GIB, 100 * PCT, 0, PLACEMENT_ACTIVE, "H100 80GB", "u", -1 },
	  { .bytes = GIB, .allow = a100 },
	  PLACEMENT_MODEL,
	  "card 0 (H100 80GB) is not of a wanted model, allowed: a100" },
	{ "model allowed, case aside",
	  { 16 * GIB, 16 * GIB, 100 * PCT, 0, PLACEMENT_ACTIVE, "NVIDIA A100-SXM4", "u", -1 },
	  { .bytes = GIB, .allow = a100 },
	  PLACEMENT_FITS,
	  NULL },
	{ "model denied",
	  { 16 * GIB, 16 * GIB, 100 * PCT, 0, PLACEMENT_ACTIVE, "H100 80GB", "u", -1 },
	  { .bytes = GIB, .deny = eighty },
	  PLACEMENT_MODEL,
	  "card 0 (H100 80GB) is not of a wanted model, not allowed: 80g" },
	{ "by UUID",
	  { 16 * GIB, 16 * GIB, 100 * PCT, 0, PLACEMENT_ACTIVE, "H100", "GPU-1a2b3c", -1 },
	  { .bytes = GIB, .allow = by_uuid },
	  PLACEMENT_FITS,
	  NULL },
	{ "a card that the asker has",
	  { 16 * GIB, 16 * GIB, 100 * PCT, 0, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .bytes = GIB, .with = 1 },
	  PLACEMENT_OWN,
	  "card 0 (C) is taken already by the same request" },
	{ "two of one",
	  { 16 * GIB, 16 * GIB, 100 * PCT, 0, PLACEMENT_ACTIVE, "C", "u", -1 },
	  { .cards = 2, .bytes = GIB },
	  PLACEMENT_FEW_CARDS,
	  "the node has 1 cards, asked were 2" },
};

static void test_refusals(void)
{
	char text[PLACEMENT_TEXT];

	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		struct placement_node n = node_of(&refusals[i].card, 1);
		struct placement_verdict v;

		placement_judge(&n, &refusals[i].ask, &v);
		tap_ok(v.why == refusals[i].why, "%s: %d", refusals[i].name, v.why);
		placement_say(&n, &refusals[i].ask, &v, text);
		if (refusals[i].text)
			is_str(text, refusals[i].text);
	}
}

static void test_nodes(void)
{
	struct placement_card two[] = { card(16, 8, 50, 1), card(16, 3, 90, 2) };
	struct placement_node none = node_of(two, 0), n = node_of(two, 2);
	struct placement_ask ask = { .cards = 2, .bytes = 4 * GIB, .cpu_milli = 2000 };
	struct placement_verdict v;
	char text[PLACEMENT_TEXT];

	placement_judge(&none, &ask, &v);
	is_str(placement_say(&none, &ask, &v, text), "the node has no card, asked were 2");
	placement_judge(&n, &ask, &v);
	is_str(placement_say(&n, &ask, &v, text),
	       "1 of 2 cards fit; card 1 (Card 80G) has 3 GiB not promised, asked were 4 GiB");
	n.cpu_left_milli = 1500;
	placement_judge(&n, &ask, &v);
	is_str(placement_say(&n, &ask, &v, text), "the node has 1500 milli-cores left, asked were 2000");
	n.cordoned = true;
	placement_judge(&n, &ask, &v);
	is_str(placement_say(&n, &ask, &v, text), "the node takes no shares: it is cordoned");
	/* The nearest card is the one that is named: time alone is lacking there. */
	two[0] = card(16, 2, 100, 0);
	two[1] = card(16, 8, 10, 1);
	n = node_of(two, 2);
	ask = (struct placement_ask){ .bytes = 4 * GIB, .time_ppm = 25 * PCT };
	placement_judge(&n, &ask, &v);
	is(v.card, 1);
	is(v.why, PLACEMENT_TIME);
}

/* Rules. */

static const struct {
	const char *name;
	struct placement_card card[4];
	struct placement_ask ask;
	int best[PLACEMENT_RULES]; /* spread, binpack, fit */
} choices[] = {
	{ "empty and half full",
	  { { 16 * GIB, 8 * GIB, 50 * PCT, 1, 0, "", "", -1 }, { 16 * GIB, 16 * GIB, 100 * PCT, 0, 0, "", "", -1 } },
	  { .bytes = 8 * GIB, .time_ppm = 50 * PCT },
	  { 1, 0, 0 } },
	{ "the tightest that holds it",
	  { { 16 * GIB, 12 * GIB, 75 * PCT, 1, 0, "", "", -1 },
	    { 16 * GIB, 4 * GIB, 25 * PCT, 3, 0, "", "", -1 },
	    { 16 * GIB, 3 * GIB, 75 * PCT, 1, 0, "", "", -1 } },
	  { .bytes = 4 * GIB, .time_ppm = 25 * PCT },
	  { 0, 1, 1 } },
	{ "equal room: fewest tenants, then the first",
	  { { 16 * GIB, 8 * GIB, 100 * PCT, 5, 0, "", "", -1 },
	    { 16 * GIB, 8 * GIB, 100 * PCT, 2, 0, "", "", -1 },
	    { 16 * GIB, 8 * GIB, 100 * PCT, 2, 0, "", "", -1 } },
	  { .bytes = GIB },
	  { 1, 0, 0 } },
	{ "a card with memory alone is no place for what needs both",
	  { { 16 * GIB, 8 * GIB, 0, 2, 0, "", "", -1 }, { 16 * GIB, 16 * GIB, 100 * PCT, 0, 0, "", "", -1 } },
	  { .bytes = 4 * GIB, .time_ppm = 25 * PCT },
	  { 1, 1, 1 } },
	{ "what wants no time goes where there is none left",
	  { { 16 * GIB, 16 * GIB, 100 * PCT, 0, 0, "", "", -1 }, { 16 * GIB, 8 * GIB, 0, 4, 0, "", "", -1 } },
	  { .bytes = 4 * GIB },
	  { 0, 1, 1 } },
	{ "one alone breaks no pair: the third stands by itself",
	  { { 16 * GIB, 16 * GIB, 100 * PCT, 0, 0, "", "", 0 },
	    { 16 * GIB, 16 * GIB, 100 * PCT, 0, 0, "", "", 0 },
	    { 16 * GIB, 16 * GIB, 100 * PCT, 0, 0, "", "", 1 } },
	  { .bytes = 4 * GIB },
	  { 2, 2, 2 } },
	{ "near to the one that the asker has",
	  { { 16 * GIB, 16 * GIB, 100 * PCT, 0, 0, "", "", 0 },
	    { 16 * GIB, 14 * GIB, 90 * PCT, 1, 0, "", "", 1 },
	    { 16 * GIB, 16 * GIB, 100 * PCT, 1, 0, "", "", 1 } },
	  { .bytes = 4 * GIB, .with = 4 },
	  { 1, 1, 1 } },
};

static void test_choices(void)
{
	static struct placement_choice c;
	struct placement_node n;
	unsigned int order[4];

	for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++)
		for (int rule = 0; rule < PLACEMENT_RULES; rule++) {
			unsigned int count = 0;

			while (count < 4 && choices[i].card[count].total_bytes)
				count++;
			n = node_of(choices[i].card, count);
			placement_choose(&n, &choices[i].ask, rule, NULL, 0, &c);
			tap_ok(c.count == 1 && (int)c.card[0] == choices[i].best[rule], "%s, %s: card %u",
			       choices[i].name, placement_rule_name(rule), c.card[0]);
			placement_order(&n, &choices[i].ask, rule, NULL, 0, order);
			if (choices[i].card[0].group < 0)
				is(order[0], choices[i].best[rule]);
		}
}

/* Two sets of four, one card of the first taken: four go to the second, two stay together, and never across. */
static void test_sets(void)
{
	static struct placement_choice c;
	struct placement_card eight[8];
	struct placement_node n = node_of(eight, 8);
	struct placement_ask ask = { .cards = 4, .bytes = 10 * GIB };

	for (int i = 0; i < 8; i++) {
		eight[i] = card(80, 80, 100, 0);
		eight[i].group = i / 4;
	}
	eight[1].left_bytes = 0;
	eight[1].sharers = 1;
	for (int rule = 0; rule < PLACEMENT_RULES; rule++) {
		ask.cards = 4;
		placement_choose(&n, &ask, rule, NULL, 0, &c);
		tap_ok(c.card[0] == 4 && c.card[3] == 7, "four cards: those of one group, by %s",
		       placement_rule_name(rule));
		ask.cards = 3;
		placement_choose(&n, &ask, rule, NULL, 0, &c);
		tap_ok(c.card[0] / 4 == c.card[2] / 4, "three cards of one group, by %s", placement_rule_name(rule));
		ask.cards = 7;
		placement_choose(&n, &ask, rule, NULL, 0, &c);
		is(c.count, 7);
		is(c.card[1], 2);
	}
	ask.cards = 8;
	placement_choose(&n, &ask, PLACEMENT_FIT, NULL, 0, &c);
	is(c.verdict.why, PLACEMENT_MEMORY);
	is(c.verdict.fitting, 7);
}

/* More than sixteen that fit: one after the other, and still of one group. */
static void test_greedy(void)
{
	static struct placement_choice c;
	static struct placement_card many[PLACEMENT_CARDS];
	struct placement_node n = node_of(many, PLACEMENT_CARDS);
	struct placement_ask ask = { .cards = 8, .bytes = 10 * GIB };
	bool together = true;

	for (unsigned int i = 0; i < PLACEMENT_CARDS; i++) {
		many[i] = card(80, 80, 100, 0);
		many[i].group = (int)i % 8;
	}
	placement_choose(&n, &ask, PLACEMENT_FIT, NULL, 0, &c);
	is(c.count, 8);
	for (unsigned int i = 1; i < c.count; i++)
		together &= c.card[i] > c.card[i - 1] && many[c.card[i]].group == many[c.card[0]].group;
	ok(together);
}

/* A mix with whole cards keeps one whole; a mix of halves does not mind. */
static void test_mix(void)
{
	static struct placement_choice c;
	struct placement_card two[] = { card(16, 16, 100, 0), card(16, 12, 60, 1) };
	struct placement_node n = node_of(two, 2);
	struct placement_ask ask = { .bytes = 4 * GIB, .time_ppm = 25 * PCT };
	struct placement_type whole = { { .bytes = 16 * GIB, .time_ppm = 100 * PCT }, 1 };

	placement_choose(&n, &ask, PLACEMENT_FIT, &whole, 1, &c);
	is(c.card[0], 1);
	is(placement_fragments(&n, &whole, 1), (750000 + 600000) / 2);
	/* The tightest card is the last one but one that an 8 GiB type fits: fit keeps it, binpack does not. */
	two[0] = card(16, 8, 10, 1);
	two[1] = card(16, 16, 20, 1);
	ask = (struct placement_ask){ .bytes = 2 * GIB };
	whole.ask = (struct placement_ask){ .bytes = 8 * GIB };
	placement_choose(&n, &ask, PLACEMENT_BINPACK, &whole, 1, &c);
	is(c.card[0], 0);
	placement_choose(&n, &ask, PLACEMENT_FIT, &whole, 1, &c);
	is(c.card[0], 1);
}

static void test_words(void)
{
	is(placement_rule_find("fit"), PLACEMENT_FIT);
	is(placement_rule_find("first"), -1);
	is_str(placement_rule_name(PLACEMENT_BINPACK), "binpack");
}

/*
 * A cluster that fills: nodes of 1, 2, 4 and 8 cards and requests whose sizes are drawn with the frequencies that a
 * published trace of a shared cluster has (most ask for a part of one card, few for many). Figures: parts of all cards'
 * time that was given away, in ppm, when as much was asked for as there is.
 */
#define NODES 120u

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)seed * below) >> 32);
}

static const struct {
	uint32_t of_1000, cards, milli, cpu_milli;
} asked[] = { { 154, 1, 810, 8000 },  { 107, 1, 470, 6000 },  { 47, 1, 320, 4000 },   { 36, 1, 650, 8000 },
	      { 20, 1, 230, 3000 },   { 18, 1, 460, 6000 },   { 20, 1, 590, 8000 },   { 40, 1, 160, 2000 },
	      { 400, 1, 1000, 8000 }, { 16, 2, 1000, 16000 }, { 10, 4, 1000, 32000 }, { 12, 8, 1000, 64000 },
	      { 120, 0, 0, 6000 } };

#define ASKED (sizeof(asked) / sizeof(*asked))
#define MOST_CARDS (NODES * 8)

static struct placement_card cluster_card[MOST_CARDS];
static struct placement_node cluster[NODES];
static struct placement_choice cluster_choice[NODES];
static int64_t cluster_cpu[NODES];

static uint64_t cluster_make(void)
{
	static const unsigned int counts[] = { 1, 2, 2, 4, 8, 8, 8, 8 };
	unsigned int used = 0;

	for (unsigned int i = 0; i < NODES; i++) {
		unsigned int count = counts[draw(8)];

		for (unsigned int c = 0; c < count; c++)
			cluster_card[used + c] = card(80, 80, 100, 0);
		cluster[i] = node_of(&cluster_card[used], count);
		cluster_cpu[i] = (int64_t)count * (10000 + draw(8000));
		used += count;
	}
	return used;
}

static void put(unsigned int at, const struct placement_ask *ask)
{
	for (unsigned int i = 0; i < cluster_choice[at].count; i++) {
		struct placement_card *c = &cluster_card[cluster[at].card - cluster_card + cluster_choice[at].card[i]];

		c->left_bytes -= placement_need_bytes(ask, c);
		c->left_ppm -= ask->time_ppm;
		c->sharers++;
	}
	cluster_cpu[at] -= ask->cpu_milli;
}

/* rule PLACEMENT_RULES: by chance. cpu: whether the rule is told of processors; they bound in any case. */
static uint64_t fill(int rule, bool cpu, uint32_t with)
{
	struct placement_type mix[PLACEMENT_MIX];
	uint64_t given = 0, wanted = 0, all;
	size_t types = 0;

	seed = with;
	all = cluster_make() * 1000;
	for (size_t i = 0; i < ASKED; i++)
		if (asked[i].cards)
			mix[types++] = (struct placement_type){ { .bytes_ppm = asked[i].milli * 1000,
								  .time_ppm = asked[i].milli * 1000,
								  .cpu_milli = cpu ? asked[i].cpu_milli : 0 },
								asked[i].of_1000 };
	while (wanted < all) {
		uint32_t at = draw(1000), type = 0, best = NODES;
		struct placement_ask ask;

		while (type + 1 < ASKED && at >= asked[type].of_1000)
			at -= asked[type++].of_1000;
		ask = (struct placement_ask){ .cards = asked[type].cards,
					      .bytes_ppm = asked[type].milli * 1000,
					      .time_ppm = asked[type].milli * 1000,
					      .cpu_milli = asked[type].cpu_milli };
		wanted += asked[type].cards * asked[type].milli;
		for (uint32_t i = 0, from = draw(NODES); i < NODES; i++) {
			uint32_t n = (i + (rule == PLACEMENT_RULES || !ask.cards ? from : 0)) % NODES;
			struct placement_verdict v;

			if (cluster_cpu[n] < (int64_t)ask.cpu_milli)
				continue;
			if (!ask.cards) {
				cluster_cpu[n] -= ask.cpu_milli;
				break;
			}
			cluster[n].cpu_left_milli = cpu ? cluster_cpu[n] : -1;
			placement_judge(&cluster[n], &ask, &v);
			if (v.why != PLACEMENT_FITS)
				continue;
			placement_choose(&cluster[n], &ask, rule == PLACEMENT_RULES ? PLACEMENT_SPREAD : rule, mix,
					 types, &cluster_choice[n]);
			if (best == NODES || cluster_choice[n].loss < cluster_choice[best].loss)
				best = n;
			if (rule == PLACEMENT_RULES)
				break;
		}
		if (best == NODES)
			continue;
		put(best, &ask);
		given += asked[type].cards * asked[type].milli;
	}
	return given * 1000000 / all;
}

static void test_simulation(void)
{
	static const struct {
		const char *name;
		int rule;
		bool cpu;
	} ways[] = { { "chance", PLACEMENT_RULES, false },
		     { "spread", PLACEMENT_SPREAD, false },
		     { "binpack", PLACEMENT_BINPACK, false },
		     { "fit", PLACEMENT_FIT, false },
		     { "fit with processors", PLACEMENT_FIT, true } };
	uint64_t sum[5] = { 0 };

	for (int w = 0; w < 5; w++) {
		for (uint32_t s = 1; s <= 4; s++)
			sum[w] += fill(ways[w].rule, ways[w].cpu, s * 7919);
		printf("# simulated, 4 clusters of %u nodes: %s gave %.3f %% of what was asked\n", NODES, ways[w].name,
		       (double)sum[w] / 40000);
	}
	ok(sum[2] > sum[0]);
	ok(sum[3] >= sum[2]);
	ok(sum[4] >= sum[3]);
	ok(sum[2] > sum[1]);
}

/* 5 000 nodes of 8 cards, and the answer is the same each time. */
static void test_scale(void)
{
	static struct placement_card cards[5000 * 8];
	static struct placement_node nodes[5000];
	static struct placement_choice choice[5000];
	struct placement_type mix[4];
	struct placement_ask ask = { .bytes = 4 * GIB, .time_ppm = 10 * PCT };
	struct timespec a, b;
	int best;

	seed = 42;
	for (unsigned int i = 0; i < 40000; i++)
		cards[i] = card(80, draw(81), draw(101), 1);
	for (unsigned int i = 0; i < 5000; i++)
		nodes[i] = node_of(&cards[i * 8], 8);
	for (unsigned int i = 0; i < 4; i++)
		mix[i] = (struct placement_type){ { .bytes = (i + 1) * 10 * GIB, .time_ppm = (i + 1) * 10 * PCT }, 1 };
	best = placement_best(nodes, 5000, &ask, PLACEMENT_FIT, mix, 4, choice);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	is(placement_best(nodes, 5000, &ask, PLACEMENT_FIT, mix, 4, choice), best);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	ok(best >= 0);
	printf("# 5000 nodes of 8 cards, a mix of 4: %.2f ms of processor time\n",
	       (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6);
}

int main(void)
{
	tap_begin();
	test_words();
	test_refusals();
	test_nodes();
	test_choices();
	test_sets();
	test_greedy();
	test_mix();
	test_simulation();
	test_scale();
	return tap_end();
}

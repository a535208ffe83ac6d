/* ledger_test.c: the ledger's decisions by table, and its invariants over random histories of clients on real account
 * words. */
#include "model/ledger.h"

#include "base/tap.h"
#include "wire/page.h"

static enum ledger_answer ask(const struct ledger *l, struct ledger_request q, uint64_t *units)
{
	struct ledger_units u;
	enum ledger_answer answer = ledger_ask(l, &q, &u);

	*units = u.units;
	return answer;
}

static void test_room(void)
{
	struct ledger l;
	uint64_t units;

	ledger_init(&l, 100);
	is(ask(&l, (struct ledger_request){ .need_units = 100 }, &units), LEDGER_GRANT);
	is(units, 100);
	is(ask(&l, (struct ledger_request){ .need_units = 10, .want_units = 500 }, &units), LEDGER_GRANT);
	is(units, 100);
	is(ask(&l, (struct ledger_request){ .need_units = 101 }, &units), LEDGER_NO_ROOM);
	ledger_grant(&l, 90);
	is(ledger_room(&l), 10);
	is(ask(&l, (struct ledger_request){ .need_units = 30 }, &units), LEDGER_RECALL);
	is(units, 20);
	is(ask(&l, (struct ledger_request){ .need_units = 30, .recalled = true }, &units), LEDGER_NO_ROOM);
	is(ask(&l, (struct ledger_request){ .need_units = 30, .recalled = true, .settling = true }, &units),
	   LEDGER_WAIT);
	is(ask(&l, (struct ledger_request){ .need_units = 30, .credit_units = 20 }, &units), LEDGER_GRANT);
	is(units, 10);
	is(ask(&l, (struct ledger_request){ .need_units = 5, .credit_units = 20 }, &units), LEDGER_GRANT);
	is(units, 0);
}

static void test_all(void)
{
	struct ledger l;
	uint64_t units;

	ledger_init(&l, 100);
	ledger_grant(&l, 40);
	is(ask(&l, (struct ledger_request){ .all = true }, &units), LEDGER_RECALL);
	is(ask(&l, (struct ledger_request){ .all = true, .settling = true }, &units), LEDGER_WAIT);
	is(ask(&l, (struct ledger_request){ .all = true, .recalled = true }, &units), LEDGER_GRANT);
	is(units, 60);
	ledger_grant(&l, 60);
	is(ask(&l, (struct ledger_request){ .all = true, .recalled = true }, &units), LEDGER_GRANT);
	is(units, 0);
}

static void test_objects_and_resize(void)
{
	struct ledger l;

	ledger_init(&l, 100);
	ledger_grant(&l, 50);
	ledger_grant_to_object(&l, 30);
	is(l.granted_units, 20);
	is(ledger_room(&l), 50);
	ok(!ledger_resize(&l, 49));
	is(l.quota_units, 100);
	ok(ledger_resize(&l, 50));
	is(ledger_room(&l), 0);
	ledger_shrink_soon(&l, 25);
	ok(ledger_shrink_pending(&l));
	is(ledger_excess(&l), 25);
	ok(!ledger_shrink_done(&l));
	ledger_object_remove(&l, 30);
	is(ledger_room(&l), 5);
	ok(ledger_shrink_done(&l));
	ok(!ledger_shrink_done(&l));
	is(l.quota_units, 25);
	ledger_saw_held(&l, 20);
	ledger_saw_held(&l, 3);
	is(l.peak_units, 20);
}

static uint64_t plan(const uint64_t *credit, unsigned int count, uint64_t units, uint64_t comfort, uint64_t *take)
{
	return ledger_recall_plan(credit, count, &(struct ledger_units){ units, comfort }, take);
}

static void test_plan(void)
{
	uint64_t credit[] = { 5, 0, 40, 7 }, take[4];

	is(plan(credit, 4, 10, 0, take), 10);
	is(take[2], 10);
	is(take[0] + take[1] + take[3], 0);
	is(plan(credit, 4, 45, 0, take), 45);
	is(take[3], 5);
	is(plan(credit, 4, UINT64_MAX, 0, take), 52);
	is(plan(credit, 0, 10, 5, take), 0);
	is(plan(credit, 4, 10, 7, take), 17);
	is(plan(credit, 4, 10, 30, take), 31); /* half of the rest */
	is(plan(credit, 4, 60, 30, take), 52);
}

/* What is recalled for one request serves the next ones too. */
static void test_comfort(void)
{
	struct ledger_request q = { .need_units = 30, .want_units = 80, .credit_units = 10 };
	struct ledger_units u;
	struct ledger l;

	ledger_init(&l, 1000);
	ledger_grant(&l, 995);
	is(ledger_ask(&l, &q, &u), LEDGER_RECALL);
	is(u.units, 15);
	is(u.comfort_units, 50);
	ledger_ungrant(&l, 65);
	is(ledger_ask(&l, &q, &u), LEDGER_GRANT);
	is(u.units, 70);
}

/* A world of clients on account words, served as meted serves them. */
#define CLIENTS 6
#define OBJECTS 8

struct world {
	struct ledger ledger;
	struct wire_account account[CLIENTS];
	uint32_t object[OBJECTS];
	uint64_t random;
};

static uint32_t below(struct world *w, uint32_t n)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(w->random >> 33) % n;
}

static uint64_t word(struct world *w, unsigned int i)
{
	return atomic_load(&w->account[i].word);
}

static uint64_t held_sum(struct world *w)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < CLIENTS; i++)
		sum += wire_held(word(w, i));
	for (unsigned int i = 0; i < OBJECTS; i++)
		sum += w->object[i];
	return sum;
}

static uint64_t granted_sum(struct world *w)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < CLIENTS; i++)
		sum += wire_granted(word(w, i));
	return sum;
}

static void recall(struct world *w, unsigned int except, const struct ledger_units *want)
{
	uint64_t credit[CLIENTS], take[CLIENTS];

	for (unsigned int i = 0; i < CLIENTS; i++)
		credit[i] = i == except ? 0 : wire_granted(word(w, i)) - wire_held(word(w, i));
	ledger_recall_plan(credit, CLIENTS, want, take);
	for (unsigned int i = 0; i < CLIENTS; i++)
		if (take[i])
			ledger_ungrant(&w->ledger, wire_recall(&w->account[i], (uint32_t)take[i]));
}

static bool reserve(struct world *w, unsigned int i, uint32_t need, uint32_t want)
{
	struct ledger_request q = { .need_units = need, .want_units = want };
	enum ledger_answer answer;
	struct ledger_units u;

	do {
		q.credit_units = wire_granted(word(w, i)) - wire_held(word(w, i));
		answer = ledger_ask(&w->ledger, &q, &u);
		if (answer == LEDGER_RECALL) {
			recall(w, i, &u);
			q.recalled = true;
		}
	} while (answer == LEDGER_RECALL);
	if (answer != LEDGER_GRANT)
		return false;
	wire_grant(&w->account[i], (uint32_t)u.units);
	ledger_grant(&w->ledger, u.units);
	return true;
}

static bool allocate(struct world *w, unsigned int i, uint32_t units)
{
	while (!wire_take(&w->account[i], units))
		if (!reserve(w, i, units, units + below(w, 50)))
			return false;
	return true;
}

/* A refusal is right when what is held leaves no room for the request. Value: false when it was wrong. */
static bool step(struct world *w)
{
	unsigned int i = below(w, CLIENTS), o = below(w, OBJECTS);
	uint32_t units = 1 + below(w, 200);
	uint64_t before = held_sum(w), limit = w->ledger.target_units;

	switch (below(w, 6)) {
	case 0:
	case 1:
	case 2:
		return allocate(w, i, units) == (before + units <= limit);
	case 3:
		if (wire_held(word(w, i)) >= units)
			wire_give(&w->account[i], units);
		break;
	case 4:
		if (w->object[o]) {
			ledger_object_remove(&w->ledger, w->object[o]);
			w->object[o] = 0;
		} else if (wire_held(word(w, i)) >= units) {
			atomic_fetch_sub(&w->account[i].word, wire_word(units, units));
			ledger_grant_to_object(&w->ledger, units);
			w->object[o] = units;
		}
		break;
	case 5:
		ledger_ungrant(&w->ledger, wire_granted(word(w, i)));
		atomic_store(&w->account[i].word, 0);
		break;
	}
	return true;
}

/* What meted's timer does while a shrink is pending; with it, nobody takes from credit that is above the target. */
static void recall_excess(struct world *w)
{
	if (ledger_excess(&w->ledger))
		recall(w, CLIENTS, &(struct ledger_units){ ledger_excess(&w->ledger), 0 });
}

static void maybe_resize(struct world *w)
{
	uint64_t to = 500 + below(w, 2000);

	if (ledger_shrink_pending(&w->ledger)) {
		recall_excess(w);
		ledger_shrink_done(&w->ledger);
	} else if (!ledger_resize(&w->ledger, to)) {
		ledger_shrink_soon(&w->ledger, to);
	}
}

static void test_random(void)
{
	static struct world w;
	bool sums = true, within = true, exact = true;

	w.random = 42;
	ledger_init(&w.ledger, 1000);
	for (int n = 0; n < 300000; n++) {
		recall_excess(&w);
		exact &= step(&w);
		if (!below(&w, 100))
			maybe_resize(&w);
		sums &= granted_sum(&w) == w.ledger.granted_units;
		within &= w.ledger.granted_units + w.ledger.object_units <= w.ledger.quota_units;
		within &= held_sum(&w) <= w.ledger.quota_units;
	}
	ok(sums);
	ok(within);
	tap_ok(exact, "a request is refused exactly when what is held leaves no room for it");
}

int main(void)
{
	tap_begin();
	test_room();
	test_all();
	test_objects_and_resize();
	test_plan();
	test_comfort();
	test_random();
	return tap_end();
}

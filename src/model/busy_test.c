/* busy_test.c: the sweep over edges, by hand and against a slow count of every instant. */
#include "model/busy.h"

#include "base/tap.h"

static void test_parts(void)
{
	struct busy *b = busy_new(0);
	struct busy_totals t;

	busy_begin(b, 0, 100);
	busy_begin(b, 1, 200);
	busy_begin(b, 1, 250); /* a second process of the same tenant has a part of its own */
	busy_end(b, 0, 300);
	busy_end(b, 1, 400);
	busy_end(b, 1, 500);
	is(busy_charged_ns(b, 0, 600), 141);
	is(busy_charged_ns(b, 1, 600), 258);
	t = busy_totals(b, 600);
	is(t.busy_ns, 400);
	is(t.idle_ns, 200);
	/* An end that nothing began. */
	busy_end(b, 0, 550);
	is(busy_charged_ns(b, 0, 600), 141);
	/* Known late: changes what has been charged since. */
	busy_begin(b, 2, 100);
	busy_end(b, 2, 200);
	is(busy_charged_ns(b, 0, 600), 91);
	is(busy_charged_ns(b, 2, 600), 50);
	busy_free(b);
}

static void test_holder(void)
{
	struct busy *b = busy_new(0);
	struct busy_totals t;

	busy_hold(b, 3, 100);
	busy_begin(b, 3, 150);
	busy_end(b, 3, 250);
	busy_hold(b, -1, 300);
	is(busy_idled_ns(b, 3, 400), 100);
	is(busy_charged_ns(b, 3, 400), 100);
	t = busy_totals(b, 400);
	is(t.busy_ns, 100);
	is(t.idled_ns, 100);
	is(t.idle_ns, 200);
	busy_free(b);
}

/* Silent with work in flight: counts as ended, until it says when it did. */
static void test_suspect(void)
{
	struct busy *b = busy_new(0);

	busy_begin(b, 0, 0);
	busy_begin(b, 1, 100);
	is(busy_charged_ns(b, 1, 300), 100);
	busy_suspect(b, 0, 100);
	ok(busy_suspected(b, 0));
	is(busy_charged_ns(b, 0, 300), 100);
	is(busy_charged_ns(b, 1, 300), 200);
	busy_end(b, 0, 200);
	ok(!busy_suspected(b, 0));
	is(busy_charged_ns(b, 0, 300), 150);
	is(busy_charged_ns(b, 1, 300), 150);
	busy_end(b, 1, 300);
	/* A place is given to somebody else. */
	busy_clear(b, 1, 400);
	is(busy_charged_ns(b, 1, 500), 0);
	busy_free(b);
}

/* One that was taken for stopped shows that it lives: it has been at work all the while. */
static void test_trust(void)
{
	struct busy *b = busy_new(0);

	busy_begin(b, 0, 0);
	busy_suspect(b, 0, 100);
	is(busy_charged_ns(b, 0, 300), 100);
	busy_trust(b, 0);
	ok(!busy_suspected(b, 0) && busy_count(b, 0) == 1);
	is(busy_charged_ns(b, 0, 300), 300);
	busy_trust(b, 0);
	is(busy_charged_ns(b, 0, 400), 400);
	busy_free(b);
}

static void test_overlap(void)
{
	struct busy *b = busy_new(0);
	struct busy_totals t;

	busy_class(b, 0, ARBITER_HIGH);
	busy_class(b, 1, ARBITER_LOW);
	busy_begin(b, 1, 0);
	busy_begin(b, 0, 100);
	busy_end(b, 1, 130);
	busy_end(b, 0, 200);
	t = busy_totals(b, 300);
	is(t.high_ns, 100);
	is(t.overlap_ns, 30);
	busy_free(b);
}

#define TENANTS 5
#define INSTANTS 4000

static uint64_t state = 1;

static unsigned int below(unsigned int n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(state >> 33) % n;
}

/* Tells of busy times in any order, and compares with a count of every instant. */
static void test_random(void)
{
	double worst = 0;
	bool sums = true;

	for (int round = 0; round < 200; round++) {
		struct busy *b = busy_new(0);
		static unsigned char busy[TENANTS][INSTANTS];
		double charged[TENANTS] = { 0 };
		uint64_t sum = 0;

		memset(busy, 0, sizeof(busy));
		for (int n = 0; n < 200; n++) {
			unsigned int tenant = below(TENANTS), from = below(INSTANTS - 1), to = from + 1 + below(300);

			to = to < INSTANTS ? to : INSTANTS - 1;
			busy_begin(b, tenant, from);
			busy_end(b, tenant, to);
			for (unsigned int i = from; i < to; i++)
				busy[tenant][i]++;
		}
		for (unsigned int i = 0; i < INSTANTS; i++) {
			unsigned int active = 0;

			for (unsigned int t = 0; t < TENANTS; t++)
				active += busy[t][i];
			for (unsigned int t = 0; t < TENANTS; t++)
				charged[t] += busy[t][i] ? (double)busy[t][i] / active : 0;
		}
		for (unsigned int t = 0; t < TENANTS; t++) {
			double off = (double)busy_charged_ns(b, t, INSTANTS) - charged[t];

			sum += busy_charged_ns(b, t, INSTANTS);
			worst = off < -worst ? -off : off > worst ? off : worst;
		}
		sums &= sum + busy_totals(b, INSTANTS).idle_ns + 10 >= INSTANTS;
		sums &= sum + busy_totals(b, INSTANTS).idle_ns <= INSTANTS;
		busy_free(b);
	}
	tap_ok(worst < 3, "edges in any order: at most %.2f ns off", worst);
	ok(sums);
}

/* More edges than are kept: what is old stays as it is, and nothing breaks. */
static void test_many(void)
{
	struct busy *b = busy_new(0);
	uint64_t i;

	for (i = 0; i < 3 * BUSY_EDGES; i++) {
		busy_begin(b, 0, 10 * i);
		busy_end(b, 0, 10 * i + 5);
	}
	is(busy_charged_ns(b, 0, 10 * i), 5 * i);
	busy_begin(b, 1, 0);
	busy_end(b, 1, 10 * i);
	ok(busy_charged_ns(b, 0, 10 * i) + busy_charged_ns(b, 1, 10 * i) <= 10 * i);
	busy_free(b);
}

/* What is behind too many edges counts from the last one, until the next round; others' late edges are taken. */
static void test_late(void)
{
	const unsigned int many = 4000, whole = BUSY_LATE / many; /* late edges of all the way that are taken */
	struct busy *b = busy_new(0);
	uint64_t charged;

	busy_round(b);
	for (unsigned int i = 0; i < many; i++)
		(i % 2 ? busy_end : busy_begin)(b, 0, 1000 + i);
	charged = busy_charged_ns(b, 0, 10000);
	for (unsigned int i = 0; i < whole; i++)
		(i % 2 ? busy_end : busy_begin)(b, 1, 10 + 100 * i);
	is(busy_charged_ns(b, 1, 10000), 200);
	busy_begin(b, 1, 500);
	busy_end(b, 1, 600);
	is(busy_charged_ns(b, 1, 10000), 200);
	busy_begin(b, 2, 500);
	busy_end(b, 2, 600);
	is(busy_charged_ns(b, 2, 10000), 100);
	busy_round(b);
	busy_begin(b, 1, 700);
	busy_end(b, 1, 800);
	is(busy_charged_ns(b, 1, 10000), 300);
	is(busy_charged_ns(b, 0, 10000), charged);
	busy_free(b);
}

int main(void)
{
	tap_begin();
	test_late();
	test_parts();
	test_holder();
	test_suspect();
	test_trust();
	test_overlap();
	test_random();
	test_many();
	return tap_end();
}

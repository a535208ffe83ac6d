/*
 * residence_test.c: who leaves for whom, as a table, and dozens of tenants in virtual time: at every step what is
 * charged fits on the device, and everybody comes back.
 */
#include "base/tap.h"
#include "model/residence.h"

#include <stdbool.h>

#define MS 1000000ull
#define SECOND 1000000000ull
#define NOW (100 * SECOND)

#define WORKS .idle_since_ns = 0
#define IDLE(s) .idle_since_ns = NOW - (s)*SECOND
#define HERE(units) .held_units = (units), .movable_units = (units), .since_ns = NOW - SECOND
#define AWAY(units) .place = RESIDENCE_AWAY, .away_units = (units), .wish_away = true
#define CALLED(s) .called = true, .waits_since_ns = NOW - (s)*SECOND
#define WANTS(units, s) .want_units = (units), .waits_since_ns = NOW - (s)*SECOND

struct row {
	const char *what;
	struct residence_client client[5];
	const char *leaves; /* 'l': is to leave or stay away, '.': may be there */
	uint64_t turn_ns;
};

static const struct row rows[] = {
	{ "nobody leaves where all fit", { { HERE(40), WORKS }, { HERE(60), IDLE(50) } }, "..", 0 },
	{ "who is away and not called for stays away", { { AWAY(40) }, { HERE(20), WORKS } }, "l.", SECOND },
	{ "who is called for returns where there is room",
	  { { AWAY(40), CALLED(1) }, { HERE(60), WORKS } },
	  "..",
	  SECOND },
	{ "where there is none, the idle one leaves, and it waits",
	  { { AWAY(50), CALLED(1) }, { HERE(50), WORKS }, { HERE(50), IDLE(9) } },
	  "l.l",
	  9 * SECOND },
	{ "who has been idle for longest leaves first, of those of whom one is not enough",
	  { { AWAY(60), CALLED(1) }, { HERE(30), IDLE(5) }, { HERE(30), IDLE(9) }, { HERE(40), IDLE(1) } },
	  "lll.",
	  9 * SECOND },
	{ "the smallest that is enough leaves, not who has been idle longest",
	  { { AWAY(20), CALLED(1) }, { HERE(60), IDLE(9) }, { HERE(20), IDLE(2) }, { HERE(20), IDLE(1) } },
	  "l.l.",
	  9 * SECOND },
	{ "never more than are needed: who was chosen before a larger one stays",
	  { { AWAY(70), CALLED(1) }, { HERE(10), IDLE(9) }, { HERE(70), IDLE(1) }, { HERE(20), WORKS } },
	  "l.l.",
	  9 * SECOND },
	{ "the lowest class leaves first, working or not",
	  { { AWAY(50), CALLED(1), .class = 0 }, { HERE(50), IDLE(9), .class = 1 }, { HERE(50), WORKS, .class = 2 } },
	  "l.l",
	  9 * SECOND },
	{ "a higher class does not leave for a lower one",
	  { { AWAY(50), CALLED(1), .class = 2 }, { HERE(100), IDLE(9), .class = 1 } },
	  "l.",
	  0 },
	{ "what is free and promised to others is not lent",
	  { { AWAY(40), CALLED(1), .barred_units = 50 }, { HERE(20), WORKS } },
	  "l.",
	  9 * SECOND },
	{ "who waits for what can never be holds up nobody",
	  { { AWAY(60), CALLED(9), .barred_units = 50 }, { AWAY(30), CALLED(1) } },
	  "l.",
	  9 * SECOND },
	{ "who works has its turn", { { AWAY(80), CALLED(1) }, { HERE(80), WORKS } }, "l.", 2 * SECOND },
	{ "and leaves when it is over", { { AWAY(80), CALLED(1) }, { HERE(80), WORKS } }, "ll", SECOND },
	{ "one whose own swap takes long has a longer one",
	  { { AWAY(80), CALLED(1) }, { HERE(80), WORKS, .swap_ns = 600 * MS } },
	  "l.",
	  SECOND },
	{ "one whose way back took longer than the longest turn is at work, and stays",
	  { { AWAY(80), CALLED(1) },
	    { .held_units = 80,
	      .movable_units = 80,
	      .since_ns = NOW - 40 * SECOND,
	      .arrived_ns = NOW - SECOND,
	      WORKS,
	      .swap_ns = 80 * SECOND } },
	  "l.",
	  30 * SECOND },
	{ "also at its first return",
	  { { AWAY(80), CALLED(1) },
	    { .held_units = 80,
	      .movable_units = 80,
	      .since_ns = NOW - 40 * SECOND,
	      .arrived_ns = NOW - SECOND,
	      WORKS } },
	  "l.",
	  30 * SECOND },
	{ "for as long as the longest turn",
	  { { AWAY(80), CALLED(1) },
	    { .held_units = 80,
	      .movable_units = 80,
	      .since_ns = NOW - 70 * SECOND,
	      .arrived_ns = NOW - 30 * SECOND,
	      WORKS,
	      .swap_ns = 80 * SECOND } },
	  "ll",
	  30 * SECOND },
	{ "nobody leaves where that is not enough",
	  { { AWAY(80), CALLED(1) }, { HERE(40), IDLE(9) }, { HERE(60), WORKS } },
	  "l..",
	  9 * SECOND },
	{ "who has waited longest is first, and nobody behind it takes its room",
	  { { AWAY(60), CALLED(5) }, { AWAY(30), CALLED(1) }, { HERE(60), WORKS } },
	  "ll.",
	  9 * SECOND },
	{ "for the second as well somebody leaves whose turn is over, if the first one gets what it waits for",
	  { { AWAY(30), CALLED(5) },
	    { AWAY(30), CALLED(1) },
	    { HERE(30), WORKS },
	    { HERE(30), WORKS },
	    { HERE(30), WORKS } },
	  "llll.",
	  SECOND },
	{ "and nobody does where the first one does not",
	  { { AWAY(80), CALLED(5) },
	    { AWAY(30), CALLED(1) },
	    { HERE(30), WORKS },
	    { HERE(60), WORKS, .swap_ns = SECOND } },
	  "ll..",
	  SECOND },
	{ "what is free does not go to the second",
	  { { AWAY(60), CALLED(5) },
	    { AWAY(10), CALLED(1) },
	    { HERE(60), WORKS },
	    { HERE(20), WORKS, .swap_ns = SECOND } },
	  "lll.",
	  SECOND },
	{ "what one that is here waits for, and is free, is not lent to one that returns as well",
	  { { HERE(30), WANTS(40, 5) }, { AWAY(60), CALLED(1) } },
	  ".l",
	  9 * SECOND },
	{ "one that has been idle for a moment, and whose swap takes far longer, is not idle",
	  { { AWAY(80), CALLED(1) }, { HERE(80), IDLE(1), .swap_ns = 60 * SECOND } },
	  "l.",
	  9 * SECOND },
	{ "but after a tenth of that it is",
	  { { AWAY(80), CALLED(1) }, { HERE(80), IDLE(4), .swap_ns = 60 * SECOND } },
	  "ll",
	  9 * SECOND },
	{ "of two that wait for more the second leaves for the first",
	  { { HERE(50), WANTS(30, 5) }, { HERE(50), WANTS(30, 1) } },
	  ".l",
	  9 * SECOND },
	{ "who keeps what it has been guaranteed does not leave",
	  { { AWAY(50), CALLED(1) }, { HERE(60), IDLE(9), .keeps_units = 60 } },
	  "l.",
	  0 },
	{ "and leaves when it holds more",
	  { { AWAY(50), CALLED(1) }, { HERE(60), IDLE(9), .keeps_units = 59 } },
	  "ll",
	  0 },
	{ "who could not leave a moment ago is not asked",
	  { { AWAY(50), CALLED(1) }, { HERE(60), IDLE(9), .stays = true } },
	  "l.",
	  0 },
	{ "what the user sends away leaves, and stays away though it is called for",
	  { { HERE(10), WORKS, .suspended = true }, { AWAY(10), CALLED(1), .suspended = true } },
	  "ll",
	  9 * SECOND },
	{ "what is on its way back counts",
	  { { .place = RESIDENCE_RETURNING, .held_units = 10, .away_units = 50 }, { AWAY(50), CALLED(1) } },
	  ".l",
	  0 },
	{ "what is leaving counts: nobody else has to",
	  { { .place = RESIDENCE_LEAVING, .held_units = 50, .movable_units = 50, .wish_away = true },
	    { AWAY(50), CALLED(1) },
	    { HERE(50), IDLE(9) } },
	  "ll.",
	  0 },
	{ "who is leaving and does not answer does not count: another one has to",
	  { { .place = RESIDENCE_LEAVING, .held_units = 50, .movable_units = 50, .wish_away = true, .stays = true },
	    { AWAY(50), CALLED(1) },
	    { HERE(50), IDLE(9) } },
	  ".ll",
	  0 },
	{ "nor has one who does not come back room that others wait for",
	  { { .place = RESIDENCE_RETURNING, .away_units = 80, .stays = true },
	    { AWAY(50), CALLED(1) },
	    { .place = RESIDENCE_AWAY, .away_units = 80, .called = true, .waits_since_ns = 1, .stays = true } },
	  "...",
	  0 },
};

static void test_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct row row = rows[i];
		struct residence_device device = { .total_units = 100, .turn_ns = row.turn_ns };
		unsigned int count = (unsigned int)strlen(row.leaves);
		char got[8] = "";

		residence_decide(&device, row.client, count, NOW);
		for (unsigned int k = 0; k < count; k++)
			got[k] = row.client[k].wish_away ? 'l' : '.';
		tap_ok(!strcmp(got, row.leaves), "%s (%s)", row.what, got);
	}
}

/* The turn of a device whose clients' swaps take so long. */
static uint64_t turn_within(uint64_t most, uint64_t a, uint64_t b, uint64_t c)
{
	const struct residence_client clients_of[] = { { .swap_ns = a }, { .swap_ns = b }, { .swap_ns = c } };

	return residence_turn(&(struct residence_device){ .turn_most_ns = most }, 2 * SECOND, clients_of, 3);
}

static uint64_t turn_of(uint64_t a, uint64_t b, uint64_t c)
{
	return turn_within(0, a, b, c);
}

static void test_turn(void)
{
	tap_ok(turn_of(100 * MS, 0, 0) == 2 * SECOND, "a turn that is long enough stays");
	tap_ok(turn_of(SECOND, SECOND, SECOND) == 5 * SECOND, "it grows until a swap takes no more than a fifth of it");
	tap_ok(turn_of(SECOND, 0, 0) == 5 * SECOND, "those that have not moved yet do not count");
	tap_ok(turn_of(2 * SECOND, 500 * MS, 500 * MS) == 5 * SECOND, "it is the mean that counts");
	tap_ok(turn_of(20 * SECOND, 20 * SECOND, 0) == 30 * SECOND, "to thirty seconds at most");
	tap_ok(turn_of(UINT64_MAX, UINT64_MAX, 1) == 30 * SECOND, "whatever the swaps took");
	tap_ok(turn_within(3 * SECOND, 20 * SECOND, 0, 0) == 3 * SECOND, "or to what the device's longest turn is");
	tap_ok(turn_within(SECOND, 20 * SECOND, 0, 0) == 2 * SECOND, "and is never shorter than it was said to be");
	tap_ok(residence_swap(SECOND, 0) == SECOND && residence_swap(2 * SECOND, 2 * SECOND) == 2 * SECOND &&
		       residence_swap(9 * SECOND, SECOND) == SECOND && residence_swap(SECOND, 9 * SECOND) == SECOND,
	       "one swap that was held up does not count");
}

static void test_can_hold(void)
{
	struct residence_device device = { .total_units = 100, .turn_ns = SECOND };
	struct residence_client c[] = { { HERE(20), WORKS },
					{ .place = RESIDENCE_RETURNING, .held_units = 60, .away_units = 58 } };

	tap_ok(residence_can_hold(&device, c, 2, &c[0], 60), "what is charged for a return can leave again");
	c[1].away_units = 0;
	tap_ok(!residence_can_hold(&device, c, 2, &c[0], 60), "what stays cannot");
	c[1].away_units = 58;
	c[1].class = 1;
	c[0].class = 2;
	tap_ok(!residence_can_hold(&device, c, 2, &c[0], 60), "nor what belongs to a higher class");
}

/* Virtual time ---------------------------------------------------------------------------------------------------- */

#define TENANTS 40u
#define TOTAL 100000ull
#define STEP (10 * MS)
#define RATE 200ull /* units that are copied in a step */

struct tenant {
	uint64_t size; /* units, when it has all that it asks for */
	uint64_t pinned;
	uint64_t works_until, idle_until; /* by the device's clock, and by its own */
	uint64_t worked;
	uint64_t left; /* of a copy */
	uint64_t waited_most;
	bool wants;
};

static struct tenant tenants[TENANTS];
static struct residence_client clients[TENANTS];
static struct residence_device sim_device = { .total_units = TOTAL, .turn_ns = SECOND };

static uint64_t charged(void)
{
	uint64_t units = sim_device.other_units;

	for (unsigned int i = 0; i < TENANTS; i++)
		units += clients[i].held_units;
	return units;
}

/* What a client and meted do with the decision. */
static void follow(struct tenant *t, struct residence_client *c, uint64_t now)
{
	uint64_t n = RATE;

	switch (c->place) {
	case RESIDENCE_HERE:
		if (c->wish_away) {
			c->place = RESIDENCE_LEAVING;
			t->left = c->movable_units;
		}
		break;
	case RESIDENCE_LEAVING: /* refunded when all is copied */
		t->left -= t->left < n ? t->left : n;
		if (t->left)
			break;
		c->away_units = c->movable_units;
		c->held_units -= c->movable_units;
		c->movable_units = 0;
		c->place = RESIDENCE_AWAY;
		c->since_ns = now;
		break;
	case RESIDENCE_AWAY:
		if (!c->wish_away) {
			c->place = RESIDENCE_RETURNING;
			c->since_ns = now;
		}
		break;
	case RESIDENCE_RETURNING: /* charged before it is copied */
		n = n < c->away_units ? n : c->away_units;
		c->away_units -= n;
		c->held_units += n;
		c->movable_units += n;
		if (c->away_units)
			break;
		c->place = RESIDENCE_HERE;
		c->called = false;
		c->swap_ns = 2 * c->movable_units / RATE * STEP;
		break;
	}
}

/* What its program does. */
static void live(struct tenant *t, struct residence_client *c, uint64_t now)
{
	uint64_t room;

	if (c->place == RESIDENCE_AWAY && !c->called && now >= t->idle_until)
		c->called = true;
	if (c->place == RESIDENCE_HERE && !c->wish_away && c->held_units < t->size && now >= t->idle_until) {
		room = residence_free(&sim_device, clients, TENANTS, c);
		c->want_units = t->size - c->held_units;
		if (c->want_units <= room) {
			c->held_units += c->want_units;
			c->movable_units = c->held_units - t->pinned;
			c->want_units = 0;
		}
	} else {
		c->want_units = 0;
	}
	if (c->called || c->want_units) {
		if (!c->waits_since_ns)
			c->waits_since_ns = now;
		if (now - c->waits_since_ns > t->waited_most)
			t->waited_most = now - c->waits_since_ns;
	} else {
		c->waits_since_ns = 0;
	}
	if (c->place != RESIDENCE_HERE || c->held_units < t->size)
		return;
	if (now < t->idle_until) {
		if (!c->idle_since_ns)
			c->idle_since_ns = now;
		return;
	}
	c->idle_since_ns = 0;
	t->worked += STEP;
	if (now >= t->works_until) {
		t->idle_until = now + (uint64_t)(rand() % 3000) * MS;
		t->works_until = t->idle_until + (uint64_t)(rand() % 4000) * MS;
		if (rand() % 4 == 0 && t->size < TOTAL * 6 / 10)
			t->size += (uint64_t)(rand() % 3000);
	}
}

static void test_many(void)
{
	uint64_t most = 0, least_worked = UINT64_MAX, waited = 0;
	unsigned int moving_most = 0;
	bool fits = true;

	srand(7);
	sim_device.other_units = 5000;
	for (unsigned int i = 0; i < TENANTS; i++) {
		tenants[i].size = 5000 + (uint64_t)(rand() % 45000);
		tenants[i].pinned = 300;
		clients[i].class = i % 3 == 0;
	}
	/* Contexts are there from the beginning, and fit. */
	for (unsigned int i = 0; i < TENANTS; i++)
		clients[i].held_units = tenants[i].pinned;
	for (uint64_t now = SECOND; now < 3000 * SECOND; now += STEP) {
		unsigned int moving = 0;

		sim_device.turn_ns = residence_turn(&sim_device, SECOND, clients, TENANTS);
		residence_decide(&sim_device, clients, TENANTS, now);
		for (unsigned int i = 0; i < TENANTS; i++) {
			follow(&tenants[i], &clients[i], now);
			live(&tenants[i], &clients[i], now);
			moving += clients[i].place == RESIDENCE_LEAVING;
			if (charged() > TOTAL)
				fits = false;
			if (charged() > most)
				most = charged();
		}
		if (moving > moving_most)
			moving_most = moving;
	}
	for (unsigned int i = 0; i < TENANTS; i++) {
		if (clients[i].class) /* the less important ones get what is left */
			continue;
		if (tenants[i].worked < least_worked)
			least_worked = tenants[i].worked;
		if (tenants[i].waited_most > waited)
			waited = tenants[i].waited_most;
	}
	tap_ok(fits, "40 tenants of %.1f times the device: never more charged than it has (at most %.1f %%)",
	       40 * 27500.0 / TOTAL, (double)most * 100 / TOTAL);
	tap_ok(least_worked > SECOND && waited < 600 * SECOND,
	       "each of the higher class had its turn (the one with least worked for %.1f s, the longest wait was %.1f "
	       "s)",
	       (double)least_worked / 1e9, (double)waited / 1e9);
	tap_ok(moving_most > 0, "and memory moved");
}

/* Equal shares ---------------------------------------------------------------------------------------------------- */

#define EQUALS 10u
#define EQUAL_UNITS 30u /* of 100: three are there at a time */
#define WORK (171 * MS) /* of the device: what one has in flight, which ends before it leaves */
#define LOOK (5 * MS)
#define LOOKS (120 * SECOND / LOOK)
#define WINDOW (10 * SECOND / LOOK)

/* Always at work: it asks for the device as soon as it is away. */
struct equal {
	uint64_t work_ns; /* left of what is in flight */
	uint64_t move_ns; /* left of the copy */
	uint64_t had_ns[LOOKS];
};

static struct equal equals[EQUALS];
static struct residence_client equal_clients[EQUALS];

static bool works(const struct equal *e, const struct residence_client *c)
{
	return c->place == RESIDENCE_HERE || (c->place == RESIDENCE_LEAVING && !e->move_ns);
}

/* Value: what it has used of the device. */
static uint64_t work(struct equal *e, struct residence_client *c, unsigned int beside)
{
	uint64_t part = LOOK / beside < e->work_ns ? LOOK / beside : e->work_ns;

	e->work_ns -= part;
	if (!e->work_ns) {
		e->work_ns = WORK;
		if (c->place == RESIDENCE_LEAVING)
			e->move_ns = (uint64_t)(20 + rand() % 20) * MS;
	}
	return part;
}

static void go(struct equal *e, struct residence_client *c, uint64_t now)
{
	if (c->place == RESIDENCE_HERE && c->wish_away) {
		c->place = RESIDENCE_LEAVING;
	} else if (c->place == RESIDENCE_AWAY && !c->wish_away) {
		c->place = RESIDENCE_RETURNING;
		c->since_ns = now;
		e->move_ns = (uint64_t)(20 + rand() % 20) * MS;
	} else if (c->place == RESIDENCE_RETURNING || (c->place == RESIDENCE_LEAVING && e->move_ns)) {
		e->move_ns -= LOOK < e->move_ns ? LOOK : e->move_ns;
		if (e->move_ns)
			return;
		c->held_units = c->movable_units = c->place == RESIDENCE_RETURNING ? EQUAL_UNITS : 0;
		c->away_units = EQUAL_UNITS - c->held_units;
		c->called = c->place == RESIDENCE_LEAVING;
		c->waits_since_ns = c->called ? now : 0;
		c->place = c->called ? RESIDENCE_AWAY : RESIDENCE_HERE;
	}
}

static void test_equal(void)
{
	const struct residence_device device = { .total_units = 100, .turn_ns = 250 * MS };
	double most = 0, off;
	uint64_t used = 0;

	srand(3);
	for (unsigned int i = 0; i < EQUALS; i++) {
		equal_clients[i] =
			(struct residence_client){ AWAY(EQUAL_UNITS), .called = true, .waits_since_ns = i + 1 };
		equals[i].work_ns = WORK;
	}
	for (unsigned int k = 0; k < LOOKS; k++) {
		unsigned int beside = 0;

		residence_decide(&device, equal_clients, EQUALS, SECOND + k * LOOK);
		for (unsigned int i = 0; i < EQUALS; i++)
			beside += works(&equals[i], &equal_clients[i]);
		for (unsigned int i = 0; i < EQUALS; i++) {
			uint64_t part =
				works(&equals[i], &equal_clients[i]) ? work(&equals[i], &equal_clients[i], beside) : 0;

			equals[i].had_ns[k] = (k ? equals[i].had_ns[k - 1] : 0) + part;
			used += part;
			go(&equals[i], &equal_clients[i], SECOND + k * LOOK);
		}
	}
	for (unsigned int i = 0; i < EQUALS; i++)
		for (unsigned int k = WINDOW; k + WINDOW < LOOKS; k++) {
			off = (double)(equals[i].had_ns[k + WINDOW] - equals[i].had_ns[k]) / (double)(WINDOW * LOOK) -
			      (double)used / EQUALS / (double)(LOOKS * LOOK);
			off = off < 0 ? -off : off;
			most = off > most ? off : most;
		}
	tap_ok(most <= 0.02, "ten tenants of which three fit: %.2f points off a tenth at most in any ten seconds",
	       most * 100);
	tap_ok((double)used > 0.95 * LOOKS * LOOK, "and the device is at work for %.1f %% of the time",
	       (double)used * 100 / (LOOKS * LOOK));
}

/* Slow copies ------------------------------------------------------------------------------------------------------ */

#define GIANTS 2u
#define GIANT_UNITS 80u
#define GIANT_COPY (40 * SECOND) /* longer than the longest turn */
#define GIANT_LOOKS (1320 * SECOND / LOOK)

/* Value: it has come to its end. */
static bool copy(struct equal *e)
{
	e->move_ns -= LOOK < e->move_ns ? LOOK : e->move_ns;
	return !e->move_ns;
}

static void go_slowly(struct equal *e, struct residence_client *c, uint64_t now)
{
	bool leaves = c->place == RESIDENCE_LEAVING;

	if (c->place == RESIDENCE_HERE ? c->wish_away : c->place == RESIDENCE_AWAY && !c->wish_away) {
		c->place = c->place == RESIDENCE_HERE ? RESIDENCE_LEAVING : RESIDENCE_RETURNING;
		c->since_ns = now;
		e->move_ns = GIANT_COPY;
	} else if ((leaves || c->place == RESIDENCE_RETURNING) && copy(e)) {
		c->place = leaves ? RESIDENCE_AWAY : RESIDENCE_HERE;
		c->held_units = c->movable_units = leaves ? 0 : GIANT_UNITS;
		c->away_units = GIANT_UNITS - c->held_units;
		c->called = leaves;
		c->waits_since_ns = leaves ? now : 0;
		c->arrived_ns = now;
		c->swap_ns = leaves ? c->swap_ns : 2 * GIANT_COPY;
	}
}

/* Each of the two is there in turn, and the way to be there is longer than the longest turn. */
static void test_giants(void)
{
	struct residence_client c[GIANTS] = { { AWAY(GIANT_UNITS), .called = true, .waits_since_ns = 1 },
					      { AWAY(GIANT_UNITS), .called = true, .waits_since_ns = 2 } };
	struct residence_device device = { .total_units = 100, .turn_ns = 2 * SECOND };
	uint64_t worked[GIANTS] = { 0 }, least, all;

	memset(equals, 0, sizeof(equals));
	for (unsigned int k = 0; k < GIANT_LOOKS; k++) {
		device.turn_ns = residence_turn(&device, 2 * SECOND, c, GIANTS);
		residence_decide(&device, c, GIANTS, SECOND + k * LOOK);
		for (unsigned int i = 0; i < GIANTS; i++) {
			worked[i] += c[i].place == RESIDENCE_HERE ? LOOK : 0;
			go_slowly(&equals[i], &c[i], SECOND + k * LOOK);
		}
	}
	all = GIANT_LOOKS * LOOK;
	least = worked[0] < worked[1] ? worked[0] : worked[1];
	tap_ok(least > all / 10, "two whose return takes 40 s work for %.1f and %.1f %% of the time",
	       (double)worked[0] * 100 / (double)all, (double)worked[1] * 100 / (double)all);
}

/* What memory that stays has to leave room for. */
static void test_turns_need(void)
{
	const struct residence_client c[] = {
		{ HERE(20), WORKS, .class = 1 },
		{ AWAY(50), .class = 1 },
		{ .place = RESIDENCE_RETURNING, .held_units = 10, .movable_units = 8, .away_units = 30, .class = 1 },
		{ AWAY(60), .class = 1, .suspended = true },
		{ HERE(70), WORKS, .class = 2 },
		{ HERE(5), WORKS, .keeps_units = 9, .class = 1 },
	};

	tap_ok(residence_turns_need(c, 6, &c[0]) == 50 + 5,
	       "the largest one has to fit beside it, and who need not leave");
	tap_ok(residence_turns_need(c, 6, &c[1]) == 38 + 5,
	       "one that asks does not count, one on its way counts as a whole");
	tap_ok(residence_turns_need(c, 6, &c[4]) == 50 + 5,
	       "the suspended one does not, for it waits as long as its user likes");
	tap_ok(residence_turns_need(c, 6, NULL) == 70 + 5, "one that is less important than who asks does not either");
}

int main(void)
{
	tap_begin();
	test_rows();
	test_turn();
	test_can_hold();
	test_turns_need();
	test_many();
	test_equal();
	test_giants();
	return tap_end();
}

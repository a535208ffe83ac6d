/* residence.c: see residence.h. */
#include "model/residence.h"

#include <stddef.h>

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * What will be charged to it besides: its memory is on its way, or may come at any moment. For one that does not answer
 * nothing is kept.
 */
static uint64_t promised(const struct residence_client *c)
{
	if (c->stays)
		return 0;
	return c->place == RESIDENCE_RETURNING || (c->place == RESIDENCE_AWAY && !c->wish_away) ? c->away_units : 0;
}

uint64_t residence_free(const struct residence_device *device, const struct residence_client *client,
			unsigned int count, const struct residence_client *but)
{
	uint64_t taken = device->other_units;

	for (unsigned int i = 0; i < count; i++)
		taken += client[i].held_units + (&client[i] == but ? but->barred_units : promised(&client[i]));
	return less(device->total_units, taken);
}

/* What it needs to go on. */
static uint64_t needs(const struct residence_client *c)
{
	return (c->place == RESIDENCE_AWAY ? c->away_units : 0) + c->want_units;
}

static bool demands(const struct residence_client *c)
{
	if (c->suspended || c->place == RESIDENCE_LEAVING || c->place == RESIDENCE_RETURNING)
		return false;
	return c->place == RESIDENCE_AWAY ? c->called && !c->stays : c->want_units > 0;
}

/* Of those who demand and are not satisfied yet: the most important, then who has waited longest. */
static struct residence_client *first(struct residence_client *client, unsigned int count)
{
	struct residence_client *best = NULL;

	for (unsigned int i = 0; i < count; i++) {
		struct residence_client *c = &client[i];

		if (c->decided || !demands(c))
			continue;
		if (!best || c->class < best->class ||
		    (c->class == best->class && c->waits_since_ns < best->waits_since_ns))
			best = c;
	}
	return best;
}

/* Who waits for more, and does not get it just now, can do nothing meanwhile either. */
static uint64_t idle_since(const struct residence_client *c)
{
	return c->want_units && !c->served ? c->waits_since_ns : c->idle_since_ns;
}

/* A short pause is none for one whose way out and back would take far longer. */
static uint64_t idle_least(const struct residence_client *c)
{
	uint64_t least = lesser(c->swap_ns, RESIDENCE_TURN_MOST_NS) / RESIDENCE_IDLE_PART;

	return least > RESIDENCE_IDLE_NS ? least : RESIDENCE_IDLE_NS;
}

static bool is_idle(const struct residence_client *c, uint64_t now_ns)
{
	uint64_t since = idle_since(c);

	return since && now_ns >= since + idle_least(c);
}

static uint64_t longest(const struct residence_device *device)
{
	return device->turn_most_ns ? device->turn_most_ns : RESIDENCE_TURN_MOST_NS;
}

/* A turn of this length at least, and in which so many swaps of `swap_ns` fit, up to the longest turn. */
static uint64_t at_least(const struct residence_device *device, uint64_t turn_ns, uint64_t swap_ns, unsigned int part)
{
	uint64_t most = longest(device), least = lesser(swap_ns, most / part) * part;

	return lesser(turn_ns > least ? turn_ns : least, turn_ns > most ? turn_ns : most);
}

/*
 * When the client's turn is over. The longest turn does not bound the way back: after it the client works for as long
 * as its swap takes, and not longer than the longest turn.
 */
static uint64_t turn_ends(const struct residence_device *device, const struct residence_client *c)
{
	uint64_t arrived = c->arrived_ns > c->since_ns ? c->arrived_ns : c->since_ns;
	uint64_t swap = c->swap_ns ? c->swap_ns : arrived - c->since_ns;
	uint64_t turn = c->since_ns + at_least(device, device->turn_ns, c->swap_ns, RESIDENCE_OWN_SWAP_PART);
	uint64_t work = arrived + lesser(swap, longest(device));

	return turn > work ? turn : work;
}

static bool may_leave(const struct residence_device *device, const struct residence_client *c,
		      const struct residence_client *whom, uint64_t now_ns)
{
	if (c == whom || c->place != RESIDENCE_HERE || c->wish_away || c->stays || !c->movable_units ||
	    c->held_units <= c->keeps_units || c->class < whom->class)
		return false;
	return c->class > whom->class || is_idle(c, now_ns) || now_ns >= turn_ends(device, c);
}

/* The group from which to take first: a larger number, the rather. */
static unsigned int rank(const struct residence_client *c, uint64_t now_ns)
{
	return c->class * 2 + is_idle(c, now_ns);
}

static bool leaves_before(const struct residence_client *a, const struct residence_client *b, uint64_t deficit,
			  uint64_t now_ns)
{
	bool a_enough = a->movable_units >= deficit, b_enough = b->movable_units >= deficit;

	if (rank(a, now_ns) != rank(b, now_ns))
		return rank(a, now_ns) > rank(b, now_ns);
	if (a_enough != b_enough)
		return a_enough;
	if (a_enough && a->movable_units != b->movable_units)
		return a->movable_units < b->movable_units;
	if (is_idle(a, now_ns) && idle_since(a) != idle_since(b))
		return idle_since(a) < idle_since(b);
	return a->since_ns < b->since_ns;
}

/* Those without whom it is enough stay: the last that were chosen are the ones to spare first. */
static void spare(struct residence_client **chosen, unsigned int count, uint64_t surplus)
{
	while (count--) {
		if (chosen[count]->movable_units > surplus)
			continue;
		surplus -= chosen[count]->movable_units;
		chosen[count]->wish_away = false;
	}
}

#define CHOSEN 64u

/* Sends away who has to go so that `deficit` more units are free. Nobody goes where that cannot be reached. */
static void make_room(const struct residence_device *device, struct residence_client *client, unsigned int count,
		      const struct residence_client *whom, uint64_t deficit, uint64_t now_ns)
{
	struct residence_client *chosen[CHOSEN];
	unsigned int n = 0;
	uint64_t got = 0;

	while (got < deficit && n < CHOSEN) {
		struct residence_client *best = NULL;

		for (unsigned int i = 0; i < count; i++)
			if (may_leave(device, &client[i], whom, now_ns) &&
			    (!best || leaves_before(&client[i], best, deficit - got, now_ns)))
				best = &client[i];
		if (!best)
			break;
		best->wish_away = true;
		best->urgent = !whom->class;
		best->for_whom = (unsigned int)(whom - client) + 1;
		chosen[n++] = best;
		got += best->movable_units;
	}
	if (got >= deficit)
		spare(chosen, n, got - deficit);
	else
		while (n--)
			chosen[n]->wish_away = false;
}

/* What those who are leaving give up, and have not yet. */
static uint64_t coming(const struct residence_client *client, unsigned int count)
{
	uint64_t units = 0;

	for (unsigned int i = 0; i < count; i++)
		if (!client[i].stays && (client[i].place == RESIDENCE_LEAVING ||
					 (client[i].place == RESIDENCE_HERE && client[i].wish_away)))
			units += client[i].movable_units;
	return units;
}

void residence_decide(const struct residence_device *device, struct residence_client *client, unsigned int count,
		      uint64_t now_ns)
{
	struct residence_client *c;
	uint64_t room, spoken = 0; /* what those wait for who come first */

	for (unsigned int i = 0; i < count; i++) {
		c = &client[i];
		c->decided = c->served = c->urgent = false;
		c->for_whom = 0;
		if (c->place == RESIDENCE_HERE)
			c->wish_away = c->suspended && !c->stays;
		else if (c->place == RESIDENCE_AWAY)
			c->wish_away = c->suspended || c->wish_away || !c->called;
		else
			c->wish_away = (c->place == RESIDENCE_LEAVING && !c->stays) || c->suspended;
	}
	while ((c = first(client, count))) {
		c->decided = true;
		if (c->place == RESIDENCE_HERE && c->wish_away) /* it leaves for one before it */
			continue;
		c->wish_away = c->place == RESIDENCE_AWAY;
		room = residence_free(device, client, count, c);
		if (spoken + needs(c) <= room) {
			/* Of what it wants it takes a part before it returns, or later: it is there for it. */
			c->wish_away = false;
			c->served = true;
			spoken += c->want_units;
			continue;
		}
		/* For what can never be nobody behind it has to wait. */
		if (!residence_can_hold(device, client, count, c, c->want_units))
			continue;
		/* For those behind it others leave as well, but they get nothing that it waits for. */
		spoken += needs(c);
		if (spoken > room + coming(client, count))
			make_room(device, client, count, c, spoken - room - coming(client, count), now_ns);
		if (spoken > room + coming(client, count))
			break;
	}
}

bool residence_can_hold(const struct residence_device *device, const struct residence_client *client,
			unsigned int count, const struct residence_client *who, uint64_t units)
{
	uint64_t stays = device->other_units;

	for (unsigned int i = 0; i < count; i++) {
		const struct residence_client *c = &client[i];

		if (c == who)
			stays += c->held_units + c->away_units + c->barred_units;
		else if (c->class < who->class || c->held_units <= c->keeps_units)
			stays += c->held_units;
		else if (c->place == RESIDENCE_RETURNING || c->place == RESIDENCE_LEAVING)
			/* What is charged for its return, and is not there yet, can leave again. */
			stays += less(c->held_units, c->movable_units + c->away_units);
		else
			stays += c->held_units - c->movable_units;
	}
	return stays + units <= device->total_units;
}

uint64_t residence_turns_need(const struct residence_client *client, unsigned int count,
			      const struct residence_client *who)
{
	uint64_t kept = 0, most = 0;

	for (unsigned int i = 0; i < count; i++) {
		const struct residence_client *c = &client[i];
		uint64_t units = c->movable_units + c->away_units;

		if (c == who || c->suspended || (who && c->class > who->class))
			continue;
		if (units <= c->keeps_units)
			kept += units;
		else if (units > most)
			most = units;
	}
	return kept + most;
}

uint64_t residence_turn(const struct residence_device *device, uint64_t turn_ns, const struct residence_client *client,
			unsigned int count)
{
	uint64_t sum = 0, swaps = 0;

	for (unsigned int i = 0; i < count; i++)
		if (client[i].swap_ns) {
			sum += lesser(client[i].swap_ns, longest(device));
			swaps++;
		}
	return at_least(device, turn_ns, swaps ? sum / swaps : 0, RESIDENCE_SWAP_PART);
}

uint64_t residence_swap(uint64_t last_ns, uint64_t before_ns)
{
	return before_ns ? lesser(last_ns, before_ns) : last_ns;
}

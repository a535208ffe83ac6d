/* engine.c: one engine of one device, see engine.h: what is taken from its clients and written to them, and when. */
#include "daemon/turns/state.h"

#include <stdlib.h>
#include <string.h>

#define DEAF_NS 1000000ull     /* how often clients are looked at that cannot ring */
#define STILL_NS 1000000000ull /* how often totals are sampled that do not change */
#define ROUNDS 4
#define EDGES_OF_RUN 4096u  /* that are taken: a tenant may have hundreds of processes that note them without an end */
#define EDGES_OF_PLACE 128u /* of each tenant at least */

struct engine *engine_new(const uint8_t uuid[DEVICE_UUID_BYTES], enum wire_engine kind)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	memcpy(e->uuid, uuid, DEVICE_UUID_BYTES);
	e->kind = kind;
	e->arbiter = arbiter_new(NULL);
	if (e->arbiter)
		return e;
	free(e);
	return NULL;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	arbiter_free(e->arbiter);
	free(e);
}

bool engine_is(const struct engine *e, const uint8_t uuid[DEVICE_UUID_BYTES], enum wire_engine kind)
{
	return e->kind == kind && !memcmp(e->uuid, uuid, DEVICE_UUID_BYTES);
}

bool engine_empty(const struct engine *e)
{
	return !e->places;
}

static uint64_t step(struct engine *e, uint64_t now_ns)
{
	uint64_t next_ns = arbiter_step(e->arbiter, now_ns);

	for (struct place *p = e->places; p; p = p->next)
		p->turned |= arbiter_changed(e->arbiter, p->at);
	return next_ns;
}

/*
 * A turn ends and nobody has submitted anything in that instant, as both sides see it (turn.h); only then does another
 * one begin. Who has done something meanwhile is taken into account first.
 */
static uint64_t decide(struct engine *e, uint64_t now_ns)
{
	uint64_t next_ns = step(e, now_ns), look_ns;

	for (struct place *p = e->places; p; p = p->next) {
		if (!p->looked && !p->turned)
			continue;
		look_ns = place_choose_seat(p, arbiter_turn(e->arbiter, p->at), now_ns);
		next_ns = look_ns < next_ns ? look_ns : next_ns;
	}

	for (int round = 0; round < ROUNDS; round++) {
		bool again = false;

		for (struct place *p = e->places; p; p = p->next)
			if ((p->looked || p->turned) && place_write(p, false))
				again |= place_take_demand(p, now_ns);
		if (!again)
			break;
		look_ns = next_ns;
		next_ns = step(e, now_ns);
		next_ns = look_ns < next_ns ? look_ns : next_ns;
	}
	for (struct place *p = e->places; p; p = p->next)
		if (p->looked || p->turned)
			place_write(p, true);
	return next_ns;
}

/* Nobody uses it or waits for it, so that no total changes until a doorbell is rung (set_listen() asks for that). */
static bool is_quiet(const struct engine *e)
{
	for (const struct place *p = e->places; p; p = p->next)
		if (p->told.busy || p->told.waiting || p->begun)
			return false;
	return true;
}

static void account(struct engine *e, uint64_t now_ns)
{
	bool due = now_ns - e->sampled_ns >= SAMPLE_NS;

	for (struct place *p = e->places; p; p = p->next) {
		struct arbiter_reading r;

		if (!p->seats)
			continue;
		if (p->looked || due) {
			r = arbiter_read(e->arbiter, p->at, now_ns);
			place_write_account(p, &r, now_ns);
		}
		if (!due)
			continue;
		place_sample(p, now_ns, false);
		for (struct seat *s = p->seats; s; s = s->next)
			seat_sample(s, now_ns);
	}
	if (!due)
		return;
	e->sampled_ns = now_ns - now_ns % SAMPLE_NS; /* all engines at the same moments */
	e->still = is_quiet(e);
}

/* The last one has risen, perhaps in the middle of a kernel: that end has to be taken, or its tenant pays for ever. */
static void rest(struct engine *e, uint64_t now_ns)
{
	for (struct place *p = e->places; p; p = p->next)
		place_take_demand(p, now_ns);
	arbiter_step(e->arbiter, now_ns);
}

static unsigned int edges_of_place(const struct engine *e)
{
	unsigned int places = 0, each;

	for (const struct place *p = e->places; p; p = p->next)
		places += p->seats != NULL;
	each = EDGES_OF_RUN / (places ? places : 1);
	return each > EDGES_OF_PLACE ? each : EDGES_OF_PLACE;
}

uint64_t engine_run(struct engine *e, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX, sample_ns;
	unsigned int most;
	bool all = true;

	if (!e->seats) {
		rest(e, now_ns);
		return next_ns;
	}
	if (now_ns < e->hold_ns)
		return e->hold_ns;
	most = edges_of_place(e);
	for (struct place *p = e->places; p; p = p->next) {
		p->turned = false;
		p->looked = place_due(p, now_ns);
		if (!p->looked)
			continue;
		all &= place_take_edges(p, most, now_ns);
		place_take_demand(p, now_ns);
	}
	next_ns = decide(e, now_ns);
	for (struct place *p = e->places; p; p = p->next) {
		uint64_t pass_ns = p->looked ? place_let_pass(p, now_ns) : UINT64_MAX;

		next_ns = pass_ns < next_ns ? pass_ns : next_ns;
	}
	for (const struct place *p = e->places; p; p = p->next)
		if (!p->looked && p->look_ns < next_ns)
			next_ns = p->look_ns;
	account(e, now_ns);
	sample_ns = e->sampled_ns + (e->still && is_quiet(e) ? STILL_NS : SAMPLE_NS);
	if (next_ns > sample_ns)
		next_ns = sample_ns;
	if ((e->deaf || !all) && next_ns > now_ns + DEAF_NS)
		next_ns = now_ns + DEAF_NS;
	return next_ns;
}

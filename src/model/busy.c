/*
 * busy.c: see busy.h.
 *
 * The state is that after the last edge of the list; the time since then is reckoned when it is asked for. A late edge
 * steps the state back over the edges behind its place, which undoes their charges exactly, because a charge is a
 * function of the two edges that it lies between; then it steps forward again. In the usual order that is no step.
 *
 * Sums are kept in 1/256 ns, so that thirds do not add up to less than the whole in any time that matters.
 */
#include "model/busy.h"

#include <stdlib.h>
#include <string.h>

#define FRACTION 256u

enum kind {
	BEGIN,
	END,
	SUSPECT, /* all of the tenant's processes at once: `amount` of them */
	HOLD,	 /* `tenant` is the holder from here on, `amount` was it before */
};

struct edge {
	uint64_t at_ns;
	int16_t tenant;
	int16_t amount; /* 0: has no effect */
	uint8_t kind;
};

struct sums {
	uint64_t busy, idled, idle, high, overlap;
};

struct busy {
	struct edge edge[BUSY_EDGES];
	unsigned int edges;
	uint64_t floor_ns;		    /* before the first edge of the list nothing changes any more */
	unsigned int late[ARBITER_TENANTS]; /* edges that late ones of the tenant's were behind, in this round */
	uint16_t count[ARBITER_TENANTS];
	uint16_t suspected[ARBITER_TENANTS]; /* processes that a SUSPECT edge took away */
	uint8_t class[ARBITER_TENANTS];
	uint16_t active[ARBITER_TENANTS]; /* tenants with a count, in no order */
	uint16_t place[ARBITER_TENANTS];  /* where in active[] */
	unsigned int actives, class_actives[ARBITER_CLASSES];
	unsigned int processes; /* the sum of all counts */
	int holder;
	uint64_t charged[ARBITER_TENANTS], idled[ARBITER_TENANTS];
	struct sums sums;
};

struct busy *busy_new(uint64_t now_ns)
{
	struct busy *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->floor_ns = now_ns;
	b->holder = -1;
	memset(b->class, ARBITER_NORMAL, sizeof(b->class));
	return b;
}

void busy_free(struct busy *b)
{
	free(b);
}

static uint64_t edge_time(const struct busy *b, unsigned int n)
{
	return n ? b->edge[n - 1].at_ns : b->floor_ns;
}

/* What of a time is the tenant's, of the processes that have work in flight. */
static uint64_t part_of(const struct busy *b, unsigned int tenant, uint64_t ns)
{
	return b->actives > 1 ? (uint64_t)((unsigned __int128)ns * b->count[tenant] / b->processes) : ns;
}

/* Charges (sign 1) or takes back (-1, as uint64_t) a time in which nothing changed. */
static void charge(struct busy *b, uint64_t ns, uint64_t sign)
{
	uint64_t whole = ns * FRACTION * sign;

	if (!b->actives) {
		if (b->holder >= 0) {
			b->idled[b->holder] += whole;
			b->sums.idled += whole;
		} else {
			b->sums.idle += whole;
		}
		return;
	}
	for (unsigned int i = 0; i < b->actives; i++)
		b->charged[b->active[i]] += part_of(b, b->active[i], ns * FRACTION) * sign;
	b->sums.busy += whole;
	if (b->class_actives[ARBITER_HIGH])
		b->sums.high += whole;
	if (b->class_actives[ARBITER_HIGH] && b->class_actives[ARBITER_LOW])
		b->sums.overlap += whole;
}

static void add_count(struct busy *b, unsigned int tenant, int n)
{
	bool was = b->count[tenant];

	b->count[tenant] = (uint16_t)(b->count[tenant] + n);
	b->processes += (unsigned int)n;
	if (was == !!b->count[tenant])
		return;
	b->class_actives[b->class[tenant]] += was ? -1u : 1u;
	if (!was) {
		b->place[tenant] = (uint16_t)b->actives;
		b->active[b->actives++] = (uint16_t)tenant;
	} else {
		uint16_t last = b->active[--b->actives];

		b->active[b->place[tenant]] = last;
		b->place[last] = b->place[tenant];
	}
}

/* Steps over an edge. What it amounts to follows from the state that it meets. */
static void enter(struct busy *b, struct edge *e)
{
	unsigned int tenant = (unsigned int)e->tenant;

	switch (e->kind) {
	case BEGIN:
		e->amount = 1;
		add_count(b, tenant, 1);
		break;
	case END:
		e->amount = b->count[tenant] > 0;
		add_count(b, tenant, -e->amount);
		break;
	case SUSPECT:
		e->amount = (int16_t)b->count[tenant];
		b->suspected[tenant] = b->count[tenant];
		add_count(b, tenant, -e->amount);
		break;
	case HOLD:
		e->amount = (int16_t)b->holder;
		b->holder = e->tenant;
		break;
	}
}

static void back_out(struct busy *b, const struct edge *e)
{
	unsigned int tenant = (unsigned int)e->tenant;

	switch (e->kind) {
	case BEGIN:
		add_count(b, tenant, -e->amount);
		break;
	case END:
		add_count(b, tenant, e->amount);
		break;
	case SUSPECT:
		add_count(b, tenant, e->amount);
		b->suspected[tenant] = 0;
		break;
	case HOLD:
		b->holder = e->amount;
		break;
	}
}

/* The state as it was before edge n of the list. */
static void step_back(struct busy *b, unsigned int from, unsigned int n)
{
	for (unsigned int i = from; i-- > n;) {
		back_out(b, &b->edge[i]);
		charge(b, b->edge[i].at_ns - edge_time(b, i), -1ull);
	}
}

static void step_forward(struct busy *b, unsigned int n)
{
	for (unsigned int i = n; i < b->edges; i++) {
		charge(b, b->edge[i].at_ns - edge_time(b, i), 1);
		enter(b, &b->edge[i]);
	}
}

/* The oldest quarter can no longer be changed. */
static void forget(struct busy *b)
{
	unsigned int n = BUSY_EDGES / 4;

	b->floor_ns = b->edge[n - 1].at_ns;
	b->edges -= n;
	memmove(b->edge, b->edge + n, b->edges * sizeof(*b->edge));
}

void busy_round(struct busy *b)
{
	memset(b->late, 0, sizeof(b->late));
}

/* Before which edge of the list it belongs: the last of all where its tenant has been late too much. */
static unsigned int find_place(struct busy *b, struct edge *e)
{
	unsigned int most = e->tenant < 0 ? b->edges : BUSY_LATE - b->late[e->tenant], n = b->edges;

	while (n && b->edge[n - 1].at_ns > e->at_ns && b->edges - n < most)
		n--;
	if (e->tenant >= 0)
		b->late[e->tenant] += b->edges - n;
	if (!n || b->edge[n - 1].at_ns <= e->at_ns)
		return n;
	e->at_ns = b->edge[b->edges - 1].at_ns;
	return b->edges;
}

static void insert(struct busy *b, struct edge e)
{
	unsigned int n;

	if (b->edges == BUSY_EDGES)
		forget(b);
	if (e.at_ns < b->floor_ns)
		e.at_ns = b->floor_ns;
	n = find_place(b, &e);
	step_back(b, b->edges, n);
	memmove(b->edge + n + 1, b->edge + n, (b->edges - n) * sizeof(*b->edge));
	b->edge[n] = e;
	b->edges++;
	step_forward(b, n);
}

/* The suspicion is over: as if it had never been. One that the list has forgotten ends where the list begins. */
static void trust(struct busy *b, unsigned int tenant)
{
	unsigned int n = b->edges;

	while (n && (b->edge[n - 1].kind != SUSPECT || b->edge[n - 1].tenant != (int)tenant))
		n--;
	if (!n) {
		uint16_t count = b->suspected[tenant];

		step_back(b, b->edges, 0);
		b->suspected[tenant] = 0;
		add_count(b, tenant, count);
		step_forward(b, 0);
		return;
	}
	step_back(b, b->edges, n - 1);
	b->edges--;
	memmove(b->edge + n - 1, b->edge + n, (b->edges - (n - 1)) * sizeof(*b->edge));
	step_forward(b, n - 1);
}

static void note(struct busy *b, unsigned int tenant, uint64_t at_ns, enum kind kind)
{
	if (b->suspected[tenant])
		trust(b, tenant);
	insert(b, (struct edge){ .at_ns = at_ns, .tenant = (int16_t)tenant, .kind = kind });
}

void busy_begin(struct busy *b, unsigned int tenant, uint64_t at_ns)
{
	note(b, tenant, at_ns, BEGIN);
}

void busy_end(struct busy *b, unsigned int tenant, uint64_t at_ns)
{
	note(b, tenant, at_ns, END);
}

void busy_hold(struct busy *b, int tenant, uint64_t now_ns)
{
	int last = b->holder;

	/* An edge may have been dated a little ahead of now; the holder after it is what counts. */
	if (last != tenant)
		insert(b, (struct edge){ .at_ns = now_ns, .tenant = (int16_t)tenant, .kind = HOLD });
}

void busy_suspect(struct busy *b, unsigned int tenant, uint64_t at_ns)
{
	if (!b->suspected[tenant] && b->count[tenant])
		insert(b, (struct edge){ .at_ns = at_ns, .tenant = (int16_t)tenant, .kind = SUSPECT });
}

void busy_trust(struct busy *b, unsigned int tenant)
{
	if (b->suspected[tenant])
		trust(b, tenant);
}

bool busy_suspected(const struct busy *b, unsigned int tenant)
{
	return b->suspected[tenant];
}

/* All that has happened stays as it is. */
static void settle(struct busy *b, uint64_t now_ns)
{
	uint64_t last = edge_time(b, b->edges);

	if (now_ns > last)
		charge(b, now_ns - last, 1);
	b->floor_ns = now_ns > last ? now_ns : last;
	b->edges = 0;
}

void busy_class(struct busy *b, unsigned int tenant, enum arbiter_class class)
{
	uint16_t count = b->count[tenant];

	if (b->class[tenant] == class)
		return;
	settle(b, edge_time(b, b->edges));
	add_count(b, tenant, -count);
	b->class[tenant] = (uint8_t) class;
	add_count(b, tenant, count);
}

void busy_clear(struct busy *b, unsigned int tenant, uint64_t now_ns)
{
	settle(b, now_ns);
	add_count(b, tenant, -b->count[tenant]);
	b->suspected[tenant] = 0;
	b->charged[tenant] = 0;
	b->idled[tenant] = 0;
	if (b->holder == (int)tenant)
		b->holder = -1;
}

unsigned int busy_count(const struct busy *b, unsigned int tenant)
{
	return b->count[tenant];
}

/* Since the last edge. */
static uint64_t open_ns(const struct busy *b, uint64_t now_ns)
{
	uint64_t last = edge_time(b, b->edges);

	return now_ns > last ? now_ns - last : 0;
}

uint64_t busy_charged_ns(const struct busy *b, unsigned int tenant, uint64_t now_ns)
{
	uint64_t ns = b->charged[tenant] / FRACTION;

	return b->count[tenant] ? ns + part_of(b, tenant, open_ns(b, now_ns)) : ns;
}

uint64_t busy_idled_ns(const struct busy *b, unsigned int tenant, uint64_t now_ns)
{
	uint64_t ns = b->idled[tenant] / FRACTION;

	return !b->actives && b->holder == (int)tenant ? ns + open_ns(b, now_ns) : ns;
}

struct busy_totals busy_totals(const struct busy *b, uint64_t now_ns)
{
	uint64_t open = open_ns(b, now_ns);
	bool high = b->class_actives[ARBITER_HIGH], low = b->class_actives[ARBITER_LOW];

	return (struct busy_totals){
		.busy_ns = b->sums.busy / FRACTION + (b->actives ? open : 0),
		.idled_ns = b->sums.idled / FRACTION + (!b->actives && b->holder >= 0 ? open : 0),
		.idle_ns = b->sums.idle / FRACTION + (!b->actives && b->holder < 0 ? open : 0),
		.high_ns = b->sums.high / FRACTION + (high ? open : 0),
		.overlap_ns = b->sums.overlap / FRACTION + (high && low ? open : 0),
	};
}

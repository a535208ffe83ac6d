/* recording_spans.c: intervals of clients and tenants, from edges and launches; see recording.h. */
#include "cli/recording.h"

#include <stdlib.h>

struct spans {
	struct span *span;
	size_t count, room;
};

static void add(struct spans *s, const struct span *span)
{
	if (s->count == s->room) {
		size_t more = s->room ? s->room * 2 : 256;
		struct span *grown = realloc(s->span, more * sizeof(*grown));

		if (!grown)
			return;
		s->span = grown;
		s->room = more;
	}
	s->span[s->count++] = *span;
}

static int compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->who != y->who)
		return x->who < y->who ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->engine != y->engine)
		return x->engine < y->engine ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool same_track(const struct span *a, const struct span *b)
{
	return a->who == b->who && a->device == b->device && a->engine == b->engine;
}

/* Sorts, and makes one of those that overlap or touch. */
static struct span *merge(struct spans *s, size_t *ret_count)
{
	size_t n = 0;

	if (s->count)
		qsort(s->span, s->count, sizeof(*s->span), compare);
	for (size_t i = 0; i < s->count; i++) {
		struct span *last = n ? &s->span[n - 1] : NULL;

		if (last && same_track(last, &s->span[i]) && s->span[i].begin <= last->end) {
			if (s->span[i].end > last->end)
				last->end = s->span[i].end;
		} else {
			s->span[n++] = s->span[i];
		}
	}
	*ret_count = n;
	return s->span;
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = *(const struct edge *const *)a, *y = *(const struct edge *const *)b;

	if (x->client != y->client)
		return x->client < y->client ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->engine != y->engine)
		return x->engine < y->engine ? -1 : 1;
	return x < y ? -1 : x > y; /* as they came */
}

static void close_span(const struct recording *r, struct spans *s, struct span *open, int64_t at, bool by_tenant)
{
	struct span span = *open;

	span.end = at;
	if (by_tenant)
		span.who = recording_tenant(r, span.who);
	if (span.end > span.begin)
		add(s, &span);
}

struct span *recording_busy(const struct recording *r, bool by_tenant, size_t *ret_count)
{
	const struct edge **edge = calloc(r->edges + 1, sizeof(*edge));
	struct spans s = { 0 };
	struct span open = { 0 };
	bool is_open = false;

	*ret_count = 0;
	if (!edge)
		return NULL;
	for (size_t i = 0; i < r->edges; i++)
		edge[i] = &r->edge[i];
	qsort(edge, r->edges, sizeof(*edge), compare_edges);
	for (size_t i = 0; i < r->edges; i++) {
		struct span here = { edge[i]->client, edge[i]->device, edge[i]->engine, edge[i]->at, 0 };

		if (is_open && !same_track(&open, &here)) {
			close_span(r, &s, &open, recording_client_end(r, open.who), by_tenant);
			is_open = false;
		}
		if (edge[i]->begins && !is_open) {
			open = here;
			is_open = true;
		} else if (!edge[i]->begins && is_open) {
			close_span(r, &s, &open, here.begin, by_tenant);
			is_open = false;
		}
	}
	if (is_open)
		close_span(r, &s, &open, recording_client_end(r, open.who), by_tenant);
	free(edge);
	return merge(&s, ret_count);
}

struct span *recording_waits(const struct recording *r, size_t *ret_count)
{
	struct spans s = { 0 };

	for (size_t i = 0; i < r->launches; i++) {
		const struct launch *l = &r->launch[i];
		struct span span = { recording_tenant(r, l->client), l->device, l->engine, l->submitted, l->passed };

		if (l->passed - l->submitted >= WAIT_NS)
			add(&s, &span);
	}
	for (size_t i = 0; i < r->waits; i++) {
		struct span span = r->wait[i];

		span.who = recording_tenant(r, span.who);
		if (span.end > span.begin)
			add(&s, &span);
	}
	return merge(&s, ret_count);
}
